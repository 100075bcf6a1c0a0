"""The pages for maintainers that are made from data are those of today."""

import re

import pytest

from modelmedic.engine.compiler.source.problem_codes import problem_codes
from modelmedic.interfaces.cli.kb.reference import codes_page, fields_page


@pytest.fixture(scope="module")
def pages(root):
    """The content that each page should have."""
    zoo = root / "tests" / "knowledge" / "zoo"
    return {"reference": fields_page(), "lint": codes_page(zoo)}


@pytest.mark.parametrize("page", ["reference", "lint"])
def test_a_page_is_up_to_date(root, pages, page):
    committed = (root / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert committed.split() == pages[page].split(), "run: make pages"


def test_every_code_of_the_knowledge_is_explained(root):
    raised = set()
    for folder in ("facts", "engine", "authoring", "interfaces"):
        for path in (root / folder).rglob("*.py"):
            raised |= set(re.findall(r'"(MM2[0-9]{2})"', path.read_text(encoding="utf-8")))
    assert raised == problem_codes().keys()


def test_every_field_is_described(pages):
    rows = [line for line in pages["reference"].splitlines() if line.startswith("| ")]
    undescribed = [row for row in rows if row.endswith("|  |")]
    assert len(rows) > 100
    assert not undescribed


def test_links_of_the_pages_lead_somewhere(root):
    for page in ("tutorial", "principles", "reference", "lint", "authoring"):
        text = (root / "docs" / f"{page}.md").read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {h.lower().replace(" ", "-").replace("/", "") for h in headings}
        for target, anchor in re.findall(r"\]\(([\w./-]*\.md)?(?:#([\w-]+))?\)", text):
            if target:
                assert (root / "docs" / target).exists(), f"{page}: {target}"
            elif anchor:
                assert anchor in anchors, f"{page}: #{anchor}"
