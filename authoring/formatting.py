"""The canonical form of a YAML file: same data, same comments, one way to write them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ..facts import Location, ModelMedicError, Problem
from ..facts.strict_yaml import load

WIDTH = 120
_INDENT = 2
_NO_WRAPPING = 1_000_000  # a text keeps the lines that its author chose
_WORDS = re.compile(r"([^\[\]{}#]*\[)([^\[\]{}#]*)(\])\Z")
_FIRST = ("schema", "id")


def formatted(text: str, path: str) -> str:
    """The text in canonical form. Raises :class:`ModelMedicError` if it is not sound YAML (MM20x),
    the library is missing (MM344), or the data would not stay the same (MM345)."""
    before = load(text, path).data
    for found in _forms(_written(text)):
        with suppress(ModelMedicError):
            if _same(load(found, path).data, before):
                return found
    hint = "write the file in a plainer way, and report it: this is a bug of ModelMedic"
    raise ModelMedicError(
        Problem("MM345", "formatting would change what the file says", Location(path), hint)
    )


def _written(text: str) -> str:
    """The text as the library writes it, arranged; nothing if it cannot."""
    yaml = _yaml()
    out = io.StringIO()
    try:
        tree = yaml.load(text)
        _arrange(tree, 0)
        yaml.dump(tree, out)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, _errors()):
        return ""
    return out.getvalue()


def _errors() -> type[Exception]:
    from ruamel.yaml.error import YAMLError

    return YAMLError


def _forms(text: str) -> Iterator[str]:
    """The text with less white space, as far as that is only white space."""
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    wrapped = "\n".join(_wrapped(line) for line in lines.split("\n"))
    yield re.sub(r"\n{3,}", "\n\n", wrapped).lstrip("\n")
    yield re.sub(r"\n{3,}", "\n\n", lines).lstrip("\n")
    yield lines
    yield text


def _wrapped(line: str) -> str:
    """A line with one long list of words, over as many lines as it takes."""
    match = _WORDS.match(line) if len(line) > WIDTH else None
    if match is None:
        return line
    start, words, end = match.groups()
    lines, current = [], start
    for number, word in enumerate(parts := words.split(", ")):
        piece = word + (", " if number < len(parts) - 1 else end)
        if len(current) + len(piece.rstrip()) > WIDTH and current.strip() and current != start:
            lines.append(current.rstrip())
            current = " " * len(start)
        current += piece
    return "\n".join([*lines, current])


def _yaml() -> Any:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.nodes import ScalarNode
        from ruamel.yaml.resolver import VersionedResolver
    except ImportError:
        hint = "pip install 'modelmedic[fmt]'"
        raise ModelMedicError(
            Problem("MM344", "kb fmt needs the package ruamel.yaml", None, hint)
        ) from None

    class AsWritten(VersionedResolver):
        """Takes numbers and truth values as the texts that they are: they are not to be changed."""

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            is_text = kind is ScalarNode and value
            return self.DEFAULT_SCALAR_TAG if is_text else super().resolve(kind, value, implicit)

    yaml = YAML(typ="rt", pure=True)
    yaml.Resolver = AsWritten
    yaml.preserve_quotes = True
    yaml.width = _NO_WRAPPING
    yaml.brace_single_entry_mapping_in_flow_sequence = True
    yaml.indent(mapping=_INDENT, sequence=2 * _INDENT, offset=_INDENT)
    return yaml


def _arrange(node: Any, column: int) -> None:
    """Put the name of an entry first, and what was spread over lines, and does not fit on one, into
    a block."""
    if isinstance(node, dict):
        for name in _FIRST:
            if name in node and next(iter(node)) != name and not node.ca.items:  # type: ignore[attr-defined]
                node.move_to_end(name, last=False)  # type: ignore[attr-defined]
        for key, value in node.items():
            _fit(value, column + len(str(key)) + 2, column + _INDENT)
    elif isinstance(node, list):
        for value in node:
            _fit(value, column + 2, column + 2)


def _fit(value: Any, column: int, inside: int) -> None:
    """Arrange a value that begins at a column; as a block its parts are indented to ``inside``."""
    if not isinstance(value, dict | list):
        return
    if value.fa.flow_style():  # type: ignore[union-attr]
        if column + _length(value) <= WIDTH or not value or not _is_spread(value):
            return
        if isinstance(value, list) and not any(isinstance(x, dict | list) for x in value):
            return  # words, which are wrapped in the end
        value.fa.set_block_style()  # type: ignore[union-attr]
    _arrange(value, inside + (_INDENT if isinstance(value, list) else 0))


def _is_spread(value: Any) -> bool:
    """Whether a value was written over several lines. Values that the author kept on one line stay
    there: a table of attributes reads best with a line for each."""
    lines = {value.lc.line}
    queue = [value]
    for node in queue:  # grows while it is walked
        lines.add(node.lc.line)
        parts = node.values() if isinstance(node, dict) else node
        lines.update(place[-2] for place in (node.lc.data or {}).values())
        queue += [part for part in parts if isinstance(part, dict | list)]
    return len(lines) > 1


def _length(value: Any) -> int:
    """About how many columns a value takes on one line."""
    if isinstance(value, dict):
        return sum(len(str(key)) + 2 + _length(item) + 2 for key, item in value.items())
    if isinstance(value, list):
        return sum(_length(item) + 2 for item in value)
    if isinstance(value, str):
        quoted = type(value) is not str
        return len(json.dumps(value, ensure_ascii=False)) if quoted else len(value)
    return len(str(value))


def _same(left: Any, right: Any) -> bool:
    """Whether data are equal, type by type, whatever the order of keys; NaN is NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(v, right[k]) for k, v in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right) or (left != left and right != right)
