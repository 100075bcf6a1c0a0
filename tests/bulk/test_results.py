"""The results of a bulk job: the same as when each record is diagnosed alone."""

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Provenance
from modelmedic.interfaces.bulk.job import run_job
from modelmedic.interfaces.bulk.progress import NoProgress
from modelmedic.interfaces.inspection import gather

HERE = Path(__file__).parent
BAD_LINES = json.loads((HERE / "bad_lines.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, record, write_lines):
    folder = tmp_path_factory.mktemp("records")
    write_lines(folder / "r.jsonl", [record(n) for n in range(120)])
    return folder


@pytest.fixture(scope="module")
def results(folder, bulk, lines_of):
    assert bulk(folder, "r.jsonl", "-o", "o.jsonl", "--chunk", 17, "--workers", 2)[0] == 0
    return lines_of(folder / "o.jsonl")


def test_each_record_has_its_findings(results, record, doctor):
    wanted = []
    for number in range(120):
        one = record(number)
        findings = [finding._asdict() for finding in doctor.screen(one["facts"])]
        head = {"source": "r.jsonl", "line": number + 1, "id": one["id"], "time": one["time"]}
        wanted.append(head | {"findings": findings})
    assert results == json.loads(json.dumps(wanted))
    assert sum(bool(line["findings"]) for line in results) > 50


def test_nothing_is_left_beside_the_results(folder, results):
    assert {path.name for path in folder.iterdir()} >= {"r.jsonl", "o.jsonl"}
    assert not [p for p in folder.iterdir() if p.name.startswith("o.jsonl.")]


def test_the_number_of_workers_and_chunks_changes_nothing(folder, results, bulk):
    bulk(folder, "r.jsonl", "-o", "other.jsonl", "--chunk", 5, "--workers", 3)
    assert (folder / "other.jsonl").read_bytes() == (folder / "o.jsonl").read_bytes()


def test_whole_reports(folder, bulk, record, doctor, lines_of):
    assert bulk(folder, "r.jsonl", "-o", "full.jsonl", "--full", "--workers", 2)[0] == 0
    found = lines_of(folder / "full.jsonl")
    assert len(found) == 120
    for number in range(0, 120, 7):
        trusted = doctor.base.vocabulary.trusted
        facts = [trusted(item, Provenance("file")) for item in record(number)["facts"]]
        report = doctor.diagnose(facts).plain() | {"redacted": {}}
        assert found[number]["report"] == json.loads(json.dumps(report))


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_compressed_lines(folder, results, bulk, lines_of, tmp_path, ending):
    plain = (folder / "r.jsonl").read_bytes()
    middle = plain.index(b"\n", len(plain) // 2) + 1
    parts = (plain[:middle], plain[middle:])  # compressed one after the other, as by `cat`
    if ending == "gz":
        packed = b"".join(map(gzip.compress, parts))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        codec = pyarrow.Codec("zstd")
        packed = b"".join(codec.compress(part, asbytes=True) for part in parts)
    (tmp_path / f"r.jsonl.{ending}").write_bytes(packed)
    assert bulk(tmp_path, f"r.jsonl.{ending}", "-o", "o.jsonl")[0] == 0
    found = lines_of(tmp_path / "o.jsonl")
    assert [line | {"source": "r.jsonl"} for line in found] == results


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_compressed_file_that_breaks_off(folder, results, bulk, lines_of, tmp_path, ending):
    plain = (folder / "r.jsonl").read_bytes()
    if ending == "gz":
        packed = gzip.compress(plain)
    else:
        packed = pytest.importorskip("pyarrow").Codec("zstd").compress(plain, asbytes=True)
    (tmp_path / f"r.jsonl.{ending}").write_bytes(packed[: len(packed) * 3 // 4])
    shutil.copy(folder / "r.jsonl", tmp_path / "next.jsonl")
    code, said = bulk(tmp_path, f"r.jsonl.{ending}", "next.jsonl", "-o", "o.jsonl")
    assert code == 2
    (error,) = lines_of(tmp_path / "o.jsonl.errors.jsonl")
    assert [p["code"] for p in error["problems"]] == ["MM335"]
    assert "o.jsonl.errors.jsonl" in said
    found = lines_of(tmp_path / "o.jsonl")
    kept = [line for line in found if line["source"] != "next.jsonl"]
    assert [line | {"source": "r.jsonl"} for line in kept] == results[: len(kept)]
    assert len(found) == len(kept) + 120


def test_a_folder_of_facts_files(folder, results, bulk, lines_of, tmp_path, record):
    for number in range(12):
        path = tmp_path / "in" / f"{number % 3}" / f"{number:02}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record(number), indent=1))
    (tmp_path / "in" / "notes.txt").write_text("no record")
    assert bulk(tmp_path, "in", "-o", "o.jsonl", "--chunk", 5)[0] == 0
    found = lines_of(tmp_path / "o.jsonl")
    assert [line["source"] for line in found] == sorted(line["source"] for line in found)
    by_id = {line["id"]: line["findings"] for line in found}
    assert by_id == {line["id"]: line["findings"] for line in results[:12]}
    assert not any("line" in line for line in found)


@pytest.mark.parametrize("case", BAD_LINES, ids=lambda case: case["about"])
def test_a_bad_record_is_told_of_and_the_others_are_diagnosed(
    in_this_process, plan_of, write_lines, lines_of, tmp_path, record, case
):
    source = write_lines(tmp_path / "r.jsonl", [record(0), case["line"], record(1)])
    outcome = run_job(plan_of(tmp_path / "o", source), in_this_process, NoProgress())
    assert [line["line"] for line in lines_of(tmp_path / "o")] == [1, 3]
    (error,) = lines_of(tmp_path / "o.errors.jsonl")
    assert (error["source"], error["line"]) == (str(source), 2)
    assert {p["code"] for p in error["problems"]} == set(case["codes"])
    assert all(p["where"].startswith(f"{source}:2") and p["message"] for p in error["problems"])
    assert (outcome.tally.all.records, outcome.tally.refused) == (2, 1)


def test_lines_that_are_no_records(bulk, lines_of, write_lines, tmp_path, record):
    bare = json.dumps(record(0)["facts"])
    write_lines(
        tmp_path / "r.jsonl", ["", bare, "   ", "\ufeff" + bare, json.dumps(record(1)) + "\r"]
    )
    assert bulk(tmp_path, "r.jsonl", "-o", "o.jsonl")[0] == 0
    found = lines_of(tmp_path / "o.jsonl")
    assert [line["line"] for line in found] == [2, 4, 5]
    assert found[0]["findings"] == found[1]["findings"] != []
    assert "id" not in found[0]


def test_secrets_stay_inside(bulk, write_lines, tmp_path, record):
    secret = "sk-proj-" + "Zk4rT9wQ2nXv7LpB8sYd" * 2
    url = f"https://user:{secret}@example.org/x"
    package = {"kind": "package", "name": "private", "version": url}
    one = record(0)
    lines = [one | {"id": f"key {secret}", "facts": [package, *one["facts"]]},
             one | {"time": f"api_key={secret}"}, record(1)]  # fmt: skip
    write_lines(tmp_path / "r.jsonl", lines)
    bulk(tmp_path, "r.jsonl", "-o", "o.jsonl", "--summary", "s.json", "--summary-html", "s.html")
    said = [
        (tmp_path / n).read_text() for n in ("o.jsonl", "o.jsonl.errors.jsonl", "s.json", "s.html")
    ]
    assert all(said)
    assert not any(secret in text for text in said)
    assert "<secret:" in said[0]
    assert '"id":"run-1"' in said[0]


def test_parquet_holds_the_same(folder, results, bulk, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert bulk(folder, "r.jsonl", "-o", tmp_path / "o.parquet")[0] == 0
    rows = parquet.read_table(tmp_path / "o.parquet").to_pylist()
    kept = [{name: v for name, v in row.items() if v is not None} for row in rows]
    assert kept == results
    assert [path.name for path in tmp_path.iterdir()] == ["o.parquet"]


def test_parquet_of_whole_reports(folder, bulk, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert bulk(folder, "r.jsonl", "-o", tmp_path / "o.parquet", "--full")[0] == 0
    rows = parquet.read_table(tmp_path / "o.parquet").to_pylist()
    assert json.loads(rows[5]["report"])["schema"] == "modelmedic/report/1"


def test_folders_of_runs_are_inspected(bulk, lines_of, tmp_path, doctor):
    for name, text in (("a", "tinker==0.16.1\npydantic==2.13.0b2\n"), ("b", "nothing\n")):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "requirements.txt").write_text(text)
    assert bulk(tmp_path, "runs", "--inspect", "-o", "o.jsonl")[0] == 0
    first, second = lines_of(tmp_path / "o.jsonl")
    assert (first["source"], second["source"]) == ("runs/a", "runs/b")
    facts, _, _ = gather([tmp_path / "runs" / "a"], doctor.base.vocabulary)
    wanted = [d.id for d in doctor.diagnose(facts).diagnoses]
    assert [f["id"] for f in first["findings"]] == wanted != []
    assert {"2.13.0b2"} <= {
        first["facts"][place].get("version") for f in first["findings"] for place in f["evidence"]
    }


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["none.jsonl", "-o", "o"], "MM336"),
        (["r.jsonl", "-o", "r.jsonl"], "MM337"),
        (["in", "-o", "in/o.jsonl"], "MM337"),
        (["r.jsonl", "-o", "nowhere/o.jsonl"], "MM337"),
        (["r.jsonl", "-o", "in"], "MM337"),
        (["r.jsonl", "-o", "o", "--summary", "r.jsonl"], "MM337"),
        (["r.jsonl", "-o", "o", "--inspect"], "MM336"),
        (["r.jsonl", "-o", "o", "--address", "auto"], "MM300"),
    ],
)
def test_what_cannot_be_done_is_said(bulk, tmp_path, write_lines, record, arguments, code):
    write_lines(tmp_path / "r.jsonl", [record(0)])
    (tmp_path / "in").mkdir()
    before = (tmp_path / "r.jsonl").read_bytes()
    status, said = bulk(tmp_path, *arguments)
    assert (status, code in said) == (2, True), said
    assert (tmp_path / "r.jsonl").read_bytes() == before
    assert not (tmp_path / "o").exists()


def test_a_bug_that_one_record_brings_to_light_stays_with_it(
    in_this_process, plan_of, write_lines, lines_of, tmp_path, record, monkeypatch
):
    """The engine is broken here for facts that nobody else has."""
    real = Diagnoser.screen

    def broken(self, items):
        if any(item.get("name") == "of-ill-omen" for item in items):
            raise ZeroDivisionError("secret details")
        return real(self, items)

    monkeypatch.setattr(Diagnoser, "screen", broken)
    bad = [{"kind": "package", "name": "of-ill-omen", "version": "1"}]
    source = write_lines(tmp_path / "r.jsonl", [record(0), bad, record(1)])
    run_job(plan_of(tmp_path / "o", source), in_this_process, NoProgress())
    assert [line["line"] for line in lines_of(tmp_path / "o")] == [1, 3]
    (error,) = lines_of(tmp_path / "o.errors.jsonl")
    (problem,) = error["problems"]
    assert (error["line"], problem["code"]) == (2, "MM399")
    assert "ZeroDivisionError" in problem["message"]
    assert "secret details" not in problem["message"]


@pytest.mark.slow
def test_a_terminal_sees_how_far_it_is(environment, write_lines, tmp_path, record):
    pexpect = pytest.importorskip("pexpect")
    write_lines(tmp_path / "r.jsonl", [record(n) for n in range(2000)])
    arguments = ["-m", "modelmedic.interfaces.cli.main", "bulk", "r.jsonl", "-o", "o.jsonl"]
    seen = pexpect.spawn(
        sys.executable, [*arguments, "--chunk", "20"], cwd=str(tmp_path), timeout=60,
        env=environment | {"TERM": "xterm", "COLUMNS": "100"}, encoding="utf-8",
    )  # fmt: skip
    try:
        seen.expect(r"[1-9]\d? %.*[1-9][\d,]* records, [1-9][\d,]*/s")
        seen.expect("2,000 records diagnosed")
        seen.expect(pexpect.EOF)
    finally:
        seen.close(force=True)
    assert (tmp_path / "o.jsonl").exists()
