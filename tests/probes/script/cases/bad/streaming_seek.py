"""A streaming data set has no random access; a filtered batch may be empty."""
from datasets import load_dataset

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

dataset = load_dataset("some/data", split="train", streaming=True)
first = dataset[0]
for step, rows in enumerate(dataset):
    batch = [row for row in rows if row.keep]
    fwd = training_client.forward_backward(batch, "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4))
    print(step, fwd.result().metrics)
    opt.result()
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
