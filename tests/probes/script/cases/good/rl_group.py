"""RL with groups, advantages and a KL penalty; sampling of a batch is in flight at once."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

from tinker_cookbook import model_info, renderers

tokenizer = training_client.get_tokenizer()
name = model_info.get_recommended_renderer_name("Qwen/Qwen3-8B")
renderer = renderers.get_renderer(name, tokenizer)
params = types.SamplingParams(max_tokens=256, temperature=1.0, stop=renderer.get_stop_sequences())
kl_coef = 0.05

for step, prompts in enumerate(batches):
    sampler = training_client.save_weights_and_get_sampling_client().result()
    futures = [sampler.sample(prompt=p, num_samples=8, sampling_params=params) for p in prompts]
    datums = []
    for future, prompt in zip(futures, prompts):
        sequences = future.result().sequences
        rewards = [score(renderer.parse_response(s.tokens)[0]) for s in sequences]
        mean_reward = sum(rewards) / len(rewards)
        advantages = [reward - mean_reward for reward in rewards]
        datums += [make_datum(prompt, s, a, kl_coef) for s, a in zip(sequences, advantages)]
    if not datums:
        continue
    fwd = training_client.forward_backward(datums, "importance_sampling")
    opt = training_client.optim_step(types.AdamParams(learning_rate=4e-5))
    print(step, fwd.result().metrics)
    opt.result()
    training_client.save_state(f"step-{step}").result()
