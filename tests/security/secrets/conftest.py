"""Secrets of every kind in every place where one may lie. Each place has secrets of its own, so
that one that is found in one place does not give away the same one in another."""

import gc
import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DIGITS = "0123456789"
HEX = DIGITS + "abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + DIGITS
ALL = UPPER + "abcdefghijklmnopqrstuvwxyz"
WORDS = "bcdfghjklmnpqrstvwxz"  # for names of people and machines


class Kind(NamedTuple):
    """The form of a secret, with the number and the alphabet of the characters drawn for each run
    of characters, and a text in which it occurs."""

    form: tuple[str | tuple[str, int], ...]
    text: str
    by_form: bool = False  # it shows without the text around it


KINDS = {
    "tinker": Kind(("tml-", (ALL, 28)), "Invalid API key {}", True),
    "huggingface": Kind(("hf_", (ALL, 34)), "token {} has no access", True),
    "aws-id": Kind(("AKIA", (UPPER, 16)), "AWS_ACCESS_KEY_ID={}", True),
    "aws-secret": Kind(((ALL, 20), "/", (ALL, 19)), "AWS_SECRET_ACCESS_KEY={}"),
    "wandb": Kind(((HEX, 40),), "wandb login {}"),
    "wandb-variable": Kind(((HEX, 40),), "WANDB_API_KEY={}"),
    "github": Kind(("ghp_", (ALL, 36)), "cloning with {} failed", True),
    "github-fine": Kind(("github_pat_", (ALL, 22), "_", (ALL, 40)), "with {}", True),
    "slack": Kind(("xoxb-", (DIGITS, 12), "-", (ALL, 24)), "posting as {}", True),
    "openai": Kind(("sk-proj-", (ALL, 40)), "key {} is over its limit", True),
    "bearer": Kind(((ALL, 32),), "Authorization: Bearer {}"),
    "jwt": Kind(("eyJhbGciOiJIUzI1NiJ9.eyJ", (ALL, 24), ".", (ALL, 32)), "session {} ended", True),
    "url-password": Kind(((ALL, 14),), "postgresql://alice:{}@db.example.org:5432/runs"),
    "url-token": Kind(((ALL, 24),), "https://{}@git.example.org/repo.git"),
    "password": Kind(((ALL, 12),), "password={}"),
    "e-mail": Kind(((WORDS, 9), ".", (WORDS, 6), "@example.org"), "sent to {} today", True),
    "home": Kind(("/home/", (WORDS, 10)), "{}/run/train.py is missing", True),
    "host": Kind(("gpu-7-", (WORDS, 8), ".cluster.internal"), "no answer from {}", True),
    "private-key": Kind(
        ("-----BEGIN PRIVATE KEY-----\n", (ALL, 64), "\n", (ALL, 64), "\n-----END PRIVATE KEY-----"),
        "read {}", True,
    ),
}  # fmt: skip


class Secret(NamedTuple):
    """A planted secret: what must not be seen, and the text that holds it."""

    kind: str
    place: str
    value: str

    @property
    def text(self) -> str:
        return KINDS[self.kind].text.format(self.value)

    @property
    def parts(self) -> tuple[str, ...]:
        """The whole of it, and pieces that would help a finder."""
        drawn = [line for line in self.value.splitlines() if "PRIVATE KEY" not in line]
        body = drawn[0].partition("@")[0] if self.kind == "e-mail" else drawn[0]
        if self.kind in ("home", "host"):
            body = body.removeprefix("/home/").partition(".")[0]
        half = max(8, len(body) // 2)
        return tuple(dict.fromkeys((*drawn, body[-half:], body[: half + 4])))


def drawn(alphabet: str, size: int, seed: str) -> str:
    """Characters that look random and are the same each time; letters and digits where there are
    both."""
    stream = hashlib.sha512(seed.encode()).digest() + hashlib.sha512((seed + "+").encode()).digest()
    text = "".join(alphabet[byte % len(alphabet)] for byte in stream[:size])
    return text if alphabet in (DIGITS, WORDS) else f"{text[:1]}7{text[2:-3]}k4{text[-1:]}".replace(
        "k", "K" if alphabet == UPPER else "e")  # fmt: skip


def secret(kind: str, place: str) -> Secret:
    """The secret of a kind for a place."""
    parts = [
        part if isinstance(part, str) else drawn(*part, f"{kind} {place} {number}")
        for number, part in enumerate(KINDS[kind].form)
    ]
    return Secret(kind, place, "".join(parts))


Files = Mapping[str, bytes]


def error(text: str) -> str:
    """A log line that is an event."""
    return f"2026-01-01 10:00:00,000 ERROR tinker.AuthenticationError: Error code: 401 - {text}\n"


def in_log(s: Secret) -> Files:
    return {f"log/{s.kind}.log": error(s.text).encode()}


def in_packed_log(s: Secret) -> Files:
    return {f"packed/{s.kind}.log.gz": gzip.compress(error(s.text).encode(), mtime=0)}


def in_archives(s: Secret) -> Files:
    """Not read, but named; what they are called and hold stays unseen."""
    name, body = f"{s.kind} {flat(s.text)[:60]}.log", error(s.text).encode()
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr(name, body)
    with tarfile.open(fileobj=tarred, mode="w:gz") as tarball:
        entry = tarfile.TarInfo(name)
        entry.size = len(body)
        tarball.addfile(entry, io.BytesIO(body))
    return {f"{s.kind}{end}": made.getvalue() for end, made in (
        (".zip", zipped), (".zip.log", zipped), (".tar.gz", tarred), (".log.gz", tarred))}  # fmt: skip


def in_file_name(s: Secret) -> Files:
    if "/" in s.text or "\n" in s.text:
        return {}
    return {f"named/{s.text}.log": error("no").encode(), f"named/{s.text}/a.bin": b"\0",
            f"named/{s.text}.jsonl": b'{"messages": [{"role": "user"}]}\n'}  # fmt: skip


def in_traceback(s: Secret) -> Files:
    text = s.text.replace("\n", "\\n")
    frame = f'  File "/srv/app/{flat(s.text)}/train.py", line 3, in main\n    connect("{text}")\n'
    body = f"Traceback (most recent call last):\n{frame}tinker.APIStatusError: {s.text}\n"
    return {f"traceback/{s.kind}.log": body.encode()}


def in_split_lines(s: Secret) -> Files:
    if not KINDS[s.kind].by_form or s.kind in ("e-mail", "home", "host"):
        return {}
    half = len(s.value) // 2
    split = s.text.replace(s.value, f"{s.value[:half]}\n    {s.value[half:]}")
    return {f"split/{s.kind}.log": error(split).encode()}


def in_script(s: Secret) -> Files:
    text = s.text.replace("\n", "\\n")
    source = f"""import tinker
# {text}
LEARNING_RATE = 1e-4
def main():
    client = tinker.ServiceClient(base_url="{text}", api_key="{text}")
    trainer = client.create_lora_training_client(base_model="{text}", rank=8)
    for batch in range(9):
        trainer.forward_backward(batch, "{text}").result()
        trainer.optim_step(tinker.AdamParams(learning_rate=1e-4)).result()  # {text}
    trainer.save_state("{text}").result()
"""
    return {f"script/{s.kind}.py": source.encode()}


def in_notebook(s: Secret) -> Files:
    source = in_script(s)[f"script/{s.kind}.py"].decode().splitlines(keepends=True)
    output = {"output_type": "stream", "name": "stderr", "text": [error(s.text)]}
    cell = {"cell_type": "code", "source": source, "outputs": [output], "metadata": {}}
    return {f"notebook/{s.kind}.ipynb": json.dumps({"cells": [cell], "nbformat": 4}).encode()}


def in_run_folder(s: Secret) -> Files:
    rows = [{"step": n, "loss": 2.0 + n, f"time/{s.text}": 3.0, s.text: 9.0, "note": s.text}
            for n in range(6)]  # fmt: skip
    config = {"model_name": s.text, "log_path": s.text, "learning_rate": 1e-4, s.text: 3,
              "wandb_name": s.text, "renderer_name": s.text, "base_url": s.text}  # fmt: skip
    checkpoint = {"name": s.text, "state_path": f"tinker://x/weights/{s.text}", "batch": 3}
    span = {"name": s.text, "start": 0.0, "end": 3.0, "step": 1, "duration": 3.0}
    folder = f"run-{s.kind}"
    return {
        f"{folder}/metrics.jsonl": lines(*rows), f"{folder}/config.json": json.dumps(config).encode(),
        f"{folder}/checkpoints.jsonl": lines(checkpoint),
        f"{folder}/timing_spans.jsonl": lines(span, span),
    }  # fmt: skip


def in_dataset(s: Secret) -> Files:
    said = [{"role": "user", "content": s.text}, {"role": s.text, "content": s.text}]
    rows = ({"messages": said}, {"messages": said[:1], s.text: s.text}, {s.text: 1},
            {"messages": [{"role": "assistant", "content": s.text, s.text: 1}]})  # fmt: skip
    return {f"data/{s.kind}.jsonl": lines(*rows) + s.text.encode() + b"\n"}


def in_transcript(s: Secret) -> Files:
    row = {"scenario": s.text, "call": s.text, "outcome": "raised", "seconds": 2.4,
           "exception": "tinker.AuthenticationError", "status_code": 401, "log": [error(s.text)],
           "message": f"Error code: 401 - {s.text}", "body": {"detail": s.text, s.text: 1},
           "requests": {f"/api/v1/{s.text}": 1}, "warnings": [s.text], "sdk": "0.38.0"}  # fmt: skip
    return {f"transcripts/{s.kind}.jsonl": lines(row, row)}


def in_packages(s: Secret) -> Files:
    text = flat(s.text)
    body = f"tinker @ git+{s.text}\nnumpy=={text}\n{text}==1.0\n--index-url {s.text}\n"
    return {f"packages/{s.kind}/requirements.txt": body.encode() + b"pydantic==2.13.0b2\n"}


def in_profile(s: Secret) -> Files:
    text = flat(s.text)
    dump = "\n".join((
        f"Process 9: python {s.text}", "Python v3.11.7 (/usr/bin/python3.11)", "",
        f'Thread 9 (active+gil): "MainThread {text}"', f"    {text} ({s.text}/train.py:10)",
        f"    main ({s.text}/train.py:20)"))  # fmt: skip
    return {f"profile/{s.kind}.txt": dump.encode()}


def in_tree(s: Secret) -> Files:
    tree = {"name": s.text, "class": s.text, "path": s.text, "children": [
        {"name": s.text, "class": s.text, "path": s.text, "children": []}]}  # fmt: skip
    report = {"divergences": [{"class": s.text, "source": s.text, "target": s.text}]}
    folder = f"port-{s.kind}"
    result = {"components": [{"name": s.text, "r_ratio": 9.0, "error": s.text}], "status": "fail",
              "error": s.text, "traceback": s.text, s.text: {"error": s.text}}  # fmt: skip
    return {
        f"{folder}/model_tree/model_tree_source.json": json.dumps(tree).encode(),
        f"{folder}/model_tree/model_tree_target.json": json.dumps({**tree, "class": "X"}).encode(),
        f"{folder}/class_divergence_report.json": json.dumps(report).encode(),
        f"{folder}/component_mapping.json": json.dumps({s.text: {"target": s.text}}).encode(),
        f"{folder}/EQUIVALENCE_REPORT.md": f"# Equivalence\n\n| {flat(s.text)} | 3 |\n".encode(),
        **{f"{folder}/results/stage{n}.json": json.dumps(result).encode() for n in (1, 2, 3)},
    }  # fmt: skip


def in_tensor_names(s: Secret) -> Files:
    """Three runs that differ in a component of this name."""
    import numpy as np

    files: dict[str, bytes] = {}
    for role, value in (("ref_fp32", 1.0), ("ref_bf16", 1.01), ("target", 3.0)):
        out = io.BytesIO()
        arrays: Any = {flat(s.text): np.full((2, 2), value, np.float32)}
        np.savez(out, **arrays)
        files[f"tensors-{s.kind}/{role}.npz"] = out.getvalue()
    return files


def in_adapter(s: Secret) -> Files:
    import numpy as np
    from safetensors.numpy import save

    body = save({f"model.{flat(s.text)}.lora_A.weight": np.ones((2, 2), np.float32)},
                metadata={s.text: s.text})  # fmt: skip
    config = {"base_model_name_or_path": s.text, "r": 8, "target_modules": [s.text], s.text: 1}
    folder = f"weights-{s.kind}"
    return {f"{folder}/adapter/adapter_model.safetensors": body,
            f"{folder}/adapter/adapter_config.json": json.dumps(config).encode(),
            f"{folder}/merged/model.safetensors": save({flat(s.text): np.ones((2, 2), np.float32)}),
            f"{folder}/merged/config.json": json.dumps({"architectures": [s.text]}).encode()}  # fmt: skip


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def flat(text: str) -> str:
    """The text as a name within a file."""
    return text.replace("\n", "\\n")


PLACES: dict[str, Callable[[Secret], Files]] = {
    "log": in_log, "packed-log": in_packed_log, "archives": in_archives,
    "file-name": in_file_name, "traceback": in_traceback,
    "split-lines": in_split_lines, "script": in_script, "notebook": in_notebook,
    "run-folder": in_run_folder, "dataset": in_dataset, "transcript": in_transcript,
    "packages": in_packages, "profile": in_profile, "port": in_tree,
    "tensor-names": in_tensor_names, "weights": in_adapter,
}  # fmt: skip


class Watch(NamedTuple):
    """The secrets that must not be seen."""

    secrets: tuple[Secret, ...]

    def seen_in(self, text: str) -> set[Secret]:
        """The secrets that show in a text, also where its lines are broken."""
        joined = "".join(text.split())
        return {s for s in self.secrets if any(p in text or p in joined for p in s.parts)}

    def __call__(self, *texts: str) -> None:
        """None of them is in the texts."""
        for text in texts:
            seen = {(s.place, s.kind) for s in self.seen_in(text)}
            assert not seen, f"{len(seen)} secrets show: {sorted(seen)[:40]}"


def plant(folder: Path, place: str) -> list[Secret]:
    """Write the files of a place; the secrets in them."""
    planted = []
    for kind in KINDS:
        one = secret(kind, place)
        files = PLACES[place](one)
        for name, body in files.items():
            path = folder / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        if files:
            planted.append(one)
    return planted


# ---- for tests --------------------------------------------------------------------------------

UNGUARDED = """
from modelmedic.facts.redaction import redactor
redactor.Redactor.redact = lambda self, value: redactor.Redacted(value, {}, redactor._SEAL)
import sys
from modelmedic.interfaces.cli.main import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="session")
def planted_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every place below one folder."""
    folder = tmp_path_factory.mktemp("planted")
    for place in PLACES:
        plant(folder, place)
    return folder


@pytest.fixture(scope="session")
def planted() -> Callable[[str], list[Secret]]:
    """A secret of each kind for a place of the test's own."""
    return lambda place: [secret(kind, place) for kind in KINDS]


@pytest.fixture(scope="session")
def variables() -> dict[str, str]:
    """Secrets in the environment of the program."""
    found = [secret(kind, "environment") for kind in KINDS]
    named = {f"MY_{s.kind.upper().replace('-', '_')}": s.text for s in found}
    own = ("TINKER_API_KEY", "HF_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    return named | {name: found[at].value for at, name in enumerate(own)}


@pytest.fixture(scope="session")
def clean() -> Watch:
    """Asserts that no planted secret is in the texts."""
    own = ("environment", "facts", "decode", "errors", "knowledge", "dialogue", "agent", "records",
           "watch", "crash", "terminal")  # fmt: skip
    return Watch(tuple(secret(kind, place) for place in (*PLACES, *own) for kind in KINDS))


@pytest.fixture(scope="session")
def program(
    environment: dict[str, str], variables: dict[str, str], tmp_path_factory: Any
) -> Callable[..., Any]:
    """Runs ``diagnose``, or with ``guarded=False`` one whose redactor lets everything through; its
    code, stdout and stderr."""
    around = environment | variables

    def program(*arguments: object, stdin: str = "", guarded: bool = True) -> Any:
        start = ("-m", "modelmedic.interfaces.cli.main") if guarded else ("-c", UNGUARDED)
        return subprocess.run(
            [sys.executable, "-P", *start, *map(str, arguments)], input=stdin, env=around,
            cwd=tmp_path_factory.getbasetemp(), capture_output=True, text=True, timeout=200,
            check=False, errors="replace",
        )  # fmt: skip

    return program


@pytest.fixture
def said(
    environment: dict[str, str], variables: dict[str, str], monkeypatch: Any, capsys: Any
) -> Iterator[Callable[..., str]]:
    """Runs ``diagnose`` in this process, which is quicker; all that it writes."""
    from modelmedic.interfaces.cli.main import main

    for name, value in {**variables, "MODELMEDIC_SALT": "test",
                        "MODELMEDIC_CACHE": environment["MODELMEDIC_CACHE"]}.items():  # fmt: skip
        monkeypatch.setenv(name, value)

    def said(*arguments: object, stdin: str = "") -> str:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert stop.value.code != 70, err
        return str(out) + str(err)

    yield said
    gc.enable()
