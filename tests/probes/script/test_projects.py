"""Programs of several files. Each folder of ``projects`` is one, with what it shows beside it.

``present`` maps each pattern that blames to its place, ``facts`` lists the other facts, ``assumes``
what a pattern takes for granted. Patterns that only describe the code are left out.
"""

import json
from pathlib import Path

import pytest

from modelmedic.probes.recognition import find_units, gather_unit
from modelmedic.probes.script.probe import gather_script

PROJECTS = sorted(p for p in (Path(__file__).parent / "projects").iterdir() if p.is_dir())
DESCRIPTIONS = {"custom-training-loop", "submits-before-waiting", "plain-calls-in-sequence",
                "awaits-async-submits", "no-save-in-loop", "no-sampling-in-loop"}  # fmt: skip


@pytest.fixture
def read(vocabulary, monkeypatch):
    """The facts of a folder, as the product gathers them."""

    def read(folder):
        monkeypatch.chdir(folder)
        units, problems = find_units([Path(".")], vocabulary)
        assert not [p for p in problems if p.code != "MM406"]
        outcomes = [gather_unit(unit, vocabulary) for unit in units]
        return [fact for outcome in outcomes for fact in outcome.facts]

    return read


def place(fact):
    return fact.provenance[0].location


def as_case(facts):
    blamed = [f for f in facts if f.kind == "code_pattern" and f.get("present")
              and f.get("pattern") not in DESCRIPTIONS]  # fmt: skip
    return {
        "present": {f.get("pattern"): place(f) for f in reversed(blamed)},  # the first place
        "assumes": {f.get("pattern"): f.get("assumes") for f in blamed if f.get("assumes")},
        "facts": [
            f"{f.get('name')} = {f.get('value') or f.get('text') or ''} at {place(f)}"
            for f in facts
            if f.kind in ("hyperparameter", "base_model")
        ],
    }


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda p: p.name)
def test_a_project_shows_exactly_what_is_recorded(folder, read):
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    assert as_case(read(folder)) == expected


@pytest.mark.parametrize("name", ["clients.py", "steps.py", "loop.py"])
def test_each_file_of_a_program_leads_to_the_whole(name, vocabulary, monkeypatch):
    folder = next(p for p in PROJECTS if p.name == "four_files")
    monkeypatch.chdir(folder)
    case = as_case(gather_script([Path(name)], vocabulary).facts)
    assert case == json.loads(Path("expected.json").read_text("utf-8"))


def test_the_order_and_the_split_of_the_files_change_nothing(tmp_path, vocabulary, monkeypatch):
    """The same program in one file shows the same patterns."""
    folder = next(p for p in PROJECTS if p.name == "four_files")
    parts = [(folder / name).read_text() for name in ("config", "clients", "steps", "loop")
             for name in (f"{name}.py",)]  # fmt: skip
    own = ("from config", "from clients", "from steps")
    lines = [line for part in parts for line in part.splitlines() if not line.startswith(own)]
    (tmp_path / "one.py").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    case = as_case(gather_script([Path("one.py")], vocabulary).facts)
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    assert case["present"].keys() == expected["present"].keys()
    assert [text.partition(" at ")[0] for text in case["facts"]] == [
        text.partition(" at ")[0] for text in expected["facts"]
    ]


HOSTILE = {
    "cycle": {"a.py": "import tinker\nfrom b import *\nimport b\n", "b.py": "from a import x\n"},
    "itself": {"a.py": "import tinker\nimport a\nfrom a import a\n"},
    "base": {"a.py": "import tinker\nclass A(B): pass\nclass B(A): pass\nA().x.sample()\n"},
    "outside": {"a.py": "import tinker\nfrom ....... import secrets\nimport a.b.c.d.e\n"},
    "broken": {"a.py": "import tinker\nimport b\n", "b.py": "def ("},
    "deep": {"a.py": "import tinker\nx = " + "(" * 5000 + ")" * 5000},
    "binary": {"a.py": "import tinker\nimport b\n", "b.py": "\0\0\0"},
}


@pytest.mark.parametrize("files", HOSTILE.values(), ids=HOSTILE)
def test_hostile_projects_end_with_what_can_be_read(files, tmp_path, read):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "good.py").write_text("import tinker\ntinker.SamplingParams(max_new_tokens=3)\n")
    found = as_case(read(tmp_path))
    assert found["present"] == {"api-max-new-tokens": "good.py:2"}


def test_a_link_out_of_the_project_is_not_followed(tmp_path, read):
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (outside / "secret.py").write_text("RANK = 77\n")
    (project / "secret.py").symlink_to(outside / "secret.py")
    (project / "train.py").write_text(
        "import tinker\nfrom secret import RANK\n"
        "tinker.ServiceClient().create_lora_training_client('Qwen/Qwen3-8B', rank=RANK)\n"
    )
    assert not [text for text in as_case(read(project))["facts"] if "77" in text]


SUPERVISED = """\
import tinker
client = tinker.ServiceClient().create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=8)
for batch in load():
    client.forward_backward(batch, "{loss}").result()
    client.optim_step(tinker.AdamParams(learning_rate={rate})).result()
"""


@pytest.mark.parametrize(("second", "kept"), [("importance_sampling", False),
                                              ("cross_entropy", True)])  # fmt: skip
def test_a_workload_is_that_of_its_own_program(second, kept, tmp_path, vocabulary):
    """Nothing says to which program a setting belongs: where they differ, none is reported."""
    files = {"one.py": SUPERVISED.format(loss="cross_entropy", rate=2e-4),
             "two.py": SUPERVISED.format(loss=second, rate=1e-5)}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text("def load():\n    return []\n" + text)
    facts = gather_script(sorted(tmp_path.iterdir()), vocabulary).facts
    assert {f.get("type") for f in facts if f.kind == "workload"} == ({"sft"} if kept else set())
    assert len([f for f in facts if f.get("name") == "learning_rate"]) == 2
