"""The wait hides in a helper, the next submission in another."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()


def finish(future):
    return future.result()


def loss_of(batch):
    future = training_client.forward_backward(batch, "cross_entropy")
    return finish(future).metrics["loss:sum"]


def update(rate):
    return training_client.optim_step(types.AdamParams(learning_rate=rate))


for step, batch in enumerate(batches):
    print(step, loss_of(batch))
    finish(update(1e-4))
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
