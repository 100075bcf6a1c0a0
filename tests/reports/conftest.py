"""Shared by the tests of reports: planted secrets, a report in which every part says something, and
the formats."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from modelmedic.engine.diagnosis.report import (
    Candidate,
    Decider,
    Diagnosis,
    Evidence,
    Message,
    NextStep,
    Report,
    RuledOut,
    Unexplained,
)
from modelmedic.facts import Fact, Location, Problem, Provenance
from modelmedic.facts.redaction import Redacted, Redactor

DATA = Path(__file__).parent / "data"
_PLANTED = json.loads((DATA / "secrets.json").read_text(encoding="utf-8"))


class Secret(NamedTuple):
    """A planted secret, and a text that holds it."""

    kind: str
    value: str
    text: str


SECRETS = [
    Secret(s["kind"], value, s.get("text", "it says {} here").format(value))
    for s in _PLANTED["secrets"]
    for value in ["".join(s["parts"])]
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parameters from the data file."""
    if "secret" in metafunc.fixturenames:
        ids = [f"{n}-{s.kind}" for n, s in enumerate(SECRETS)]
        metafunc.parametrize("secret", SECRETS, ids=ids)
    if "innocent" in metafunc.fixturenames:
        metafunc.parametrize("innocent", _PLANTED["innocent"])


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def secrets() -> list[Secret]:
    """All planted secrets."""
    return SECRETS


@pytest.fixture(scope="session")
def redactor() -> Redactor:
    """A redactor of a made-up machine."""
    return Redactor(lambda: b"salt", homes=["/fsx/people/alicesmith"], hosts=["trainer-42"])


@pytest.fixture(scope="session")
def redact(redactor: Redactor) -> Callable[[Any], Redacted[Any]]:
    return redactor.redact


@pytest.fixture(scope="session")
def report_saying() -> Callable[[str], Report]:
    """A report in which every free text is the given one, framed by the name of its place."""
    return _report


@pytest.fixture(scope="session")
def places_of() -> Callable[[str], list[str]]:
    """The texts of such a report that every format for people shows."""

    def places_of(text: str) -> list[str]:
        return [f"{place}{text}{place}" for place in SHOWN]

    return places_of


SHOWN = ("title", "summary", "reason", "condition", "do", "verify", "out", "candidate", "gap",
         "step", "trouble", "error", "sign")  # fmt: skip


def _report(text: str) -> Report:
    def at(place: str) -> str:
        return f"{place}{text}{place}"

    said = Provenance("probe:logs", f"{at('file')}:12")
    facts = (
        ("f1", Fact.of("log_event", [said], event=at("event"), text=at("text"), count=3), False),
        ("f2", Fact.of("package", [Provenance("answer")], name="pydantic", version="1"), False),
        ("d1", Fact.of("diagnosis", [], name="a.b.c", holds=True), True),
    )
    how = [
        {
            "rule": "a.rule.r",
            "strength": "strong",
            "message": at("reason"),
            "because": [
                {"condition": at("condition"), "facts": ["f1"]},
                {"condition": "inner", "facts": [], "how": [
                    {"rule": "a.rule.s", "because": [{"condition": "x", "facts": ["f2"]}]}]},
            ],
        }
    ]  # fmt: skip
    action = {"do": at("do"), "command": at("command"), "verify": at("verify"), "risk": "rerun"}
    silence = {"id": "a.b.x", "reason": at("silence"), "until": "2027-01-31"}
    overlay = {"path": at("overlay"), "digest": "cd", "name": at("name"), "version": at("version"),
               "added": 1, "replaced": [{"id": "a.b.y", "by": "a.b.z"}], "expired": [silence],
               "tightened": [{"id": "a.b.x", "reason": at("tightening")}],
               "silenced": [silence]}  # fmt: skip
    found = tuple(
        Diagnosis(f"a.b.{name}", at("title"), severity, kind, confidence, at("summary"),
                  (Evidence("f1", at("evidence"), "a.rule.r", at("file")),), {"how": how},
                  (action,), (), (), name == "e", (at("packet"),))
        for name, severity, kind, confidence in (
            ("c", "error", "root-cause", "certain"), ("d", "warning", "root-cause", "possible"),
            ("e", "blocker", "user-code", "likely"), ("f", "info", "benign", "certain"))
    )  # fmt: skip
    return Report(
        {"name": "modelmedic", "version": "0"},
        {"version": "0", "digest": "ab", "overlays": [overlay]},
        facts,
        found,
        (RuledOut("a.b.g", at("out"), {"how": how}),),
        (Candidate("a.b.h", at("candidate"), (at("gap"),)),),
        (
            NextStep(
                "question", "q", at("step"), at("run"), 5, ("a.b.h",), at("why"), (at("choice"),)
            ),
        ),
        (
            Message(
                "a.row",
                at("message"),
                at("quote"),
                at("meaning"),
                at("fix"),
                "never",
                (),
                Decider(at("open"), ("a.b.h",), None),
            ),
        ),
        (Problem("MM101", at("trouble"), Location(at("path"), 3), at("hint")),),
        unexplained=(
            Unexplained("f1", at("error"), at("file"), 2, "openai", "certain", at("sign"), "a.row"),
            Unexplained("f1", at("error"), at("file"), 1, "", "", ""),
        ),
    )


@pytest.fixture(scope="session")
def visible() -> Callable[[Any], Iterator[str]]:
    """All texts in plain data."""

    def visible(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for name, part in value.items():
                yield name
                yield from visible(part)
        elif isinstance(value, list):
            for part in value:
                yield from visible(part)

    return visible


@pytest.fixture(scope="session")
def sarif_schema() -> Any:
    """The JSON Schema of SARIF 2.1.0 as OASIS published it (errata 01)."""
    return json.loads((DATA / "sarif-2.1.0.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def report_schema(root: Path) -> Any:
    """The schema that ModelMedic publishes for its own JSON."""
    path = root / "knowledge" / "schemas" / "report-1.json"
    return json.loads(path.read_text(encoding="utf-8"))
