"""The alphabet in what others wrote as code: a program that is watched, sources that are searched."""

import json
import re
import sys

import pytest
import yaml

FORMATS = ("text", "json", "markdown", "html", "sarif", "junit", "github")
# Says the same on both streams, and puts a record of its own beside the monitor's.
CHILD = """
import os, pathlib, shutil, sys
said = pathlib.Path("said").read_bytes()
for stream in (sys.stdout, sys.stderr):
    stream.buffer.write(said)
    stream.buffer.flush()
shutil.copy("record", os.path.join(os.environ["MODELMEDIC_WATCH"], "record.jsonl"))
sys.exit(5)
"""


def record_with(texts):
    """A record in which threads, functions and files have hostile names, and no end of use."""
    stalls = [{"event": "stall", "late": 3.0 + n, "cpu": 3.0 + n,
               "threads": [{"thread": "main", "frames": [[f"q{t}p", f"run/{t}.py", n]]}]}
              for n, t in enumerate(texts)]  # fmt: skip
    head = {"format": "modelmedic/watch/1", "pid": f"q{texts[0]}p"}
    state = {"seconds": 1e6, "count": 9, "max": 30.0, "mean": 1.0, "over_1s": 9, "sdk_count": 3,
             "sdk_max": 9.0, "ended": True}  # fmt: skip
    return "\n".join(map(json.dumps, (head, state, *stalls)))


UNSEEN = "[\x00-\x1f\x7f-\xa0\xad\u2000-\u200f\u2018-\u201f\u202a-\u202f\u205f-\u2069\u3000\ufeff]|&[a-z#0-9]+;"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_program_that_is_watched(command, alphabet, tmp_path, read_back, shown, format_):
    """Its output stays its own; our messages about it have visible escapes."""
    texts = list(alphabet.values())
    lines = [f"tinker.BillingError: Error code: 402 q{' '.join(t.split())}p" for t in texts]
    said = "\n".join([*lines, "\x1b[?1049h\x1bP\x9b\n"]).encode()
    (tmp_path / "said").write_bytes(said)
    stalled = [t for t in texts if "\\" not in t][FORMATS.index(format_) * 6 :][:12]
    (tmp_path / "record").write_text(record_with(stalled))
    answer = command("watch", "-f", format_, "--", sys.executable, "-c", CHILD, passed=said)
    assert answer.code == 5, answer.err
    found = read_back(format_, answer.out)
    for text in stalled if format_ in ("json", "markdown", "html") else ():
        assert f"q{text}p (" in found if format_ == "json" else shown(f"q{text}p (", found), text
    for line in lines if format_ in ("json", "markdown", "html") else ():
        if not re.search(UNSEEN, line):  # read without colours and marks
            message = line.partition(": ")[2]
            assert message in found if format_ == "json" else shown(message, found), line


def overlay_of(folder, texts):
    """Error rows anchored to the texts: each in another module than the one it is looked for, each
    seventh in a package that is not there."""
    folder.mkdir()
    head = {"domain": "local", "sources": [{"ref": "notes"}]}
    diagnosis = {"id": "local.jam.stuck", "title": "Stuck", "severity": "error",
                 "kind": "root-cause", "summary": "s", "actions": [{"do": "d", "verify": "v"}]}  # fmt: skip
    rows = [{"id": f"local.err.h{n}", "title": f"q{t}p", "match": {"template": f"row {n} of all"},
             "samples": [f"row {n} of all"], "near_misses": ["all is well"],
             "causes": [{"diagnosis": "local.jam.stuck"}],
             "anchors": [{"package": f"n{t}n" if n % 7 == 0 else "toy-press", "module": f"m{t}m",
                          "text": f"anchor q{t}p"}]} for n, t in enumerate(texts)]  # fmt: skip
    for form, more in (("diagnoses", {"diagnoses": [diagnosis]}),
                       ("errors", {"emitter": "press", "errors": rows})):  # fmt: skip
        plain = {"schema": f"modelmedic/{form}/1", **head, **more}
        (folder / f"{form}.yaml").write_text(yaml.safe_dump(plain, sort_keys=False))
    return folder


@pytest.fixture
def sources(tmp_path, alphabet):
    """A folder of sources: files named by the texts, which say them as literals and as they are."""
    folder = tmp_path / "tree"
    folder.mkdir()
    named = [text for text in alphabet.values() if "/" not in text]
    for text in named:
        (folder / f"f{text}f.py").write_text("X = " + ascii(f"anchor q{text}p") + "\n")
        (folder / f"raw{text}.py").write_text(f"X = '''{text}'''\n# {text}\n", encoding="utf-8")
    return folder, named


@pytest.mark.sweep
@pytest.mark.parametrize("format_", ["text", "json"])
def test_sources_that_are_searched(command, tmp_path, sources, read_back, shown, format_):
    folder, texts = sources
    overlay = overlay_of(tmp_path / "overlay", texts)
    answer = command("kb", "drift", "--kb", overlay, "--source", f"toy-press={folder}", "--all",
                     "-f", format_)  # fmt: skip
    assert answer.code == 3, answer.err
    said = read_back(format_, answer.out)
    if format_ == "json":
        found = json.loads(answer.out)["anchors"]
        ours = {a["entry"]: a for a in found if a["entry"].startswith("local.err.h")}
        assert {a["text"] for a in ours.values()} == {f"anchor q{t}p" for t in texts}
        assert {a["module"] for a in ours.values()} == {f"m{t}m" for t in texts}
        lost = [a["entry"] for a in ours.values()
                if a["state"] != "moved" and a["package"] == "toy-press"]  # fmt: skip
        assert lost == []
    for number, text in enumerate(texts):
        where = f"n{text}n" if number % 7 == 0 else f"f{text}f:1"
        for wanted in (f"anchor q{text}p", where):
            assert wanted in said if format_ == "json" else shown(wanted, said), (number, wanted)
