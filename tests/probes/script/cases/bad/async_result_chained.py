"""The 'good' example of an old guide: a coroutine has no result()."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

for step, batch in enumerate(batches):
    fwd = training_client.forward_backward_async(batch, "cross_entropy")
    opt = training_client.optim_step_async(types.AdamParams(learning_rate=1e-4))
    print(step, fwd.result(), opt.result())
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
