"""Everything that can be done before the loop is done inside it."""
import json
import re

import numpy as np
import torch

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

tokenizer = training_client.get_tokenizer()


def clean(text):
    return re.sub(r"(<[^>]+>\s*)+", " ", text)


for step in range(10_000):
    rows = json.load(open(f"shard-{step}.json"))
    texts = [clean(json.loads(row)["text"]) for row in rows]
    all_ids = [tokenizer.encode(text) for text in texts]
    features = torch.tensor([[len(t)] for t in texts])
    scores = torch.matmul(features, features.T)
    order = np.argsort(scores)
    batch = [build(all_ids[i]) for i in order if all_ids[i]]
    fwd = training_client.forward_backward(batch, "cross_entropy")
    opt = training_client.optim_step(types.AdamParams(learning_rate=1e-4))
    print(step, fwd.result().metrics)
    opt.result()
    training_client.save_state(f"step-{step}").result()
    sampler = training_client.save_weights_and_get_sampling_client().result()
