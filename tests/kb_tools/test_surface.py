"""``kb surface``: what a package can say, what answers it, and rows that answer too much."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from modelmedic.authoring.surface import Answers, measure, page, read_records
from modelmedic.engine import Diagnoser
from modelmedic.reading.packages.index import open_index

Run = Callable[..., Any]
Folder = Callable[..., Path]

FIGURES = Path(__file__).with_name("surface_figures.json")
PRESS = {
    "press/__init__.py": "open('ran', 'w').write('never')\n",
    "press/trays.py": (
        "import logging\n"
        "logger = logging.getLogger(__name__)\n"
        "def feed(tray, sheets):\n"
        "    if sheets < 1:\n"
        "        raise ValueError(f'Tray {tray!r} needs at least one sheet, got {sheets:d}')\n"
        "    if busy():\n"
        "        raise KeyError(f'Drum {tray} is locked by the operator')\n"
        "    logger.warning('Feeding slowly since the rollers of %s are worn', tray)\n"
        "    logger.info('Fed %d sheets', sheets)\n"
        "    logger.error('%s', tray)\n"
        "    assert sheets < 100\n"
    ),
    "press/command.py": (
        "class PressCliError(Exception):\n"
        "    def __init__(self, message, details=None):\n"
        "        super().__init__(message)\n"
        "def stop(name):\n"
        "    details = f'Start {name} again with: press start'\n"
        "    raise PressCliError('Press stopped for cleaning', details)\n"
    ),
    "press/_wheels.py": (
        "def _turn(speed):\n"
        "    if speed > 9:\n"
        "        raise RuntimeError('Wheel turned faster than its bearings allow')\n"
    ),
    "press/recipes/poster.py": "def main():\n    raise ValueError('Poster paper has run out')\n",
    "press/broken.py": "raise (:\n",
    "press/tests/test_trays.py": "assert False, 'This trial is never counted'\n",
}
ROW = """
  - id: local.err.{name}
    title: Row {name}
    match: {{pattern: '{pattern}'}}
    samples: ['{sample}']
    near_misses: [all is well]
    causes: [{{diagnosis: local.jam.stuck}}]
    retry: never
    anchors: [{anchors}]
"""
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
SHEETS = ("sheets", r"Tray \S+ needs at least one sheet, got \d+$",
          "Tray b needs at least one sheet, got 0")  # fmt: skip
LOCKED = ("locked", r"^.Drum \w+ is locked by the operator.$", '"Drum b is locked by the operator"')
CLEANING = ("cleaning", r"(?s)stopped for cleaning.*with: press start",
            "stopped for cleaning, start with: press start")  # fmt: skip
WIDE = ("wide", r"Tray|Drum|Poster", "Tray")


def rows(*each: tuple[str, ...], emitter: str = "press") -> str:
    """A file of rows: name, pattern, sample and the texts of anchors."""
    head = "schema: modelmedic/errors/1\ndomain: local\nsources: [{ref: notes}]\n"
    return f"{head}emitter: {emitter}\nerrors:" + "".join(
        ROW.format(name=name, pattern=pattern, sample=sample, anchors=", ".join(
            f"{{package: press, text: {text}}}" for text in anchors))
        for name, pattern, sample, *anchors in each
    )  # fmt: skip


@pytest.fixture
def overlay(folder: Folder) -> Callable[..., Path]:
    def write(*each: tuple[str, ...], emitter: str = "press") -> Path:
        files = {"errors.yaml": rows(*each, emitter=emitter), "diagnoses.yaml": DIAGNOSIS}
        return folder(f"local{len(each)}", files)

    return write


@pytest.fixture
def site(folder: Folder) -> Path:
    return folder("sources", PRESS)


def messages(answer: Any) -> dict[str, dict[str, Any]]:
    return {each["template"]: each for each in answer.json["packages"][0]["messages"]}


def test_each_message_is_answered_by_a_row_by_its_source_or_not_at_all(
    diagnose: Run, overlay: Callable[..., Path], site: Path,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    knowledge = overlay(SHEETS, LOCKED, CLEANING)
    answer = diagnose("kb", "surface", "press", "--site", site, "--kb", knowledge, "-f", "json")
    assert answer.code == 0
    found = messages(answer)
    assert {text: (each["answer"], each["rows"]) for text, each in found.items()} == {
        "Tray {} needs at least one sheet, got {}": ("row", ["local.err.sheets"]),
        "Drum {} is locked by the operator": ("row", ["local.err.locked"]),
        "Press stopped for cleaning": ("row", ["local.err.cleaning"]),
        "Feeding slowly since the rollers of {} are worn": ("source", []),
        "Wheel turned faster than its bearings allow": ("source", []),
        "Poster paper has run out": ("source", []),
        "": ("source", []),  # an assertion without words: known by its place
        "{}": ("silent", []),
    }
    package = answer.json["packages"][0]
    assert (package["distinct"], package["by_rows"], package["with_fix"]) == (8, 3, 3)
    assert (package["by_rows_or_source"], package["quiet"], package["tests"]) == (7, 1, 1)
    assert package["by_rows_percent"] == 37.5
    assert any("broken.py" in problem for problem in package["problems"])
    assert not (tmp_path / "ran").exists()


def test_messages_are_tried_in_the_form_in_which_they_arrive(doctor: Diagnoser, site: Path) -> None:
    index = open_index(site, ["press"], cache="")
    entries = measure(index, "press", Answers(doctor, index)).entries
    tried = {entry.template: entry.answers[0].text for entry in entries}
    sheets = tried["Tray {} needs at least one sheet, got {}"]
    assert sheets.endswith("ValueError: Tray 'value1' needs at least one sheet, got 8\n")
    assert 'site-packages/press/trays.py", line 5, in feed' in sheets
    assert tried["Drum {} is locked by the operator"].endswith(
        "KeyError: 'Drum value1 is locked by the operator'\n"
    )
    assert tried["Press stopped for cleaning"] == (
        "Error: Press stopped for cleaning\nStart value1 again with: press start"
    )
    worn = tried["Feeding slowly since the rollers of {} are worn"]
    assert " - press.trays - WARNING - Feeding slowly" in worn


def test_silent_messages_come_likeliest_first(diagnose: Run, site: Path) -> None:
    answer = diagnose("kb", "surface", "press", "--site", site, "--silent", "--limit", "6")
    order = ["at least one sheet", "is locked", "stopped for cleaning", "rollers", "bearings",
             "Poster"]  # fmt: skip
    places = [answer.out.replace("\n     ", "").find(text) for text in order]
    assert -1 not in places
    assert places.index(min(places)) == 0, "a test on an argument of a public function is first"
    assert places[4] > places[3] and places[5] > places[4], "private ones and recipes come last"
    assert "and 2 more of press (sources)" in answer.out


def test_all_lists_each_message_with_its_answer(
    diagnose: Run, overlay: Callable[..., Path], site: Path
) -> None:
    answer = diagnose("kb", "surface", "press", "--site", site, "--kb", overlay(SHEETS), "--all")
    out = " ".join(answer.out.split())
    assert "'Tray {} needs at least one sheet, got {}': local.err.sheets" in out
    assert "'Poster paper has run out': source" in out


def conflicts(answer: Any) -> dict[tuple[str, str], list[str]]:
    return {(each["kind"], each["row"].rpartition(".")[2]): [m["template"] for m in
            each["messages"]] for each in answer.json["conflicts"]}  # fmt: skip


@pytest.mark.parametrize(
    ("anchors", "expected"),
    [
        ((), {("several", "wide"): 3}),
        (("needs at least one sheet",), {("beyond", "wide"): 2}),
        (("needs at least one sheet", "locked by the operator", "Poster paper"), {}),
    ],
    ids=["unlike each other", "unlike what its anchor names", "all named"],
)
def test_a_row_that_answers_messages_of_different_meaning_is_listed(
    diagnose: Run, overlay: Callable[..., Path], site: Path, anchors: tuple[str, ...],
    expected: dict[tuple[str, str], int],
) -> None:  # fmt: skip
    knowledge = overlay((*WIDE, *anchors))
    answer = diagnose("kb", "surface", "press", "--site", site, "--kb", knowledge, "--conflicts",
                      "-f", "json")  # fmt: skip
    assert {key: len(texts) for key, texts in conflicts(answer).items()} == expected
    assert answer.code == (3 if expected else 0)


def test_a_row_of_one_package_that_answers_another_is_listed(
    diagnose: Run, overlay: Callable[..., Path], site: Path
) -> None:
    knowledge = overlay(("lathe", "bearings allow", "bearings allow"), emitter="lathe")
    answer = diagnose("kb", "surface", "press", "--site", site, "--kb", knowledge, "--conflicts")
    assert answer.code == 3
    assert "FOREIGN local.err.lathe answers 1 message of press (sources)" in answer.out


def test_less_than_wanted_and_less_than_recorded_end_with_3(
    diagnose: Run, overlay: Callable[..., Path], site: Path, tmp_path: Path
) -> None:
    measured = ("kb", "surface", "press", "--site", site)
    three, one = overlay(SHEETS, LOCKED, CLEANING), overlay(SHEETS)
    assert diagnose(*measured, "--kb", three, "--at-least", "37.5").code == 0
    assert diagnose(*measured, "--kb", three, "--at-least", "37.6").code == 3
    file = tmp_path / "figures.json"
    assert diagnose(*measured, "--kb", three, "--record", file).code == 0
    assert diagnose(*measured, "--kb", three, "--recorded", file).code == 0
    lower = diagnose(*measured, "--kb", one, "--recorded", file)
    assert lower.code == 3 and "LOWER press (sources): by rows 12.5 %, was 37.5 %" in lower.out
    assert diagnose(*measured, "--kb", one, "--record", file).code == 0
    assert diagnose(*measured, "--kb", one, "--recorded", file).code == 0


def test_recorded_figures_of_other_versions_stay(diagnose: Run, site: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    plain = json.loads(FIGURES.read_text(encoding="utf-8"))
    file.write_text(json.dumps(plain), encoding="utf-8")
    made = diagnose("kb", "surface", "press", "--site", site, "--record", file, "-f", "markdown")
    names = [each.package for each in read_records(file)]
    assert names == ["neuronx-distributed-inference", "press", "tinker", "tinker-cookbook",
                     "tinker-cookbook"]  # fmt: skip
    assert made.out.count("| tinker") == 3 and "| press | (sources) |" in made.out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "other/1", "packages": []}',
        '{"schema": "modelmedic/surface-figures/1", "packages": [{}]}',
    ],
)
def test_a_file_that_holds_no_figures_is_refused(
    diagnose: Run, site: Path, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "figures.json"
    file.write_text(text, encoding="utf-8")
    answer = diagnose("kb", "surface", "press", "--site", site, "--recorded", file)
    assert answer.code == 2 and "MM309" in answer.err


def test_installed_packages_of_another_interpreter_are_read(diagnose: Run, folder: Folder) -> None:
    place = "env/lib/python3.11/site-packages"
    info = "press-2.1.dist-info"
    files = PRESS | {
        f"{info}/RECORD": "".join(f"{name},,\n" for name in PRESS),
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: press\nVersion: 2.1\n",
    }
    env = folder("env", {f"{place}/{n}": t for n, t in files.items()} | {"env/bin/python": ""})
    python = env / "env" / "bin" / "python"
    answer = diagnose("kb", "surface", "press", "--python", python)
    assert answer.code == 0 and "press 2.1: 8 places, 8 messages" in answer.out


@pytest.mark.parametrize("packages", [("lathe",), ()], ids=["one that is not there", "none"])
def test_a_folder_without_the_packages_is_refused(
    diagnose: Run, site: Path, packages: tuple[str, ...]
) -> None:
    answer = diagnose("kb", "surface", *packages, "--site", site)
    assert answer.code == 2 and "MM487" in answer.err


def test_the_page_shows_the_recorded_figures(root: Path) -> None:
    shown = (root / "docs" / "surface.md").read_text(encoding="utf-8")
    assert shown == page(read_records(FIGURES)), "make surface RECORD=1"


@pytest.mark.heavy
def test_the_figures_of_installed_packages_do_not_fall(diagnose: Run) -> None:
    here = [each.package for each in read_records(FIGURES) if installed(each.package, each.version)]
    if not here:
        pytest.skip("no package of a recorded version is installed")
    answer = diagnose("kb", "surface", *dict.fromkeys(here), "--recorded", FIGURES)
    assert answer.code == 0, answer.out


def installed(name: str, wanted: str) -> bool:
    try:
        return version(name) == wanted
    except PackageNotFoundError:
        return False
