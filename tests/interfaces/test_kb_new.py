"""``diagnose kb new``: templates that are sound once their marked places are filled in."""

import re

import pytest

pytestmark = pytest.mark.slow

FORMS = ("rule", "error", "tree", "classification", "diagnosis", "observable", "issue")
DIAGNOSIS = "tinker.perf.gil-contention"
# Texts that a person writes at the marked places, by a part of the text of the mark.
BY_TEXT = [
    ("its text, {x}", "kettle {x} boils over"), ("its text, verbatim", "kettle 9 boils over"),
    ("a text that it is not", "kettle 9 is cold"),
    ("what was seen", "it is so"),
    ("a fact kind", "lab_sample"), ("its key attribute", "name"), ("an attribute", "value"),
    ("a value of symptom.name", "lab-smoke"), ("the symptom", "lab-smoke"),
    ("a diagnosis", DIAGNOSIS), ("the diagnosis", DIAGNOSIS),
    ("`diagnose kb list --form diagnosis`", DIAGNOSIS),
    ("the number", "value"), ("the key attribute", "name"), ("unit", "s"),
    ("similar message", "tray 9 is full"), ("the message alone", "the message"),
    ("a similar message", "tray 9 is full"), ("each part that varies", "tray {x} is jammed"),
    ("message", "tray 9 is jammed"),
]  # fmt: skip
VOCABULARY = """
schema: modelmedic/vocabulary/1
kinds:
  lab_sample:
    description: A sample.
    key: [name]
    attributes:
      name: {type: string, required: true, description: Which.}
      value: {type: number, unit: s, description: How long., ask: "How long did {name} take?"}
extend: {symptom: {values: {name: {lab-smoke: There is smoke.}}}}
"""


def fill(text, form):
    """A template with its marks replaced as a person would."""

    def word(mark):
        return next((value for part, value in BY_TEXT if part in mark[1]), mark[1].strip(": ")[:60])

    other = "red, value: 0.5" if form != "classification" else "blue, value: 3"
    facts = {"fires": "red, value: 3", "silent": other, "unknown": "red"}
    for kind, values in facts.items():
        fact = f"[{{kind: lab_sample, name: {values}}}]"
        marked = rf'(kind: {kind}\n.*\n    facts: )\[{{kind: "<fill in>"}}\]'
        text = re.sub(marked, rf"\g<1>{fact}", text)
    value = '"<fill in: the value>"'
    text = text.replace(f'attribute>": {value}, "<fill in: an attribute>": {value}',
                        'attribute>": red, "<fill in: an attribute>": 3')  # fmt: skip
    return re.sub(r"<fill in([^>]*)>", word, text.replace(value, "red"))


@pytest.fixture(scope="module")
def made(on_small, tmp_path_factory):
    """A folder with the files of every form, as they come, and what was said."""
    folder = tmp_path_factory.mktemp("new") / "acme"
    said = {}
    for form in FORMS:
        id_ = "acme_thing" if form == "observable" else f"acme.{form}.{form}-thing"
        before = set(folder.rglob("*.yaml"))
        answer = on_small("kb", "new", form, id_, "--kb", folder)
        assert (answer.code, answer.err) == (0, "")
        said[form] = (answer.out, set(folder.rglob("*.yaml")) - before)
    return folder, said


@pytest.mark.parametrize("form", FORMS)
def test_a_file_and_its_test_are_written(made, form):
    _, said = made
    out, files = said[form]
    assert out.count("wrote ") == len(files) >= 2
    assert all(f"wrote {path}\n" in out for path in files)
    assert sum(path.name.endswith(".test.yaml") for path in files) == 1


def test_templates_are_sound_once_they_are_filled_in(on_small, made):
    folder, said = made
    (folder / "vocabulary" / "lab.yaml").write_text(VOCABULARY)
    fresh = on_small("kb", "lint", "--kb", folder, "-f", "json").json["problems"]
    for form, (_, files) in said.items():
        for path in files:
            named = [p for p in fresh if p["code"] == "MM289" and path.name in p["where"]]
            assert named, f"{form}: nothing is marked in {path.name}"
            path.write_text(fill(path.read_text(), form))
    checked = on_small("kb", "lint", "--kb", folder)
    assert checked.code == 0, checked.out
    tested = on_small("kb", "test", "acme/", "--kb", folder)
    assert tested.code == 0, tested.out


@pytest.mark.parametrize(
    ("form", "id_", "code"),
    [
        ("rule", "Disk", "MM306"),
        ("rule", "disk", "MM306"),
        ("rule", "../../etc/x", "MM306"),
        ("observable", "disk.usage", "MM306"),
        ("observable", "Disk", "MM306"),
    ],
)
def test_a_bad_id(on_small, tmp_path, form, id_, code):
    answer = on_small("kb", "new", form, id_, "--kb", tmp_path / "acme")
    assert answer.code == 2
    assert answer.err.startswith(code)
    assert not (tmp_path / "acme").exists()


def test_nothing_is_overwritten(on_small, tmp_path):
    made = ("kb", "new", "rule", "acme.rule.thing", "--kb", tmp_path)
    assert on_small(*made).code == 0
    (tmp_path / "rules" / "thing.yaml").write_text("mine")
    (tmp_path / "rules" / "thing.test.yaml").unlink()
    answer = on_small(*made)
    assert answer.code == 2
    said = " ".join(answer.err.split())  # long paths are wrapped
    assert said.startswith(f"MM305 {tmp_path}/rules/thing.yaml: the file exists")
    assert (tmp_path / "rules" / "thing.yaml").read_text() == "mine"
    assert not (tmp_path / "rules" / "thing.test.yaml").exists()


def test_in_a_checkout_the_files_go_where_they_belong(on_small, tmp_path):
    (tmp_path / "knowledge").mkdir()
    (tmp_path / "facts" / "vocabulary").mkdir(parents=True)
    rule = on_small("kb", "new", "rule", "acme.rule.thing", cwd=tmp_path)
    assert rule.code == 0, rule.err
    assert (tmp_path / "knowledge" / "acme" / "rules" / "thing.yaml").is_file()
    kind = on_small("kb", "new", "observable", "acme_thing", cwd=tmp_path)
    assert kind.code == 0, kind.err
    assert (tmp_path / "facts" / "vocabulary" / "acme_thing.yaml").is_file()
    assert (tmp_path / "knowledge" / "stories" / "acme_thing.test.yaml").is_file()


def test_elsewhere_a_folder_must_be_named(on_small, tmp_path):
    answer = on_small("kb", "new", "rule", "acme.rule.thing", cwd=tmp_path)
    assert answer.code == 2
    assert answer.err.startswith("MM307 ")
    assert "--kb DIR" in answer.err
