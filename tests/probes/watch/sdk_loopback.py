"""The real SDK against the stand-in; prints digests of what it sent, as JSON.

    python sdk_loopback.py [ROUNDS [SECONDS]]      (--steps: the times of rounds instead)

Run with an interpreter that has tinker. Each round is forward_backward, optim_step and two samples;
results are SECONDS late. Values that differ between any two runs (idempotency keys, measured times)
are left out; protobuf is brought into one order first, since the SDK's is that of a hash.
"""

import hashlib
import json
import os
import sys
import time

from modelmedic.probes.rehearsal.server import Server
from modelmedic.probes.rehearsal.stand_in import StandIn

VARYING = {"host", "connection", "x-idempotency-key", "x-tinker-create-promise-roundtrip-time"}
IN_ORDER = ("forward_backward", "optim_step")
BY_TIME = ("session_heartbeat", "client/dynamic_config")


class Listener(StandIn):
    """The stand-in, with digests of what it was sent."""

    def __init__(self, result_s):
        super().__init__(result_s=result_s)
        self.sent: list[tuple[object, ...]] = []

    def answer(self, verb, path, raw, headers):
        operation = path.partition("?")[0]
        heads = sorted((name, said) for name, said in headers.items() if name not in VARYING)
        self.sent.append((operation, digest(operation, raw), heads))
        return super().answer(verb, path, raw, headers)


def digest(operation, raw):
    if operation == "forward_backward":
        from tinker.proto import tinker_public_pb2 as public

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
    listener = Listener(numbers[1] if len(numbers) > 1 else 0.0)
    with Server(listener) as server:
        os.environ.update(
            TINKER_BASE_URL=server.url, TINKER_API_KEY="tml-EXAMPLE", TINKER_TELEMETRY="0"
        )
        steps = train(int(numbers[0]) if numbers else 40)
    if "--steps" in sys.argv:
        sys.exit(print(json.dumps(steps)))
    kept = [each for each in listener.sent if each[0] not in BY_TIME]
    ordered = [each[:2] for each in kept if each[0] in IN_ORDER]
    print(json.dumps({"training": ordered, "all": sorted(kept)}))
