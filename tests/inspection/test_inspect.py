"""`diagnose inspect` over real artefacts: the right diagnosis first, healthy ones silent."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser, Report
from modelmedic.interfaces.inspection import gather
from modelmedic.interfaces.intake import Intake
from modelmedic.probes import recognition

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases.json").read_text(encoding="utf-8")
)


def inspected(doctor: Diagnoser, root: Path, case: dict[str, Any]) -> Report:
    vocabulary = doctor.base.vocabulary
    paths = [root / "tests/probes/data" / path for path in case["paths"]]
    facts, problems, read = gather(paths, vocabulary)
    assert read, "nothing was recognised"
    if "symptom" in case:
        facts.append(vocabulary.fact("symptom", name=case["symptom"]))
    return doctor.diagnose(facts, problems)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "+".join(case["paths"])[:90])
def test_case(doctor: Diagnoser, root: Path, case: dict[str, Any]) -> None:
    report = inspected(doctor, root, case)
    concluded = [d.id for d in report.diagnoses]
    if "first" in case:
        assert concluded[:1] == [case["first"]]
        others = [
            d.id
            for d in report.diagnoses[1:]
            if d.severity in ("error", "blocker")
            and d.confidence != "possible"
            and not d.explained_by
        ]
        assert others == [], "unrelated error-level diagnoses"
    if "problems" in case:
        found = [d.id for d in report.diagnoses if d.kind != "benign"]
        assert found == case["problems"]
    assert set(case.get("concludes", ())) <= set(concluded)
    assert not set(case.get("not", ())) & set(concluded)
    still_open = {candidate.id for candidate in report.unknown}
    assert set(case.get("open", ())) <= still_open
    if "next_first" in case:
        assert report.next[0].id == case["next_first"]
    if "next_probe" in case:
        assert case["next_probe"] in {step.id for step in report.next}


def test_a_whole_folder_is_walked_and_a_bad_file_costs_only_itself(
    doctor: Diagnoser, root: Path, tmp_path: Path
) -> None:
    data = root / "tests/probes/data"
    (tmp_path / "run").mkdir()
    for name in ("metrics.jsonl", "timing_spans.jsonl"):
        source = data / "metrics/runs/no_pipeline" / name
        (tmp_path / "run" / name).write_bytes(source.read_bytes())
    (tmp_path / "run" / "empty.log").write_bytes(b"")
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 64)
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr")
    (tmp_path / "venv" / "metrics.jsonl").write_text("not read")
    facts, _, read = gather([tmp_path], doctor.base.vocabulary)
    assert [title for _, title, _ in read] == ["run folder of the cookbook"]
    assert doctor.diagnose(facts).diagnoses[0].id == "tinker.perf.missing-pipelining"


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "MM406"), (b"\x00\x01\x02" * 100, "MM406"), (b"dear diary, nothing happened", "MM406")],
)
def test_a_named_file_that_is_nothing_known_is_named(
    doctor: Diagnoser, tmp_path: Path, content: bytes, code: str
) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    facts, problems, _ = gather([path], doctor.base.vocabulary)
    assert not facts
    assert [(p.code, str(p.where)) for p in problems] == [(code, str(path))]


def test_a_log_that_names_a_checkpoint_is_still_a_log(doctor: Diagnoser, tmp_path: Path) -> None:
    path = tmp_path / "error.txt"
    path.write_text("tinker.PermissionDeniedError: Error code: 403 - {'detail': 'Checkpoint "
                    "tinker://run-1/sampler_weights/final is not accessible'}\n")  # fmt: skip
    facts, problems, read = gather([path], doctor.base.vocabulary)
    assert [title for _, title, _ in read] == ["log or traceback"] and not problems
    assert {"error_message", "checkpoint"} <= {fact.kind for fact in facts}
    assert doctor.diagnose(facts).diagnoses[0].id == "tinker.auth.checkpoint-private"


def test_what_a_probe_found_is_read_where_it_was_kept(doctor: Diagnoser, tmp_path: Path) -> None:
    """The facts file of a probe beside the files of a run, and one that is broken."""
    check = {"kind": "service_check", "check": "capabilities", "ok": True, "latency_s": 5.0}
    kept = {"schema": "modelmedic/facts/1", "facts": [check]}
    (tmp_path / "service.json").write_text(json.dumps(kept))
    (tmp_path / "broken.json").write_text('{"schema": "modelmedic/facts/1", "facts": [')
    (tmp_path / "other.json").write_text('{"facts": []}')
    facts, problems, read = gather([tmp_path], doctor.base.vocabulary)
    assert [fact.kind for fact in facts] == ["service_check"]
    assert [(Path(p).name, n) for p, _, n in read] == [("broken.json", 0), ("service.json", 1)]
    assert {Path(p.where.path).name for p in problems if p.where} == {"broken.json"}


def test_a_list_of_packages_says_nothing_of_variables(doctor: Diagnoser, tmp_path: Path) -> None:
    path = tmp_path / "freeze.txt"
    path.write_text("tinker==0.38.0\npydantic==2.12.5\n")
    facts, _, _ = gather([path], doctor.base.vocabulary)
    assert {fact.kind for fact in facts} == {"package"}


def test_a_missing_path_is_named(doctor: Diagnoser, tmp_path: Path) -> None:
    _, problems, _ = gather([tmp_path / "nowhere"], doctor.base.vocabulary)
    assert [p.code for p in problems] == ["MM403"]


def test_a_folder_with_nothing_known_and_what_is_no_file_are_named(
    doctor: Diagnoser, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.safetensors").write_bytes(b"\xff" * 8)
    paths = [tmp_path / "empty", Path("/dev/null"), tmp_path / "weights"]
    _, problems, _ = gather(paths, doctor.base.vocabulary)
    named = {(p.code, str(p.where)) for p in problems}
    assert named == {(c, str(p)) for c, p in zip(("MM406", "MM403", "MM439"), paths, strict=True)}


def test_of_files_that_were_named_the_unknown_ones_are_told_in_short(
    doctor: Diagnoser, tmp_path: Path
) -> None:
    files = {
        "LICENSE": "do what you like",
        "notes.md": "dear diary",
        "neuron_config.json": '{"tp_degree": 8, "batch_size": 1, "seq_len": 128}',
        "config.json": '{"model_type": "llama"}',
        "train.py": "import tinker\nclient = tinker.ServiceClient()\n",
        "pyproject.toml": '[project]\ndependencies = ["tinker==0.18.0"]\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in files]
    _, problems, _ = gather(paths, doctor.base.vocabulary)
    unread = [(p.code, Path(str(p.where)).name, p.hint) for p in problems]
    assert unread == [("MM406", "LICENSE", ""), ("MM406", "notes.md", "")]
    _, problems, _ = gather(paths[:2], doctor.base.vocabulary)
    assert ["training script" in p.hint for p in problems] == [True, False]


def test_texts_of_a_folder_are_read_up_to_a_limit(
    doctor: Diagnoser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "MAX_TEXT_BYTES", 100)
    error = "- then came tinker.BillingError: Error code: 402 - blocked\n- and nothing since\n"
    for name, text in {"long.txt": "word " * 99, "diary.md": "rain\n", "note.md": error}.items():
        (tmp_path / name).write_text(text)
    facts, problems, read = gather([tmp_path], doctor.base.vocabulary, intake=Intake(doctor))
    assert [(Path(path).name, title) for path, title, _ in read] == [
        ("note.md", "error message"),
        ("diary.md", "text in which nothing is recognised"),
        ("long.txt", "long text, not read"),
    ]
    assert not problems
    assert doctor.diagnose(facts).diagnoses[0].id == "tinker.billing.blocked"


@pytest.mark.parametrize("name", ["diary.txt", "."])
def test_a_path_without_anything_known_is_a_problem(
    doctor: Diagnoser, tmp_path: Path, name: str
) -> None:
    (tmp_path / "diary.txt").write_text("It rained.\n")
    paths = [tmp_path / name]
    facts, problems, _ = gather(paths, doctor.base.vocabulary, intake=Intake(doctor))
    assert not facts
    assert [(p.code, p.where and p.where.path) for p in problems] == [("MM406", str(paths[0]))]
