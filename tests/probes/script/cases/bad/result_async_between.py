"""forward_backward_async is only the submission; result_async is the wait."""
import asyncio

import tinker
from tinker import types


async def main(batches):
    service_client = tinker.ServiceClient()
    client = await service_client.create_lora_training_client_async(base_model="Qwen/Qwen3-8B")
    for step, batch in enumerate(batches):
        future = await client.forward_backward_async(batch, "cross_entropy")
        result = await future.result_async()
        step_future = await client.optim_step_async(types.AdamParams(learning_rate=1e-4))
        await step_future.result_async()
        print(step, result.metrics)
        await client.save_state_async(f"step-{step}")
        sampler = await client.save_weights_and_get_sampling_client_async()


asyncio.run(main([]))
