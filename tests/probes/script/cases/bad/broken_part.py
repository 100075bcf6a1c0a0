"""A part that is not valid Python costs that part only."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()


def broken(:
    return 1


for step, batch in enumerate(batches):
    result = training_client.forward_backward(batch, "cross_entropy").result()
    training_client.optim_step(types.AdamParams(learning_rate=1e-4)).result()
    print(step, result.metrics)
