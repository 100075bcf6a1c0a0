"""``diagnose kb lint`` in its formats, its watch mode, and what it says of a problem code."""

import json
import os
import re
import subprocess
import time

import jsonschema
import pytest

pytestmark = pytest.mark.slow

RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: local notes}]
rules:
  - id: local.rule.hang
    title: A hang that somebody reports, 100 % sure
    status: deprecated
    when: {fact: symptom, where: {nmae: hang}}
    conclude: [{diagnosis: tinker.perf.hnag, strength: strong}]
"""
SARIF_SHAPE = {
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {"items": {"required": ["tool", "results"]}, "minItems": 1},
    },
}


@pytest.fixture
def overlay(tmp_path):
    """An overlay with one file of two problems."""
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "hang.yaml").write_text(RULES.replace("    status: deprecated\n", ""))
    return folder


def problems(answer):
    return [(p["code"], p["where"]) for p in answer.json["problems"]]


def test_json(on_small, overlay):
    answer = on_small("kb", "lint", "--kb", overlay, "-f", "json")
    assert answer.code == 3
    assert problems(answer) == [
        ("MM231", "local/hang.yaml:8:41"),
        ("MM240", "local/hang.yaml:9:28"),
        ("MM268", "local/hang.yaml:6:5"),
    ]
    hints = [p["hint"] for p in answer.json["problems"]]
    assert hints[:2] == ["did you mean 'name'?", "did you mean 'tinker.perf.hang'?"]


def test_sarif(on_small, overlay):
    answer = on_small("kb", "lint", "--kb", overlay, "-f", "sarif")
    assert answer.code == 3
    jsonschema.validate(answer.json, SARIF_SHAPE)
    run = answer.json["runs"][0]
    assert [r["ruleId"] for r in run["results"]] == ["MM231", "MM240", "MM268"]
    for result in run["results"]:
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["shortDescription"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == os.path.relpath(overlay / "hang.yaml")
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 8, "startColumn": 41}


def test_github(on_small, overlay):
    text = (overlay / "hang.yaml").read_text()
    (overlay / "hang.yaml").write_text(text.replace("nmae: hang", '"50%, a:b": hang'))
    answer = on_small("kb", "lint", "--kb", overlay, "-f", "github")
    path = os.path.relpath(overlay / "hang.yaml")
    line = answer.out.splitlines()[0]
    assert answer.code == 3
    assert line.startswith(f"::error file={path},line=8,col=47,title=MM231::symptom has no attr")
    assert "'50%25, a:b'" in line
    assert all(line.startswith("::error ") for line in answer.out.splitlines())


@pytest.mark.parametrize("format_", ["json", "sarif", "github", "text"])
def test_knowledge_without_problems(on_small, format_):
    answer = on_small("kb", "lint", "-f", format_)
    assert (answer.code, answer.err) == (0, ""), answer.out
    if format_ == "sarif":
        assert answer.json["runs"][0]["results"] == []
    elif format_ == "json":
        assert answer.json["problems"] == []
    else:
        assert not re.search("MM[0-9]", answer.out)


@pytest.mark.parametrize("format_", ["json", "text"])
def test_a_broken_vocabulary_is_a_problem_like_others(on_small, overlay, format_):
    (overlay / "vocabulary").mkdir()
    (overlay / "vocabulary" / "local.yaml").write_text(
        "schema: modelmedic/vocabulary/1\nkinds: {x: 1}\n"
    )
    answer = on_small("kb", "lint", "--kb", overlay, "-f", format_)
    assert answer.code == 3
    assert "local/vocabulary/local.yaml:2:12" in answer.out
    if format_ == "json":
        assert json.loads(answer.out)["schema"] == "modelmedic/lint/1"


@pytest.mark.parametrize("command", [("kb", "lint", "--explain", "mm265"), ("explain", "MM265")])
def test_a_code_is_explained(diagnose, command):
    answer = diagnose(*command)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("MM265 A gap between bands\n")
    assert "-> Close the gap" in answer.out


def test_a_code_that_does_not_exist(diagnose):
    answer = diagnose("kb", "lint", "--explain", "MM2655")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("MM303 there is no problem code 'MM2655'")
    assert "did you mean 'MM265'?" in answer.err


def test_only_the_named_files(on_small, overlay):
    named = on_small("kb", "lint", "hang.yaml", "--kb", overlay, "-f", "json")
    found = json.loads(named.out)["problems"]
    assert named.code == 3
    assert {problem["where"].partition(":")[0].rpartition("/")[2] for problem in found} == {
        "hang.yaml"
    }
    assert on_small("kb", "lint", "rules.yaml", "--kb", overlay).code == 0


def test_a_second_run_reads_only_what_has_changed(on_small, overlay, tmp_path):
    cache = tmp_path / "cache"
    first = on_small("kb", "lint", "--kb", overlay, MODELMEDIC_CACHE=str(cache))
    (kept,) = cache.glob("documents-*.jsonl")
    content = kept.read_bytes()
    again = on_small("kb", "lint", "--kb", overlay, MODELMEDIC_CACHE=str(cache))
    assert again == first
    assert kept.read_bytes() == content
    text = (overlay / "hang.yaml").read_text()
    (overlay / "hang.yaml").write_text(text.replace("nmae", "name"))
    mended = on_small("kb", "lint", "--kb", overlay, MODELMEDIC_CACHE=str(cache))
    assert "MM231" in first.out
    assert "MM231" not in mended.out


def test_a_cache_that_cannot_be_trusted_is_not_used(on_small, overlay, tmp_path):
    cache = tmp_path / "cache"
    first = on_small("kb", "lint", "--kb", overlay, MODELMEDIC_CACHE=str(cache))
    (kept,) = cache.glob("documents-*.jsonl")
    sound = kept.read_bytes()
    for damaged in (b"x", b"1 2\n3", sound.replace(b"hang", b"hung")):
        kept.write_bytes(damaged)
        assert on_small("kb", "lint", "--kb", overlay, MODELMEDIC_CACHE=str(cache)) == first
        assert kept.read_bytes() == sound


def test_watching(overlay, environment, small_command):
    with subprocess.Popen(
        [*small_command, "kb", "lint", "--watch", "--kb", str(overlay)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment,
    ) as watching:  # fmt: skip
        assert watching.stdout is not None
        try:
            assert "3 problems" in _until(watching.stdout, "entries")
            path = overlay / "hang.yaml"
            text = path.read_text().replace("nmae", "name")
            path.with_suffix(".new").write_text(text)
            path.with_suffix(".new").replace(path)
            assert "2 problems" in _until(watching.stdout, "entries")
        finally:
            watching.kill()


def _until(stream, word):
    """The next line with a word; the test's own limit ends a wait without success."""
    while word not in (line := stream.readline()):
        time.sleep(0 if line else 0.1)
    return line
