"""Checkpoints with their expiry, as the CLI prints them in JSON. The files below ``data`` are
printed by the CLI of SDK 0.8.1, which tells no expiry, and of 0.38.0, from checkpoints made
here."""

import json
import os
from pathlib import Path

import pytest

from modelmedic.probes.checkpoint.probe import gather_checkpoint
from modelmedic.probes.recognition import Table

WRITTEN = 1_770_000_000  # 2026-02-02


def entry(name, expires=None, kind="training"):
    return {
        "checkpoint_id": name, "checkpoint_type": kind, "time": "2026-01-02 03:04:05+00:00",
        "tinker_path": f"tinker://run-1/{name}", "size_bytes": 123456, "public": False,
        "user_metadata": None, "expires_at": expires,
    }  # fmt: skip


FORMS: dict[str, object] = {
    "list": {"checkpoints": [entry("weights/a", "2026-01-09 00:00:00+00:00"), entry("weights/b")]},
    "info": entry("weights/a", "2026-01-09T00:00:00Z"),
    "runs": {"runs": [{"training_run_id": "run-1", "base_model": "Qwen/Qwen3-8B",
                       "last_checkpoint": entry("weights/a", "2026-01-09 00:00:00+00:00"),
                       "last_sampler_checkpoint": entry("sampler_weights/c", "2027-01-01")}]},
}  # fmt: skip
EXPECTED: dict[str, list[tuple[str, str, bool | None]]] = {
    "list": [("weights/a", "state", True), ("weights/b", "state", None)],
    "info": [("weights/a", "state", True)],
    "runs": [("weights/a", "state", True), ("sampler_weights/c", "sampler", False)],
}


def written(tmp_path, text):
    path = tmp_path / "out.json"
    path.write_text(text)
    os.utime(path, (WRITTEN, WRITTEN))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_checkpoints_and_their_expiry(form, vocabulary, tmp_path):
    path = written(tmp_path, json.dumps(FORMS[form], indent=2))
    artefact = Table(vocabulary).of_file(path, path.read_bytes())
    assert artefact is not None and artefact.probe == "checkpoint"
    facts = gather_checkpoint(path, vocabulary).facts
    found = [(f.get("path"), f.get("type"), f.get("expired")) for f in facts]
    assert found == [(f"tinker://run-1/{n}", kind, gone) for n, kind, gone in EXPECTED[form]]


@pytest.mark.parametrize("text", ['{"tinker_path": [', '{"checkpoints": [{"tinker_path": 5}, 7]}',
                                  '{"a": ' * 5_000 + '"tinker_path"'])  # fmt: skip
def test_broken_output_is_a_problem(text, vocabulary, tmp_path):
    outcome = gather_checkpoint(written(tmp_path, text), vocabulary)
    assert not outcome.facts
    assert {p.code for p in outcome.problems} <= {"MM441", "MM477"} and outcome.problems


def test_a_long_list_is_shortened(vocabulary, tmp_path):
    rows = [entry(f"weights/{n}") for n in range(300)]
    outcome = gather_checkpoint(written(tmp_path, json.dumps({"checkpoints": rows})), vocabulary)
    assert len(outcome.facts) == 200
    assert [p.code for p in outcome.problems] == ["MM476"]


@pytest.mark.parametrize(
    "file, expected",
    [
        ("checkpoint-list.json", EXPECTED["list"]),
        ("run-list.json", EXPECTED["runs"]),
        ("run-info.json", EXPECTED["runs"]),
    ],
)
@pytest.mark.parametrize("release", ["tinker-0.8", "tinker-0.38"])
def test_real_files(release, file, expected, vocabulary, tmp_path):
    raw = (Path(__file__).with_name("data") / release / file).read_bytes()
    path = written(tmp_path, raw.decode())
    found = Table(vocabulary).of_file(path, raw)
    assert found is not None and found.name == "checkpoints"
    outcome = gather_checkpoint(path, vocabulary)
    told = [
        (str(f.get("path")).removeprefix("tinker://run-1/"), f.get("type"), f.get("expired"))
        for f in outcome.facts
    ]
    knows = release != "tinker-0.8"
    assert told == [(name, kind, ended if knows else None) for name, kind, ended in expected]
    assert not outcome.problems
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(raw[: int(len(raw) * share)])
        assert {p.code for p in gather_checkpoint(path, vocabulary).problems} <= {"MM441", "MM477"}
