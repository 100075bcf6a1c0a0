"""A sampler in another process, which is spawned."""
import multiprocessing as mp

import tinker


def work(handle, queue):
    sampler = tinker.SamplingClient.from_sampler_handle(handle)
    queue.put(sampler.get_base_model())


if __name__ == "__main__":
    context = mp.get_context("spawn")
    service_client = tinker.ServiceClient()
    sampler = service_client.create_sampling_client(base_model="Qwen/Qwen3-8B").result()
    queue = context.Queue()
    process = context.Process(target=work, args=(sampler.get_sampler_handle(), queue))
    process.start()
    print(queue.get())
