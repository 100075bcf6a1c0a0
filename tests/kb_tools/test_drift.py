"""``kb drift``: texts found, moved, changed and gone, in packages that are never run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

ROW = """
  - id: local.err.{name}
    title: Row {name}
    match: {{template: "{text}"}}
    samples: ["{text}"]
    near_misses: [all is well]
    causes: [{{diagnosis: local.jam.stuck}}]
    retry: never
    anchors: [{{package: toy-press, {anchor}}}]
"""
ROWS = {
    "found": ("The tray is empty", "module: toy_press.trays, text: The tray is empty"),
    "hole": ("Tray three holds 2 sheets", 'module: toy_press.trays, text: "Tray {} holds"'),
    "old": ("Use {tray} instead", "text: 'Use {} instead', module: toy_press"),
    "class": ("JamError", "module: toy_press.errors, text: class JamError"),
    "moved": ("The lid is open", "module: toy_press.trays, text: The lid is open"),
    "changed": ("Feeder jammed, open the front lid", "text: 'Feeder jammed, open the front lid'"),
    "alone": ("Toner is dry", "module: toy_press, text: Toner is dry"),
    "gone": ("Call the operator now", "module: toy_press, text: Call the operator now"),
    "retired": ("Wind the crank", "text: Wind the crank, versions: [{fixed: '2.0'}]"),
    "back": ("Ink is low", "text: Ink is low, versions: [{fixed: '2.0'}]"),
}
SOURCES = {
    "toy_press/__init__.py": "open('ran', 'w').write('never')\nraise SystemExit('never run')\n",
    "toy_press/trays.py": (
        "def feed(tray, n, logger):\n"
        "    if not n:\n        raise ValueError('The tray '\n            'is empty')\n"
        "    logger.info('Tray %s holds %d sheets', tray, n)\n"
        "    return f'Use {tray.other()!r} ' + 'instead'\n"
    ),
    "toy_press/errors.py": (
        "class JamError(Exception): ...\n"
        "LID = 'Stop: The lid is open.'\n"
        "JAM = 'Feeder jammed, close the front lid'\n"
        "INK = 'Ink is low'\n"
        "TONER = 'Toner is low'\n"
    ),
    "toy_press/broken.py": "def (:\n",
    "toy_press/data.txt": "Call the operator now\n",
    "toy_press-2.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: Toy_Press\nVersion: 2.1\n",
}
DIAGNOSIS = """
schema: modelmedic/diagnoses/1
domain: local
sources: [{ref: local notes}]
diagnoses:
  - id: local.jam.stuck
    title: The press is stuck
    severity: error
    kind: root-cause
    summary: Paper sits in it.
    actions: [{do: Pull sheet 1 out., verify: The first light is green.}]
"""
RULE = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: local notes}]
rules:
  - id: local.rule.press
    title: An affected press
    when: {fact: package, where: {name: toy-press, version: {affected: [{introduced: '2.0'}]}}}
    conclude: [{diagnosis: local.jam.stuck, strength: weak}]
"""


@pytest.fixture
def overlay(folder: Callable[..., Path]) -> Path:
    rows = "".join(ROW.format(name=n, text=t, anchor=a) for n, (t, a) in ROWS.items())
    head = "schema: modelmedic/errors/1\ndomain: local\nsources: [{ref: notes}]\nemitter: press\n"
    return folder(
        "local",
        {"errors.yaml": f"{head}errors:{rows}", "diagnoses.yaml": DIAGNOSIS, "rules.yaml": RULE},
    )


@pytest.fixture
def site(folder: Callable[..., Path]) -> Path:
    """A virtual environment in which the package is installed."""
    place = "env/lib/python3.11/site-packages"
    files = {f"{place}/{name}": text for name, text in SOURCES.items()}
    record = "".join(f"{name},,\n" for name in SOURCES)
    files[f"{place}/toy_press-2.1.dist-info/RECORD"] = record
    return folder("site", files | {"env/bin/python": ""}) / "env" / "bin" / "python"


def states(answer: Any) -> dict[str, tuple[str, bool]]:
    return {
        item["entry"].rpartition(".")[2]: (item["state"], item["drifts"])
        for item in answer.json["anchors"]
        if item["package"] == "toy-press"
    }


def test_each_anchor_is_found_moved_changed_or_gone(
    diagnose: Run, overlay: Path, site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = diagnose("kb", "drift", "--kb", overlay, "--python", site, "-f", "json")
    assert answer.code == 3
    assert states(answer) == {
        "found": ("found", False),
        "hole": ("found", False),
        "old": ("found", False),
        "class": ("found", False),
        "moved": ("moved", True),
        "changed": ("changed", True),
        "alone": ("gone", True),  # one word in common makes it no rewording of "Toner is low"
        "gone": ("gone", True),
        "retired": ("gone", False),
        "back": ("found", True),
    }
    places = {i["entry"].rpartition(".")[2]: i["place"] for i in answer.json["anchors"]}
    assert places["moved"] == "toy_press.errors:2" and places["found"] == "toy_press.trays:3"
    spans = [s for s in answer.json["versions"] if s["entry"] == "local.rule.press"]
    assert [(s["version"], s["affected"], s["open"]) for s in spans] == [("2.1", True, True)]
    assert not (tmp_path / "ran").exists()


@pytest.mark.deep
def test_a_folder_of_sources_can_stand_for_a_package(
    diagnose: Run, overlay: Path, folder: Callable[..., Path]
) -> None:
    tree = folder("tree", {n: t for n, t in SOURCES.items() if n.endswith(".py")})
    answer = diagnose("kb", "drift", "--kb", overlay, "--source", f"toy-press={tree}")
    assert answer.code == 3
    assert "GONE local/errors.yaml" in answer.out and "Call the operator now" in answer.out
    assert "GONE local/errors.yaml:82" in answer.out or "Wind the crank" in answer.out


@pytest.mark.deep
def test_a_package_that_is_not_installed_is_said_to_be(diagnose: Run, overlay: Path) -> None:
    answer = diagnose("kb", "drift", "--kb", overlay)
    assert "toy-press: not installed, 10 anchors not looked for" in answer.out


def test_an_interpreter_without_packages_is_refused(
    diagnose: Run, folder: Callable[..., Path]
) -> None:
    lone = folder("lone", {"bin/python": ""}) / "bin" / "python"
    answer = diagnose("kb", "drift", "--python", lone)
    assert answer.code == 2 and "MM486" in answer.err


NOT_THERE = {
    ("tinker.err.auth-key-missing", "The api_key client option must be set either by passing"),
    ("tinker.err.checkpoint-invalid-path", "tinker://run-id/sampler_weights/0001"),
    ("tinker.err.data-batch-too-large", "Batch too large"),
    ("tinker.err.data-non-finite", "NonFiniteInTensor"),
    ("tinker.err.data-tokenization", "Tokenization error"),
    ("tinker.err.env-image-tokens", "Expected {} tokens, got {} from image"),
    ("tinker.err.env-sdk-old", "SDK version is old"),
    ("tinker.err.export-archive-method", "def get_checkpoint_archive_url_from_tinker_path"),
    ("tinker.err.export-archive-of-sampler", "def get_checkpoint_archive_url_from_tinker_path"),
    ("tinker.err.sampling-past-stop", "Returning parse_success=False"),
    ("tinker.err.sampling-prompt-too-long-code", "PromptTooLong"),
    ("tinker.err.service-retries-exhausted", "Failed after exhausting retries"),
    ("tinker.err.usage-ignored-name", "save_weights_and_get_sampling_client_async() is deprecated"),
    ("tinker.err.usage-sync-in-async", "Calling sync methods from async code can cause deadlocks"),
}
"""Texts of older releases, and of the service, that tinker 0.38.0 and cookbook 0.5.8 do not say."""
NOW_SAID_OTHERWISE = "tinker.err.checkpoint-invalid-path"
AFFECTED = {
    "tinker.rule.usage-archive-url": True,  # the method went in 0.36.0
    "tinker.rule.usage-subprocess-variable": True,  # not read since 0.27.2
    "tinker.rule.env-pydantic-stall": False,  # the two betas of 2.13.0 only
}


@pytest.fixture
def looked_up(diagnose: Run) -> Any:
    """The output of the command for the packages that the anchors were taken from."""
    pytest.importorskip("tinker_cookbook")
    answer = diagnose("kb", "drift", "-f", "json")
    packages = answer.json["packages"]
    if (packages["tinker"], packages["tinker-cookbook"]) != ("0.38.0", "0.5.8"):
        pytest.skip("the anchors are about other versions")
    return answer


@pytest.mark.heavy
def test_exactly_the_texts_known_to_be_gone_are_not_there(looked_up: Any) -> None:
    ours = [i for i in looked_up.json["anchors"] if i["package"].startswith("tinker")]
    missing = [item for item in ours if item["state"] != "found"]
    found = {
        (entry, part)
        for entry, part in NOT_THERE
        if any(i["entry"] == entry and part in i["text"] for i in missing)
    }
    assert found == NOT_THERE
    # Others are those of releases that are newer than the installed one.
    assert not any(i["expected"] for i in missing)
    otherwise = [item["entry"] for item in missing if item["state"] != "gone"]
    assert NOW_SAID_OTHERWISE in otherwise
    assert len(ours) - len(missing) >= 230


@pytest.mark.heavy
def test_nothing_drifts_and_version_events_are_compared_with_what_is_installed(
    looked_up: Any,
) -> None:
    assert looked_up.code == 0, [i for i in looked_up.json["anchors"] if i["drifts"]]
    spans = {s["entry"]: s["affected"] for s in looked_up.json["versions"] if s["affected"]}
    named = {span["entry"] for span in looked_up.json["versions"]}
    assert named >= AFFECTED.keys()
    assert {entry: spans.get(entry, False) for entry in AFFECTED} == AFFECTED
