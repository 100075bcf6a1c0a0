"""The pool forks after the client was made, and its workers use that client."""
from concurrent.futures import ProcessPoolExecutor

import tinker
from tinker import types

service_client = tinker.ServiceClient()
sampler = service_client.create_sampling_client(base_model="Qwen/Qwen3-8B").result()


def work(prompt):
    params = types.SamplingParams(max_tokens=10)
    return sampler.sample(prompt, 1, params).result()


with ProcessPoolExecutor() as pool:
    print(list(pool.map(work, [types.ModelInput.from_ints([1])])))
