"""Results are read one step later than they are submitted."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

pending = None
for step, batch in enumerate(batches):
    fwd = training_client.forward_backward(batch, "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=2e-4))
    if pending is not None:
        for future in pending:
            print(step, future.result())
    pending = (fwd, opt)
    if step % 50 == 0:
        training_client.save_state(f"step-{step}").result()
        sampler = training_client.save_weights_and_get_sampling_client().result()
for future in pending:
    future.result()
