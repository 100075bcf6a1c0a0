"""Threat T5 of SECURITY.md: secrets of every kind in every place, through every format."""

import json
import zipfile

import pytest

from modelmedic.interfaces.reports.formats import FORMATS

pytestmark = [pytest.mark.slow, pytest.mark.sweep]


@pytest.fixture(scope="module")
def raw_facts(planted_folder, tmp_path_factory, vocabulary, planted):
    """A facts file as a program of somebody else might write it: all that the probes find, and
    secrets in every text, key and place of facts of its own, past no border."""
    from modelmedic.interfaces.inspection import gather

    found, _, _ = gather([planted_folder], vocabulary)
    plain = [fact.plain() for fact in found if fact.kind != "env_var"]
    for secret in planted("facts"):
        text = secret.text
        at = {"provenance": {"source": text[:200], "location": f"{text}:3"}}
        plain += [
            {"kind": "error_message", "text": f"Error code: 401 - {text}", "exception": "X", **at},
            {"kind": "log_event", "event": "heartbeat-failed", "text": text, "count": 3, **at},
            {"kind": "http_response", "status": 401, "body": text, "operation": text},
            {"kind": "package", "name": "numpy", "version": "1.0"},
            {"kind": "hyperparameter", "name": text, "value": 3},
            {"kind": "code_pattern", "pattern": "collective-in-forward", "file": text, "line": 3,
             "snippet": text},
        ]  # fmt: skip
    path = tmp_path_factory.mktemp("raw") / "facts.json"
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": plain}))
    return path


@pytest.mark.long
def test_the_places_are_seen_without_a_redactor(
    program, planted_folder, clean, capsys, pytestconfig
):
    """If a probe shows nothing of a place, its tests could not fail; the figures count the cells
    that can."""
    rows = {}
    for format_ in FORMATS if pytestconfig.getoption("deep") else ("json", "text"):
        done = program("inspect", planted_folder, "-v", "-f", format_, guarded=False)
        assert done.returncode == 1, done.stderr
        rows[format_] = {(s.place, s.kind) for s in clean.seen_in(done.stdout)}
    places = sorted({place for place, _ in rows["json"]})
    with capsys.disabled():
        print("\ncells that show without a redactor:", {f: len(r) for f, r in rows.items()})
        print({place: sum(p == place for p, _ in rows["json"]) for place in places})
    assert len(rows["json"]) > 180
    assert min(map(len, rows.values())) > 10
    assert len(places) >= 12


@pytest.mark.parametrize("format_", FORMATS)
def test_artefacts(program, planted_folder, clean, format_, tmp_path):
    saved = tmp_path / "saved.json"
    done = program("inspect", planted_folder, "-v", "-f", format_, "--save-facts", saved)
    assert done.returncode == 1, done.stderr
    assert "secret:" in done.stdout
    clean(done.stdout, done.stderr, saved.read_text())


@pytest.mark.parametrize("format_", FORMATS)
def test_facts(program, raw_facts, clean, format_, tmp_path):
    done = program("--facts", raw_facts, "-v", "-f", format_)
    assert done.returncode == 1, done.stderr
    clean(done.stdout, done.stderr)
    if format_ in ("json", "text"):
        target = tmp_path / "report"
        assert program("--facts", raw_facts, "-v", "-f", format_, "-o", target).returncode == 1
        assert target.read_text() == done.stdout


@pytest.mark.parametrize("format_", FORMATS)
def test_messages(said, planted, clean, format_):
    for secret in planted("decode"):
        text = f"tinker.AuthenticationError: Error code: 401 - {secret.text}"
        clean(said("decode", text, "-f", format_))
        clean(said("decode", "-", "-f", format_, stdin=f"a\n{text}\n{secret.text}\nb\n"))


@pytest.mark.deep
def test_packets(program, planted_folder, raw_facts, clean, tmp_path):
    for name, source in (("artefacts", planted_folder), ("facts", raw_facts)):
        packet = tmp_path / f"{name}.zip"
        done = program("report", "bundle", source, "-o", packet)
        assert done.returncode == 0, done.stderr
        with zipfile.ZipFile(packet) as archive:
            members = {n: archive.read(n).decode() for n in archive.namelist()}
        assert len(members) >= 5
        clean(done.stdout, done.stderr, packet.read_bytes().decode("latin-1"), *members,
              *members.values())  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("format_", ["text", "json"])
def test_comparisons_and_answers(program, raw_facts, clean, format_, tmp_path):
    report, half = tmp_path / "report.json", tmp_path / "half.json"
    facts = json.loads(raw_facts.read_text())["facts"]
    half.write_text(json.dumps(facts[::2]))
    assert program("--facts", raw_facts, "-f", "json", "-o", report).returncode == 1
    for command in (
        ("diff", raw_facts, half), ("diff", half, raw_facts), ("diff", report, half),
        ("replay", report), ("why-not", "tinker.auth.api-key-invalid", "--facts", raw_facts),
        ("whatif", "--set", "package name=pydantic version=2.13.0b2", "--facts", raw_facts),
    ):  # fmt: skip
        done = program(*command, "-f", format_)
        assert done.returncode in (0, 1), done.stderr
        clean(done.stdout, done.stderr)


def test_baselines(program, raw_facts, clean, tmp_path):
    baseline = tmp_path / "baseline.yaml"
    done = program("baseline", "write", "--facts", raw_facts, "-o", baseline)
    assert done.returncode == 0, done.stderr
    again = program("--facts", raw_facts, "--baseline", baseline, "-v")
    clean(done.stdout, done.stderr, baseline.read_text(), again.stdout, again.stderr)


@pytest.mark.deep
def test_plots(program, planted_folder, clean, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    done = program("inspect", planted_folder, "--plots", tmp_path / "plots", "-f", "html", "-o",
                   page)  # fmt: skip
    assert done.returncode == 1, done.stderr
    files = [path for path in (tmp_path / "plots").rglob("*") if path.is_file()]
    clean(done.stdout, done.stderr, page.read_text(), *(p.name for p in files),
          *(p.read_bytes().decode("latin-1") for p in files))  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("probe", "place", "pattern"),
    [
        ("messages", "log", "**/*.log"), ("messages", "traceback", "**/*.log"),
        ("logs", "log", "**/*.log"), ("logs", "packed-log", "**/*.gz"),
        ("logs", "split-lines", "**/*.log"), ("checkpoint", "log", "**/*.log"),
        ("script", "script", "**/*.py"), ("script", "notebook", "**/*.ipynb"),
        ("metrics", "run-folder", "*"), ("dataset", "dataset", "**/*.jsonl"),
        ("transcripts", "transcript", "**/*.jsonl"), ("profile", "profile", "**/*.txt"),
        ("experiment", "port", "*"), ("modeling", "script", "**/*.py"),
        ("logs", "file-name", "**/*.log"), ("dataset", "file-name", "**/*.jsonl"),
    ],
)  # fmt: skip
def test_probes(said, planted_folder, clean, probe, place, pattern):
    paths = sorted((planted_folder / place).glob(pattern))
    assert len(paths) > 5
    for path in paths:
        clean(said("probe", probe, path))


def test_the_environment(said, planted_folder, clean):
    shown = said("probe", "environment")
    assert "TINKER_API_KEY" in shown
    clean(shown)
    for path in (planted_folder / "packages").glob("*/*/requirements.txt"):
        clean(said("probe", "environment", "--freeze", path))
