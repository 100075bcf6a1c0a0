"""``kb releases``: what changed between releases, which are never run, and whom it touches."""

from __future__ import annotations

import io
import json
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelmedic.reading.packages import walking

Run = Callable[..., Any]

DATA = Path(__file__).parent / "releases"
TOY = yaml.safe_load((DATA / "toy_press.yaml").read_text(encoding="utf-8"))


def files_of(version: str) -> dict[str, str]:
    """The files of a release: those of the ones before it, changed."""
    files: dict[str, str | None] = {}
    for each, changed in TOY["releases"].items():
        files |= changed
        if each == version:
            break
    return {name: text for name, text in files.items() if text is not None}


def as_wheel(folder: Path, files: Mapping[str, str], version: str, name: str = "toy_press") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{info}/METADATA" if file == "METADATA" else file, text)
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "../escaped.py,,\n")  # not believed
    return path


def as_sdist(folder: Path, files: Mapping[str, str], version: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"toy_press-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in {**files, "setup.py": "raise SystemExit('never run')"}.items():
            inner = {"METADATA": "PKG-INFO", "setup.py": "setup.py"}.get(file, f"src/{file}")
            info = tarfile.TarInfo(f"toy_press-{version}/{inner}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def as_folder(folder: Path, files: Mapping[str, str], version: str) -> Path:
    path = folder / f"press-{version}"
    for file, text in files.items():
        target = path / ("PKG-INFO" if file == "METADATA" else file)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def overlay(folder: Callable[..., Path]) -> Path:
    return folder("local", yaml.safe_load((DATA / "knowledge.yaml").read_text(encoding="utf-8")))


@pytest.fixture(autouse=True)
def aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in; temporary files lie in it, and pip is configured by the tests alone."""
    for name in [each for each in os.environ if each.startswith("PIP_") or "proxy" in each.lower()]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(answer: Any) -> dict[str, list[tuple[str, ...]]]:
    """The changes of a JSON answer as the data has them."""
    return {
        f"{pair['old']} to {pair['new']}": sorted(
            (each["kind"], each["name"], each["old"], each["new"]) for each in pair["changes"]
        )
        for pair in answer.json["pairs"]
    }


WANTED = {pair: sorted(map(tuple, changes)) for pair, changes in TOY["changes"].items()}


@pytest.mark.deep
@pytest.mark.parametrize("made", [as_wheel, as_sdist, as_folder])
def test_every_change_is_found_whatever_the_form(
    diagnose: Run, aside: Path, made: Callable[..., Path]
) -> None:
    paths = [made(aside, files_of(version), version) for version in TOY["releases"]]
    answer = diagnose("kb", "releases", "toy-press", *paths, "--format", "json")
    assert answer.code == 0
    assert told(answer) == WANTED
    assert not answer.json["problems"]
    assert not list(aside.rglob("ran")) and not list(aside.rglob("escaped.py"))
    assert not list((aside / "temporary").iterdir())


def touches(found: Any, pair: int, kind: str, name: str) -> dict[str, str]:
    (change,) = [
        each
        for each in found["pairs"][pair]["changes"]
        if (each["kind"], each["name"]) == (kind, name)
    ]
    return {t["entry"]: t["how"] for t in change["touches"] if t["entry"].startswith("local.")}


def test_what_touches_our_knowledge_is_told(diagnose: Run, overlay: Path, aside: Path) -> None:
    paths = [as_wheel(aside, files_of(version), version) for version in TOY["releases"]]
    answer = diagnose("kb", "releases", "Toy_Press", *paths, "--kb", overlay, "-f", "json")
    assert answer.code == 3
    rows_and_anchors(answer.json)
    names(answer.json)
    limits = {v["entry"]: (v["holds"], v["decides"], v["open"]) for v in answer.json["versions"]}
    assert limits == {
        "local.rule.affected": ([False, True, False], True, False),
        "local.rule.open": ([True, True, True], False, True),
        "local.rule.old": ([True, False, False], True, False),
    }


def rows_and_anchors(found: Any) -> None:
    """A text that changed is reported with the row that misses it; anchors are compared with what
    their versions say."""
    feed = "toy_press.trays.PaperTray.feed_sheet"
    changed = touches(found, 0, "message-changed", feed)
    assert changed == {"local.err.no-sheets": "answers the old text only"}
    other = touches(found, 0, "message-raised-otherwise", "toy_press.trays.align_paper")
    assert other == {"local.err.alignment": "answers it"}
    assert found["pairs"][0]["silent"] == ["local.err.no-sheets"]
    assert found["pairs"][1]["silent"] == ["local.err.cold"]
    seen = {a["entry"]: (a["was"], a["is"], a["known"]) for a in found["pairs"][0]["anchors"]}
    assert seen == {
        "local.err.no-sheets": ("found", "changed", False),
        "local.err.guide": ("gone", "found", True),
    }


def names(found: Any) -> None:
    """Entries that name what changed are reported."""
    feed = "toy_press.trays.PaperTray.feed_sheet"
    both = "names PaperTray and feed_sheet"
    assert touches(found, 0, "parameter-added", f"{feed}(quiet)") == {"local.press.empty": both}
    assert "local.err.no-sheets" in touches(found, 0, "code-changed", feed)
    wanted = {"local.press.empty": "names versions of toy-ink"}
    assert touches(found, 0, "requirement-changed", "toy-ink") == wanted
    table = touches(found, 0, "entries-added", "toy_press.trays.PAPER_SIZES")
    assert table == {"local.press.empty": "names 2 others of this table"}
    align = touches(found, 0, "code-changed", "toy_press.trays.align_paper")
    assert align == {"local.err.alignment": "answers a message of this code"}


def test_the_text_says_what_to_look_at_and_writes_only_what_it_says(
    diagnose: Run, overlay: Path, aside: Path
) -> None:
    paths = [as_wheel(aside, files_of(version), version) for version in ("1.0", "1.1")]
    before = {path: path.read_bytes() for path in overlay.rglob("*") if path.is_file()}
    wanted = ["kb", "releases", "toy-press", *paths, "--kb", overlay, "--write", "look.yaml"]
    answer = diagnose(*wanted)
    assert answer.code == 3
    assert "toy-press 1.0 -> 1.1" in answer.out and "[local.err.no-sheets]" in answer.out
    assert "SILENT local.err.no-sheets" in answer.out
    assert "not in our knowledge: C5_portrait" in answer.out
    proposal = yaml.safe_load(Path("look.yaml").read_text(encoding="utf-8"))
    assert proposal["schema"] == "modelmedic/releases-proposal/1"
    assert answer.out.count("proposed:") == len(proposal["proposals"]) > 2
    anchor = proposal["proposals"][0]
    assert anchor["entry"] == "local.err.no-sheets" and anchor["versions"] == [{"fixed": "1.1"}]
    assert "press {} has no sheets left" in anchor["now"]
    assert before == {path: path.read_bytes() for path in overlay.rglob("*") if path.is_file()}
    again = diagnose(*wanted)
    assert again.code == 2 and "MM305" in again.err


def test_the_same_release_twice_is_no_change(diagnose: Run, aside: Path) -> None:
    path = as_wheel(aside, files_of("1.0"), "1.0")
    answer = diagnose("kb", "releases", "toy-press", path, path, "-f", "json")
    assert answer.code == 0 and told(answer) == {"1.0 to 1.0": []}


# ---- the index ----------------------------------------------------------------------------------


@pytest.fixture
def index(aside: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An index on loopback that pip is configured for: 1.0 and 1.1 as wheels, 2.0 as sdist."""
    files = aside / "index" / "toy-press"
    for version in ("1.0", "1.1"):
        as_wheel(files, files_of(version), version)
    as_sdist(files, files_of("2.0"), "2.0")
    links = "".join(f'<a href="{path.name}">{path.name}</a>\n' for path in sorted(files.iterdir()))
    (files / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None: ...

    handler = partial(Quiet, directory=str(aside / "index"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://user:secret@127.0.0.1:{server.server_port}")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    yield files
    server.shutdown()
    thread.join()
    server.server_close()


def test_releases_come_from_the_index_that_pip_is_configured_for(
    diagnose: Run, index: Path, aside: Path
) -> None:
    answer = diagnose("kb", "releases", "toy-press", "1.0", "1.1", "-f", "json")
    assert answer.code == 0, answer.err
    assert told(answer) == {"1.0 to 1.1": WANTED["1.0 to 1.1"]}
    assert not (aside / "ran").exists() and not list((aside / "temporary").iterdir())


@pytest.mark.parametrize("version", ["9.9", "2.0"])
def test_a_version_without_a_wheel_is_a_clear_error(
    diagnose: Run, index: Path, aside: Path, version: str
) -> None:
    """An sdist is not taken: pip would run its build."""
    answer = diagnose("kb", "releases", "toy-press", "1.0", version, "--write", "look.yaml")
    assert answer.code == 2
    assert "MM359" in answer.err and f"toy-press {version}" in answer.err
    assert "its wheels end with 1.0, 1.1" in answer.err and "secret" not in answer.err
    assert not Path("look.yaml").exists() and not list((aside / "temporary").iterdir())


def test_without_a_network_the_error_is_clear_and_nothing_is_left(
    diagnose: Run, aside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    old = as_wheel(aside, files_of("1.0"), "1.0")
    before = sorted(aside.rglob("*"))
    wanted = ["kb", "releases", "toy-press", old, "1.1", "--write", "look.yaml", "-f", "json"]
    answer = diagnose(*wanted)
    assert answer.code == 2 and "secret" not in answer.out + answer.err
    (problem,) = json.loads(answer.out)["errors"]
    assert problem["code"] == "MM358" and "no index can be reached" in problem["message"]
    assert sorted(aside.rglob("*")) == before


def test_a_name_is_a_name_and_no_option_of_pip(diagnose: Run) -> None:
    answer = diagnose("kb", "releases", "--", "-rfile", "1.0", "1.1")
    assert answer.code == 2 and "MM359" in answer.err


# ---- archives that mean harm --------------------------------------------------------------------


def zipped(path: Path, names: Mapping[str, str], link: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in names.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if name == link else 0o100644) << 16
            archive.writestr(info, text, zipfile.ZIP_DEFLATED)
    return path


@pytest.mark.parametrize(
    "name",
    ["../out.py", "/tmp/out.py", "toy_press/../../out.py", "C:/out.py", "a\\..\\out.py",
     "a//out.py", f"{'a' * 500}.py", "a\nb.py"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["zip", "tar"])
def test_a_name_that_leads_elsewhere_refuses_the_archive(
    diagnose: Run, aside: Path, name: str, form: str
) -> None:
    good = as_wheel(aside, files_of("1.0"), "1.0")
    bad = aside / ("bad-2.0.zip" if form == "zip" else "bad-2.0.tar.gz")
    if form == "zip":
        zipped(bad, {"toy_press/a.py": "x = 1", name: "x = 1"})
    else:
        with tarfile.open(bad, "w:gz") as archive:
            for each in ("toy_press-2.0/toy_press/a.py", name):
                archive.addfile(tarfile.TarInfo(each), io.BytesIO())
    answer = diagnose("kb", "releases", "toy-press", good, bad)
    if form == "zip" and "\\" in name and os.sep == "\\":
        pytest.skip("zipfile itself turns it round here")
    assert answer.code == 2 and "MM357" in answer.err
    assert not list(aside.rglob("out.py")) and not list((aside / "temporary").iterdir())


@pytest.mark.parametrize("form", ["zip", "tar", "folder"])
def test_links_are_left_out_and_said(diagnose: Run, aside: Path, form: str) -> None:
    outside = aside / "outside.py"
    outside.write_text("SECRET_VALUE = 'of somebody else'\n", encoding="utf-8")
    files = {"toy_press/a.py": "x = 1\n"}
    old = zipped(aside / "toy_press-1.0.zip", files)
    if form == "zip":
        new = zipped(aside / "new.zip", files | {"toy_press/b.py": str(outside)}, "toy_press/b.py")
    elif form == "tar":
        new = aside / "new.tar.gz"
        with tarfile.open(new, "w:gz") as archive:
            info = tarfile.TarInfo("toy_press/a.py")
            info.size = len(files["toy_press/a.py"])
            archive.addfile(info, io.BytesIO(files["toy_press/a.py"].encode()))
            link = tarfile.TarInfo("toy_press/b.py")
            link.type, link.linkname = tarfile.SYMTYPE, str(outside)
            archive.addfile(link)
    else:
        new = as_folder(aside, files, "2.0")
        (new / "toy_press" / "b.py").symlink_to(outside)
    answer = diagnose("kb", "releases", "toy-press", old, new, "-f", "json")
    assert answer.code == 0, answer.err
    assert ["a link, left out" in each for each in answer.json["problems"]] == [True]
    assert "SECRET_VALUE" not in answer.out


LIMITS = {
    "MAX_MEMBERS": 2,
    "MAX_ARCHIVE": 100,
    "MAX_UNPACKED": 9_000,
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_on_size_and_number_refuse_an_archive(
    diagnose: Run, aside: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = as_folder(aside, {"toy_press/a.py": "x = 1\n"}, "1.0")
    big = as_sdist(aside, {f"toy_press/{n}.py": f"x = '{'a' * 5000}'\n" for n in range(5)}, "2.0")
    monkeypatch.setattr(walking, limit, LIMITS[limit])
    answer = diagnose("kb", "releases", "toy-press", good, big)
    assert answer.code == 2 and "MM357" in answer.err


def test_a_file_that_unpacks_to_too_much_is_left_out(
    diagnose: Run, aside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = as_folder(aside, {"toy_press/a.py": "x = 1\n"}, "1.0")
    files = {"toy_press/a.py": "x = 1\n", "toy_press/bomb.py": "#" * 100_000}
    bomb = zipped(aside / "bomb.zip", files)
    monkeypatch.setattr("modelmedic.reading.packages.unpacking.MAX_FILE", 10_000)
    answer = diagnose("kb", "releases", "toy-press", good, bomb, "-f", "json")
    assert answer.code == 0 and "more than 10,000 bytes" in answer.json["problems"][0]


UNSOUND = {
    "cut.whl": b"PK\x03\x04 nothing more",
    "empty.zip": b"",
    "not.tar.gz": b"no gzip at all",
    "cut.tar.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b",
    "what.rpm": b"something else",
    "none.zip": b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_no_release_is_a_clear_error(diagnose: Run, aside: Path, name: str) -> None:
    good = as_wheel(aside, files_of("1.0"), "1.0")
    (aside / name).write_bytes(UNSOUND[name])
    answer = diagnose("kb", "releases", "toy-press", good, aside / name)
    assert answer.code == 2 and "MM357" in answer.err and name in answer.err


def test_another_package_and_a_missing_file_are_refused(diagnose: Run, aside: Path) -> None:
    good = as_wheel(aside, files_of("1.0"), "1.0")
    assert "toy-press, not toy-mill" in diagnose("kb", "releases", "toy-mill", good, good).err
    missing = diagnose("kb", "releases", "toy-press", good, "./nowhere.whl")
    assert missing.code == 2 and "there is no such release" in missing.err
