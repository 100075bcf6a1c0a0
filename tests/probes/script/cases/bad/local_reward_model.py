"""A reward model on the local GPU scores every step."""
import torch

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

scorer = torch.load("scorer.pt")
for step, batch in enumerate(batches):
    inputs = torch.stack(batch.pixels).to("cuda")
    fwd = training_client.forward_backward(batch.datums, "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4))
    print(step, fwd.result().metrics, scorer(inputs))
    opt.result()
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
