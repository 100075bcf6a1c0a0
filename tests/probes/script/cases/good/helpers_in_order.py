"""The order is right although every call stands in a helper of its own."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()


class Trainer:
    def __init__(self, client):
        self.client = client

    def submit(self, batch):
        fwd = self.client.forward_backward(batch, "cross_entropy")
        opt = self.client.optim_step(types.AdamParams(learning_rate=1e-4))
        return fwd, opt

    def collect(self, futures):
        return [future.result() for future in futures]

    def save(self, step):
        return self.client.save_state(f"step-{step}").result().path

    def sample(self):
        return self.client.save_weights_and_get_sampling_client().result()


trainer = Trainer(training_client)
for step, batch in enumerate(batches):
    loss, _ = trainer.collect(trainer.submit(batch))
    print(step, loss.metrics)
    if step % 100 == 0:
        trainer.save(step)
        trainer.sample()
