"""save_state keeps the training state, which cannot be sampled from."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

path = training_client.save_state("final").result().path
sampler = service_client.create_sampling_client(model_path=path).result()
resumed = service_client.create_training_client_from_state("tinker://run-2/sampler_weights/x").result()
