"""RL on one prompt at a time, raw rewards as weights, sampled text encoded again."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

tokenizer = training_client.get_tokenizer()
params = types.SamplingParams(max_tokens=100, temperature=1.0)

for step, question in enumerate(questions):
    sampler = training_client.save_weights_and_get_sampling_client().result()
    prompt = types.ModelInput.from_ints(tokenizer.encode(question))
    reply = sampler.sample(prompt=prompt, num_samples=1, sampling_params=params).result()
    text = tokenizer.decode(reply.sequences[0].tokens)
    reward = check(text)
    ids = tokenizer.encode(question + text)
    datum = types.Datum(
        model_input=types.ModelInput.from_ints(ids[:-1]),
        loss_fn_inputs={
            "target_tokens": ids[1:],
            "logprobs": [0.0] * (len(ids) - 1),
            "weights": [reward] * (len(ids) - 1),
        },
    )
    fwd = training_client.forward_backward([datum], "importance_sampling")
    warm = training_client.forward_backward([datum], "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=1e-5))
    print(step, fwd.result().metrics, warm.result().metrics, opt.result())
    training_client.save_state(f"step-{step}").result()
