"""result() stops the event loop of an async function."""
import asyncio

import tinker
from tinker import types


async def main(batches):
    service_client = tinker.ServiceClient()
    client = await service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B")
    for step, batch in enumerate(batches):
        fwd = client.forward_backward(batch, "cross_entropy")
        opt = client.optim_step(types.AdamParams(learning_rate=1e-4))
        print(step, fwd.result().metrics, opt.result())
        await client.save_state(f"step-{step}")
        sampler = await client.save_weights_and_get_sampling_client()


asyncio.run(main([]))
