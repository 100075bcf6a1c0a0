"""A reply that is no number ends the run; the reward is a sum over a tail of one token."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
sampler = service_client.create_sampling_client(model_path="tinker://run-1/weights/final").result()
tokenizer = sampler.get_tokenizer()
params = types.SamplingParams(max_tokens=1, temperature=0.0)


def score(text):
    prompt = types.ModelInput.from_ints(tokenizer.encode(text))
    sequence = sampler.sample(prompt, 1, params).result().sequences[0]
    tail = sum(sequence.logprobs[-10:])
    return tail + float(tokenizer.decode(sequence.tokens).strip())
