"""A stand-in for the service: answers what a training loop asks, and records it."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from . import wire
from .inside import HEADER
from .learner import Learner
from .recording import Recording
from .server import PROTO, Reply, plain

MODELS = ("Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-4B-Instruct-2507",
          "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.2-1B",
          "openai/gpt-oss-20b")  # fmt: skip
_WIDE = 1_000_000_000
_MOVED = 0.001  # of a log-probability
CONFIG = {"fwdbwd_max_chunk_len": _WIDE, "fwdbwd_max_chunk_bytes_count": _WIDE,
          "fwdbwd_dispatch_bytes_semaphore_size": _WIDE,
          "parallel_fwdbwd_chunks": False}  # fmt: skip
Given = Callable[[Sequence[int], int], "Sequence[int] | None"]


class Model:
    """A model in training."""

    def __init__(self, name: str, base: str, rank: int) -> None:
        self.name, self.base, self.rank = name, base, rank
        self.learner = Learner()
        self.steps = 0
        self._before: Learner | None = None  # the first batch of a custom loss

    def has_moved(self, examples: Sequence[wire.Example]) -> bool:
        """Whether what the model says to most examples has changed since this was first asked."""
        if self._before is None:
            self._before = self.learner.snapshot()
        before, moved = self._before, 0
        for each in examples:
            targets = each.inputs.get("target_tokens", ())
            now, then = (m.logprobs(each.tokens, targets) for m in (self.learner, before))
            moved += any(abs(a - b) > _MOVED for a, b in zip(now, then, strict=True))
        return moved * 2 > len(examples)


class Saved(NamedTuple):
    """Weights of a model after so many steps; ``model`` is empty for a base model."""

    model: str
    base: str
    steps: int
    learner: Learner
    kind: str = ""
    at: str = ""
    call: str = ""  # that made them, or a client for them


class StandIn:
    """The state of the service, as far as a job can see it."""

    def __init__(self, given: Given | None = None, result_s: float = 0.002) -> None:
        """``given`` says what a prompt is answered with; else the model says what it has seen. A
        result takes ``result_s`` seconds."""
        self.recording = Recording()
        self._given, self._result_s = given, result_s
        self._lock = threading.RLock()
        self._results: dict[str, tuple[str, bytes, float]] = {}
        self._models: dict[str, Model] = {}
        self._saved: dict[str, Saved] = {}
        self._samplers: dict[str, Saved] = {}
        self._sessions = self._promises = 0

    def answer(
        self, verb: str, path: str, raw: bytes, headers: Mapping[str, str]
    ) -> tuple[str, bytes]:
        """The answer to a request. Raises :class:`.server.Reply`."""
        call = headers.get(HEADER, "")
        path = path.partition("?")[0].strip("/")
        if path == "retrieve_future":
            return self._retrieve(json.loads(raw)["request_id"])
        if path == "forward_backward":
            return self._train(wire.read_batch(raw), call)
        asked = json.loads(raw) if raw[:1] == b"{" else {}
        make = getattr(self, f"_do_{path}", None)
        with self._lock:
            if make is not None:
                return plain(make(asked, call))
            return plain(self._listed(verb, path.split("/"), asked))

    # -- results -------------------------------------------------------------------------------

    def _promise(self, kind: str, body: bytes, **more: Any) -> dict[str, Any]:
        self._promises += 1
        name = f"req-{self._promises}"
        self._results[name] = (kind, body, time.monotonic() + self._result_s)
        return {"request_id": name, **more}

    def _later(self, result: Mapping[str, Any]) -> dict[str, Any]:
        return self._promise(*plain(result))

    def _refused(self, why: str) -> dict[str, Any]:
        return self._later({"error": why, "category": "user"})

    def _retrieve(self, name: str) -> tuple[str, bytes]:
        with self._lock:
            if name not in self._results:
                raise Reply(410, "this promise is not known")
            kind, body, at = self._results[name]
            if len(body) > 1000:  # a result is fetched once
                self._results[name] = (*plain({"error": "fetched", "category": "user"}), at)
        time.sleep(max(0.0, at - time.monotonic()))
        return kind, body

    # -- training ------------------------------------------------------------------------------

    def _train(self, batch: wire.Batch, call: str) -> tuple[str, bytes]:
        with self._lock:
            model = self._model(batch.model)
            moved = self.recording.is_custom(batch, call) and model.has_moved(batch.examples)
            wrong = self.recording.batch(batch, call, moved)
            if wrong:
                return plain(self._refused(f"Unknown user error: {wrong}"))
            logprobs, metrics = model.learner.run(batch)
            return plain(self._promise(PROTO, wire.trained(logprobs, metrics)))

    def _do_optim_step(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        model = self._model(asked["model_id"])
        params = asked.get("adam_params") or asked.get("optimizer_params") or {}
        rate = float(params.get("learning_rate", 1e-4) or 0.0)
        norm = model.learner.step(rate)
        model.steps += 1
        self.recording.step(model.name, params, call)
        return self._later({"type": "optim_step", "metrics": {"grad_norm:mean": norm}})

    def _model(self, name: str) -> Model:
        if name not in self._models:
            raise Reply(404, f"model {name} is not known")
        return self._models[name]

    # -- clients -------------------------------------------------------------------------------

    def _do_create_session(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        self._sessions += 1
        return {
            "type": "create_session",
            "session_id": f"00000000-0000-4000-8000-{self._sessions:012d}",
        }

    def _do_create_model(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        model = self._make(
            asked, asked["base_model"], (asked.get("lora_config") or {}).get("rank", 32)
        )
        self.recording.other("create_model", call, model=model.name)
        return self._later({"type": "create_model", "model_id": model.name})

    def _make(self, asked: dict[str, Any], base: str, rank: int) -> Model:
        name = f"{asked['session_id']}:train:{asked['model_seq_id']}"
        model = self._models[name] = Model(name, base, rank)
        return model

    def _do_get_info(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        model = self._model(asked["model_id"])
        data = {"arch": "unknown", "model_name": model.base, "tokenizer_id": model.base}
        return {"type": "get_info", "model_id": model.name, "model_data": data, "is_lora": True,
                "lora_rank": model.rank, "model_name": model.base}  # fmt: skip

    def _do_create_sampling_session(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        name = f"{asked['session_id']}:sample:{asked['sampling_session_seq_id']}"
        path = asked.get("model_path")
        self._samplers[name] = self._weights(path, asked.get("base_model"), call)._replace(
            call=call
        )
        return {"type": "create_sampling_session", "sampling_session_id": name}

    def _weights(self, path: str | None, base: str | None, call: str) -> Saved:
        if path is None:
            return Saved("", base or "", 0, Learner())
        _check_path(path)
        if "/weights/" in path:
            self._wrong_type(path, call)
            raise Reply(400, f"{path} is a training checkpoint and cannot be sampled from")
        return self._saved.get(path) or Saved("", base or "unknown", 0, Learner())

    def _wrong_type(self, path: str, call: str) -> None:
        saved = self._saved.get(path)
        self.recording.other("wrong-type", call).origin = saved.call if saved else ""

    # -- checkpoints ---------------------------------------------------------------------------

    def _do_save_weights(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        return self._save(asked, call, "weights")

    def _do_save_weights_for_sampler(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        return self._save(asked, call, "sampler_weights")

    def _do_save_weights_external(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        return self._save(asked, call, "external_weights")

    def _save(self, asked: dict[str, Any], call: str, kind: str) -> dict[str, Any]:
        model = self._model(asked["model_id"])
        name = asked.get("path") or f"unnamed-{len(self._saved) + 1}"
        path = f"tinker://{model.name}/{kind}/{name}"
        again = path in self._saved and not asked.get("overwrite")
        now = datetime.now(UTC).isoformat()
        saved = Saved(
            model.name, model.base, model.steps, model.learner.snapshot(), kind, now, call
        )
        self.recording.save(kind, call, model.name, asked.get("path"), again)
        result: dict[str, Any] = {
            "type": f"save_{kind}".replace("sampler_weights", "weights_for_sampler")
        }
        number = asked.get("sampling_session_seq_id")
        if number is not None and not asked.get("path"):
            session = model.name.partition(":train:")[0]
            result["sampling_session_id"] = f"{session}:sample:{number}"
            self._samplers[result["sampling_session_id"]] = saved
        else:
            self._saved[path] = saved
            result["path"] = path
        return self._later(result)

    def _do_load_weights(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        path = asked["path"]
        _check_path(path)
        saved = self._saved.get(path)
        if asked.get("session_id"):
            model = self._make(
                asked, asked.get("base_model") or (saved.base if saved else "unknown"), 32
            )
        else:
            model = self._model(asked["model_id"])
        self.recording.load(call, model.name, bool(asked.get("optimizer")), saved is not None)
        if "/sampler_weights/" in path:
            self._wrong_type(path, call)
            return self._refused(f"{path} holds weights for sampling and cannot be trained on")
        if saved is not None:
            model.learner.restore(saved.learner)
        return self._later({"type": "load_weights", "path": path, "model_id": model.name})

    def _do_weights_info(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        saved = self._saved.get(asked.get("tinker_path") or asked.get("path") or "")
        return {"base_model": saved.base if saved else "unknown", "is_lora": True, "lora_rank": 32}

    # -- sampling ------------------------------------------------------------------------------

    def _do_asample(self, asked: dict[str, Any], call: str) -> dict[str, Any]:
        sampler = self._samplers.get(asked.get("sampling_session_id") or "")
        if sampler is None:
            sampler = self._weights(asked.get("model_path"), asked.get("base_model"), call)
        prompt = [token for chunk in asked["prompt"]["chunks"] for token in _tokens(chunk)]
        params, count = asked.get("sampling_params") or {}, int(asked.get("num_samples") or 1)
        answers = [self._say(sampler.learner, prompt, params, number) for number in range(count)]
        self.recording.sample(
            call,
            sampler.call,
            sampler.model,
            sampler.steps,
            prompt,
            answers,
            params,
            bool(asked.get("prompt_logprobs")),
        )
        scored = [math.nan, *sampler.learner.logprobs(prompt, prompt[1:])]
        body = wire.sampled(
            answers, scored if asked.get("prompt_logprobs") else (),
            _likeliest(sampler.learner, prompt, int(asked.get("topk_prompt_logprobs") or 0)),
        )  # fmt: skip
        ids = [f"sequence-{self._promises}-{number}" for number in range(count)]
        return self._promise(PROTO, body, sample_sequence_ids=ids)

    def _say(
        self, learner: Learner, prompt: Sequence[int], params: dict[str, Any], number: int
    ) -> wire.Answer:
        heat = float(params.get("temperature", 1.0))
        stop = params.get("stop")
        ends = [t for t in stop if isinstance(t, int)] if isinstance(stop, list) else []
        free = (
            f"{self._promises} {number}"
            if params.get("seed") is None
            else f"{params['seed']} {number}"
        )
        seed = f"{hash(tuple(prompt))} {free if heat > 0 else ''}"
        given = self._given(prompt, number) if self._given is not None else None
        return learner.answer(prompt, seed, params.get("max_tokens"), ends, heat, given)

    # -- listings ------------------------------------------------------------------------------

    def _listed(self, verb: str, path: list[str], asked: dict[str, Any]) -> dict[str, Any]:
        """The answers of the other routes; an empty object by default."""
        names = sorted({*MODELS, *(model.base for model in self._models.values())})
        match path:
            case ["client", "config"]:
                return CONFIG
            case ["get_server_capabilities"]:
                return {
                    "supported_models": [
                        {"model_name": n, "trainable": True, "sampleable": True} for n in names
                    ]
                }
            case ["samplers", name]:
                sampler = self._samplers.get(name)
                return {"sampler_id": name, "base_model": sampler.base if sampler else "unknown"}
            case ["training_runs", name] if verb == "GET" and name in self._models:
                return self._run(self._models[name])
            case ["training_runs"]:
                runs = [self._run(model) for model in self._models.values()]
                return {"training_runs": runs, "cursor": _cursor(len(runs))}
            case ["training_runs", name, "checkpoints"]:
                return {"checkpoints": self._checkpoints(name)}
            case ["training_runs", name, "checkpoints", *rest] if verb == "DELETE":
                self._saved.pop(f"tinker://{name}/{'/'.join(rest)}", None)
            case ["checkpoints"]:
                found = self._checkpoints("")
                return {"checkpoints": found, "cursor": _cursor(len(found))}
            case ["sessions", name]:
                mine = [[key for key in each if key.startswith(name)]
                        for each in (self._models, self._samplers)]  # fmt: skip
                return {"training_run_ids": mine[0], "sampler_ids": mine[1]}
            case ["telemetry"]:
                return {"status": "accepted"}
            case [
                "retrieve_futures" | "create_custom_loss" | "join_sampling_session" | "copy_weights"
            ]:
                raise Reply(404, "the stand-in does not offer this")
        return {}

    def _checkpoints(self, model: str) -> list[dict[str, Any]]:
        types = {
            "weights": "training",
            "sampler_weights": "sampler",
            "external_weights": "external",
        }
        return [
            {"checkpoint_id": "/".join(path.rsplit("/", 2)[1:]), "size_bytes": 0,
             "checkpoint_type": types[saved.kind], "time": saved.at, "tinker_path": path}
            for path, saved in self._saved.items() if model in ("", saved.model)
        ]  # fmt: skip

    def _run(self, model: Model) -> dict[str, Any]:
        return {"training_run_id": model.name, "base_model": model.base, "model_owner": "rehearsal",
                "is_lora": True, "lora_rank": model.rank,
                "last_request_time": datetime.now(UTC).isoformat()}  # fmt: skip


def _tokens(chunk: Mapping[str, Any]) -> Sequence[int]:
    """The tokens of a chunk of a prompt; -1 for those of an image."""
    return chunk.get("tokens") or [-1] * int(chunk.get("expected_tokens") or 1)


def _likeliest(learner: Learner, prompt: Sequence[int], width: int) -> bytes:
    if width <= 0:
        return b""
    pairs = [(0, math.nan)] * width
    for before in prompt[:-1]:
        pairs += learner.likeliest(before, width)
    return wire.topk([t for t, _ in pairs], [p for _, p in pairs], width, 3)


def _check_path(path: str) -> None:
    if not path.startswith("tinker://") or path.count("/") < 4:
        raise Reply(400, f"{path} is not the path of a checkpoint: tinker://RUN/weights/NAME")


def _cursor(count: int) -> dict[str, int]:
    return {"offset": 0, "limit": max(count, 1), "total_count": count}
