"""The targets to fuzz: one row of :data:`TARGETS` for each way in, with samples to start from.

A target writes the bytes under a name that the loader knows, loads them, and checks what came out.
It raises on anything that a user must never see; a coded refusal is a good answer.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from modelmedic.engine import Diagnoser, Report
from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.store.files import vocabulary_in
from modelmedic.facts import ModelMedicError, Problem, Vocabulary, strict_yaml
from modelmedic.facts.fact_file import parse_facts, read_facts
from modelmedic.facts.strict_yaml import Document
from modelmedic.probes import load_probe
from modelmedic.probes import recognition as artefacts
from modelmedic.probes.outcome import Outcome

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "probes" / "data"
PARTS = ROOT / "tests" / "inspection_neuron" / "parts"
INTERNAL = ("MM399", "MM405")  # the codes of a bug of ours


class Target(NamedTuple):
    """``run`` takes the input and an empty folder; ``samples`` are globs below the tree. Where the
    first byte of an input chooses its file name, ``names`` are the choices."""

    run: Callable[[bytes, Path], None]
    samples: tuple[str, ...]
    more: tuple[bytes, ...] = ()
    names: tuple[str, ...] = ()

    def seeds(self) -> list[bytes]:
        """Valid inputs of moderate size."""
        paths = sorted(path for glob in self.samples for path in ROOT.glob(glob))
        small = [path for path in paths if path.is_file() and path.stat().st_size <= 20_000]
        return [*(self._choice(path) + path.read_bytes() for path in small), *self.more] or [b""]

    def _choice(self, path: Path) -> bytes:
        for fits in (lambda n: n.name == path.name, lambda n: n.suffix == path.suffix):
            found = [i for i, name in enumerate(self.names) if fits(Path(name))]
            if found:
                return bytes(found[:1])
        return b"\0" if self.names else b""


@cache
def doctor() -> Diagnoser:
    """One for all inputs."""
    return Diagnoser.load()


def vocabulary() -> Vocabulary:
    """The shipped one."""
    return doctor().base.vocabulary


def check(outcome: Outcome, data: bytes = b"") -> None:
    """Facts keep the vocabulary and problems are none of ours; now and then the whole way on."""
    for fact in outcome.facts:
        json.dumps(fact.plain(), allow_nan=False).encode("ascii")
    again = json.dumps([fact.plain() for fact in outcome.facts])
    parse_facts(again, "again", vocabulary())
    check_problems(outcome.problems)
    if zlib.crc32(data) % 16 == 0:
        report(outcome)


def check_problems(problems: Iterable[Problem]) -> None:
    """Every problem has words and a code that is not a bug of ours."""
    for problem in problems:
        assert problem.code.startswith("MM") and problem.code not in INTERNAL, str(problem)
        assert problem.message
        assert len(problem.message) < 2_000


def report(outcome: Outcome) -> None:
    """Diagnose, and write the report in every format."""
    from modelmedic.interfaces.reports.formats import FORMATS, render
    from modelmedic.interfaces.reports.formats import Document as Said
    from modelmedic.interfaces.reports.output_guard import redacted

    made: Report = doctor().diagnose(outcome.facts, outcome.problems)
    said = redacted(Said(made))
    for name in FORMATS:
        render(said, name).value.encode("utf-8")


def read_by(probe: str, name: str, *, many: bool = False, copies: Sequence[str] = ()) -> Any:
    """A target: the bytes as the file ``name``, read by a probe. With ``copies`` they lie under
    those names too, and the probe reads the folder."""

    def run(data: bytes, folder: Path) -> None:
        for each in (name, *copies):
            path = folder / each
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        path = folder if copies else folder / name
        gather = load_probe(probe)
        check(gather([path] if many else path, vocabulary()), data)

    return run


def inspected(names: tuple[str, ...], *samples: str, more: tuple[bytes, ...] = ()) -> Target:
    """The bytes under one of the names, found and read as `diagnose inspect` does."""

    def run(data: bytes, folder: Path) -> None:
        name = names[data[0] % len(names)] if data else names[0]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[1:])
        units, problems = artefacts.find_units([folder], vocabulary())
        check_problems(problems)
        for unit in units:
            check(artefacts.gather_unit(unit, vocabulary()), data)

    return Target(run, samples, more, names)


def facts(data: bytes, folder: Path) -> None:
    """Facts files."""
    path = folder / "facts.json"
    path.write_bytes(data)
    check(Outcome(read_facts(path, vocabulary())), data)


def yaml(data: bytes, folder: Path) -> None:
    """Strict YAML: every value has a place, and JSON can hold what was read."""
    text = data.decode("utf-8", "replace")
    document = strict_yaml.load(text, "x.yaml")
    lines = text.count("\n") + text.count("\r") + text.count("\x85") + text.count("\u2028") + 2
    assert 0 <= document.where().line <= lines + text.count("\u2029")
    json.dumps(document.data)


@cache
def shipped_vocabulary() -> tuple[list[tuple[str, str]], dict[str, Document]]:
    """Texts of the vocabulary, and what they hold."""
    texts = [(name, Path(path).read_text("utf-8")) for name, path in vocabulary_in(str(ROOT))]
    return texts, {name: strict_yaml.load(text, name) for name, text in texts}


def overlay(data: bytes, folder: Path) -> None:
    """Knowledge of strangers: compiled, or refused with places."""
    texts, known = shipped_vocabulary()

    def read(text: str, path: str) -> Document:
        return known.get(path) or strict_yaml.load(text, path)

    text = data.decode("utf-8", "replace")
    if "modelmedic/vocabulary" in text:
        built = build([*texts, ("x/vocabulary/x.yaml", text)], [], read=read)
    else:
        built = build(texts, [("x/x.yaml", text)], read=read)
    check_problems(built.problems)


def decoded(data: bytes, folder: Path) -> None:
    """`diagnose decode -`."""
    check(load_probe("messages")(data.decode("utf-8-sig", "replace"), vocabulary()), data)


def environment(name: str) -> Any:
    """`diagnose probe environment --freeze`."""

    def run(data: bytes, folder: Path) -> None:
        (folder / name).write_bytes(data)
        check(load_probe("environment")(vocabulary(), freeze=folder / name), data)

    return run


def tensors(suffix: str) -> Any:
    """The bytes as all three runs of captured tensors."""
    return read_by("tensors", f"ref_fp32{suffix}",
                   copies=(f"ref_bf16{suffix}", f"target{suffix}"))  # fmt: skip


def weights(data: bytes, folder: Path) -> None:
    """The bytes as base, adapter and merged model, with an adapter configuration that fits."""
    from modelmedic.probes.weights.probe import WeightFolders

    config = b'{"r": 8, "lora_alpha": 16, "target_modules": ["q_proj"], "peft_type": "LORA"}'
    write(folder, {"base/model.safetensors": data, "merged/model.safetensors": data,
                   "adapter/adapter_model.safetensors": data,
                   "adapter/adapter_config.json": config})  # fmt: skip
    given = WeightFolders(*(folder / name for name in ("base", "adapter", "merged")))
    check(load_probe("weights")(given, vocabulary()), data)


def adapter_config(data: bytes, folder: Path) -> None:
    """The bytes as every JSON file beside sound tensors."""
    from modelmedic.probes.weights.probe import WeightFolders

    body = one_tensor()
    write(folder, {"base/model.safetensors": body, "base/config.json": data,
                   "base/model.safetensors.index.json": data,
                   "merged/model.safetensors": body, "merged/config.json": data,
                   "adapter/adapter_model.safetensors": body,
                   "adapter/adapter_config.json": data})  # fmt: skip
    given = WeightFolders(*(folder / name for name in ("base", "adapter", "merged")))
    check(load_probe("weights")(given, vocabulary()), data)


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Write files with their folders."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def one_tensor() -> bytes:
    """A safetensors file with one tensor."""
    name = "model.layers.0.self_attn.q_proj.weight"
    entry = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    head = json.dumps({name: entry}).encode()
    return len(head).to_bytes(8, "little") + head + b"\0\0\x80?" * 4


def numpy_file() -> bytes:
    """A npy file with one row."""
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
    head += b" " * (117 - len(head)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + b"\0\0\x80?" * 4


def numpy_archive() -> bytes:
    """A npz file with two arrays."""
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("logits.npy", "model.layers.0.npy"):
            archive.writestr(name, numpy_file())
    return out.getvalue()


def session(data: bytes, folder: Path) -> None:
    """The consultation that is kept."""
    from modelmedic.interfaces.consult.session import SessionFile

    (folder / "session.json").write_bytes(data)
    entries = SessionFile(folder / "session.json").load(vocabulary())
    check(Outcome(tuple(fact for entry in entries for fact in entry.facts)), data)


def setting(data: bytes, folder: Path) -> None:
    """`diagnose whatif --set`."""
    from modelmedic.interfaces.settings import parse_setting

    check(Outcome((parse_setting(data.decode("utf-8", "replace"), vocabulary()),)), data)


def secrets(data: bytes, folder: Path) -> None:
    """The border: what is clean stays clean, and what is shown has nothing hidden."""
    from modelmedic.interfaces.reports.output_guard import redacted
    from modelmedic.interfaces.reports.safe_text import safe

    once = redacted({"text": data.decode("utf-8", "replace")})
    assert redacted(once.value).value == once.value
    safe(once.value["text"]).encode("utf-8")


_SESSION = b"""{"schema": "modelmedic/session/1", "entries": [{"question": "package(name=tinker).version",
"answer": "0.38.0", "facts": [{"kind": "package", "name": "tinker", "version": "0.38.0"}]}]}"""
_CONFIG = b"""{"r": 8, "lora_alpha": 16, "target_modules": ["q_proj"], "peft_type": "LORA",
"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 2, "use_rslora": false,
"weight_map": {"model.layers.0.self_attn.q_proj.weight": "model.safetensors"}}"""
_WATCH = b"""{"format": "modelmedic/watch/1", "pid": 7}
{"count": 90, "max": 1.5, "mean": 0.1, "seconds": 9.0, "stalls": 1, "over_1s": 1, "sdk_max": 4.0}
{"event": "stall", "late": 1.5, "cpu": 1.4, "threads": [{"thread": "main", "frames": ["a.py:3:f"]}]}
"""
_P, _I = "tests/probes/data", "tests/inspection_neuron/parts"

TARGETS = {
    "facts": Target(facts, ("facts/examples/*.json",)),
    "yaml": Target(yaml, ("knowledge/schemas/*.yaml", "tests/*/cases/*.yaml"), (b"a: [1, 'b']\n",)),
    "overlay": Target(overlay, ("tests/knowledge/zoo/**/*.yaml", "tests/engine/conformance/*.yaml",
                                "knowledge/tinker/**/*.yaml", "facts/vocabulary/*.yaml",
                                "probes/*/probe.yaml")),
    "decode": Target(decoded, (f"{_P}/messages/*.txt", f"{_P}/logs/*.txt")),
    "logs": Target(read_by("logs", "job.log"), (f"{_P}/logs/*",)),
    "metrics": Target(read_by("metrics", "metrics.jsonl"), (f"{_P}/metrics/runs/*/metrics.jsonl",),
                      (b'{"step": 0, "loss": 2.5, "time/total": 3.0}\n' * 5,)),
    "metrics-table": Target(read_by("metrics", "metrics.csv"), (),
                            (b"step,loss,lr\n0,2.5,1e-4\n1,2.4,1e-4\n2,nan,1e-4\n",)),
    "run-folder": Target(read_by("metrics", "metrics.jsonl", copies=(
        "timing_spans.jsonl", "config.json", "checkpoints.jsonl")),
        (f"{_P}/metrics/runs/*/*.json*",)),
    "profile": Target(read_by("profile", "profile.json", many=True), (f"{_P}/profile/*",)),
    "dataset": Target(read_by("dataset", "data.jsonl"), (f"{_P}/dataset/*",)),
    "script": Target(read_by("script", "train.py"),
                     ("tests/probes/script/cases/**/*.py", f"{_P}/checkpoint/*.py")),
    "notebook": Target(read_by("script", "train.ipynb"), ("tests/probes/script/cases/**/*.ipynb",), (
        b'{"cells": [{"cell_type": "code", "source": ["import tinker\\n", "%time x = 1\\n"]}], '
        b'"nbformat": 4}',)),
    "modeling": Target(read_by("modeling", "modeling_toy.py", many=True), (f"{_P}/modeling/*.py",)),
    "freeze": Target(environment("requirements.txt"), (f"{_P}/freeze/*.txt", f"{_P}/freeze/*.json")),
    "lock-file": Target(environment("uv.lock"), (f"{_P}/freeze/*.lock", f"{_P}/freeze/*.toml")),
    "safetensors": Target(weights, (), (one_tensor(),)),
    "adapter-config": Target(adapter_config, (), (_CONFIG,)),
    "npy": Target(tensors(".npy"), (), (numpy_file(),)),
    "npz": Target(tensors(".npz"), (), (numpy_archive(),)),
    "captured": Target(tensors(".safetensors"), (), (one_tensor(),)),
    "experiment": inspected((
        "component_mapping.json", "class_divergence_report.json", "bench_config.yaml",
        "calibrated_thresholds.json", "EQUIVALENCE_REPORT.md", "results/stage1.json",
        "results/stage2.json", "results/stage3.json", "results/stage5.json", "results/stage6.json",
        "results/teacher_forced.json", "results/stage7/stage7_summary.json", "experiment.json",
        "model_tree/model_tree_source.json", "model_tree/model_tree_target_full.json",
        "tests/test_mlp.py", "patches/patches.json"), f"{_I}/**/*.*"),
    "any-file": inspected((
        "a.json", "a.jsonl", "a.txt", "a.log", "a.py", "a.gz", "a.npz", "a.safetensors", "a.csv",
        "a.bin", "a.pt", "uv.lock", "a.ipynb", "adapter_config.json", "config.json", "a.yaml"),
        f"{_P}/*/*.*", more=(b"\x05\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\x0a\x80\x04K\x01.")),
    "transcripts": Target(read_by("transcripts", "calls.jsonl"), (f"{_P}/transcripts/*",)),
    "checkpoint": Target(read_by("checkpoint", "notes.txt"), (f"{_P}/checkpoint/*",)),
    "tree": inspected(("model_tree_source.json", "model_tree_target.json"),
                      f"{_P}/structure/*/*.json", f"{_I}/trees/**/*.json"),
    "watch": Target(read_by("watch", "watch.jsonl"), (), (_WATCH,)),
    "session": Target(session, (), (_SESSION,)),
    "setting": Target(setting, (), (b'package name=pydantic version="2.14.3"',)),
    "redaction": Target(secrets, (f"{_P}/messages/*.txt",),
                        (b"TINKER_API_KEY=tml-abcdefghijklmnopqrstuvwxyz0123456789",)),
}  # fmt: skip


def attempt(name: str, data: bytes, folder: Path) -> None:
    """Run a target; a coded refusal is fine."""
    try:
        TARGETS[name].run(data, folder)
    except ModelMedicError as error:
        check_problems(error.problems)
