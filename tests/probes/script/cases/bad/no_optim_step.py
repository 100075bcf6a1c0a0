"""Gradients pile up and nothing is learnt."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

for step, batch in enumerate(batches):
    fwd = training_client.forward_backward(batch, "cross_entropy")
    print(step, fwd.result().metrics)
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
