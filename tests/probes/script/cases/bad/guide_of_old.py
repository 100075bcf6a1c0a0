"""Names and arguments of an old guide."""
import tinker
from tinker import types

service_client = tinker.ServiceClient(timeout=60)
training_client = service_client.create_lora_training_client(
    base_model="Qwen/Qwen3-8B", rank=32, learning_rate=1e-4, optimizer="adam"
).result()
caps = service_client.get_server_capabilities()
print([model for model in caps.models])
for step, batch in enumerate(batches):
    fwd = training_client.forward_backward(datums=batch, loss_fn="bradley_terry")
    opt = training_client.optim_step(learning_rate=1e-4)
    print(step, fwd.result().loss, opt.result())
    state = training_client.save_state().result()
training_client.load_state(state)
sampler = training_client.save_weights_and_get_sampling_client(name="final").result()
params = types.SamplingParams(max_new_tokens=50, stop_sequences=["</s>"], temperature=0.5)
result = sampler.sample(prompt="Hello", sampling_params=params).result()
print(result.completions[0].text)
