"""A training loop that waits for each request before it sends the next one."""

import tinker
from tinker import types


def train(batches: list[list[types.Datum]]) -> None:
    """Train on the batches with LoRA."""
    client = tinker.ServiceClient().create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32)
    for batch in batches:
        client.forward_backward(batch, "cross_entropy").result()
        client.optim_step(types.AdamParams(learning_rate=0.01)).result()
