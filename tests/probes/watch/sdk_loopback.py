"""The real SDK against a server on this machine; prints digests of what it sent, as JSON.

    python sdk_loopback.py [ROUNDS [SECONDS]]      (--steps: the times of rounds instead)

Run with an interpreter that has tinker. Each round is forward_backward, optim_step and two samples;
results are SECONDS late. Values that differ between any two runs (idempotency keys, measured times)
are left out; protobuf is brought into one order first, since the SDK's is that of a hash.
"""

import hashlib
import json
import os
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ.update(TINKER_API_KEY="tml-EXAMPLE", TINKER_TELEMETRY="0")
from tinker.proto import tinker_public_pb2 as public

SESSION = "00000000-5e55-0000-0000-000000000001"
VARYING = {"host", "connection", "x-idempotency-key", "x-tinker-create-promise-roundtrip-time"}
IN_ORDER = ("forward_backward", "optim_step", "save_weights")
BY_TIME = ("session_heartbeat", "client/dynamic_config")


class Server:
    def __init__(self, delay):
        self.delay, self.results = delay, {}
        self.sent: list[tuple[object, ...]] = []
        lock, server = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                self.take(b"")

            def do_POST(self):
                self.take(self.rfile.read(int(self.headers.get("content-length", 0))))

            def log_message(self, *_):
                pass

            def take(self, raw):
                operation = self.path.partition("/api/v1/")[2].partition("?")[0]
                heads = sorted(
                    (k.lower(), v) for k, v in self.headers.items() if k.lower() not in VARYING
                )
                with lock:
                    server.sent.append((operation, digest(operation, raw), heads))
                kind, body = server.answer(operation, raw)
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        made.daemon_threads = True
        self.url = f"http://127.0.0.1:{made.server_address[1]}"
        threading.Thread(target=made.serve_forever, daemon=True).start()

    def later(self, kind):
        name = f"req-{len(self.results) + 1}"
        self.results[name] = (kind, time.monotonic() + self.delay)
        return {"request_id": name}

    def answer(self, operation, raw):
        if operation == "retrieve_future":
            kind, at = self.results[json.loads(raw)["request_id"]]
            time.sleep(max(0.0, at - time.monotonic()))
            return result_of(kind)
        if operation == "asample":
            asked = json.loads(raw)
            count, tokens = asked["num_samples"], asked["sampling_params"]["max_tokens"]
            ids = [f"sequence-{n}" for n in range(count)]
            return plain(self.later(("sample", count, tokens)) | {"sample_sequence_ids": ids})
        if operation in (*IN_ORDER, "create_model"):
            return plain(self.later((operation,)))
        return plain(KNOWN.get(operation.partition("/")[0], {}))


KNOWN = {
    "create_session": {"session_id": SESSION},
    "create_sampling_session": {"sampling_session_id": f"{SESSION}:sample:0"},
    "samplers": {"sampler_id": "s", "base_model": "Qwen/Qwen3-8B"},
    "get_info": {"type": "get_info", "model_id": f"{SESSION}:train:0",
                 "model_data": {"model_name": "Qwen/Qwen3-8B", "arch": "q", "tokenizer_id": "t"}},
}  # fmt: skip


def plain(value):
    return "application/json", json.dumps(value).encode()


def result_of(kind):
    if kind[0] == "forward_backward":
        output = public.ForwardBackwardOutput(loss_fn_output_type="x")
        output.metrics["loss:sum"] = 1.0
        return "application/x-protobuf", output.SerializeToString()
    if kind[0] == "sample":
        response = public.SampleResponse()
        for number in range(kind[1]):
            sequence = response.sequences.add()
            sequence.stop_reason = number % 2
            sequence.tokens = struct.pack(f"<{kind[2]}i", *range(kind[2]))
            sequence.logprobs = struct.pack(f"<{kind[2]}f", *[-1.0] * kind[2])
        return "application/x-protobuf", response.SerializeToString()
    model = {"model_id": f"{SESSION}:train:0", "path": "tinker://x", "metrics": {}}
    return plain({"type": kind[0], **model})


def digest(operation, raw):
    if operation == "forward_backward":
        request = public.ForwardBackwardRequest()
        request.ParseFromString(raw)
        raw = request.SerializeToString(deterministic=True)
    return hashlib.sha256(raw).hexdigest()[:16]


def train(rounds):
    import tinker
    from tinker import types

    service = tinker.ServiceClient()
    client = service.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=8).result()
    sampler = service.create_sampling_client(model_path="tinker://x:train:0/sampler_weights/a")
    sampler = sampler.result()
    inputs = {"target_tokens": list(range(1, 65)), "weights": [1.0] * 64}
    tokens = types.ModelInput.from_ints(list(range(64)))
    data = [types.Datum(model_input=tokens, loss_fn_inputs=inputs) for _ in range(4)]
    prompt, budget = types.ModelInput.from_ints([1, 2, 3]), types.SamplingParams(max_tokens=8)
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        first = client.forward_backward(data, "cross_entropy")
        second = client.optim_step(types.AdamParams(learning_rate=1e-4))
        first.result(), second.result()
        several = [sampler.sample(prompt, count, budget) for count in (2, 1)]
        assert [len(each.result().sequences) for each in several] == [2, 1]
        times.append(time.perf_counter() - begin)
    client.save_state("end").result()
    return times


if __name__ == "__main__":
    numbers = [float(word) for word in sys.argv[1:] if word != "--steps"]
    server = Server(numbers[1] if len(numbers) > 1 else 0.0)
    os.environ["TINKER_BASE_URL"] = server.url
    steps = train(int(numbers[0]) if numbers else 40)
    if "--steps" in sys.argv:
        sys.exit(print(json.dumps(steps)))
    kept = [each for each in server.sent if each[0] not in BY_TIME]
    ordered = [each[:2] for each in kept if each[0] in IN_ORDER[:2]]
    print(json.dumps({"training": ordered, "all": sorted(kept)}))
