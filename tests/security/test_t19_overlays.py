"""T19: an overlay cannot hide a problem without a reason, a last day, and every report saying so."""

from __future__ import annotations

import json

import pytest

OVERLAY = """
schema: modelmedic/overlay/1
name: acme
changes: [{{id: tinker.perf.slow-steps, reason: known here, until: {until}}}]
"""
HIDES = {
    "rules out": ("rules", "when: {fact: symptom, where: {name: slow-steps}}\n"
                  "    rules_out: [tinker.perf.slow-steps]"),
    "replaces": ("diagnoses", "replaces: tinker.perf.slow-steps\n    severity: info\n"
                 "    kind: symptom\n    summary: It is.\n    actions: [{do: Wait.}]"),
}  # fmt: skip


@pytest.fixture
def overlay(tmp_path):
    """Writes an overlay that hides slow steps, with the file that declares it, or without."""

    def write(how, until="2999-12-31"):
        form, body = HIDES[how]
        name = "tinker.perf.slow-steps" if how == "replaces" else "acme.rule.calm"
        text = (
            f"schema: modelmedic/{form}/1\ndomain: acme\nsources: [{{ref: us}}]\n"
            f"{form}:\n  - id: {name}\n    title: All is well\n    {body}\n"
        )
        folder = tmp_path / "acme"
        folder.mkdir(exist_ok=True)
        (folder / "entries.yaml").write_text(text)
        if until:
            (folder / "overlay.yaml").write_text(OVERLAY.format(until=until))
        return folder

    return write


@pytest.fixture
def slow(tmp_path):
    path = tmp_path / "facts.json"
    facts = [{"kind": "symptom", "name": "slow-steps"}]
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
    return path


@pytest.mark.parametrize("how", HIDES)
def test_t19_nothing_below_is_changed_without_reason_and_day(diagnose, overlay, slow, how):
    answer = diagnose("--facts", slow, "--kb", overlay(how, until=""))
    assert answer.code == 3
    assert "MM229" in answer.err
    assert "changes: [{id: tinker.perf.slow-steps" in " ".join(answer.err.split())


@pytest.mark.sweep
@pytest.mark.parametrize("format_", ["text", "json", "markdown", "html", "junit", "github"])
@pytest.mark.parametrize("how", HIDES)
def test_t19_a_changed_exit_code_is_seen_in_every_format(diagnose, overlay, slow, how, format_):
    options = ("--fail-on", "warning", "-f", format_)
    assert diagnose("--facts", slow, *options).code == 1
    answer = diagnose("--facts", slow, "--kb", overlay(how), *options)
    assert answer.code == 0
    if format_ == "json":
        effect = json.loads(answer.out)["knowledge"]["effect"]
        assert (effect["exit_code"], effect["exit_code_without"]) == (0, 1)
        assert [d["id"] for d in effect["without"]] == ["tinker.perf.slow-steps"]
    else:
        said = " ".join(answer.out.replace("\\", "").split())
        assert "exit 1 instead of 0" in said
        assert "known here" in said
    if format_ != "text":  # who reads an answer of programs by its exit code alone
        assert "exit 1 instead of 0" in answer.err


def test_t19_a_change_ends_with_its_last_day(diagnose, overlay, slow):
    folder = overlay("rules out", until="2001-01-01")
    answer = diagnose("--facts", slow, "--kb", folder, "--fail-on", "warning", "-f", "json")
    assert answer.code == 1
    assert [note["code"] for note in json.loads(answer.out)["notes"]] == ["MM351"]


def test_t19_changes_can_be_forbidden(diagnose, overlay, slow):
    options = ("--facts", slow, "--kb", overlay("rules out"), "--fail-on", "warning", "-f", "json")
    added = diagnose(*options, "--trust", "add")
    assert added.code == 1
    assert [note["code"] for note in json.loads(added.out)["notes"]] == ["MM352"]
    refused = diagnose(*options, "--trust", "none")
    assert refused.code == 2
    assert "MM353" in refused.out
