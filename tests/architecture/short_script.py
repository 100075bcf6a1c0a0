"""A script of 15 lines as users write it; ``make figures`` counts the code that it passes."""

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32)
tokenizer = training_client.get_tokenizer()
tokens = tokenizer.encode("The capital of France is Paris.")
inputs, targets = tokens[:-1], tokens[1:]
datum = types.Datum(
    model_input=types.ModelInput.from_ints(inputs),
    loss_fn_inputs={"target_tokens": targets, "weights": [1.0] * len(targets)},
)
for step in range(100):
    training_client.forward_backward([datum], "cross_entropy").result()
    training_client.optim_step(types.AdamParams(learning_rate=1e-4)).result()
    print(step)
training_client.save_state("final").result()
