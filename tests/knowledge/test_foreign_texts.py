"""Errors of other software are never firmly taken for those of Tinker or Neuron; corpora/README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.probes.messages.probe import read_messages

CORPORA = Path(__file__).resolve().parent / "corpora"


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Diagnoser.load()


def texts(name: str) -> list[dict[str, Any]]:
    lines = (CORPORA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("name", "least"),
    [("foreign", 300), ("neuron_unrelated", 40), ("neuron_near", 60), ("healthy", 40)],
)
def test_nothing_firm_is_said(name: str, least: int, doctor: Diagnoser) -> None:
    found = texts(name)
    firm = {}
    for each in found:
        outcome = read_messages(each["text"], doctor.base.vocabulary)
        report = doctor.diagnose(outcome.facts, outcome.problems)
        said = [d.id for d in report.diagnoses if d.kind != "benign" and d.confidence != "possible"]
        if set(said) - set(each.get("right", ())):
            firm[each["id"]] = said
        assert not [
            d.id for d in report.diagnoses if d.severity == "blocker" and d.id not in said
        ], each["id"]
    assert len(found) >= least
    assert firm == {}


def test_what_is_foreign_is_named(doctor: Diagnoser) -> None:
    """If a text carries a sign, most owners are known, and none of them is ours."""
    signed = [t for t in texts("foreign") if t["note"].startswith("sign=") and
              not t["note"].startswith(("sign=none", "sign=weak"))]  # fmt: skip
    named, ours = 0, []
    for each in signed:
        facts = read_messages(each["text"], doctor.base.vocabulary).facts
        owners = {str(f.get("owner")) for f in facts if f.get("owner")}
        named += bool(owners)
        if owners & {"tinker", "tinker_cookbook", "nxd_inference", "neuron_runtime"}:
            ours.append((each["id"], owners))
    assert ours == []
    assert named >= 0.6 * len(signed), (named, len(signed))
