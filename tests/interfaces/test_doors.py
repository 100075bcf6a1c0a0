"""The law of doors: a text gets the same diagnoses in the same order, whatever brings it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.dialogue.dialogue import Dialogue
from modelmedic.interfaces.cli.main import main
from modelmedic.interfaces.consult.drivers import ScriptDriver
from modelmedic.interfaces.consult.input_handler import InputHandler, Sources
from modelmedic.interfaces.consult.texts import Texts
from modelmedic.interfaces.intake import ERROR_SYMPTOM
from modelmedic.interfaces.mcp.gathering import read_text

DATA = Path(__file__).with_name("doors") / "texts.jsonl"
TEXTS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
FEW = TEXTS[::40]
OTHERS = {
    "LICENSE": b"Apache License\nVersion 2.0\n",
    "a.toml": b'[tool]\nname = "x"\n',
    "data.bin": b"\0\1\2",
    "diary.txt": b"It rained all day.\n",
    "empty.txt": b"\n",
    "plot.png": b"\x89PNG\r\n\x1a\n\0",
    "points.csv": b"a,b\n1,2\n",
    "requirements.in": b"",
    "run.sh": b"python train.py\n",
    "setup.cfg": b"[metadata]\nname = x\n",
}

Diagnoses = list[str]
Run = Callable[..., Diagnoses]


@pytest.fixture
def run(compiled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs ``diagnose`` in this process; the diagnoses of its report, none if it has none."""
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))

    def run(*arguments: str, stdin: str = "") -> Diagnoses:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as end:
            main([*arguments, "-f", "json"])
        out = capsys.readouterr().out
        assert end.value.code in (0, 1, 2, 4)
        return [d["id"] for d in json.loads(out).get("diagnoses", ())]

    return run


def answers(
    text: str, run: Run, doctor: Diagnoser, folder: Path
) -> Iterator[tuple[str, Diagnoses]]:
    """The diagnoses of a text through each door."""
    yield "argument", run(text)
    yield "standard input", run("-", stdin=text)
    yield "decode", run("decode", "-", stdin=text)
    file = folder / "paste.txt"
    file.write_text(text, "utf-8")
    yield "file", run("inspect", str(file))
    for name, content in OTHERS.items():
        (folder / name).write_bytes(content)
    yield "folder", run("inspect", str(folder))
    facts = [{"kind": "error_message", "text": text}]
    noted = folder.with_suffix(".json")
    noted.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}), "utf-8")
    yield "error_message fact", run("--facts", str(noted))
    yield "consultation", told(text, doctor)
    report = read_text(doctor, {"text": text})["verdict"]["report"]
    yield "MCP", [each["id"] for each in report["diagnoses"]]


def told(text: str, doctor: Diagnoser) -> Diagnoses:
    """The diagnoses after a consultation is given a text, without the symptom from which it asks on
    about an unknown error."""
    handler = InputHandler(ScriptDriver([]), Texts(doctor.base), Sources(doctor))
    facts = handler.describe(text, Dialogue(doctor)).facts
    stated = [fact for fact in facts if fact.get("name") != ERROR_SYMPTOM]
    return [each.id for each in doctor.diagnose(stated).diagnoses]


@pytest.mark.parametrize("text", FEW, ids=lambda text: text["id"])
def test_a_text_gets_the_same_answer_everywhere(text, run, doctor, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    found = dict(answers(text["text"], run, doctor, folder))
    assert len({tuple(each) for each in found.values()}) == 1, found


@pytest.mark.deep
@pytest.mark.parametrize("text", TEXTS[::8], ids=lambda text: text["id"])
def test_an_eighth_of_all_texts(text, run, doctor, tmp_path):
    test_a_text_gets_the_same_answer_everywhere(text, run, doctor, tmp_path)


def test_these_texts_say_something(doctor):
    some = [text["text"] for text in TEXTS[::10]]
    said = [read_text(doctor, {"text": each})["verdict"]["report"]["diagnoses"] for each in some]
    assert sum(map(bool, said)) > len(some) / 5
