"""Reports as a notebook, and rich, show them."""

import io
import json
import subprocess
import sys
from typing import Any

import html5lib
import pytest
import rich.console
from markdown_it import MarkdownIt

from modelmedic.engine import Report, diagnose
from modelmedic.facts import ModelMedicError
from modelmedic.interfaces.reports.safe_text import safe

PYDANTIC = "tinker.env.pydantic-prerelease-serialization"
KEY = "tml" + "-" + "Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"
FACTS: list[dict[str, Any]] = [
    {"kind": "package", "name": "pydantic", "version": "2.13.0b2"},
    {"kind": "package", "name": "tinker", "version": "0.16.1"},
    {"kind": "timing_summary", "operation": "forward_backward", "submit_s": 40.0},
]
TITLE = "Pre-release pydantic 2.13 makes serialization slow"
FORMS = ("text/plain", "text/html", "text/markdown")


@pytest.fixture(scope="module")
def report(compiled):
    return diagnose(FACTS, cache=compiled)


def test_plain_data_and_facts_give_the_same(report, compiled, doctor):
    made = [doctor.base.vocabulary.fact(**item) for item in FACTS]
    assert isinstance(report, Report)
    mixed = diagnose([made[0], *FACTS[1:]], cache=compiled)
    assert [d.id for d in mixed.diagnoses] == [d.id for d in report.diagnoses]
    assert report.diagnoses[0].id == PYDANTIC
    assert doctor.diagnose(made).diagnoses[0].id == PYDANTIC


def test_a_wrong_fact_says_which_it_is(compiled):
    with pytest.raises(ModelMedicError) as caught:
        diagnose([FACTS[0], {"kind": "pakage"}], cache=compiled)
    (problem,) = caught.value.problems
    assert problem.code == "MM112" and "facts[1]" in str(problem.where)


@pytest.mark.parametrize("form", FORMS)
def test_a_cell_shows_the_verdict(report, form):
    text = report._repr_mimebundle_()[form]
    assert TITLE in text
    assert "pip install --upgrade" in text
    assert "Report(" not in text and "--why" not in text
    assert text.count(TITLE) == 1
    assert len(text) < 8_000


def test_the_html_is_a_fragment_that_loads_and_runs_nothing(report):
    page = report._repr_html_()
    assert page == report._repr_mimebundle_()["text/html"]
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parseFragment(page)
    names = {element.tag for element in tree.iter() if isinstance(element.tag, str)}
    assert not names & {"script", "iframe", "img", "link", "object", "body", "html", "a"}
    assert not [e for e in tree.iter() if any(a.startswith("on") for a in e.attrib)]
    assert "http" not in page


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "\x1b[2J\u202e", "**x** [y](z)"])
def test_texts_of_facts_are_texts(compiled, hostile):
    message = {"kind": "error_message", "text": f"ValueError: {hostile} {KEY}"}
    shown = diagnose([message], cache=compiled)
    bundle = shown._repr_mimebundle_()
    for text in bundle.values():
        assert KEY not in text and "\x1b" not in text and "\u202e" not in text
    fragment = html5lib.parseFragment(bundle["text/html"], namespaceHTMLElements=False)
    assert safe(hostile) in "".join(fragment.itertext())
    assert not fragment.findall(".//script")
    tokens = MarkdownIt().parse(bundle["text/markdown"])
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert not kinds & {"link_open", "html_inline", "image"}
    assert "html_block" not in {token.type for token in tokens}


def test_rich_prints_it(report):
    target = io.StringIO()
    console = rich.console.Console(file=target, width=60, force_terminal=True)
    console.print(report)
    lines = rich.console.Console(file=io.StringIO(), width=60)
    lines.print(report)
    plain = lines.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[1;31m" in target.getvalue()
    assert TITLE in " ".join(plain.split())
    assert max(map(len, plain.splitlines())) <= 60


def test_markup_of_rich_in_a_fact_is_text(compiled):
    message = {"kind": "error_message", "text": "ValueError: [bold red]x[/] [/nope]"}
    console = rich.console.Console(file=io.StringIO(), width=200)
    console.print(diagnose([message], cache=compiled))
    assert "[bold red]x[/] [/nope]" in console.file.getvalue()  # type: ignore[attr-defined]


def test_ipython_chooses_the_forms(report):
    formatters = pytest.importorskip("IPython.core.formatters")
    found, _ = formatters.DisplayFormatter().format(report)
    assert {*FORMS} <= {*found}
    assert found["text/plain"] == report._repr_mimebundle_()["text/plain"]
    nbformat = pytest.importorskip("nbformat.v4")
    cell = nbformat.new_code_cell("diagnose(facts)")
    cell.outputs = [nbformat.new_output("execute_result", data=found, execution_count=1)]
    nbformat.nbformat = 4
    book = nbformat.new_notebook(cells=[cell])
    __import__("nbformat").validate(book)


PROGRAM = """
import json, sys
from modelmedic.engine import diagnose
report = diagnose(json.loads(sys.argv[1]), cache=sys.argv[2])
ours = sorted(name for name in sys.modules if name.startswith("modelmedic.interfaces"))
if sys.argv[3] == "alone":
    sys.modules["modelmedic.interfaces"] = None
print(json.dumps([ours, sorted(report._repr_mimebundle_()), report._repr_html_() is None]))
"""


@pytest.mark.parametrize(("how", "forms"), [("with", sorted(FORMS)), ("alone", [])])
def test_the_engine_loads_no_interface_until_something_is_shown(compiled, root, how, forms):
    """And shows its plain self where there is none."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(FACTS), str(compiled), how],
        env={"PYTHONPATH": str(root / ".typing"), "HOME": str(root)},
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == [[], forms, how == "alone"]
