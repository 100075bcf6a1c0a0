"""Readings by wording: each rule leaves out what the rules before it read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modelmedic.facts.strict_yaml import load

FILE = Path(__file__).resolve().parents[2] / "knowledge/neuron/rules/serving-messages.yaml"


def _text(rule: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = rule["when"]["all"][0]["where"]["text"]
    return found


def test_each_pattern_leaves_out_those_before_it() -> None:
    rules = load(FILE.read_text("utf-8"), FILE.name).data["rules"]
    assert len(rules) >= 10
    before: list[str] = []
    for rule in rules:
        text = _text(rule)
        wanted = "|".join(before)
        left_out = text.get("not_matches", "").removeprefix("(?i)")
        # A rule may leave out more, before that.
        assert left_out == wanted or left_out.endswith(f"|{wanted}"), rule["id"]
        if "matches" in text:
            before.append(text["matches"].removeprefix("(?i)"))
