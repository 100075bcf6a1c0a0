"""Async form: the futures are awaited after both were submitted."""
import asyncio

import tinker
from tinker import types


async def main():
    service_client = tinker.ServiceClient()
    training_client = await service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B")
    for step, batch in enumerate(make_batches()):
        fwd = training_client.forward_backward(batch, "cross_entropy")
        opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4))
        result, _ = await asyncio.gather(fwd, opt)
        print(step, result.metrics)
        if step % 100 == 0:
            await training_client.save_state(f"step-{step}")
            await evaluate(training_client, step)


def make_batches():
    yield []


async def evaluate(client, step):
    sampler = await client.save_weights_and_get_sampling_client()
    print(step, sampler)


asyncio.run(main())
