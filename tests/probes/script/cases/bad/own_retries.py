"""Retries and time limits around calls that the SDK repeats by itself."""
import time

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

for step, batch in enumerate(batches):
    for attempt in range(5):
        try:
            fwd = training_client.forward_backward(batch, "cross_entropy")
            opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4))
            print(step, fwd.result(timeout=30).metrics)
            opt.result()
            break
        except Exception:
            time.sleep(2**attempt)
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
