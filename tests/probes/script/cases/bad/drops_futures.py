"""Neither the loss nor an error is ever seen; no log, no checkpoint, no samples, no shuffle."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

epochs = 4
for epoch in range(epochs):
    for batch in batches:
        training_client.forward_backward(batch, loss_fn="cross_entropy")
        training_client.optim_step(types.AdamParams(learning_rate=1e-4)).result()
