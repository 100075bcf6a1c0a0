"""The verdict on one screen: for every story, its size; for forty of them, the very text.

``python tests/reports/test_screens.py`` writes the kept screens again: read what changes.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Provenance
from modelmedic.facts.strict_yaml import load
from modelmedic.interfaces.reports.formats import Document
from modelmedic.interfaces.reports.formats.text import report_text
from modelmedic.interfaces.reports.layout import text_of
from modelmedic.interfaces.reports.output_guard import redacted
from modelmedic.interfaces.reports.verdict.stage_runs import COMMANDS
from modelmedic.interfaces.reports.view import view_of

ROOT = Path(__file__).resolve().parents[2]
SCREENS = Path(__file__).resolve().parent / "screens"
EACH, MORE = 3, (2, 10, 16, 22, 41, 43, 47, 50, 65, 70, 74, 79)
WIDTH = 80
LIMITS = {1: 24, 2: 32, 3: 40}
GAPS = re.compile(r"(?:^| )\?(?: |$|[,.;])|\{[a-z_]+\.[a-z_]+\}")
ENGINE_WORDS = re.compile(
    r"\b(tinker|neuron)\.(rule|class|tree|err)\.|this rule applies|\(\?s\)|\bf\d+:"
)


def stories() -> dict[str, list[dict[str, Any]]]:
    """The facts of every story, by a name that can be that of a file."""
    found = {}
    for path in sorted(ROOT.glob("knowledge/*/stories/*.test.yaml")):
        for case in load(path.read_text(encoding="utf-8"), str(path)).data["cases"]:
            if case["kind"] == "story":
                found[re.sub(r"[^a-z0-9]+", "-", case["name"].lower()).strip("-")] = case["facts"]
    return found


STORIES = stories()


def kept() -> list[str]:
    return [name for n, name in enumerate(sorted(STORIES)) if n % EACH == 0 or n in MORE]


def screen(doctor: Diagnoser, name: str) -> tuple[str, int]:
    """The text, and how many causes it names."""
    vocabulary = doctor.base.vocabulary
    facts = [vocabulary.trusted(item, Provenance("file", "facts.json")) for item in STORIES[name]]
    report = doctor.diagnose(facts)
    document = Document(report, command="diagnose --facts facts.json")
    lines = redacted(document).map(lambda d: list(report_text(redacted(d))))
    return text_of(lines, WIDTH), len(view_of(report).causes)


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Diagnoser.load()


def test_there_are_forty() -> None:
    assert len(kept()) >= 40
    assert sorted(path.stem for path in SCREENS.glob("*.txt")) == kept()


@pytest.mark.parametrize("name", kept())
def test_the_screen_is_the_kept_one(name: str, doctor: Diagnoser) -> None:
    assert screen(doctor, name)[0] == (SCREENS / f"{name}.txt").read_text(encoding="utf-8")


def test_every_story_fits_and_speaks_plainly(doctor: Diagnoser) -> None:
    long, odd = {}, {}
    for name in STORIES:
        text, causes = screen(doctor, name)
        size = len(text.splitlines())
        if size > LIMITS.get(max(causes, 1), 44):
            long[name] = (size, causes)
        if found := ENGINE_WORDS.search(text.partition("More: ")[0]):
            odd[name] = found[0]
    assert (long, odd) == ({}, {})


SCRIPT = "diagnose probe script train.py"
OPEN: list[dict[str, Any]] = [
    {"kind": "timing_summary", "operation": "step", "gap_share": 0.45},
    {"kind": "code_pattern", "pattern": "custom-training-loop"},
]
"""Gaps between calls, and a script that was read in part."""


@pytest.mark.parametrize(
    ("given", "reads"),
    [
        ("diagnose --facts a.json", f"{SCRIPT} -f json | diagnose --facts a.json --facts -"),
        ("diagnose inspect run/ b.log", "diagnose inspect run/ b.log train.py"),
        ("diagnose my steps are slow", "diagnose inspect train.py"),
        ("", "diagnose inspect train.py"),
    ],
)
def test_what_is_read_in_addition_is_diagnosed_with_what_was_given(
    given: str, reads: str, doctor: Diagnoser
) -> None:
    facts = [doctor.base.vocabulary.trusted(item, Provenance("file", "a.json")) for item in OPEN]
    document = redacted(Document(doctor.diagnose(facts), command=given))
    text = text_of(document.map(lambda _: list(report_text(document))), WIDTH)
    assert f"$ {reads}\n" in re.sub(r" \\\n +", " ", text)
    assert "Suspected: API calls are not pipelined." in text
    told = re.sub(r"\n +", " ", text)
    assert "if the report then has 'API calls are not pipelined' as a problem, it is the" in told


EVERY = 12
"""One in so many cases of the knowledge is looked at: about 100."""
UNFILLED = re.compile(
    r"(?<![$\w{])COMPONENT\b(?! by\b)|patch_COMPONENT|\((?:so|other|)\)(?<!\w\(\))|\(, | ,\)|"
    r"\{[a-z_]{1,30}\.[a-z_]{1,30}\}",
    re.MULTILINE,
)
STANDS_FOR = re.compile(r"(?<![\w${./'\"=-])([A-Z]{2,20}(?:_[A-Z]{2,20}){0,3})(?![\w=.-])")
"""A word of capitals that begins no assignment and no path."""
KNOWN = {
    "EOF",
    "NXD_CPU_MODE",
    "NEURON_HW_ERR",
    "NEURON_RT_",
    "FATAL",
    "ERROR",
    "RANDOM",
    "XLA",
    "GOOD_CAUSAL",
    "GOOD_CONFIG",
}
"""Words of capitals that programs print and read."""


def cases() -> list[tuple[str, list[dict[str, Any]]]]:
    """The facts of some cases of both domains, by file and name."""
    found = [
        (f"{path.stem}: {case['name']}", case["facts"])
        for path in sorted(ROOT.glob("knowledge/*/*/*.test.yaml"))
        for case in load(path.read_text(encoding="utf-8"), str(path)).data["cases"]
        if case["kind"] == "fires"
    ]
    return found[::EVERY]


def test_other_cases_hold_the_same_standard(doctor: Diagnoser) -> None:
    """They fit, nothing is said twice, nothing is left unfilled, and there is something to do."""
    vocabulary = doctor.base.vocabulary
    wrong = []
    tried = cases()
    for name, facts in tried:
        given = [vocabulary.trusted(item, Provenance("file", "facts.json")) for item in facts]
        report = doctor.diagnose(given)
        document = redacted(Document(report, command="diagnose --facts facts.json"))
        lines = document.map(lambda _: list(report_text(document))).value  # noqa: B023
        text, causes = text_of(redacted(lines), WIDTH), len(view_of(report).causes)
        said = [
            line.text for line in lines
            if line.text and line.text[-1] != ":" and not line.keep and line.mark[:2] != "=>"
        ]  # fmt: skip
        wide = [line for line in text.splitlines() if len(line) > WIDTH and "://" not in line]
        wrong += [(name, "long")] * (len(text.splitlines()) > LIMITS.get(max(causes, 1), 44))
        wrong += [(name, line) for line in wide]
        wrong += [(name, each) for each in said if said.count(each) > 1 and len(each) > 25]
        wrong += [(name, each) for each in said if GAPS.search(each)]
        if causes and not re.search(r"^ *(Do|Do first|This decides): ", text, re.MULTILINE):
            wrong.append((name, "nothing to do"))
    assert len(tried) >= 60
    assert not wrong


def test_the_commands_of_stages_are_those_of_the_knowledge() -> None:
    texts = (path.read_text("utf-8") for path in ROOT.glob("knowledge/neuron/diagnoses/*.yaml"))
    known = " ".join(" ".join(texts).split())
    assert len(COMMANDS) >= 3
    assert [number for number, command in COMMANDS.items() if command not in known] == []


def unfilled(text: str) -> str:
    """A placeholder that is not explained; commands may hold those that the screen explains."""
    said: list[str] = []
    commands: list[str] = []
    open_ = False
    for line in text.splitlines():
        begun = line.lstrip().startswith("$ ")
        (commands if begun or open_ else said).append(line)
        open_ = (begun or open_) and line.endswith("\\")
    rest = "\n".join(said)
    if found := UNFILLED.search(rest):
        return found[0]
    for word in STANDS_FOR.findall("\n".join(commands)):
        if word not in KNOWN and not re.search(rf"(?<![\w$]){word}(?!\w)", rest):
            return str(word)
    return ""


def unread(text: str) -> str:
    """A block of code that Python cannot read as the screen shows it."""
    for block in re.findall(
        r"^ *In Python, .*\n((?: {4,}.*\n|\n)*?)(?=^ {0,3}\S)", text, re.MULTILINE
    ):
        code = textwrap.dedent(block)
        try:
            ast.parse(code)
        except SyntaxError:
            if "# ... (-v)" not in code:
                return code
    return ""


def test_it_sees_what_python_does_not_read() -> None:
    block = "  In Python, names as in your code:\n    {}\n  Worked if: x\n"
    assert unread(block.format("f(a=1, ...)"))
    assert not unread(block.format("f(..., a=1)"))


def test_it_sees_what_is_unfilled() -> None:
    assert unfilled("  Do: write patch_COMPONENT.py") == "patch_COMPONENT"
    assert unfilled("  one change (so) helps") == "(so)"
    assert unfilled("    $ diagnose probe script FOLDER") == "FOLDER"
    assert not unfilled("    $ diagnose probe script FOLDER\n  Replace: FOLDER by the folder")
    assert not unfilled("  call result() of $COMPONENT")


DANGLING = re.compile(r"\b(?:named|told) (?:above|below)\b|\blines above\b|\bnamed keyword\b")
VARIABLE = re.compile(r"\$\{?([A-Z][A-Z_]{1,30})\b")
EXPLAINED = frozenset(["EXP_DIR", "SCRIPTS_DIR", "SOURCE_MODEL_PATH", "TARGET_MODELING_FILE"])


WITH_COMMAND = re.compile(r"^ *(?:\$ |In Python|In the config|Add to the command)", re.MULTILINE)
BY_HAND = (
    "neuron.serving.tracing-limit", "tinker.auth.api-key-missing", "tinker.hyperparams.lr-off",
    "tinker.issue.", "tinker.usage.argument-value", "tinker.usage.silently-ignored",
    "tinker.usage.unknown-argument", "tinker.usage.missing-method",
    "neuron.distribution.calibration", "neuron.scaffold.stage-order",
)  # fmt: skip
"""Diagnoses that need something read or edited first, as the screen says."""


def unclear(text: str, causes: int, problems: bool) -> str:
    """The first thing that a reader stumbles over who sees nothing but this screen."""
    told = re.sub(r"\n +", " ", text).partition("More: ")[0]
    if problems and not re.search(r"This decides: |Worked if: ", told):
        return "no outcome"
    if problems and not WITH_COMMAND.search(text) and "To hand over: " not in told:
        return "" if any(each in text for each in BY_HAND) else "no command"
    if found := DANGLING.search(told):
        return found[0]
    if causes < 2 and re.search(r"^ *(?:Next|Or): +[A-Z][^?\n]{20,}\n +\$ ", text, re.MULTILINE):
        return "a reading without what its outcomes mean"
    replaced = " ".join(re.findall(r"Replace: (.*)", told))
    for name in VARIABLE.findall(told) if problems and causes < 2 else ():
        if name in EXPLAINED and name not in replaced and f"{name}: " not in told:
            return str(name)
    return ""


def test_it_sees_what_is_unclear() -> None:
    assert unclear("[error] A\n  Do: Look.\n", 1, True) == "no outcome"
    step = "[error] A\n  Do: Look. This decides: if a, b; if c, d.\n"
    assert unclear(step, 1, True) == "no command"
    assert unclear(f"{step}    $ ls\n", 1, True) == ""
    assert unclear("  Do: Repair the entry named above.\n", 1, False) == "named above"
    todo = "  Do: ls $EXP_DIR.\n    $ ls\n  Worked if: It is 0.\n"
    assert unclear(todo, 1, True) == "EXP_DIR"
    assert not unclear(f"{todo}  Replace: $EXP_DIR by your folder\n", 1, True)


@pytest.mark.deep
def test_no_screen_of_any_case_is_left_unfilled(doctor: Diagnoser) -> None:
    """All cases: what stands for a value is filled in, or the screen says what to put there; code
    can be pasted; and it is said what outcomes mean."""
    vocabulary = doctor.base.vocabulary
    wrong, tried = [], 0
    for path in sorted(ROOT.glob("knowledge/*/*/*.test.yaml")):
        for case in load(path.read_text(encoding="utf-8"), str(path)).data["cases"]:
            if case["kind"] not in ("fires", "story"):
                continue
            given = [vocabulary.trusted(i, Provenance("file", "facts.json")) for i in case["facts"]]
            report = doctor.diagnose(given)
            document = redacted(Document(report, command="diagnose"))
            lines = document.map(lambda _: list(report_text(document)))  # noqa: B023
            tried += 1
            text, causes = text_of(lines, WIDTH), len(view_of(report).causes)
            problems = any(d.kind != "benign" and not d.accepted for d in report.diagnoses)
            if found := unfilled(text) or unread(text) or unclear(text, causes, problems):
                wrong.append((path.stem, case["name"], found))
            if len(text.splitlines()) > LIMITS.get(max(causes, 1), 44):
                wrong.append((path.stem, case["name"], "long"))
    assert tried > 1000
    assert not wrong


@pytest.mark.parametrize(
    ("facts", "check"),
    [
        (  # the step of the suspect
            [{"kind": "call_timing", "operation": "forward_backward", "pending_s": 240,
              "server_done": True}],
            "Worked if: Each of the next 10 steps waits less than 30 s",
        ),
        (  # the reading that tells
            [{"kind": "component_result", "component": "attn", "r_ratio": 40, "status": "fail"}],
            "Worked if: The r_ratio of attn in results/stage2.json is below 1.2.",
        ),
    ],
)  # fmt: skip
def test_a_step_that_decides_ends_when_the_complaint_does(
    facts: list[dict[str, Any]], check: str, doctor: Diagnoser
) -> None:
    text = verdict_of(facts, doctor)
    assert "Suspected: " in text
    assert check in text


def test_a_heading_counts_no_lead_that_is_nowhere(doctor: Diagnoser) -> None:
    facts = [
        {"kind": "e2e_result", "metric": "r_ratio_p95", "value": 1.9},
        {"kind": "component_result", "component": "attn", "r_ratio": 1.5},
    ]
    text = verdict_of(facts, doctor)
    assert "Leads (weaker)" not in text
    assert ", and 1 lead (`-v`)." in text


def verdict_of(facts: list[dict[str, Any]], doctor: Diagnoser) -> str:
    vocabulary = doctor.base.vocabulary
    known = [vocabulary.trusted(item, Provenance("file", "facts.json")) for item in facts]
    document = Document(doctor.diagnose(known), command="diagnose --facts facts.json")
    return text_of(redacted(document).map(lambda d: list(report_text(redacted(d)))), WIDTH)


if __name__ == "__main__":
    SCREENS.mkdir(exist_ok=True)
    for old in SCREENS.glob("*.txt"):
        old.unlink()
    found = Diagnoser.load()
    for each in kept():
        (SCREENS / f"{each}.txt").write_text(screen(found, each)[0], encoding="utf-8")
