"""Knowledge packs of installed packages: found by name, used on demand, never imported."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

RULES = """
schema: modelmedic/rules/1
domain: acme
sources: [{ref: measured}]
rules:
  - id: acme.rule.slow
    title: Steps are slow here
    when: {fact: env_var, where: {name: ACME, is_set: true}}
    conclude: [{diagnosis: tinker.perf.slow-steps}]
"""
CODE = "raise SystemExit('the code of a pack was run')\n"


@pytest.fixture
def installed(folder, monkeypatch):
    """Installs packages: name -> (entry points, files)."""

    def install(name, points, files):
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n"
        listed = "[modelmedic.knowledge]\n" + "".join(f"{n} = {v}\n" for n, v in points.items())
        info = f"{name}-1.5.dist-info"
        written = {f"{info}/METADATA": metadata, f"{info}/entry_points.txt": listed}
        place = folder(f"site-{name}", written | files)
        monkeypatch.syspath_prepend(str(place))
        importlib.invalidate_caches()
        return place

    return install


@pytest.fixture
def acme(installed):
    files = {"acme_kb/__init__.py": CODE, "acme_kb/rules/slow.yaml": RULES}
    return installed("acme", {"acme": "acme_kb.rules"}, files)


@pytest.fixture
def facts(tmp_path):
    path = tmp_path / "facts.json"
    path.write_text(json.dumps([{"kind": "env_var", "name": "ACME", "is_set": True}]))
    return path


def test_a_pack_takes_part_where_it_is_asked_for(diagnose, acme, facts):
    answer = diagnose("--facts", facts, "--kb", "pack:acme", "-f", "json")
    assert [d["id"] for d in answer.json["diagnoses"]] == ["tinker.perf.slow-steps"]
    (overlay,) = answer.json["knowledge"]["overlays"]
    assert overlay["path"] == str(acme / "acme_kb" / "rules")
    assert "acme_kb" not in sys.modules


def test_an_installed_pack_is_never_loaded_silently(diagnose, acme, facts):
    plain = diagnose("--facts", facts, "-f", "json").json
    assert plain["diagnoses"] == []
    assert plain["knowledge"]["overlays"] == []


def test_packs_are_listed(diagnose, acme):
    (pack,) = diagnose("kb", "packs", "-f", "json").json["packs"]
    assert pack == {
        "name": "acme",
        "package": "acme",
        "version": "1.5",
        "folder": str(acme / "acme_kb" / "rules"),
    }
    assert "pack:acme  acme 1.5" in diagnose("kb", "packs").out


def test_maintainers_commands_take_packs(diagnose, acme):
    assert "acme.rule.slow" in diagnose("kb", "list", "--kb", "pack:acme").out


@pytest.mark.parametrize(
    ("points", "asked", "said"),
    [
        ({"acme": "acme_kb.rules"}, "acne", "did you mean 'acme'?"),
        ({"acme": "acme_kb.nowhere"}, "acme", "has no folder"),
        ({"acme": "../../etc"}, "acme", "has no folder"),
        ({"acme": "acme_kb.rules:load"}, "acne", "did you mean 'acme'?"),
    ],
)
def test_a_pack_that_is_not_there_is_a_clear_error(diagnose, installed, facts, points, asked, said):
    installed("acme", points, {"acme_kb/__init__.py": CODE, "acme_kb/rules/slow.yaml": RULES})
    answer = diagnose("--facts", facts, "--kb", f"pack:{asked}")
    assert answer.code == 2
    assert "MM340" in answer.err
    assert said in " ".join(answer.err.split())


def test_two_packs_of_one_name_are_no_guess(diagnose, installed, facts):
    for name in ("acme", "other"):
        files = {f"{name}_kb/__init__.py": CODE, f"{name}_kb/rules/slow.yaml": RULES}
        installed(name, {"acme": f"{name}_kb.rules"}, files)
    answer = diagnose("--facts", facts, "--kb", "pack:acme")
    assert (answer.code, answer.err[:5]) == (2, "MM340")


def test_an_editable_install_is_found_without_importing(diagnose, installed, folder, monkeypatch):
    installed("acme", {"acme": "acme_kb.rules"}, {})  # its files lie elsewhere
    files = {"acme_kb/__init__.py": CODE, "acme_kb/rules/slow.yaml": RULES}
    monkeypatch.syspath_prepend(str(folder("src", files)))
    assert "acme.rule.slow" in diagnose("kb", "list", "--kb", "pack:acme").out
    assert "acme_kb" not in sys.modules
