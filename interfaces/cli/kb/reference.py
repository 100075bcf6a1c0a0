"""``diagnose kb reference``: docs/reference.md and docs/lint.md, generated from the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import FOLDER, command, path_option
from .group import kb
from .schema import FORMS

_CONDITIONS = ("Pattern", "Test", "VersionEvent", "All", "Any_", "Not", "Absent", "Count", "Series",
               "SeriesSource", "DiagnosisHolds", "BandHolds")  # fmt: skip
_FIELDS_HEAD = """# Reference of the knowledge files

Made by `diagnose kb reference fields` from the models that check the files; do not edit.
[authoring.md](authoring.md) explains the meaning, [lint.md](lint.md) the problems that are found.

A file is YAML 1.2; its first key `schema` names its form. **Bold** fields must be there. Unknown
fields are refused.
"""
_CODES_HEAD = """# Problems that `diagnose kb lint` finds

Made by `diagnose kb reference codes`; do not edit. `diagnose kb lint --explain CODE` says the same.
Each example is a file of the test suite; `# <- CODE` marks the line that is reported.
"""


@command(kb)
@click.argument("part", type=click.Choice(["fields", "codes"]))
@path_option(
    "--examples", "Broken files whose lines are marked with '# <- CODE'.", "DIR", type=FOLDER
)
def reference(context: Context, part: str, examples: Path | None) -> int:
    """Print the reference of the fields of knowledge files, or of problem codes, in Markdown."""
    text = fields_page() if part == "fields" else codes_page(examples)
    output.emit_text(Line(line, keep=True) for line in text.splitlines())
    return output.OK


def fields_page() -> str:
    """Every field of every form."""
    from ....engine.compiler.source.schemas import file_schema

    sections = [_FIELDS_HEAD]
    shown: set[str] = set()
    for form in FORMS:
        schema = file_schema(form)
        sections.append(f"## modelmedic/{form}/1\n\n{_about(schema)}{_table(schema)}")
        for name, part in schema["definitions"].items():
            if name not in shown and name not in _CONDITIONS and "properties" in part:
                shown.add(name)
                sections.append(f"### {_heading(name)}\n\n{_about(part)}{_table(part)}")
    definitions = file_schema("rules")["definitions"]
    sections.append("## Conditions\n\nThe language of `when`, `test`, `observe` and `where`.\n")
    for name in _CONDITIONS:
        part = definitions[name]
        sections.append(f"### {_heading(name)}\n\n{_about(part)}{_table(part)}")
    return "\n".join(sections)


def _about(schema: dict[str, Any]) -> str:
    text = " ".join(schema.get("description", "").replace("``", "`").split())
    return f"{text}\n\n" if text and not text.startswith("`modelmedic/") else ""


def _table(schema: dict[str, Any]) -> str:
    rows = ["| field | type | meaning |", "|---|---|---|"]
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        shown = f"**{name}**" if name in required else name
        meaning = [_cell(field.get("description", ""))]
        if field.get("default") not in (None, "", [], {}):
            meaning.append(f"Default `{field['default']}`.")
        if field.get("examples"):
            meaning.append("For example " + ", ".join(map(_code, field["examples"])) + ".")
        rows.append(f"| {shown} | {_cell(_type(field))} | {' '.join(filter(None, meaning))} |")
    return "\n".join(rows) + "\n"


def _type(schema: dict[str, Any]) -> str:
    """A type in plain language."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return _code(schema["const"])
    if "enum" in schema:
        return ", ".join(_code(value) for value in schema["enum"] if value != "")
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            kinds = [_type(part) for part in schema[key] if part.get("type") != "null"]
            if len(kinds) > len(_CONDITIONS) // 2 and schema[key] != []:
                return "[condition](#conditions)"
            return " or ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"mapping to {_type(values)}" if isinstance(values, dict) else "mapping"
    names = {"string": "text", "boolean": "true or false", "integer": "whole number"}
    limit = f" (at most {schema['maxLength']} characters)" if "maxLength" in schema else ""
    return f"{names.get(kind, kind)}{limit}"


def _heading(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip("_").removesuffix("Declaration"))
    return words.lower()


def _link(name: str) -> str:
    heading = _heading(name)
    return f"[{heading}](#{heading.replace(' ', '-')})"


def _code(value: Any) -> str:
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def codes_page(examples: Path | None) -> str:
    """Every problem code with its meaning, and an example if there is one."""
    from ....engine.compiler.source.problem_codes import problem_codes

    shown = dict(_examples(examples)) if examples else {}
    sections = [_CODES_HEAD]
    for code, meaning in problem_codes().items():
        lines = [f"## {code}", "", f"**{meaning.title}.** {meaning.why}", "", f"*{meaning.fix}*"]
        if code in shown:
            lines += ["", "```yaml", shown[code].rstrip("\n"), "```"]
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)


def _examples(folder: Path) -> Iterator[tuple[str, str]]:
    """(code, text) of the files with one mark; the shortest wins."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        marks = re.findall(r"# <-((?: MM[0-9]{3})+)", text)
        if len(marks) == 1 and len(marks[0].split()) == 1:
            code = marks[0].strip()
            if code not in found or len(text) < len(found[code]):
                found[code] = text
    yield from sorted(found.items())
