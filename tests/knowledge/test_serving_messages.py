"""Readings by wording: each rule leaves out what the rules before it read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modelmedic.facts.strict_yaml import load

FILE = Path(__file__).resolve().parents[2] / "knowledge/neuron/rules/serving-messages.yaml"


def _text(rule: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = rule["when"]["all"][0]["where"]["text"]
    return found


def test_what_goes_on_is_no_error_by_its_words() -> None:
    """Words that the first rules read as a notice are left out by all others in the same way."""
    rules = load(FILE.read_text("utf-8"), FILE.name).data["rules"]
    notices = {"ignored", "goes-on", "warned"}
    others = [r["when"]["all"] for r in rules if r["id"].partition(".message-")[2] not in notices]
    left_out = [
        [each["absent"]["where"] for each in parts if _is_of_the_text(each)] for parts in others
    ]
    assert len(left_out) >= 10
    assert all(len(each) == 2 and each == left_out[0] for each in left_out)
    assert {"goes_on", "level"} == {key for each in left_out[0] for key in each} - {"text"}


def _is_of_the_text(part: dict[str, Any]) -> bool:
    return "$said" in str(part.get("absent", {}).get("where", {}).get("text", ""))


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
