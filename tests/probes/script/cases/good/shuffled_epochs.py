"""Several epochs, shuffled; datums built with shifted targets before the loop."""
import random

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

tokenizer = training_client.get_tokenizer()
batch_size = 8
num_epochs = 3


def to_datum(prompt, completion):
    start = tokenizer.encode(prompt)
    end = tokenizer.encode(completion) + [tokenizer.eos_token_id]
    tokens = start + end
    weights = [0.0] * len(start) + [1.0] * len(end)
    return types.Datum(
        model_input=types.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={"target_tokens": tokens[1:], "weights": weights[1:]},
    )


data = [to_datum(p, c) for p, c in pairs]
for epoch in range(num_epochs):
    random.shuffle(data)
    for start in range(0, len(data), batch_size):
        batch = data[start : start + batch_size]
        fwd = training_client.forward_backward(batch, "cross_entropy")
        opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4))
        print(epoch, fwd.result().metrics)
        opt.result()
    training_client.save_state(f"epoch-{epoch}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
