"""``class_divergence_report.json``, and which of its components have both of their tests."""

from __future__ import annotations

from .components import normal_name
from .reading import Folder, entries, text_of
from .tests_folder import FoundTests

NAME = "class_divergence_report.json"
_CATEGORIES = {"nki_import": "nki_kernel"}


def add_divergences(folder: Folder, tests: FoundTests) -> None:
    """Add ``class_divergence`` facts, and whether every one of them is tested on both paths."""
    found = folder.json(NAME)
    # Without the tests it is unknown which classes are covered; all would count as uncovered.
    if found is None or folder.is_closed("tests"):
        return
    if not isinstance(found.get("divergences"), list):
        folder.form(NAME, "divergences should be a list", found.get("divergences"))
        return
    tested: list[bool | None] = []
    seen: set[str] = set()
    for entry in entries(found, "divergences"):
        name = text_of(entry.get("component")) if isinstance(entry, dict) else None
        if name is None:
            folder.form(NAME, "a divergence should name its component")
            continue
        if name in seen:
            continue
        seen.add(name)
        dual = tests.dual(normal_name(name)) if tests.names else None
        tested.append(dual)
        category = text_of(entry.get("pattern"))
        folder.collector.add(
            "class_divergence", folder.place(NAME), component=name,
            category=_CATEGORIES.get(category or "", category),
            cpu_class=text_of(entry.get("cpu_class")),
            device_class=text_of(entry.get("device_class")),
            source_location=text_of(entry.get("source_location")),
            detail=text_of(entry.get("recommendation")), dual_tested=dual,
        )  # fmt: skip
    if None not in tested:
        folder.collector.add("e2e_check", folder.place(NAME), check="class-divergence-tested",
                             ok=all(tested))  # fmt: skip
