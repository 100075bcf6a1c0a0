"""A scoring model whose reply is checked before it becomes a number."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
sampler = service_client.create_sampling_client(model_path="tinker://run-1/sampler_weights/final").result()
tokenizer = sampler.get_tokenizer()


def score(text):
    prompt = types.ModelInput.from_ints(tokenizer.encode(text))
    params = types.SamplingParams(max_tokens=5, temperature=0.1)
    reply = sampler.sample(prompt=prompt, num_samples=1, sampling_params=params).result()
    try:
        return float(tokenizer.decode(reply.sequences[0].tokens).strip())
    except ValueError:
        return 0.0


print(score("How good is this?"))
