"""Scripts against the interface of all releases.

The scripts in interface/certain and interface/leads have, in a comment, the pattern that is
reported for each line, for certain or with something taken for granted; for those in
interface/silent nothing is reported.
"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.probes.script.interface import types as table
from modelmedic.probes.script.interface.find import PATTERNS
from modelmedic.probes.script.probe import gather_script

CASES = Path(__file__).parent / "interface"
SCRIPTS = sorted(p for p in CASES.rglob("*.py") if p.name != "__init__.py")
OURS = set(PATTERNS.values())
EXPECTED = re.compile(r"# (api-[a-z-]+)$")
RECEIVERS = {
    "tinker.ServiceClient": "tinker.ServiceClient()",
    "tinker.TrainingClient": "tinker.ServiceClient().create_lora_training_client('m')",
    "tinker.SamplingClient": "tinker.ServiceClient().create_sampling_client(base_model='m')",
    "tinker.types.AdamParams": "tinker.AdamParams()",
    "tinker.types.ModelInput": "tinker.types.ModelInput.from_ints([1])",
    "tinker": "tinker",
    "tinker.types": "tinker.types",
}


def found(outcome):
    return [f for f in outcome.facts if f.kind == "code_pattern" and f.get("pattern") in OURS]


def read(text, vocabulary):
    return found(gather_script("train.py", vocabulary, text=text))


def expected(script):
    lines = script.read_text("utf-8").splitlines()
    return {
        (number, mark[1]) for number, line in enumerate(lines, 1) if (mark := EXPECTED.search(line))
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: str(p.relative_to(CASES)))
def test_what_is_told_of_a_script(script, vocabulary):
    facts = found(gather_script(script, vocabulary))
    places = {(f.get("line"), f.get("pattern")) for f in facts}
    assert places >= expected(script)
    lines = {line for line, _ in expected(script)}
    other = {place for place in places - expected(script) if place[1] != "api-argument-missing"}
    assert not other
    if not lines:
        assert not places
    sure = [f for f in facts if not f.get("assumes")]
    assert bool(sure) == ("certain" in script.parts)
    assert "certain" not in script.parts or len(sure) == len(facts)


@given(data=st.data())
def test_a_name_that_no_release_has_is_told(vocabulary, data):
    owner = data.draw(st.sampled_from(sorted(RECEIVERS)))
    where = "modules" if owner in ("tinker", "tinker.types") else "classes"
    newest = max(table.releases(where, owner))
    names = [
        name for name in table.names(where, owner)
        if not name.startswith("model_") and newest in table.releases(where, owner, name)
    ]  # fmt: skip
    name = data.draw(st.sampled_from(sorted(names)))
    letter = data.draw(st.sampled_from("qxz"))
    at = data.draw(st.integers(1, len(name)))
    wrong = name[:at] + letter * 2 + name[at:]
    sdk = "import tinker; service = tinker.ServiceClient()"  # nobody else has it
    code = f"{sdk}\nthing = {RECEIVERS[owner]}\nthing.{wrong}(1)\nthing.{wrong}x(1)\n"
    facts = read(code, vocabulary)
    assert {f.get("line") for f in facts} == {3, 4}
    assert not any(f.get("assumes") for f in facts)
    right = code.replace(wrong + "x", name).replace(wrong, name)
    assert not [f for f in read(right, vocabulary) if f.get("pattern") == "api-unknown-name"]
    for guard in (
        "try:\n {0}\nexcept AttributeError:\n pass",
        f"if hasattr(thing, {wrong!r}):\n {{0}}",
    ):
        guarded = f"import tinker\nthing = {RECEIVERS[owner]}\n" + guard.format(f"thing.{wrong}()")
        assert read(guarded, vocabulary) == []


WAITS = """import asyncio
import tinker
async def one(service):
    client = service.create_sampling_client(base_model="m")
    return {0}client.{1}
async def main():
    service = tinker.ServiceClient()
    await asyncio.gather(one(service), one(service))
"""


@pytest.mark.parametrize(("pinned", "told"), [("0.16.1", True), ("0.38.0", False), ("", False)])
def test_a_method_that_waits_is_told_for_the_releases_in_which_it_does(
    pinned, told, tmp_path, vocabulary
):
    code = WAITS.format("await ", "sample_async(1, 1, 1)") + "asyncio.run(main())\n"
    (tmp_path / "train.py").write_text(code, "utf-8")
    if pinned:
        (tmp_path / "requirements.txt").write_text(f"tinker=={pinned}\n", "utf-8")
    facts = gather_script(tmp_path / "train.py", vocabulary).facts
    lines = [f.get("line") for f in facts if f.get("pattern") == "sync-call-in-async"
             and f.get("present")]  # fmt: skip
    assert lines == ([4] if told else [])
    (tmp_path / "train.py").write_text(code.replace("async def one", "def one"), "utf-8")
    facts = gather_script(tmp_path / "train.py", vocabulary).facts
    assert not [f for f in facts if f.get("pattern") == "sync-call-in-async" and f.get("present")]


@pytest.mark.parametrize("name", ["modules", "classes", "functions"])
def test_the_table_is_sound(name):
    for package in table.PACKAGES.values():
        last = len(table.versions(package)) - 1
        rows = json.loads(Path(table.__file__).with_name("table.json").read_text("utf-8"))
        owners = rows[package][name]
        assert len(owners) > 30
        for owner, entries in owners.items():
            assert "" in entries, owner
            for key in entries:
                runs = table.runs(name, owner, key)
                assert runs, (owner, key)
                assert all(0 <= run.first <= run.last <= last for run in runs)
                assert table.releases(name, owner, key) <= table.releases(name, owner)
