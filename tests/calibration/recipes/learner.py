"""A server on this machine that the SDK takes for the service, with a model that learns by itself.

It takes requests as JSON and as protobuf and answers as it is asked to, so releases of the SDK from
0.8 on can talk to it. The server counts what they send and computes nothing: the loss falls, and
answers get better, with the number of updates. ``speak`` decides what the model says.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import struct
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SESSION = "00000000-5e55-0000-0000-000000000001"
MODEL = "Qwen/Qwen3-8B"
_FIRST_LOSS, _LAST_LOSS, _PACE = 2.4, 1.1, 6.0
_SURE = -0.35  # logprob of a token that the model says itself
_PROTO = "application/x-protobuf"

Values = dict[str, Any]
Speak = Callable[[list[int], float, random.Random], list[int]]


class Learner:
    """The server; ``url`` is its base URL. ``delays`` are seconds by operation."""

    def __init__(self, speak: Speak, delays: Mapping[str, float]) -> None:
        self._speak, self._delays = speak, dict(delays)
        self._lock = threading.Lock()
        self._results: dict[str, tuple[Values, float]] = {}
        self.updates = 0
        learner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", 0)))
                packed = self.headers.get("content-encoding") == "gzip"
                self._answer(gzip.decompress(raw) if packed else raw)

            def log_message(self, format: str, *args: object) -> None:
                pass

            def _answer(self, raw: bytes) -> None:
                operation = self.path.partition("/api/v1/")[2].partition("?")[0]
                wants_proto = _PROTO in self.headers.get("accept", "")
                is_proto = _PROTO in self.headers.get("content-type", "")
                found = learner.answer(operation, raw, is_proto)
                kind, body = _encoded(found, wants_proto)
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        made.daemon_threads = True
        self.url = f"http://127.0.0.1:{made.server_address[1]}"
        threading.Thread(target=made.serve_forever, daemon=True).start()

    def answer(self, operation: str, raw: bytes, is_proto: bool) -> Values:
        """The answer to one request; of what takes time, a promise."""
        if operation == "retrieve_future":
            result, at = self._results[json.loads(raw)["request_id"]]
            time.sleep(max(0.0, at - time.monotonic()))
            return result
        asked = _asked(operation, raw, is_proto)
        make = getattr(self, f"_{operation}", None)
        if make is None:
            return dict(_KNOWN.get(operation.partition("/")[0], {}))
        with self._lock:  # a tokenizer is for one thread at a time
            name = f"req-{len(self._results) + 1}"
            ready = time.monotonic() + self._delays.get(operation, 0.0)
            self._results[name] = (make(asked), ready)
        promise: Values = {"request_id": name, "model_id": f"{SESSION}:train:0"}
        if operation == "asample":
            promise["sample_sequence_ids"] = [f"{name}-{n}" for n in range(asked["num_samples"])]
        return promise

    @property
    def skill(self) -> float:
        """From 0 to 1, with the updates."""
        return 1 - math.exp(-self.updates / _PACE)

    def _create_model(self, _: Values) -> Values:
        return {"type": "create_model", "model_id": f"{SESSION}:train:0"}

    def _load_weights(self, _: Values) -> Values:
        return {"type": "load_weights", "path": f"tinker://{SESSION}:train:0/weights/x"}

    def _save_weights(self, asked: Values) -> Values:
        name = asked.get("path") or "x"
        return {"type": "save_weights", "path": f"tinker://{SESSION}:train:0/weights/{name}"}

    def _save_weights_for_sampler(self, asked: Values) -> Values:
        name, saved = asked.get("path"), {"type": "save_weights_for_sampler"}
        if name is None:
            return saved | {"path": None, "sampling_session_id": f"{SESSION}:sample:{self.updates}"}
        return saved | {"path": f"tinker://{SESSION}:train:0/sampler_weights/{name}"}

    def _optim_step(self, _: Values) -> Values:
        self.updates += 1
        norm = 0.4 + 0.8 * math.exp(-self.updates / _PACE)
        return {"type": "optim_step", "metrics": {"grad_norm:mean": norm}}

    def _forward(self, asked: Values) -> Values:
        return self._forward_backward(asked)

    def _forward_backward(self, asked: Values) -> Values:
        level = _LAST_LOSS + (_FIRST_LOSS - _LAST_LOSS) * (1 - self.skill)
        chance = random.Random(f"{self.updates} {len(self._results)}")
        outputs, total = [], 0.0
        for datum in asked["data"]:
            said = datum.get("logprobs")
            if said is None:
                values = [-max(0.0, chance.gauss(level, level / 4)) for _ in datum["target_tokens"]]
            else:
                values = [min(v + chance.gauss(0, 0.01), 0.0) for v in said]
            weights = datum.get("weights") or datum.get("mask") or [1.0] * len(values)
            total -= sum(v * w for v, w in zip(values, weights, strict=False))
            outputs.append(values)
        return {"type": "forward_backward", "outputs": outputs, "metrics": {"loss:sum": total}}

    def _asample(self, asked: Values) -> Values:
        prompt = [t for chunk in asked["prompt"]["chunks"] for t in chunk["tokens"]]
        limit = asked["sampling_params"].get("max_tokens") or 1
        level = -(_LAST_LOSS + (_FIRST_LOSS - _LAST_LOSS) * (1 - self.skill))
        sequences = []
        for number in range(asked["num_samples"]):
            chance = random.Random(f"{prompt} {number} {self.updates} {asked.get('seq_id')}")
            tokens = self._speak(prompt, self.skill, chance)
            values = [min(-1e-4, chance.gauss(_SURE, 0.1)) for _ in tokens[:limit]]
            sequences.append((tokens[:limit], values, len(tokens) > limit))
        told = [None, *[level] * (len(prompt) - 1)] if asked.get("prompt_logprobs") else None
        return {"type": "sample", "sequences": sequences, "prompt_logprobs": told}


_KNOWN: dict[str, Values] = {
    "create_session": {"session_id": SESSION, "type": "create_session"},
    "create_sampling_session": {"sampling_session_id": f"{SESSION}:sample:0",
                                "type": "create_sampling_session"},
    "samplers": {"sampler_id": "s", "base_model": MODEL},
    "get_server_capabilities": {"supported_models": [{"model_name": MODEL}]},
    "get_info": {"type": "get_info", "model_id": f"{SESSION}:train:0",
                 "model_data": {"model_name": MODEL, "arch": "q", "tokenizer_id": MODEL}},
    "session_heartbeat": {"type": "session_heartbeat"},
    "telemetry": {"status": "accepted"},
    "weights_info": {"base_model": MODEL, "is_lora": True, "lora_rank": 32},
}  # fmt: skip


def _asked(operation: str, raw: bytes, is_proto: bool) -> Values:
    """A request as plain values; of a batch its tensors."""
    if is_proto:
        return _asked_by_proto(raw)
    asked: Values = json.loads(raw or b"{}")
    given = asked.get("forward_backward_input") or asked.get("forward_input")
    if given:
        asked["data"] = [
            {name: tensor["data"] for name, tensor in datum["loss_fn_inputs"].items()}
            for datum in given["data"]
        ]
    return asked


def _asked_by_proto(raw: bytes) -> Values:
    from tinker.proto import tinker_public_pb2 as public

    request = public.ForwardBackwardRequest()
    request.ParseFromString(raw)
    return {"data": [
        {name: _numbers(tensor, public) for name, tensor in datum.loss_fn_inputs.items()}
        for datum in request.data
    ]}  # fmt: skip


def _numbers(tensor: Any, public: Any) -> list[Any]:
    form = "f" if tensor.dtype == public.DTYPE_FLOAT32 else "q"
    raw = tensor.dense
    return list(struct.unpack(f"<{len(raw) // struct.calcsize(form)}{form}", raw))


def _encoded(found: Values, wants_proto: bool) -> tuple[str, bytes]:
    kind = found.get("type")
    if kind == "forward_backward":
        return _batch_by_proto(found) if wants_proto else _json(_batch(found))
    if kind == "sample":
        return _samples_by_proto(found) if wants_proto else _json(_samples(found))
    return _json(found)


def _json(value: Values) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode()


def _batch(found: Values) -> Values:
    return {
        "type": "forward_backward", "loss_fn_output_type": "TensorData",
        "metrics": found["metrics"],
        "loss_fn_outputs": [
            {"logprobs": {"data": values, "dtype": "float32", "shape": [len(values)]}}
            for values in found["outputs"]
        ],
    }  # fmt: skip


def _batch_by_proto(found: Values) -> tuple[str, bytes]:
    from tinker.proto import tinker_public_pb2 as public

    output = public.ForwardBackwardOutput(loss_fn_output_type="TensorData")
    for name, value in found["metrics"].items():
        output.metrics[name] = value
    outputs = found["outputs"]
    record = output.loss_fn_outputs.add(num_datums=len(outputs))
    tensor = record.fields["logprobs"]
    tensor.dtype = public.DTYPE_FLOAT32
    ends = [0]
    for values in outputs:
        ends.append(ends[-1] + 4 * len(values))
    tensor.data = struct.pack(f"<{ends[-1] // 4}f", *[v for values in outputs for v in values])
    tensor.offsets = struct.pack(f"<{len(ends)}q", *ends)
    return _PROTO, output.SerializeToString()


def _samples(found: Values) -> Values:
    return {
        "type": "sample", "prompt_logprobs": found["prompt_logprobs"],
        "sequences": [
            {"tokens": tokens, "logprobs": values, "stop_reason": "length" if cut else "stop"}
            for tokens, values, cut in found["sequences"]
        ],
    }  # fmt: skip


def _samples_by_proto(found: Values) -> tuple[str, bytes]:
    from tinker.proto import tinker_public_pb2 as public

    response = public.SampleResponse()
    for tokens, values, cut in found["sequences"]:
        sequence = response.sequences.add()
        sequence.stop_reason = int(cut)
        sequence.tokens = struct.pack(f"<{len(tokens)}i", *tokens)
        sequence.logprobs = struct.pack(f"<{len(values)}f", *values)
    if found["prompt_logprobs"]:
        values = [math.nan if v is None else v for v in found["prompt_logprobs"]]
        response.prompt_logprobs = struct.pack(f"<{len(values)}f", *values)
    return _PROTO, response.SerializeToString()
