"""An own merge, with adapter names that the files do not have, and a raw archive in PEFT."""
import requests
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import tinker

rest_client = tinker.RestClient()
url = rest_client.get_checkpoint_archive_url_from_tinker_path("tinker://run/sampler_weights/final")
body = requests.get(url)
open("adapter.tar", "wb").write(body.content)

adapter = load_file("adapter/adapter_model.safetensors")
base = load_file("base/model.safetensors")
for layer in range(32):
    name = f"base_model.model.layers.{layer}.mlp.gate_proj"
    lora_a, lora_b = adapter[name + ".lora_A"], adapter[name + ".lora_B"]
    base[name] += (lora_b @ lora_a).to(torch.bfloat16) * 2
save_file(base, "merged/model.safetensors")

model = AutoModelForCausalLM.from_pretrained("base")
tokenizer = AutoTokenizer.from_pretrained("base")
model = PeftModel.from_pretrained(model, "adapter")
ids = tokenizer("Once upon a time", return_tensors="pt")
print(tokenizer.decode(model.generate(**ids)[0]))
