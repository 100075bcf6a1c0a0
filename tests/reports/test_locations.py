"""Places in SARIF, GitHub and JUnit are files that exist, from the root of the repository."""

import importlib.util
import json
import os
import re
import shutil
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml

from modelmedic.facts import Fact, Provenance
from modelmedic.interfaces.inspection import gather
from modelmedic.interfaces.reports.formats import Document, render
from modelmedic.interfaces.reports.output_guard import redacted

TESTS = Path(__file__).resolve().parents[1]
TINKER = json.loads((TESTS / "inspection/cases.json").read_text(encoding="utf-8"))
NEURON = sorted((TESTS / "inspection_neuron/cases").glob("*.yaml"))
ANNOTATION = re.compile(r"::\w+ (?:file=([^,:]*),)?(?:line=(\d+),)?title=")


def _experiments() -> ModuleType:
    path = TESTS / "inspection_neuron/conftest.py"
    spec = importlib.util.spec_from_file_location("experiments", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository whose working folder is not its root."""
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "ci").mkdir()
    monkeypatch.chdir(root / "ci")
    return root


@pytest.fixture
def rendered(doctor):
    def rendered(paths):
        facts, problems, _ = gather(paths, doctor.base.vocabulary)
        document = redacted(Document(doctor.diagnose(facts, problems)))
        return {name: render(document, name).value for name in ("sarif", "github", "junit")}

    return rendered


def check(texts, root, schema):
    """All places are files, those with a line that long; says which files they are."""
    log = json.loads(texts["sarif"])
    assert [e.message for e in jsonschema.Draft4Validator(schema).iter_errors(log)] == []
    places = []
    for result in log["runs"][0]["results"]:
        assert result["locations"], result["ruleId"]
        for location in result["locations"]:
            physical = location["physicalLocation"]
            assert physical["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
            uri = physical["artifactLocation"]["uri"]
            places.append((unquote(uri), physical.get("region", {}).get("startLine", 0)))
    for line in texts["github"].splitlines():
        match = ANNOTATION.match(line)
        assert match, line
        if match[1]:
            file = match[1].replace("%2C", ",").replace("%3A", ":").replace("%25", "%")
            places.append((file, int(match[2] or 0)))
    for case in ET.fromstring(texts["junit"]).iter("testcase"):
        if "file" in case.attrib:
            places.append((case.attrib["file"], int(case.get("line", 0))))
    for file, line in places:
        assert (root / file).is_file(), file
        if line and not file.endswith((".gz", ".xz", ".bz2")):
            assert (root / file).read_bytes().count(b"\n") + 1 >= line, (file, line)
    return {file for file, _ in places}


@pytest.mark.parametrize("case", TINKER, ids=lambda case: "+".join(case["paths"])[:60])
def test_artefacts_of_runs(case, repository, rendered, sarif_schema):
    """Copied into the repository, and named from its root, from below, and absolutely."""
    named = []
    for number, path in enumerate(case["paths"]):
        source = TESTS / "probes/data" / path
        target = repository / "data" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        named.append(target if number % 2 else Path(os.path.relpath(target)))
    check(rendered(named), repository, sarif_schema)


@pytest.mark.parametrize("case", NEURON, ids=lambda path: path.stem)
def test_experiment_folders(case, repository, rendered, sarif_schema):
    folder = repository / "exp"
    folder.mkdir()
    _experiments().build(folder, yaml.safe_load(case.read_text(encoding="utf-8")))
    check(rendered([Path("../exp")]), repository, sarif_schema)


def test_a_part_of_a_file_is_shown_as_the_file_and_named_beside_it(
    repository, rendered, sarif_schema
):
    folder = repository / "exp"
    folder.mkdir()
    case = yaml.safe_load((NEURON[0].parent / "09-components-failing.yaml").read_text("utf-8"))
    _experiments().build(folder, case)
    texts = rendered([folder])
    assert "exp/results/stage2.json" in check(texts, repository, sarif_schema)
    assert "stage2.json%23" not in texts["sarif"] and "#results" not in texts["github"]
    parts = {
        named["fullyQualifiedName"]
        for result in json.loads(texts["sarif"])["runs"][0]["results"]
        for location in result["locations"]
        for named in location.get("logicalLocations", ())
    }
    assert any(part.startswith("results[") for part in parts)


def test_what_lies_elsewhere_or_nowhere(repository, doctor, tmp_path, monkeypatch):
    """Outside of the repository there is no annotation, below the home folder no name of it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (home / "own run.log").write_text("x\n")
    (tmp_path / "other.log").write_text("x\n")
    said = [
        Fact.of("timing_summary", [Provenance("probe:logs", place)], operation=f"sample{n}",
                submit_s=40.0 + n)
        for n, place in enumerate([f"{tmp_path}/other.log:1", "~/own run.log:1", "gone.log:3"])
    ]  # fmt: skip
    others = [doctor.base.vocabulary.fact("package", name="pydantic", version="2.13.0b2"),
              doctor.base.vocabulary.fact("package", name="tinker", version="0.16.1")]  # fmt: skip
    document = redacted(Document(doctor.diagnose([*said, *others])))
    assert "file=" not in render(document, "github").value
    results = json.loads(render(document, "sarif").value)["runs"][0]["results"]
    found = [
        location["physicalLocation"]["artifactLocation"]
        for result in results
        for location in result["locations"]
    ]
    assert {"uri": f"file://{tmp_path}/other.log"} in found
    assert {"uri": "own%20run.log", "uriBaseId": "HOME"} in found
    assert not [each for each in found if "gone" in each["uri"]]
