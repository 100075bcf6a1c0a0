"""All parts are submitted, then all are waited for before the step."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()


class Run:
    def __init__(self, client: tinker.TrainingClient, rate=3e-4):
        self.client = client
        self.rate = rate

    def train(self, batches):
        for step, batch in enumerate(batches):
            futures = [self.client.forward_backward(part, "cross_entropy") for part in batch]
            losses = [future.result().metrics for future in futures]
            self.client.optim_step(types.AdamParams(learning_rate=self.rate)).result()
            print(step, losses)
            self.client.save_state(f"step-{step}").result()
            sampler = self.client.save_weights_and_get_sampling_client().result()
