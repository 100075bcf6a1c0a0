"""``kb test``: what a failure says, JUnit, and which cases a change selects."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Run = Callable[..., Any]

RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: local notes}]
parameters: {old: {value: 3, unit: '', origin: made up}}
rules:
  - id: local.rule.disk
    title: A full disk and an old package
    when:
      all:
        - {fact: error_message, where: {text: {matches: No space left on device}}}
        - {fact: package, where: {name: local-disk, version: {lt: "2.0"}}}
    conclude: [{diagnosis: local.disk.full, strength: strong}]
"""
CASES = """
schema: modelmedic/tests/1
cases:
  - name: full and old
    kind: fires
    entry: local.rule.disk
    facts:
      - {kind: error_message, text: No space left on device}
      - {kind: package, name: local-disk, version: '1.9'}
    expect: {concludes: [local.disk.full]}
  - name: full and new
    kind: silent
    entry: local.rule.disk
    facts:
      - {kind: error_message, text: No space left on device}
      - {kind: package, name: local-disk, version: '2.1'}
  - name: only full
    kind: unknown
    entry: local.rule.disk
    facts: [{kind: error_message, text: No space left on device}]
"""


@pytest.fixture
def overlay(disk: Callable[[str, str], Path]) -> Path:
    return disk(RULES, CASES)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_missing_condition_is_shown_with_its_place_and_the_values_seen(
    on_small: Run, overlay: Path
) -> None:
    change(overlay / "disk.yaml", 'lt: "2.0"', 'lt: "1.0"')
    answer = on_small("kb", "test", "local/disk", "--kb", overlay, "-f", "json")
    assert answer.code == 3
    (failed,) = answer.json["failed"]
    assert failed["where"] == "local/disk.test.yaml:4:5"
    fires, leaf, *rest = failed["failures"][0].split("\n")
    assert fires == "local.rule.disk does not fire" and not rest
    assert leaf.startswith("contradicted: package with name = 'local-disk' and version < '1.0'")
    assert "(local/disk.yaml:12:11)" in leaf
    assert "saw package" in leaf and "1.9" in leaf


def test_a_missing_fact_is_said_to_be_missing(on_small: Run, overlay: Path) -> None:
    change(overlay / "disk.test.yaml", "kind: package, name: local-disk", "kind: package, name: x")
    answer = on_small("kb", "test", "local/disk", "--kb", overlay)
    assert answer.code == 3
    assert "unknown: package with name = 'local-disk'" in answer.out.replace("\n", " ")


def test_what_should_not_fire_is_shown_with_what_it_rests_on(on_small: Run, overlay: Path) -> None:
    change(overlay / "disk.yaml", 'lt: "2.0"', 'lt: "9.0"')
    answer = on_small("kb", "test", "local/disk", "--kb", overlay, "-f", "json")
    (failed,) = answer.json["failed"]
    assert failed["case"] == "full and new"
    said = failed["failures"][0]
    assert said.startswith("local.rule.disk fires\ntrue: ")
    assert "No space left on device" in said and "2.1" in said


def test_junit_has_every_case_and_what_failed(on_small: Run, overlay: Path, tmp_path: Path) -> None:
    change(overlay / "disk.yaml", 'lt: "2.0"', 'lt: "1.0"')
    target = tmp_path / "cases.xml"
    answer = on_small("kb", "test", "local/disk", "--kb", overlay, "--junit", target)
    assert answer.code == 3
    root = ElementTree.parse(target).getroot()
    assert (root.get("tests"), root.get("failures")) == ("4", "1")
    cases = {case.get("name"): case for case in root.iter("testcase")}
    (generated,) = cases.keys() - {"full and old", "full and new", "only full"}
    assert str(generated).endswith(" generated boundary cases")
    assert cases[generated].get("classname") == "local.rule.disk"
    assert cases["full and old"].get("classname") == "local.rule.disk"
    assert "does not fire" in str(cases["full and old"].find("failure").get("message"))  # type: ignore[union-attr]
    assert cases["only full"].find("failure") is None


def test_a_change_since_the_last_pass_selects_its_cases(on_small: Run, overlay: Path) -> None:
    (overlay / "more.test.yaml").write_text("schema: modelmedic/tests/1\ncases: []\n")
    first = on_small("kb", "test", "--changed", "--kb", overlay)
    assert first.code == 0
    assert "all cases are run: nothing is known of an earlier run" in first.err
    everything = int(first.out.split()[0])
    again = on_small("kb", "test", "--changed", "--kb", overlay)
    assert (again.code, again.out, again.err) == (0, "0 passed, 0 failed\n", "")
    change(overlay / "disk.yaml", 'lt: "2.0"', 'lt: "1.0"')
    broken = on_small("kb", "test", "--changed", "--kb", overlay)
    assert broken.code == 3 and "local.rule.disk does not fire" in broken.out
    count = int(broken.out.splitlines()[-1].split()[0])
    assert 2 <= count < everything / 2
    (overlay / "more.test.yaml").unlink()
    answer = on_small("kb", "test", "local/", "--changed", "--kb", overlay)
    assert "all cases are run: a file is gone (local/more.test.yaml)" in answer.err


def test_git_says_what_changed(
    on_small: Run, overlay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from modelmedic.interfaces.cli.kb import changed

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=overlay,
            check=True,
            capture_output=True,
        )

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    monkeypatch.setattr(changed, "_folders", lambda overlays: [overlay])
    assert changed.changed_files([]) == changed.Changed(frozenset())
    change(overlay / "disk.yaml", "A full disk", "The full disk")
    (overlay / "new.test.yaml").write_text("schema: modelmedic/tests/1\ncases: []\n")
    found = changed.changed_files([])
    assert found.files == {"local/disk.yaml", "local/new.test.yaml"}
    git("add", ".")
    assert changed.changed_files([]).files == found.files
    (overlay / "disk.test.yaml").unlink()
    assert "a file is gone" in changed.changed_files([]).notice


WRONG = """
schema: modelmedic/tests/1
cases:
  - name: surer than it is
    kind: fires
    entry: local.rule.disk
    facts:
      - {kind: error_message, text: No space left on device}
      - {kind: package, name: local-disk, version: '1.9'}
    expect:
      confidence: {local.disk.full: certain}
      absent: [{kind: diagnosis, name: local.disk.full}]
"""


def test_confidence_and_what_must_not_be_derived_are_judged(
    on_small: Run, disk: Callable[[str, str], Path]
) -> None:
    overlay = disk(RULES, WRONG)
    answer = on_small("kb", "test", "local/", "--kb", overlay)
    assert answer.code == 3
    said = " ".join(answer.out.split())
    assert "local.disk.full is likely, not certain" in said
    assert "is there, not expected" in said
    right = WRONG.replace("certain}", "likely}").replace("name: local.disk.full}]", "name: lab}]")
    (overlay / "disk.test.yaml").write_text(right)
    assert on_small("kb", "test", "local/", "--kb", overlay).code == 0


def test_a_file_that_is_not_valid_is_told_of(on_small, overlay):
    """Its cases are missing from the count, so silence would look like success."""
    (overlay / "broken.test.yaml").write_text(
        "schema: modelmedic/tests/1\ncases:\n  - {name: a, b, kind: fires, entry: x.y, facts: []}\n"
    )
    answer = on_small("kb", "test", "local/", "--kb", overlay)
    assert answer.code == 3
    assert "broken.test.yaml:3:" in answer.err
    assert " passed, 0 failed" in answer.out


def test_an_entry_that_does_not_compile_stops_no_other_case(on_small, overlay):
    change(overlay / "disk.yaml", "fact: error_message", "fact: no_such_kind")
    answer = on_small("kb", "test", "local/", "--kb", overlay, "-f", "json")
    assert answer.code == 3
    assert "MM230" in answer.err
    assert [failed["case"] for failed in answer.json["failed"]] == ["full and old", "only full"]
