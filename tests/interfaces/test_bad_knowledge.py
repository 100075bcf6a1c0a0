"""Knowledge that is refused: exit code 3, every problem with its place, no diagnosis.

The texts of knowledge files are in ``cases/bad_knowledge.yaml``. One run reports all of them, since
a bad file costs that file only.
"""

import os
from pathlib import Path

import pytest
import yaml

CASES = yaml.safe_load(Path(__file__).with_name("cases").joinpath("bad_knowledge.yaml").read_text())
# Problems that pydantic finds with a value are advice by themselves.
SPEAKS_FOR_ITSELF = {"bad-id"}

RULE = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: "local notes"}]
rules:
  - id: local.rule.hang
    title: A hang that somebody reports
    when: {fact: symptom, where: {name: hang}}
    conclude: [{diagnosis: local.perf.hang, strength: strong}]
"""
DIAGNOSIS = """
schema: modelmedic/diagnoses/1
domain: local
sources: [{ref: "local notes"}]
diagnoses:
  - id: local.perf.hang
    title: The local scheduler holds the job
    severity: error
    kind: root-cause
    summary: The job stands still because the local scheduler holds it.
    actions: [{do: Release the job., command: scontrol release JOB}]
"""
VOCABULARY = """
schema: modelmedic/vocabulary/1
kinds:
  local_queue:
    description: A queue of the local scheduler.
    key: [name]
    attributes:
      name: {type: string, required: true, description: Its name.}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An overlay that holds every bad file."""
    folder = tmp_path_factory.mktemp("bad") / "overlay"
    folder.mkdir()
    for case in CASES:
        (folder / f"{case['name']}.yaml").write_text(case["text"])
    return folder


@pytest.fixture(scope="module")
def errors(on_small, folder, slow_steps):
    answer = on_small("--facts", slow_steps, "--kb", folder, "--format", "json")
    assert (answer.code, answer.err) == (3, "")
    report = answer.json
    assert (report["status"], report["diagnoses"]) == ("error", [])
    return report["errors"]


@pytest.fixture(scope="module")
def text(on_small, folder, slow_steps):
    answer = on_small("--facts", slow_steps, "--kb", folder, "--all")
    assert (answer.code, answer.out) == (3, "")
    return " ".join(answer.err.split())


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_bad_knowledge_file_is_refused(errors, text, case):
    place = f"overlay/{case['name']}.yaml:{case['at']}"
    found = [e for e in errors if e["where"] == place and e["code"] == case["code"]]
    assert found, [e for e in errors if f"/{case['name']}.yaml" in e["where"]]
    (error,) = found
    assert case["says"] in error["message"]
    assert error["hint"] or case["name"] in SPEAKS_FOR_ITSELF
    said = f"{error['code']} {place}: {error['message']}"
    assert " ".join((said + (f" -> {error['hint']}" if error["hint"] else "")).split()) in text


def test_only_the_bad_files_are_named(errors):
    assert {e["where"].split(":")[0] for e in errors} == {
        f"overlay/{case['name']}.yaml" for case in CASES
    }


@pytest.fixture
def overlay(tmp_path):
    """Writes an overlay folder from file names and texts."""

    def overlay(**files):
        folder = tmp_path / "overlay"
        for name, content in files.items():
            path = folder / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return overlay


def test_good_knowledge_is_added(diagnose, overlay, facts_file):
    folder = overlay(rules__hang=RULE, diagnoses=DIAGNOSIS)
    facts = facts_file({"kind": "symptom", "name": "hang"})
    answer = diagnose("--facts", facts, "--kb", folder, "-f", "json")
    assert answer.code == 1, answer.err
    assert [o["path"] for o in answer.json["knowledge"]["overlays"]] == [str(folder)]
    assert "local.perf.hang" in {d["id"] for d in answer.json["diagnoses"]}
    without = diagnose("--facts", facts, "-f", "json").json
    assert "local.perf.hang" not in {d["id"] for d in without["diagnoses"]}
    assert without["knowledge"]["digest"] != answer.json["knowledge"]["digest"]


@pytest.mark.parametrize("format_", ["text", "json"])
def test_one_unknown_diagnosis_is_enough(on_small, overlay, slow_steps, format_):
    answer = on_small("--facts", slow_steps, "--kb", overlay(rule=RULE), "-f", format_)
    assert answer.code == 3
    if format_ == "text":
        assert (answer.out, answer.err[:31]) == ("", "MM240 overlay/rule.yaml:9:28: l")
    else:
        (error,) = answer.json["errors"]
        assert (error["code"], error["where"]) == ("MM240", "overlay/rule.yaml:9:28")


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "tinker.perf.hang"),
        ("decode", "some error"),
        ("why-not", "tinker.perf.hang"),
        ("facts",),
        ("kb", "list"),
        ("kb", "lint"),
    ],
    ids=" ".join,
)
def test_every_command_refuses_it(on_small, overlay, arguments):
    answer = on_small(*arguments, "--kb", overlay(rule=RULE))
    assert answer.code == 3
    assert "MM240" in answer.out + answer.err


def test_a_missing_overlay(on_small, slow_steps, tmp_path):
    answer = on_small("--facts", slow_steps, "--kb", tmp_path / "none")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith(f"MM200 {tmp_path / 'none'}: this is not a folder\n")
    assert "-> name a folder" in answer.err


def test_an_overlay_that_is_a_file(on_small, slow_steps):
    answer = on_small("--facts", slow_steps, "--kb", slow_steps, "-f", "json")
    assert answer.code == 3
    assert [e["code"] for e in answer.json["errors"]] == ["MM200"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff\xfe\x00", "MM200"),
        (b"a: " + b"[" * 1000, "MM201"),
        (b"# \x01\n", "MM202"),
        (b"a: " + b"x" * 8_000_001, "MM201"),
    ],
    ids=["not UTF-8", "deep", "control character", "huge"],
)
def test_what_no_text_file_holds(on_small, overlay, slow_steps, content, code):
    folder = overlay(broken=content)
    answer = on_small("--facts", slow_steps, "--kb", folder, "-f", "json")
    assert answer.code == 3
    (error,) = answer.json["errors"]
    assert error["code"] == code
    assert "overlay/broken.yaml" in error["where"]


def test_a_pipe_in_an_overlay_is_not_waited_for(on_small, overlay, slow_steps):
    folder = overlay(diagnoses=DIAGNOSIS)
    os.mkfifo(folder / "pipe.yaml")
    answer = on_small("--facts", slow_steps, "--kb", folder)
    assert (answer.code, answer.out) == (3, "")
    said = " ".join(answer.err.split())
    assert said.startswith(f"MM200 {folder / 'pipe.yaml'}: cannot read: not a regular file -> ")


def test_a_link_to_nothing_in_an_overlay(on_small, overlay, slow_steps):
    folder = overlay(diagnoses=DIAGNOSIS)
    (folder / "link.yaml").symlink_to(folder / "none.yaml")
    answer = on_small("--facts", slow_steps, "--kb", folder)
    assert answer.code == 3
    assert "cannot read: No such file or directory" in " ".join(answer.err.split())


def test_an_overlay_may_add_vocabulary(on_small, overlay, facts_file):
    folder = overlay(vocabulary__local=VOCABULARY)
    facts = facts_file({"kind": "local_queue", "name": "night"})
    assert on_small("--facts", facts, "--kb", folder).code == 0
    assert on_small("--facts", facts).code == 2


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("type: string", "type: strng", "overlay/vocabulary/local.yaml:7:20", "'strng'"),
        ("key: [name]", "key: [nam]", "overlay/vocabulary/local.yaml:", "'nam'"),
        ("kinds:", "kind:", "overlay/vocabulary/local.yaml:3:3", "no field 'kind'"),
        ("local_queue", "package", "", "kind 'package' is declared twice"),
    ],
)
def test_bad_vocabulary_in_an_overlay(on_small, overlay, slow_steps, old, new, place, says):
    folder = overlay(vocabulary__local=VOCABULARY.replace(old, new, 1).lstrip())
    answer = on_small("--facts", slow_steps, "--kb", folder, "-f", "json")
    assert answer.code == 3
    errors = answer.json["errors"]
    assert {e["code"][:3] for e in errors} == {"MM2"}
    assert any(e["where"].startswith(place) and says in e["message"] for e in errors), errors
