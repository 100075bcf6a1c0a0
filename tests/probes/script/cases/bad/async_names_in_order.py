"""Deprecated names, but both are submitted before a result is awaited."""
import asyncio

import tinker
from tinker import types


async def main(batches):
    service_client = tinker.ServiceClient()
    client = await service_client.create_lora_training_client_async(base_model="Qwen/Qwen3-8B")
    for step, batch in enumerate(batches):
        fwd = await client.forward_backward_async(batch, "cross_entropy")
        opt = await client.optim_step_async(types.AdamParams(learning_rate=1e-4))
        print(step, await fwd.result_async())
        await opt.result_async()
        await client.save_state_async(f"step-{step}")
        sampler = await client.save_weights_and_get_sampling_client_async()


asyncio.run(main([]))
