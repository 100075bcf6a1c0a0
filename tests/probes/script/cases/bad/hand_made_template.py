"""Prompts glued together by hand, and the end of the answer is never taught."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

tokenizer = training_client.get_tokenizer()


def to_datum(row):
    prompt = tokenizer.encode(f"User: {row['question']}\nAssistant:")
    answer = tokenizer.encode(" " + row["answer"])
    tokens = prompt + answer
    weights = [0.0] * len(prompt) + [1.0] * len(answer)
    return types.Datum(
        model_input=types.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={"target_tokens": tokens[1:], "weights": weights[1:]},
    )


for step, row in enumerate(rows):
    fwd = training_client.forward_backward([to_datum(row)], "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4))
    print(step, fwd.result().metrics)
    opt.result()
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
