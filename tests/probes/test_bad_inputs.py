"""Every probe that reads files, over inputs that it cannot use: a coded problem names the input."""

import gzip
import json
import os
import tempfile
from pathlib import Path

import pytest

from modelmedic.probes import load_probe
from modelmedic.probes import recognition as artefacts
from modelmedic.probes.weights.probe import WeightFolders

ONE_PATH = ("logs", "checkpoint", "dataset", "metrics", "script", "transcripts", "tensors")
NAMES = (*ONE_PATH, "profile", "environment", "base", "adapter", "merged", "inspect")
TEXT = b"dear diary,\nnothing at all happened today\n"
LINES = b'{"step": 1, "loss": 2.0}\n' * 400
CONTENTS = {
    "empty": b"",
    "blank": b"\n \n",
    "binary": bytes(range(256)) * 300,
    "huge_line": b'{"a": "' + b"x" * 9_000_000,
    "nested": b"[" * 100_000,
    "cut_gzip": gzip.compress(os.urandom(3000))[:900],
    "text": TEXT,
}
# A probe that reads any text may find nothing wrong with one: rows of data, steps of a run.
FINE = {("dataset", "text"), ("dataset", "nested"), ("dataset", "blank")}


def outcome_of(name, path, vocabulary):
    """Facts and problems of one probe over one path."""
    if name == "inspect":
        units, problems = artefacts.find_units([path], vocabulary)
        outcomes = [artefacts.gather_unit(unit, vocabulary) for unit in units]
        return [f for o in outcomes for f in o.facts], [
            *problems, *(p for o in outcomes for p in o.problems)]  # fmt: skip
    if name in ONE_PATH:
        found = load_probe(name)(path, vocabulary)
    elif name == "profile":
        found = load_probe(name)([path], vocabulary)
    elif name == "environment":
        found = load_probe(name)(vocabulary, freeze=path)
    else:
        found = load_probe("weights")(WeightFolders(**{name: path}), vocabulary)
    return found.facts, found.problems


def check(name, path, vocabulary):
    facts, problems = outcome_of(name, path, vocabulary)
    assert problems, "nothing is said of the input"
    assert all(p.code.startswith("MM4") or p.code.startswith("MM5") for p in problems)
    assert any(str(path) in str(p.where) for p in problems), "the input is not named"
    assert not [f for f in facts if f.kind not in ("dataset_problem", "merge", "env_var")]


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("name", NAMES)
def test_contents_that_cannot_be_used(name, content, tmp_path, vocabulary):
    if (name, content) in FINE:
        pytest.skip("this is a row of data with a fault, not a bad input")
    path = tmp_path / "given"
    path.write_bytes(CONTENTS[content])
    check(name, path, vocabulary)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_file(name, tmp_path, vocabulary):
    check(name, tmp_path / "nowhere", vocabulary)
    os.mkfifo(tmp_path / "pipe")
    check(name, tmp_path / "pipe", vocabulary)


def test_what_may_not_be_read(vocabulary):
    """Read as an ordinary user, also if the tests run as root: a child gives its rights up."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    secret, closed = folder / "secret", folder / "closed"
    secret.write_bytes(LINES)
    closed.mkdir()
    (closed / "metrics.jsonl").write_bytes(LINES)
    for name in NAMES:  # loads what the child could not
        outcome_of(name, folder / "nowhere", vocabulary)
    for path in (secret, closed):
        path.chmod(0)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        failed = []
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            for name in NAMES:
                for path in (secret, closed):
                    try:
                        check(name, path, vocabulary)
                    except BaseException as error:  # told to the parent
                        failed.append(f"{name} {path.name}: {type(error).__name__}: {error}")
        finally:
            os.write(send, json.dumps(failed).encode())
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as told:
        failed = json.loads(told.read())
    os.waitpid(child, 0)
    assert failed == []
