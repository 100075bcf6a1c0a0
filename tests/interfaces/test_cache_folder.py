"""Where the cache is, whether it is used, and when it is made anew. (The quick way to its folder
gives the answer of platformdirs.)"""

import sys
from pathlib import Path

import platformdirs
import pytest

from modelmedic.interfaces.cli.context import default_cache_folder


@pytest.mark.parametrize("base", ["", "/somewhere/else", "  "])
def test_the_folder_is_that_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert default_cache_folder() == platformdirs.user_cache_dir("modelmedic", appauthor=False)


def test_a_changed_overlay_is_compiled_again(tmp_path, diagnose, facts_file):
    overlay, cache = tmp_path / "overlay", tmp_path / "cache"
    overlay.mkdir()
    text = (
        "schema: modelmedic/diagnoses/1\ndomain: local\nsources: [{ref: here}]\ndiagnoses:\n"
        "  - {id: local.x.y, title: TITLE, severity: info, kind: benign, summary: X.}\n"
    )
    for title in ("First", "Second"):
        (overlay / "diagnoses.yaml").write_text(text.replace("TITLE", title))
        for _ in range(2):
            answer = diagnose("explain", "local.x.y", "--kb", overlay, MODELMEDIC_CACHE=str(cache))
            assert answer.out.startswith(title)


def test_empty_switches_it_off(diagnose, modules_after, slow_steps, tmp_path):
    for _ in range(2):
        loaded = modules_after("--facts", slow_steps, MODELMEDIC_CACHE="", HOME=str(tmp_path))
        assert "yaml" in loaded
    assert not list(tmp_path.glob("**/knowledge-*"))


@pytest.mark.skipif(sys.platform != "linux", reason="where it is depends on the platform")
def test_where_it_is_kept(diagnose, slow_steps, tmp_path):
    home = {"HOME": str(tmp_path), "MODELMEDIC_CACHE": None, "XDG_CACHE_HOME": None}
    assert diagnose("--facts", slow_steps, **home).code == 1
    assert list((tmp_path / ".cache" / "modelmedic").glob("knowledge-*.jsonl"))
    assert diagnose("--facts", slow_steps, **home | {"XDG_CACHE_HOME": str(tmp_path / "x")}).code
    assert list((tmp_path / "x" / "modelmedic").glob("knowledge-*.jsonl"))
    assert diagnose("--facts", slow_steps, **home | {"HOME": "/dev/null"}).code == 1
