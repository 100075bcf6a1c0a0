"""Threats T1 to T9 of SECURITY.md: inputs that are made to harm, through commands and loaders.

An input is bounded if nothing grows with it, whatever its time (which the machine decides): a bomb
that went off would run into the memory limit or the time limit of the tests.
"""

import gzip
import io
import json
import os
import pickle
import struct
import zipfile
from typing import Any

import numpy as np
import pytest

from modelmedic.facts import ModelMedicError, strict_yaml
from modelmedic.facts.fact_file import parse_facts
from modelmedic.facts.regular_files import NotRegularError, open_regular
from modelmedic.interfaces.inspection import gather
from modelmedic.probes import load_probe

FULL = 300.0  # MiB; the command alone takes some 60


@pytest.fixture
def overlay(tmp_path):
    """A folder of knowledge with these files."""

    def overlay(**files):
        folder = tmp_path / "overlay"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.yaml").write_text(text)
        return folder

    return overlay


def codes(problems):
    return [problem.code for problem in problems]


def refused(text):
    with pytest.raises(ModelMedicError) as error:
        strict_yaml.load(text, "x.yaml")
    (problem,) = error.value.problems
    return problem


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_t01_yaml_bombs(diagnose, overlay, slow_steps):
    found = refused(BOMB)
    assert (found.code, found.where.line) == ("MM205", 1)
    assert refused("[" * 100_000).code in ("MM201", "MM202")
    assert refused("- 0\n" * 400_001).code == "MM201"
    assert refused("a: " + "x" * 8_000_001).code == "MM201"
    answer = diagnose("--facts", slow_steps, "--kb", overlay(bomb=BOMB))
    assert (answer.code, answer.out) == (3, "")
    assert "MM205 overlay/bomb.yaml:1:" in answer.err


@pytest.mark.parametrize(
    ("text", "code"),
    [("a: !!python/object/apply:os.system ['true']", "MM205"), ("!!set {a, b}", "MM205"),
     ("a: 1\na: 2", "MM207"), ("<<: {a: 1}", None), ("a: *x", "MM205"), ("1: a", "MM206"),
     ("--- a\n--- b", "MM204")],
)  # fmt: skip
def test_t02_yaml_tags_and_double_keys(text, code):
    if code:
        assert refused(text).code == code
    else:  # a merge key is a key like any other
        assert strict_yaml.load(text, "x").data == {"<<": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "value"),
    [("on", "on"), ("yes", "yes"), ("012", 12), ("0o14", 12), ("1e-3", 0.001), ("1:30", "1:30"),
     ("2026-01-01", "2026-01-01"), ("'2.10'", "2.10"), ("=", "="), ("1_000", "1_000")],
)  # fmt: skip
def test_t02_yaml_types_are_those_of_the_core_schema(text, value):
    assert strict_yaml.load(f"a: {text}", "x").data == {"a": value}


RULE = """
schema: modelmedic/rules/1
domain: local
sources: [{{ref: "local notes"}}]
rules:
  - id: local.rule.x
    title: A rule of a stranger
    when: {{fact: error_message, where: {{text: {{matches: '{pattern}'}}}}}}
    conclude: [{{diagnosis: tinker.perf.slow-steps, strength: weak}}]
"""


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(a)\1", r"(?<!a)b", "a{1000}{1000}", "("])
def test_t03_patterns_that_no_linear_matcher_takes(diagnose, overlay, facts_file, pattern):
    answer = diagnose("--facts", facts_file(), "--kb", overlay(x=RULE.format(pattern=pattern)))
    assert (answer.code, answer.out) == (3, "")
    assert "MM232" in answer.err


def test_t03_patterns_that_explode_elsewhere(diagnose, overlay, facts_file):
    """26 characters take Python's own matcher seconds, 60,000 for ever."""
    facts = facts_file({"kind": "error_message", "text": "a" * 60_000 + "!"})
    answer = diagnose("--facts", facts, "--kb", overlay(x=RULE.format(pattern="^(a+)+$")))
    assert answer.code in (0, 4), answer.err


def test_t03_shipped_patterns_on_hostile_lines(diagnose):
    """Prefixes of many words that patterns look for, over and over."""
    lines = ["Error code: " * 4000, "a" * 60_000, "(" * 20_000, '"' * 20_000, "x=" * 20_000,
             "Traceback (most recent call last):\n" * 2_000, " " * 60_000 + "x", "1." * 30_000,
             "tinker." * 9_000, "[2026-01-01 " * 5_000, "\\" * 30_000, "://" * 20_000]  # fmt: skip
    answer = diagnose("decode", "-", stdin="\n".join(lines).encode())
    assert answer.code in (0, 1, 4), answer.err


def test_t06_archives_are_never_unpacked_to_disk(tmp_path, vocabulary):
    """Names that lead out of the folder are names of tensors, nothing else."""
    folder = tmp_path / "runs"
    folder.mkdir()
    array = io.BytesIO()
    np.save(array, np.ones((2, 2), np.float32))
    for role in ("ref_fp32", "ref_bf16", "target"):
        with zipfile.ZipFile(folder / f"{role}.npz", "w") as archive:
            for name in ("../../evil.npy", "/etc/evil.npy", "a\\..\\evil.npy", "ok.npy"):
                archive.writestr(name, array.getvalue())
    before = sorted(tmp_path.rglob("*"))
    outcome = load_probe("tensors")(folder, vocabulary)
    assert [fact for fact in outcome.facts if fact.kind == "component_result"]
    assert sorted(tmp_path.rglob("*")) == before


def test_t06_a_zip_bomb(tmp_path, peak_of):
    """A few hundred kB that would unpack to hundreds of MB, in each of three runs."""
    head = io.BytesIO()
    count = 100_000_000
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": (count,)}
    )
    for role in ("ref_fp32", "ref_bf16", "target"):
        with zipfile.ZipFile(tmp_path / f"{role}.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("bomb.npy", "w") as member:
                member.write(head.getvalue())
                for _ in range(4):
                    member.write(bytes(count))
    answer, peak = peak_of("probe", "tensors", tmp_path)
    assert answer.code == 2
    assert "MM515" in answer.err
    assert peak < FULL


def test_t06_a_directory_of_an_archive_that_never_ends(tmp_path, vocabulary):
    """The directory is measured before it is read."""
    record = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65_535, 65_535, 60_000_000, 4, 0)
    with open(tmp_path / "ref_fp32.npz", "wb") as file:
        file.write(b"PK\3\4")
        file.truncate(60_000_004)
        file.seek(0, 2)
        file.write(record)
    for role in ("ref_bf16", "target"):
        os.link(tmp_path / "ref_fp32.npz", tmp_path / f"{role}.npz")
    problems = load_probe("tensors")(tmp_path, vocabulary).problems
    assert "MM511" in codes(problems)
    assert "its directory has 60,000,000 bytes" in problems[0].message


@pytest.mark.sweep
@pytest.mark.parametrize("packed", ["log.gz", "log.bz2", "log.xz", "metrics.jsonl.gz"])
def test_t06_a_packed_log_of_zeros(tmp_path, peak_of, packed):
    import bz2
    import lzma

    pack: Any = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[
        packed.split(".")[-1]
    ]
    path = tmp_path / packed
    path.write_bytes(pack(b"ERROR x\n" + b"0" * 100_000_000))
    answer, peak = peak_of("inspect", path)
    assert answer.code in (0, 1, 2, 4)
    assert peak < FULL


def test_t06_a_packed_log_ends_at_its_ratio(tmp_path, vocabulary, monkeypatch):
    """Here with a smaller bound below which the ratio does not count."""
    monkeypatch.setattr("modelmedic.probes.logs.files.FREE", 1 << 20)
    line = b"2026-01-01 10:00:00 INFO step\n"
    (tmp_path / "job.log.gz").write_bytes(gzip.compress(line * 300_000))
    bomb = load_probe("logs")(tmp_path / "job.log.gz", vocabulary)
    assert "MM495" in codes(bomb.problems)
    (tmp_path / "own.log").write_bytes(line * 300_000)
    assert "MM495" not in codes(load_probe("logs")(tmp_path / "own.log", vocabulary).problems)


def test_t07_pickles_under_every_name(tmp_path, vocabulary, trap, diagnose):
    """Told by content: what a name promises counts for nothing."""
    pickled = pickle.dumps(trap)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
    objects = io.BytesIO()
    np.save(objects, np.array([trap], dtype=object), allow_pickle=True)
    for number, content in enumerate((pickled, zipped.getvalue(), objects.getvalue())):
        folder = tmp_path / str(number)
        folder.mkdir()
        for suffix in (".pt", ".bin", ".npy", ".npz", ".safetensors", ".pkl", ".ckpt", ".json"):
            (folder / f"model{suffix}").write_bytes(content)
        for suffix in (".npy", ".npz", ".safetensors", ".pt"):
            for role in ("ref_fp32", "ref_bf16", "target"):
                (folder / suffix).mkdir(exist_ok=True)
                (folder / suffix / f"{role}{suffix}").write_bytes(content)
            problems = load_probe("tensors")(folder / suffix, vocabulary).problems
            wanted = {"MM511", "MM512", "MM513", "MM431", "MM433", "MM510"}
            assert set(codes(problems)) <= wanted and problems
            if suffix != ".pt" and content is not objects.getvalue() and number < 2:
                assert {"MM512", "MM433"} & set(codes(problems)), (suffix, problems)
        gather([folder], vocabulary)
    assert diagnose("inspect", tmp_path).code in (0, 1, 2, 4)
    assert not trap.mark.exists()


def test_t07_a_header_of_safetensors_that_lies(tmp_path, vocabulary):
    """Lengths beyond the file, offsets outside, millions of values."""

    def written(head, length=None, body=b"\0" * 16):
        path = tmp_path / "model.safetensors"
        size = len(head) if length is None else length
        path.write_bytes(size.to_bytes(8, "little") + head + body)
        return codes(load_probe("weights")(_folders(path), vocabulary).problems)

    entry = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    assert "MM431" in written(b"{}", 2**62)
    assert "MM431" in written(b"{" * 10)
    assert "MM431" in written(json.dumps({"a": entry | {"data_offsets": [0, 2**40]}}).encode())
    assert "MM431" in written(json.dumps({"a": entry | {"shape": [2**49, 2**49]}}).encode())
    assert "MM431" in written(json.dumps({"a": entry | {"data_offsets": [16, 0]}}).encode())
    assert "MM431" in written(b'{"a": [' + b"[]," * 3_100_000 + b"[]]}")


def _folders(path):
    from modelmedic.probes.weights.probe import WeightFolders

    return WeightFolders(base=path, adapter=path, merged=path)


@pytest.mark.parametrize("head", [
    b'{"messages": [{"role": "user", "content": "', b"ERROR tinker.RateLimitError: x\n",
    b'{"step": 0, "loss": 1.0}\n', b"import tinker\n", b"tinker==0.1\npydantic==2.1\n",
    b'{"schema": "modelmedic/facts/1", "facts": ["'], ids=range(6))  # fmt: skip
def test_t08_huge_files(tmp_path, peak_of, head):
    """Half a gigabyte that takes no room on the disk, as one line."""
    path = tmp_path / "given.json"
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(1 << 29)
    answer, peak = peak_of("inspect", path)
    assert answer.code in (0, 1, 2, 4), answer.err
    assert peak < FULL
    answer, peak = peak_of("--facts", path)
    assert (answer.code, answer.err[:5]) == (2, "MM103")
    assert peak < FULL


NAMES = ("metrics.jsonl", "job.log", "train.py", "config.json", "adapter_config.json",
         "model.safetensors", "model.safetensors.index.json", "target.npy", "ref_fp32.npz",
         "component_mapping.json", "neuron_config.json", "generation_config.json", "a.gz",
         "results/stage1.json", "model_tree/model_tree_source.json", "timing_spans.jsonl",
         "checkpoints.jsonl", "bench_config.yaml", "uv.lock", "x.ipynb", "patches/patches.json",
         "facts.json", "tests/test_mlp.py")  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "socket"])
def test_t08_what_is_no_file(tmp_path, diagnose, kind, root, monkeypatch):
    """Nothing writes to the pipe: whoever opens it waits for ever. The device never ends."""
    import socket

    folder = tmp_path / "f"
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "loop":
            path.symlink_to(path.name)
        else:
            monkeypatch.chdir(path.parent)
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
    (folder / "again").symlink_to(folder)
    metrics = root / "tests/probes/data/metrics/runs/sft/metrics.jsonl"
    (folder / "other").mkdir()
    (folder / "other" / "metrics.jsonl").write_bytes(metrics.read_bytes())
    answer = diagnose("inspect", folder, "-f", "json")
    assert answer.code in (0, 1, 2, 4), answer.err
    for probe in ("metrics", "experiment", "tensors", "weights", "logs", "dataset", "transcripts"):
        assert diagnose("probe", probe, folder).code in (0, 2)
    for name in NAMES[:3]:
        assert diagnose("inspect", folder / name).code == 2
        assert diagnose("probe", "environment", "--freeze", folder / name).code == 2
    assert diagnose("--facts", folder / "facts.json").code == 2


def test_t08_only_regular_files_are_opened(tmp_path, diagnose):
    """The file that was opened counts; a link to a file is that file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    for name in ("pipe", "device", "."):
        with pytest.raises(NotRegularError):
            open_regular(tmp_path / name)
        answer = diagnose("--facts", tmp_path / name)
        assert (answer.code, answer.err[:5]) == (2, "MM102"), answer.err
    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"x"


def test_t08_truncation_is_said_and_proves_nothing(tmp_path, vocabulary, doctor):
    """The report names a cut as a problem, and the absence of anything in the part cut off rules
    nothing out."""
    lines = [f"2026-01-01 10:00:00 INFO step {n} {hash(n) % 99_991}" for n in range(200_000)]
    text = "\n".join([*lines, "tinker.RateLimitError: Error code: 429 - slow down", ""]).encode()
    (tmp_path / "whole.log").write_bytes(text)
    whole = load_probe("logs")(tmp_path / "whole.log", vocabulary)
    assert [fact for fact in whole.facts if "429" in str(fact)]
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(text)[:-3_000])
    cut = load_probe("logs")(tmp_path / "cut.log.gz", vocabulary)
    assert codes(cut.problems) == ["MM494"]
    report = doctor.diagnose(cut.facts, cut.problems)
    assert [problem.code for problem in report.errors] == ["MM494"]
    assert not report.diagnoses and not report.ruled_out


def test_t08_what_is_cut_off_clears_nobody(tmp_path, vocabulary, doctor):
    """Lines that clear a cause do so only where the whole log was read: the rest may say else."""
    passed = vocabulary.fact("log_event", event="renderer-parity-pass")
    lines = b"".join(b"2026-01-01 10:00:01 INFO %d\n" % (n * n) for n in range(200_000))

    def report(name, content):
        (tmp_path / name).write_bytes(content)
        read = load_probe("logs")(tmp_path / name, vocabulary)
        return doctor.diagnose([passed, *read.facts], read.problems)

    whole = report("whole.log.gz", gzip.compress(lines))
    assert "tinker.renderer.wrong-renderer" in {out.id for out in whole.ruled_out}
    cut = report("cut.log.gz", gzip.compress(lines)[:-3_000])
    assert not cut.ruled_out and not cut.diagnoses
    assert [problem.code for problem in cut.errors] == ["MM494"]


@pytest.mark.parametrize(
    ("text", "code"),
    [('[{"kind": "python", "version": "3.11.1", "version": "3.12.1"}]', "MM118"),
     ('[{"kind": "gil_jitter", "max_s": NaN}]', "MM119"),
     ('[{"kind": "gil_jitter", "max_s": -Infinity}]', "MM119"),
     ('[{"kind": "gil_jitter", "max_s": 1e999}]', None),
     ('[{"kind": "gil_jitter", "max_s": "1"}]', None),
     ('[{"kind": "gil_jitter", "max_s": true}]', None),
     ('[{"kind": "http_response", "status": 4.5}]', None),
     ('[{"kind": "service_check", "check": "x", "ok": 1}]', None),
     ('[{"kind": "package", "ｎame": "x"}]', None),
     ('[{"kind": "ｐackage", "name": "x"}]', "MM112"),
     ('[{"kind": "package", "name": "\\ud800"}]', None),
     ("[" * 100_000, "MM109"), ("[" + "9" * 5_000 + "]", "MM109"),
     ("[" + "[],".join([""] * 1_000_002) + "{}]", "MM103")],
    ids=range(14),
)  # fmt: skip
def test_t09_hostile_facts(vocabulary, text, code):
    """Nothing is converted, dropped or taken for something else."""
    with pytest.raises(ModelMedicError) as error:
        parse_facts(text, "facts.json", vocabulary)
    found = codes(error.value.problems)
    assert all(each.startswith("MM1") for each in found)
    assert code in (None, *found)


def test_t09_many_small_objects_are_counted_before_they_are_built(tmp_path, diagnose, peak_of):
    path = tmp_path / "facts.json"
    path.write_text("[" + "{}," * 9_000_000 + "{}]")
    answer, peak = peak_of("--facts", path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("MM103")
    assert peak < FULL
    text = json.dumps([{"kind": "error_message", "text": "{[" * 30_000}] * 20)
    path.write_text(text)
    assert diagnose("--facts", path).code == 4, "braces in texts are no objects"
