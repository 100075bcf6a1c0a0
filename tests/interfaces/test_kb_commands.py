"""The maintainers' commands: ``diagnose kb lint``, ``test``, ``coverage`` and ``list``."""

import pytest

pytestmark = pytest.mark.slow

OVERLAY = """
schema: modelmedic/diagnoses/1
domain: local
sources: [{ref: local notes}]
diagnoses:
  - id: local.disk.full
    title: The local disk is full
    severity: error
    kind: root-cause
    summary: Nothing can be written.
    actions: [{do: Make room., command: df -h, verify: df shows room., covers: [LOC-002]}]
"""
RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: local notes}]
rules:
  - id: local.rule.disk
    title: The log says that the disk is full
    covers: [LOC-001]
    when: {fact: error_message, where: {text: {matches: No space left on device}}}
    conclude: [{diagnosis: local.disk.full, strength: strong}]
    message: A write failed.
"""
TESTS = """
schema: modelmedic/tests/1
cases:
  - name: a full disk fires
    kind: fires
    entry: local.rule.disk
    facts: [{kind: error_message, text: "OSError: No space left on device"}]
    expect: {concludes: [local.disk.full]}
  - name: another error
    kind: silent
    entry: local.rule.disk
    facts: [{kind: error_message, text: "OSError: Bad file descriptor"}]
  - {name: nothing known, kind: unknown, entry: local.rule.disk, facts: []}
"""
INVENTORY = """
- {id: LOC-001, kind: rule, text: A full disk stops writes., diagnosis: local.disk.full}
- {id: LOC-002, kind: action, text: df shows it.}
- {id: LOC-003, kind: background, text: Disks are round.}
"""


@pytest.fixture
def overlay(tmp_path):
    """A sound overlay with its tests."""
    folder = tmp_path / "local"
    folder.mkdir()
    for name, text in (("diagnoses", OVERLAY), ("disk", RULES), ("disk.test", TESTS)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture
def inventory(tmp_path):
    """Writes an inventory."""

    def inventory(text=INVENTORY):
        path = tmp_path / "inventory.yaml"
        path.write_text(text)
        return path

    return inventory


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_lint_is_silent_about_sound_knowledge(on_small, overlay):
    answer = on_small("kb", "lint", "--kb", overlay)
    assert (answer.code, answer.err) == (0, ""), answer.out
    assert answer.out.endswith(" entries, 0 problems\n")


def test_sound_knowledge_in_json(on_small, overlay):
    plain = on_small("kb", "lint", "--kb", overlay, "-f", "json")
    assert (plain.code, plain.json) == (0, {"schema": "modelmedic/lint/1", "problems": []})


@pytest.mark.parametrize(
    ("file", "old", "new", "place"),
    [
        ("disk.yaml", "text: {matches", "txt: {matches", "local/disk.yaml:9:46"),
        ("disk.yaml", "A write failed.", "'A write to {x.path} failed.'", "local/disk.yaml:11:14"),
        ("disk.test.yaml", "kind: silent", "kind: fires", "local/disk.yaml:6"),
        ("disk.test.yaml", "local.rule.disk", "local.rule.disc", "local/disk"),
        ("diagnoses.yaml", "severity: error", "severity: fatal", "local/diagnoses.yaml:8:15"),
    ],
)
def test_lint_finds_problems(on_small, overlay, file, old, new, place):
    change(overlay / file, old, new)
    plain = on_small("kb", "lint", "--kb", overlay, "-f", "json")
    assert plain.code == 3
    assert any(p["where"].startswith(place) for p in plain.json["problems"])


def test_lint_says_how_many_problems_there_are(on_small, overlay):
    change(overlay / "diagnoses.yaml", "severity: error", "severity: fatal")
    answer = on_small("kb", "lint", "--kb", overlay)
    assert (answer.code, answer.err) == (3, "")
    assert "MM220 local/diagnoses.yaml:8:15: " in answer.out
    count = sum(line.startswith("MM") for line in answer.out.splitlines())
    assert answer.out.endswith(f" entries, {count} problem{'s' * (count != 1)}\n")


def test_the_cases_of_an_overlay_are_run(on_small, overlay):
    answer = on_small("kb", "test", "local/disk", "--kb", overlay)
    # Three that are written, and the generated ones of the rule, which count as one.
    assert (answer.code, answer.out, answer.err) == (0, "4 passed, 0 failed\n", "")


def test_a_file_of_entries_stands_for_its_tests_too(on_small, overlay):
    answer = on_small("kb", "test", "local/disk.yaml", "--kb", overlay)
    assert (answer.code, answer.out) == (0, "4 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("file", "old", "new", "case"),
    [
        ("disk.yaml", "No space left", "No room left", "a full disk fires"),
        ("disk.yaml", "No space left on device", "OSError", "another error"),
        ("disk.yaml", "{fact: error", "{absent: {fact: error", "nothing known"),
    ],
)
def test_a_case_that_fails(on_small, overlay, file, old, new, case):
    change(overlay / file, old, new)
    if "absent" in new:
        change(overlay / file, "on device}}}", "on device}}}}")
    plain = on_small("kb", "test", "local/disk", "--kb", overlay, "-f", "json")
    assert plain.code == 3
    assert case in {failed["case"] for failed in plain.json["failed"]}
    assert all(f["failures"] and f["entry"] == "local.rule.disk" for f in plain.json["failed"])


def test_the_text_names_the_case_that_fails(on_small, overlay):
    change(overlay / "disk.yaml", "No space left", "No room left")
    answer = on_small("kb", "test", "local/disk", "--kb", overlay)
    assert (answer.code, answer.err) == (3, "")
    assert "FAILED local/disk.test.yaml:4:5: fires [local.rule.disk]" in answer.out
    assert answer.out.endswith("3 passed, 1 failed\n")


def test_no_case_at_all_is_a_failure(on_small):
    answer = on_small("kb", "test", "no/such/file")
    assert answer.code == 3
    assert answer.err == "no case was run\n"


def test_complete_coverage(on_small, overlay, inventory):
    arguments = ("kb", "coverage", "--inventory", inventory(), "--kb", overlay)
    answer = on_small(*arguments)
    assert answer.code == 0
    assert answer.out.endswith("2 of 2 statements covered (100.0 %)\n")
    found = on_small(*arguments, "-f", "json").json
    assert found.items() >= {
        "schema": "modelmedic/coverage/1",
        "wanted": 2, "missing": [], "unknown": [], "unconcluded": [], "absent": [],
    }.items()  # fmt: skip


@pytest.mark.parametrize(
    ("change_", "part", "names"),
    [
        (("disk.yaml", "covers: [LOC-001]", "covers: []"), "missing", ["LOC-001"]),
        (("diagnoses.yaml", "covers: [LOC-002]", "covers: []"), "missing", ["LOC-002"]),
        (("disk.yaml", "LOC-001", "LOC-001, LOC-009"), "unknown", ["LOC-009"]),
        (
            ("disk.yaml", "conclude: [{diagnosis: local.disk.full, strength: strong}]",
             "rules_out: [local.disk.full]"),
            "unconcluded",
            ["local.disk.full"],
        ),
    ],
)  # fmt: skip
def test_a_gap_in_coverage(on_small, overlay, inventory, change_, part, names):
    change(overlay / change_[0], *change_[1:])
    arguments = ("kb", "coverage", "--inventory", inventory(), "--kb", overlay)
    code = 0 if part == "unknown" else 3
    plain = on_small(*arguments, "-f", "json")
    assert (plain.code, plain.json[part]) == (code, names)
    if change_[1] != "covers: [LOC-002]":  # the same line as that of a rule
        text = on_small(*arguments)
        assert text.code == code
        assert f": {names[0]}\n" in text.out


def test_a_diagnosis_that_nobody_has_written(on_small, overlay, inventory):
    path = inventory(INVENTORY + "- {id: LOC-004, kind: background, diagnosis: local.disk.slow}\n")
    answer = on_small("kb", "coverage", "--inventory", path, "--kb", overlay)
    assert answer.code == 3
    assert "not in the catalogue: local.disk.slow\n" in answer.out


@pytest.mark.parametrize(
    ("text", "code"),
    [("id: LOC-001\n", "MM270"), ("- LOC-001\n", "MM270"), ("- {id: [", "MM202"), ("", "MM203")],
)
@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_bad_inventory(on_small, inventory, text, code, format_):
    answer = on_small("kb", "coverage", "--inventory", inventory(text), "-f", format_)
    assert answer.code == 3
    if format_ == "json":
        assert [e["code"] for e in answer.json["errors"]] == [code]
    else:
        assert (answer.out, answer.err[:5]) == ("", code)


def test_a_missing_inventory(on_small, tmp_path):
    answer = on_small("kb", "coverage", "--inventory", tmp_path / "none")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith("MM200 ")


def test_the_entries_are_listed(diagnose, overlay):
    everything = diagnose("kb", "list", "--kb", overlay).out.splitlines()
    assert "local.disk.full  The local disk is full" in everything
    assert everything == sorted(everything)
    rules = diagnose("kb", "list", "--form", "rule", "--kb", overlay).out.splitlines()
    assert "local.rule.disk  The log says that the disk is full" in rules
    assert set(rules) < set(everything)
    assert not any(line.startswith("local.disk.full ") for line in rules)
    assert diagnose("kb", "list", "--form", "poem").code == 2
