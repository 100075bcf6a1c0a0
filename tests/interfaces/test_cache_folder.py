"""The place of the cache, whether it is used, and when it is made again. (The quick way to its
folder gives the answer of platformdirs.)"""

import os
import sys
from pathlib import Path

import platformdirs
import pytest

from modelmedic.interfaces.context import default_cache_folder


@pytest.mark.parametrize("base", ["", "/somewhere/else", "  "])
def test_the_folder_is_that_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert default_cache_folder() == platformdirs.user_cache_dir("modelmedic", appauthor=False)


def test_a_changed_overlay_is_compiled_again(tmp_path, on_small):
    overlay, cache = tmp_path / "overlay", tmp_path / "cache"
    overlay.mkdir()
    text = (
        "schema: modelmedic/diagnoses/1\ndomain: local\nsources: [{ref: here}]\ndiagnoses:\n"
        "  - {id: local.x.y, title: TITLE, severity: info, kind: benign, summary: X.}\n"
    )
    for title in ("First", "Second"):
        (overlay / "diagnoses.yaml").write_text(text.replace("TITLE", title))
        for _ in range(2):
            answer = on_small("explain", "local.x.y", "--kb", overlay, MODELMEDIC_CACHE=str(cache))
            assert answer.out.startswith(title)


@pytest.mark.deep
def test_empty_switches_it_off(diagnose, modules_after, slow_steps, tmp_path):
    for _ in range(2):
        loaded = modules_after("--facts", slow_steps, MODELMEDIC_CACHE="", HOME=str(tmp_path))
        assert "yaml" in loaded
    assert not list(tmp_path.glob("**/knowledge-*"))


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="where it is depends on the platform")
def test_where_it_is_kept(diagnose, slow_steps, tmp_path):
    home = {"HOME": str(tmp_path), "MODELMEDIC_CACHE": None, "XDG_CACHE_HOME": None}
    assert diagnose("--facts", slow_steps, **home).code == 1
    assert list((tmp_path / ".cache" / "modelmedic").glob("knowledge-*.jsonl"))
    assert diagnose("--facts", slow_steps, **home | {"XDG_CACHE_HOME": str(tmp_path / "x")}).code
    assert list((tmp_path / "x" / "modelmedic").glob("knowledge-*.jsonl"))
    assert diagnose("--facts", slow_steps, **home | {"HOME": "/dev/null"}).code == 1


@pytest.mark.parametrize("place", ["file", "below a file", "device", "long"])
def test_a_folder_that_cannot_be_made_is_no_error(on_small, facts_file, tmp_path, place):
    (tmp_path / "file").write_text("in the way")
    folder = {
        "file": tmp_path / "file",
        "below a file": tmp_path / "file" / "cache",
        "device": "/dev/null/cache",
        "long": tmp_path / ("x" * 300),
    }[place]
    facts = facts_file({"kind": "symptom", "name": "hang"})
    answer = on_small("--facts", facts, MODELMEDIC_CACHE=str(folder))
    assert answer.code == 1
    assert answer == on_small("--facts", facts)
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_no_error(on_small, facts_file, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(0o500)
    facts = facts_file({"kind": "symptom", "name": "hang"})
    answer = on_small("--facts", facts, MODELMEDIC_CACHE=str(folder))
    assert answer.code == 1
    assert answer == on_small("--facts", facts)
    assert not list(folder.iterdir())


def test_old_files_go(on_small, facts_file, tmp_path):
    cache = tmp_path / "cache"
    on_small("--facts", facts_file(), MODELMEDIC_CACHE=str(cache))
    for number in range(20):
        (cache / f"knowledge-2-{number:064}.jsonl").write_text("old")
        os.utime(cache / f"knowledge-2-{number:064}.jsonl", (number, number))
    (cache / "notes.txt").write_text("mine")
    (tmp_path / "overlay").mkdir()
    facts = ("--facts", facts_file(), "--kb", tmp_path / "overlay")
    (tmp_path / "overlay" / "vocabulary").mkdir()
    (tmp_path / "overlay" / "vocabulary" / "x.yaml").write_text(
        "schema: modelmedic/vocabulary/1\nkinds: {queue: {description: Q., attributes: {}}}\n"
    )
    assert on_small(*facts, MODELMEDIC_CACHE=str(cache)).code == 0
    left = sorted(cache.glob("knowledge-*.jsonl"))
    assert len(left) < 12
    assert any(path.stat().st_size > 1000 for path in left)
    assert (cache / "notes.txt").read_text() == "mine"
