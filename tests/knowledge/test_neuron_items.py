"""The kept list of Neuron items: its entries exist, cite their items, and conclude what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.knowledge.neuron_items import MARKS, PAGE, VERDICTS, found_by_second, read_items, render

from modelmedic.authoring.references import concluded_by
from modelmedic.authoring.testing.inventory_coverage import inventory_coverage
from modelmedic.engine.compiler.build import Built
from modelmedic.engine.compiler.source.knowledge_source import KnowledgeSource

ITEMS = read_items()
REAL = [item for item in ITEMS if item["mark"] == "real"]


@pytest.fixture(scope="module")
def citations(built: Built) -> dict[str, set[str]]:
    """The items that each entry, or a part of it, cites."""
    return {item.id: set(_cited(item.entry.model_dump())) for item in built.source.items}


def _cited(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from map(str, node.get("covers") or ())
        for value in node.values():
            yield from _cited(value)
    elif isinstance(node, list):
        for value in node:
            yield from _cited(value)


def _knowledge(item: dict[str, Any]) -> list[str]:
    return [name for name in item.get("entries", ()) if not name.startswith("probe:")]


def test_every_item_has_a_mark_and_a_reason() -> None:
    assert len({item["id"] for item in ITEMS}) == len(ITEMS)
    assert {"real", "background"} <= {item["mark"] for item in ITEMS} <= set(MARKS)
    for item in ITEMS:
        assert item["why"], item["id"]
        assert (item["mark"] == "background") == (item["kind"] == "background"), item["id"]
    assert all(item["entries"] for item in REAL)
    assert not [item["id"] for item in ITEMS if item["mark"] == "open" and item.get("entries")]


def test_the_second_reader_has_judged_what_the_first_found_real() -> None:
    assert [item["id"] for item in ITEMS if "second" in item] == [item["id"] for item in REAL]
    for item in REAL:
        assert {item["second"], found_by_second(item)} <= set(VERDICTS), item["id"]
        assert (found_by_second(item) == "real") == ("lacks" not in item), item["id"]
        # Only a repair turns a verdict into another one.
        assert (item["second"] == found_by_second(item)) == ("mended" not in item), item["id"]


def test_the_entries_exist_and_cite_their_item(citations: dict[str, set[str]]) -> None:
    for item in ITEMS:
        for name in _knowledge(item):
            assert name in citations, f"{item['id']}: there is no {name}"
            assert item["id"] in citations[name], f"{name} does not cite {item['id']}"


def test_every_citation_is_in_the_list(citations: dict[str, set[str]]) -> None:
    listed = {item["id"]: set(_knowledge(item)) for item in ITEMS}
    for name, items in citations.items():
        for cited in items:
            if cited.startswith("NX-"):
                assert name in listed[cited], f"{name} cites {cited}, and the list does not say so"


def test_the_probes_exist() -> None:
    named = {
        name for item in ITEMS for name in item.get("entries", ()) if name.startswith("probe:")
    }
    folders = {path.name for path in (PAGE.parents[1] / "probes").iterdir() if path.is_dir()}
    assert named
    assert {name.removeprefix("probe:") for name in named} <= folders


def test_an_entry_of_each_item_concludes_its_diagnosis(built: Built) -> None:
    by_diagnosis = _concluding_entries(built.source)
    for item in REAL:
        wanted = item.get("diagnosis")
        if wanted is not None:
            names = set(item["entries"])
            assert wanted in names or names & by_diagnosis.get(wanted, set()), item["id"]


def test_the_list_is_an_inventory_that_is_covered(built: Built) -> None:
    found = inventory_coverage(built.source, [PAGE.with_suffix(".yaml")])
    unmarked = {item["id"] for item in ITEMS if item["mark"] == "open"} | {
        item["id"] for item in REAL if not _knowledge(item)
    }
    assert set(found.missing) == unmarked
    assert found.absent == ()


def test_the_page_is_made_from_the_list() -> None:
    assert PAGE.read_text("utf-8") == render(ITEMS), "run: python -m tests.knowledge.neuron_items"


def _concluding_entries(source: KnowledgeSource) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for item in source.items:
        for name in concluded_by(item):
            found.setdefault(name, set()).add(item.id)
    return found
