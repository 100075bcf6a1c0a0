"""A queue keeps a few steps in flight."""
from collections import deque

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

pending = deque()
for step, batch in enumerate(batches):
    fwd = training_client.forward_backward(batch, "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=2e-4))
    pending.append((step, fwd, opt))
    if len(pending) > 2:
        number, first, second = pending.popleft()
        print(number, first.result().metrics)
        second.result()
    if step % 500 == 0:
        training_client.save_state(f"step-{step}").result()
        sampler = training_client.save_weights_and_get_sampling_client().result()
