"""Threat T5 of SECURITY.md: errors, knowledge of others, consultations, agents, bulk runs, the
monitor, crashes. Each has secrets of its own."""

import asyncio
import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from modelmedic.interfaces.reports.formats import FORMATS

pytestmark = pytest.mark.deep
CRASH = """
import sys
from modelmedic.interfaces.context import Context
from modelmedic.interfaces.cli.main import main
def broken(*_):
    text = sys.stdin.read()
    raise RuntimeError(text)
Context.emit_report = broken
main(sys.argv[1:])
"""


def as_name(secret):
    """A file name that holds it, if possible."""
    return secret.kind if "/" in secret.text or "\n" in secret.text else secret.text


def test_errors(said, planted, clean, tmp_path):
    """Each command with each kind, and with each format."""
    formats = [*FORMATS, "nonsense"]
    for number, secret in enumerate(planted("errors")):
        text = secret.text
        item = {"kind": "package", "name": "x", text: text}
        wrong = tmp_path / f"{secret.kind}.json"
        wrong.write_text(json.dumps([item, {"kind": text}, {"kind": "package", "version": [text]},
                                     {"kind": "symptom", "name": text}]))  # fmt: skip
        broken = tmp_path / f"{secret.kind}-broken.json"
        broken.write_text(f'{{"{secret.kind}": "{text}')
        for place, command in enumerate((
            ("--facts", wrong), ("--facts", broken), ("--facts", f"none/{text}.json"),
            ("--facts", wrong, f"--{text}"), (text,), ("--fail-on", text, "--facts", wrong),
            ("inspect", f"none/{text}"), ("explain", text), ("facts", text),
            ("why-not", text, "--facts", wrong), ("whatif", "--set", text),
            ("whatif", "--set", f"package name=x {text}"), ("probe", text),
            ("probe", "logs", f"none/{text}"), ("diff", f"none/{text}", wrong), ("replay", wrong),
            ("kb", "list", "--kb", f"none/{text}"), ("kb", text), ("report", "bundle", text),
        )):  # fmt: skip
            format_ = formats[(number + place) % len(formats)]
            clean(said(*command, "-f", format_))


@pytest.mark.parametrize("guarded", [True, False])
def test_knowledge_of_others(program, planted, clean, guarded, tmp_path):
    """Lint quotes what is wrong, also where the overlay is refused."""
    for secret in planted("knowledge"):
        quoted = json.dumps(secret.text)
        entry = f"""
          - id: {quoted}
            title: {quoted}
            {quoted}: 1
            status: {quoted}
            severity: {quoted}
            summary: {quoted}
            sources: [{quoted}]
            when: [{{fact: {quoted}, {quoted}: {quoted}}}]
            conclude: {quoted}
        """
        folder = tmp_path / "overlay"
        folder.mkdir(exist_ok=True)
        path = folder / f"{as_name(secret)}.yaml"
        path.write_text(f"schema: modelmedic/rules/1\nrules:{entry}")
        (folder / f"{secret.kind}-schema.yaml").write_text(f"schema: {quoted}\n{quoted}: 1\n")
        (folder / f"{secret.kind}-yaml.yaml").write_text(f"a: &x {quoted}\nb: *x\n")
    formats = ("text", "sarif") if guarded else ("json",)
    shown = [program("kb", "lint", "--kb", folder, "-f", f, guarded=guarded) for f in formats]
    assert [done.returncode for done in shown] == [3] * len(formats)
    assert "MM2" in shown[0].stdout + shown[0].stderr
    if guarded:
        clean(*(done.stdout + done.stderr for done in shown))
    else:
        seen = clean.seen_in(shown[0].stdout + shown[0].stderr)
        assert len({s.kind for s in seen}) > 5, "lint does quote them"


OVERLAY = """schema: modelmedic/diagnoses/1
diagnoses:
"""
DIAGNOSIS = """  - id: tinker.perf.planted-{number}
    title: {text}
    status: experimental
    severity: error
    kind: root-cause
    summary: {text}
    sources: [{text}]
    actions:
      - do: {text}
        command: {text}
        effort: 1 min
        risk: none
        verify: {text}
"""


@pytest.mark.usefixtures("small_base")
def test_knowledge_commands(said, planted, clean, tmp_path):
    folder = tmp_path / "overlay"
    folder.mkdir()
    secrets = planted("knowledge")
    text = OVERLAY + "".join(
        DIAGNOSIS.format(number=n, text=json.dumps(s.text)) for n, s in enumerate(secrets)
    )
    (folder / "overlay.yaml").write_text(text)
    test = {"schema": "modelmedic/tests/1", "cases": [{"name": s.text, "facts": [
        {"kind": "error_message", "text": s.text}], "expect": {"fires": [s.text]}}
        for s in secrets]}  # fmt: skip
    (folder / "overlay.test.yaml").write_text(json.dumps(test))
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps([{"id": s.text, "text": s.text} for s in secrets]))
    for secret in secrets:
        clean(said("kb", "new", "rule", secret.text, "--kb", tmp_path / "new"))
    for command in (
        ("kb", "list"), ("kb", "test", "overlay"), ("kb", "test", "-f", "json", "overlay"),
        *(("kb", "graph", secret.text) for secret in secrets[::9]),
        *(("kb", "test", secret.text) for secret in secrets[::9]),
        ("kb", "coverage", "--inventory", inventory), ("explain", "tinker.perf.planted-1"),
        ("explain", "tinker.perf.planted-14", "-f", "json"),
    ):  # fmt: skip
        clean(said(*command, "--kb", folder))
    clean(said("kb", "fmt", "--check", folder), said("kb", "diff", folder, folder))


def test_consultations(said, planted, clean, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    for secret in planted("dialogue"):
        said_ = secret.text.replace("\n", "\\n")
        wrong = f"tinker.AuthenticationError: Error code: 401 - {said_}"
        answers = tmp_path / f"{secret.kind}.txt"
        answers.write_text(
            f"{wrong}\n{said_}\nwhy\nfacts\nexplain {said_}\nset package name={said_}\n"
            f"whatif {said_}\nread {said_}\nsave {secret.kind}.json\n"
            f"report html {secret.kind}.html\nquit\n"
        )
        clean(said("--answers", answers), said("--resume", "--answers", answers))
        clean(said("--accessible", stdin=answers.read_text()))
        made = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".txt"]
        assert {path.suffix for path in made} >= {".json", ".html"}
        clean(*(str(path.relative_to(tmp_path)) for path in made),
              *(path.read_text(errors="replace") for path in made))  # fmt: skip


def test_the_history_of_a_terminal(planted, clean, environment, variables, tmp_path):
    pexpect = pytest.importorskip("pexpect")
    around = environment | variables | {"XDG_STATE_HOME": str(tmp_path), "TERM": "xterm"}
    child = pexpect.spawn(
        sys.executable, ["-P", "-m", "modelmedic.interfaces.cli.main"], env=around,
        dimensions=(50, 200), encoding="utf-8", codec_errors="replace", timeout=90,
    )  # fmt: skip
    child.expect("\\] >")
    for secret in planted("terminal"):
        child.send(secret.text.replace("\n", " ") + "\r")
        child.expect("\\] >")
    child.send("quit\r")
    child.expect(pexpect.EOF)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "history" in {path.name for path in kept}
    history = next(path for path in kept if path.name == "history").read_text()
    assert history.count("secret:") > 5
    clean(*(path.read_text(errors="replace") for path in kept))
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)


def test_agents(planted, clean, environment, variables):
    mcp = pytest.importorskip("mcp")
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "modelmedic.interfaces.cli.main", "mcp"],
        env=environment | variables,
    )  # fmt: skip

    async def talk():
        answers = []
        async with mcp.Client(server, read_timeout_seconds=90) as client:
            for secret in planted("agent"):
                text = secret.text
                wrong = {"kind": "error_message", "text": f"Error code: 401 - {text}",
                         "provenance": {"location": f"{text}:3"}}  # fmt: skip
                change = [{"kind": "package", "name": "x", "version": text}]
                for name, given in (
                    ("diagnose", {"facts": [wrong]}), ("decode", {"text": f"Error code: 401 {text}"}),
                    ("diagnose", {"facts": [{"kind": text, text: text}]}), ("explain", {"id": text}),
                    ("why_not", {"diagnosis": text, "facts": [wrong]}), (text, {}),
                    ("why_not", {"diagnosis": "tinker.auth.api-key-invalid", "facts": [wrong]}),
                    ("whatif", {"facts": [wrong], "change": change}), ("decode", {text: text}),
                    ("next_question", {"facts": [wrong, {"kind": "symptom", "name": text}]}),
                ):  # fmt: skip
                    try:
                        answers.append(str(await client.call_tool(name, given)))
                    except mcp.MCPError as error:
                        answers.append(str(error))
        return answers

    answers = asyncio.run(talk())
    assert len(answers) == 190
    clean(*answers)


@pytest.mark.parametrize("end", [".jsonl", ".parquet"])
@pytest.mark.parametrize("full", [False, True])
def test_bulk(program, planted, clean, end, full, tmp_path):
    if end == ".parquet":
        pytest.importorskip("pyarrow")
    records = []
    for secret in planted("records"):
        text = secret.text
        wrong = {"kind": "error_message", "text": f"Error code: 401 - {text}"}
        records += [
            {"schema": "modelmedic/facts/1", "id": text, "time": "2026-01-01", "facts": [
                wrong, {"kind": "package", "name": text, "version": "1.0"}]},
            {"schema": "modelmedic/facts/1", "facts": [{"kind": text, text: text}]},
            {"schema": "modelmedic/facts/1", "id": text, text: text, "facts": [wrong]},
        ]  # fmt: skip
    source = tmp_path / f"{as_name(planted('records')[0])}.jsonl.gz"
    lines = [json.dumps(record) for record in records]
    lines += ['{"' + secret.text for secret in planted("records")]
    source.write_bytes(gzip.compress("\n".join(lines).encode()))
    output = tmp_path / f"out{end}"
    done = program("bulk", source, "-o", output, "--workers", 1, "--summary", tmp_path / "sum.json",
                   "--summary-html", tmp_path / "sum.html", *(["--full"] if full else []))  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = [path for path in tmp_path.iterdir() if path != source]
    assert {"sum.json", "sum.html"} < {path.name for path in written}
    clean(done.stdout, done.stderr, *(text_of(path) for path in written))


def test_bulk_of_run_folders(program, planted_folder, clean, tmp_path):
    for more in ((), ("--full",)):
        output = tmp_path / f"out{len(more)}.jsonl"
        done = program("bulk", "--inspect", planted_folder, "-o", output, "--workers", 1,
                       "--summary-html", tmp_path / "sum.html", *more)  # fmt: skip
        assert done.returncode == 0, done.stderr
        clean(done.stdout, done.stderr, *(text_of(path) for path in tmp_path.iterdir()))


def text_of(path):
    if path.is_dir():
        return " ".join(text_of(each) for each in path.iterdir())
    if path.suffix != ".parquet":
        return path.read_bytes().decode("latin-1")
    import pyarrow.parquet

    return json.dumps(pyarrow.parquet.read_table(path).to_pylist(), default=str) + (
        path.read_bytes().decode("latin-1")
    )


def test_the_monitor(program, planted, clean, tmp_path):
    """The names of a watched program and of its threads, functions and folders."""
    for secret in planted("watch")[::3]:
        name = as_name(secret)
        script = tmp_path / name / f"{name}.py"
        script.parent.mkdir()
        script.write_text(
            "import threading, time\n"
            f"def f():\n    end = time.time() + 3\n    while time.time() < end: sum(range(10**7))\n"
            f"t = threading.Thread(target=f, name={secret.text!r})\nt.start()\nt.join()\n"
        )
        done = program("watch", "-f", "json", "--", sys.executable, script, secret.text)
        clean(done.stdout, done.stderr)
        clean(program("watch", "--", f"none/{secret.text}").stderr)


@pytest.mark.parametrize("format_", FORMATS)
def test_crashes(planted, clean, environment, variables, slow_steps, format_):
    import subprocess

    texts = "\n".join(secret.text for secret in planted("crash"))
    for more in ([], ["--debug"]):
        done = subprocess.run(
            [sys.executable, "-P", "-c", CRASH, "--facts", str(slow_steps), "-f", format_, *more],
            input=texts, env=environment | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 70
        assert "MM399" in done.stdout + done.stderr
        clean(done.stdout, done.stderr)


def test_nothing_is_left_in_the_home(environment, clean):
    """Runs last: what all of the above has kept for later, but for compiled knowledge."""
    kept = [path for path in Path(environment["HOME"]).rglob("*") if path.is_file()]
    clean(*(text_of(path) for path in kept if "compiled" not in os.fspath(path)))
