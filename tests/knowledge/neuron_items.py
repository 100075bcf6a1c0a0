"""docs/neuron-items.md, made from the YAML beside it: Neuron sources, and what acts on them.

``python -m tests.knowledge.neuron_items`` writes the page.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from modelmedic.facts.strict_yaml import load

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "neuron-items.md"
MARKS = ("real", "open", "background")
VERDICTS = ("real", "cited", "wrong")
_HEAD = """# Items of the Neuron sources

Statements of the public sources on Neuron ports and runtimes, and the entries that act on them.
Made from [neuron-items.yaml](neuron-items.yaml), which names the source of each item;
`python -m tests.knowledge.neuron_items` writes it.

Two readers compared each item with its entries. *real*: the entries recognise what the item
describes, draw its conclusion and give the action. *open*: nothing acts on it yet. *background*: a
description without anything to detect. The first reader had gaps fixed before marking an item; the
reason names them. The second reader judged the items marked real: *cited* means that an entry names
the item but acts on a part of it or on something else, *wrong* that it contradicts the item or
fires where it should not. Entries cite their items under `covers`, and `diagnose kb coverage
--inventory docs/neuron-items.yaml` compares the two. `probe:NAME` is the probe that reads the
artefact.

"""


def read_items() -> list[dict[str, Any]]:
    """The items of the list, in its order."""
    path = PAGE.with_suffix(".yaml")
    items: list[dict[str, Any]] = load(path.read_text("utf-8"), path.name).data
    return items


def render(items: list[dict[str, Any]]) -> str:
    """The page: counts by area and mark, then a table for each area."""
    areas: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        areas.setdefault(item["id"].split("-")[1], []).append(item)
    lines = [_HEAD + _second_reader(items), "", *_counts(areas, items), "", *_lacking(items)]
    for name, rows in areas.items():
        lines += ["", f"## {name}", "", "| item | it says | mark | acted on by | reason |"]
        lines += ["|---|---|---|---|---|", *map(_row, rows)]
    return "\n".join(lines) + "\n"


def found_by_second(item: dict[str, Any]) -> str:
    """The verdict of the second reader, before anything was mended."""
    return str(item.get("found") or item["second"])


def _second_reader(items: list[dict[str, Any]]) -> str:
    judged = [item for item in items if "second" in item]
    before = Counter(map(found_by_second, judged))
    after = Counter(item["second"] for item in judged)
    return (
        f"Second reader: {before['real']} real, {before['cited']} only cited, {before['wrong']} "
        f"wrong before mending; {after['real']} real, {after['cited']} only cited, "
        f"{after['wrong']} wrong after."
    )


def _counts(areas: dict[str, list[dict[str, Any]]], items: list[dict[str, Any]]) -> list[str]:
    """A table of the areas: marks, then verdicts of the second reader before mending, and after."""
    verdicts = [*(f"{each} (second)" for each in VERDICTS), "real after mending"]
    names = ["area", "items", *MARKS, *verdicts]
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for name, rows in [*areas.items(), ("all", items)]:
        marks = Counter(row["mark"] for row in rows)
        judged = [row for row in rows if "second" in row]
        before = Counter(map(found_by_second, judged))
        after = sum(row["second"] == "real" for row in judged)
        cells = [name, len(rows), *(marks[m] for m in MARKS), *(before[v] for v in VERDICTS), after]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def _lacking(items: list[dict[str, Any]]) -> list[str]:
    """List what the second reader found lacking, and what was done about it."""
    lines = ["## What the second reader found", ""]
    lines += ["| item | verdict | it lacked | mended |", "|---|---|---|---|"]
    for item in items:
        if "found" in item:
            cells = (item["id"], item["found"], item["lacks"], item.get("mended", "not yet"))
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return lines


def _row(item: dict[str, Any]) -> str:
    entries = "<br>".join(name.removeprefix("neuron.") for name in item.get("entries", ()))
    cells = (item["id"], item["says"], item["mark"], entries, item["why"])
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("&lt;br>", "<br>")


if __name__ == "__main__":
    PAGE.write_text(render(read_items()), encoding="utf-8")
