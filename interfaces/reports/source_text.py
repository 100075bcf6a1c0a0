"""Words for what was read from source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .layout import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


HEADING = "Read from source (not a diagnosis): "
_SAYS = {
    "raise": "raises it", "log": "logs it", "assert": "asserts", "warn": "warns",
    "exit": "ends the program with it", "print": "prints it", "statement": "it arose in",
}  # fmt: skip


def source_sentence(source: Mapping[str, Any]) -> str:
    """The origin of the message, in one sentence."""
    package = " ".join(filter(None, (source.get("package"), source.get("version"))))
    function = source.get("function") or "the module itself"
    where = f"{source['file']}:{source['line']}"
    inside = f"{function} in {where}" + (f" ({package})" if package else "")
    if source.get("statement") == "statement":
        return f"it arose in {inside}, at: {source.get('template', '')}"
    says = _SAYS.get(str(source.get("statement")), "says it")
    held = f" where this held: {source['guard']}" if source.get("guard") else ""
    return f"{inside} {says}{held}"


def source_details(source: Mapping[str, Any]) -> Iterator[str]:
    """The values at that place with what is documented of them, and what is not certain."""
    for argument in source.get("arguments", ()):
        value = f" = {argument['value']}" if argument.get("value") else ""
        doc = f": {argument['doc']}" if argument.get("doc") else ""
        if value or doc:
            yield f"{argument['name']}{value}{doc}"
    if source.get("near"):
        near = "; ".join(f"{row['title']} ({row['id']})" for row in source["near"])
        yield f"Other messages of this module that a row knows: {near}"
    if source.get("note"):
        yield f"But {source['note']}."


def source_texts(source: Mapping[str, Any] | None) -> list[str]:
    """All sentences on the source of a message; none if nothing was read."""
    return [HEADING + source_sentence(source), *source_details(source)] if source else []


def source_lines(source: Mapping[str, Any], indent: int = 4) -> Iterator[Line]:
    """The paragraph of a report for people."""
    yield Line(HEADING + source_sentence(source), indent)
    for text in source_details(source):
        yield Line(text, indent + 2, mark="- ")
