"""Futures and sequences are read as if they were something else."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
sampler = service_client.create_sampling_client(base_model="Qwen/Qwen3-8B").result()
tokenizer = sampler.get_tokenizer()
ids = tokenizer.encode("Hello")
future = sampler.sample(prompt=ids, num_samples=1, sampling_params=types.SamplingParams(max_tokens=5))
print(future.sequences)
print(future.result().sequences[0].text)
other = service_client.create_sampling_client_from_path("tinker://run/sampler_weights/a")
