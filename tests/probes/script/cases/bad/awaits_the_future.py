"""Awaiting the future itself waits for its result."""
import asyncio

import tinker
from tinker import types


async def main(batches):
    service_client = tinker.ServiceClient()
    client = await service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=16)
    for step, batch in enumerate(batches):
        result = await client.forward_backward(batch, "cross_entropy")
        await client.optim_step(types.AdamParams(learning_rate=1e-4))
        print(step, result.metrics)
        await client.save_state(f"step-{step}")
        sampler = await client.save_weights_and_get_sampling_client()


asyncio.run(main([]))
