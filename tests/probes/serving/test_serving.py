"""Logs of inference servers. The samples are made; see data/README.md."""

import gzip
from pathlib import Path

import pytest

from modelmedic.probes.recognition import Table, find_units, gather_unit
from modelmedic.probes.serving.probe import gather_serving
from modelmedic.probes.serving.recognition import looks_like_serving
from modelmedic.probes.serving.settings import settings

DATA = Path(__file__).with_name("data")
LOGS = sorted(DATA.glob("*.log"))
REQUEST = b'(APIServer pid=4) INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'

EXPECTED = {
    "vllm_healthy": {
        "engine": "vllm", "engine_version": "0.11.0", "model": "Qwen/Qwen3-8B", "dtype": "bfloat16",
        "context_window": 32768, "kv_cache_tokens": 379344, "lora": True, "max_lora_rank": 64,
        "quantized": False, "unmerged_adapter": True,
    },
    "vllm_healthy_old": {
        "engine": "vllm", "engine_version": "0.7.3", "model": "/models/llama-3.2-1b-merged",
        "dtype": "bfloat16", "cast_from": "float32", "context_window": 4096, "lora": False,
        "max_lora_rank": 16, "quantized": False,
    },
    "vllm_rank": {
        "engine": "vllm", "engine_version": "0.11.0", "model": "Qwen/Qwen3-8B", "dtype": "bfloat16",
        "context_window": 40960, "lora": True, "max_lora_rank": 16, "quantized": False,
        "unmerged_adapter": True,
    },
    "sglang_healthy": {
        "engine": "sglang", "model": "Qwen/Qwen3-4B", "dtype": "bfloat16", "context_window": 40960,
        "kv_cache_tokens": 414212, "lora": True, "max_lora_rank": 32, "chat_template": "model",
        "unmerged_adapter": True,
    },
    "sglang_rank": {
        "engine": "sglang", "model": "/models/base", "dtype": "float16", "context_window": 8192,
        "lora": True, "max_lora_rank": 16, "chat_template": "option", "quantized": True,
        "quantization": "fp8", "unmerged_adapter": True,
    },
}  # fmt: skip


def read(path, vocabulary, **options):
    outcome = gather_serving(path, vocabulary, **options)
    server = [dict(f.values) for f in outcome.facts if f.kind == "serving"]
    adapters = {f.get("name"): f for f in outcome.facts if f.kind == "served_adapter"}
    return server[0] if server else {}, adapters, outcome


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_logs_of_servers_are_recognised(path, vocabulary):
    found = Table(vocabulary).of_file(path, path.read_bytes())
    assert found is not None and found.probe == "serving"


@pytest.mark.parametrize("name", EXPECTED)
def test_what_the_server_says(name, vocabulary):
    server, _, outcome = read(DATA / f"{name}.log", vocabulary)
    assert server == EXPECTED[name]
    assert not outcome.problems


def test_adapters(vocabulary):
    _, adapters, _ = read(DATA / "vllm_healthy.log", vocabulary)
    assert (adapters["math"].get("path"), adapters["math"].get("loaded")) == ("/exports/math", True)
    _, adapters, _ = read(DATA / "sglang_healthy.log", vocabulary)
    # SGLang says that it is done with an adapter also where it refuses it.
    assert (adapters["math"].get("path"), adapters["math"].get("loaded")) == ("/exports/math", None)


def test_ignored_modules_without_the_parts_of_fused_ones(vocabulary):
    _, adapters, _ = read(DATA / "vllm_ignored.log", vocabulary)
    assert adapters["tuned"].get("ignored_modules") == 2
    assert adapters["tuned"].get("ignored_module") == "model.layers.7.mlp.experts.base_layer"


def test_the_last_start_counts(vocabulary, tmp_path):
    path = tmp_path / "server.log"
    path.write_bytes(
        (DATA / "vllm_healthy.log").read_bytes() + (DATA / "vllm_rank.log").read_bytes()
    )
    server, adapters, _ = read(path, vocabulary)
    assert server == EXPECTED["vllm_rank"]
    assert adapters["math"].get("loaded") is None


def test_a_limit_that_nobody_told_is_not_known(vocabulary, tmp_path):
    """A log that begins behind the arguments."""
    path = tmp_path / "server.log"
    path.write_text("\n".join((DATA / "vllm_healthy.log").read_text().splitlines()[4:]))
    server, adapters, _ = read(path, vocabulary)
    assert "max_lora_rank" not in server and server["lora"] and adapters["math"].get("loaded")


def test_messages_come_along_where_the_log_is_found(vocabulary):
    units, _ = find_units([DATA / "sglang_rank.log"], vocabulary)
    facts = gather_unit(units[0], vocabulary).facts
    assert {f.kind for f in facts} == {"serving", "served_adapter", "error_message"}


def test_packed_and_rotated(vocabulary, tmp_path):
    lines = (DATA / "vllm_healthy.log").read_bytes().splitlines(keepends=True)
    (tmp_path / "server.log.1.gz").write_bytes(gzip.compress(b"".join(lines[:6])))
    (tmp_path / "server.log").write_bytes(b"".join(lines[6:]))
    server, adapters, _ = read(tmp_path / "server.log", vocabulary)
    assert server == EXPECTED["vllm_healthy"]
    assert adapters["math"].provenance[0].location == f"{tmp_path}/server.log.1.gz:3"


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.95])
def test_cut_and_broken_logs(path, share, vocabulary, tmp_path):
    raw = path.read_bytes()
    cut = tmp_path / "server.log"
    at = int(len(raw) * share)
    for broken in (raw[:at], raw[:at] + bytes(range(200, 255)) + raw[at:], raw[at:]):
        cut.write_bytes(broken)
        _, _, outcome = read(cut, vocabulary)
        assert {p.code for p in outcome.problems} <= {"MM453"}


def test_nested_settings_do_not_count():
    found = settings(
        "'speculative_config': {'model': 'draft'}, 'model': 'base', 'x': [A(model='c')]"
    )
    assert found["model"] == "'base'"
    assert settings("a=1, b='x, c=2', d=") == {"a": "1", "b": "'x, c=2'", "d": ""}
    assert settings("[" * 100_000) == {}
    assert settings("'" * 100_000) == {}


def test_a_long_log_in_little_time(vocabulary, tmp_path):
    """Millions of lines of requests cost no more than looking for the words in them."""
    path = tmp_path / "server.log"
    path.write_bytes((DATA / "vllm_healthy.log").read_bytes() + REQUEST * 200_000)
    server, _, _ = read(path, vocabulary)
    assert server == EXPECTED["vllm_healthy"]


def test_reading_ends_early(vocabulary, tmp_path, stops_after):
    path = tmp_path / "server.log"
    path.write_bytes((DATA / "vllm_healthy.log").read_bytes() + REQUEST * 100_000)
    server, _, outcome = read(path, vocabulary, progress=stops_after(1))
    assert server == EXPECTED["vllm_healthy"]
    assert [p.code for p in outcome.problems] == ["MM407"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We saw INFO 11-19 12:53:26 [api_server.py:1977] vLLM API server version 0.11.0 in the log",
        "2026-01-02 10:00:00 INFO tinker.lib: Session heartbeat failed for 12 seconds\n" * 4,
        "INFO 11-19 12:53:26 [train.py:12] step 1 loss 2.3\n" * 4,
        "[2026-01-02 10:00:00] step 1 loss 2.3\n" * 4,
    ],
)
def test_what_is_no_log_of_a_server(text, vocabulary, tmp_path):
    assert not looks_like_serving(Path("x.log"), text.encode())
    path = tmp_path / "x.log"
    path.write_text(text)
    server, _, _ = read(path, vocabulary)
    assert not server or text.startswith("We saw")
