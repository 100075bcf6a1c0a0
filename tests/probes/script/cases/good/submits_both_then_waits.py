"""The usual loop: both calls are handed in before either result is waited for."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

tokenizer = training_client.get_tokenizer()


def load(path):
    with open(path) as file:
        return [line for line in file]


def evaluate(step):
    sampler = training_client.save_weights_and_get_sampling_client().result()
    prompt = types.ModelInput.from_ints(tokenizer.encode("Question"))
    params = types.SamplingParams(max_tokens=64, temperature=0.7, stop=["<|im_end|>"])
    answer = sampler.sample(prompt=prompt, num_samples=2, sampling_params=params).result()
    for sequence in answer.sequences:
        print(step, tokenizer.decode(sequence.tokens))


batches = load("train.jsonl")
for step, batch in enumerate(batches):
    fwd = training_client.forward_backward(batch, "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4, beta1=0.9, beta2=0.95))
    result = fwd.result()
    opt.result()
    print(step, result.metrics["loss:sum"])
    if step % 100 == 0:
        training_client.save_state(f"step-{step}").result()
        evaluate(step)
