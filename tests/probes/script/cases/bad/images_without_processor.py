"""Pictures in the messages, no image processor, tools as well."""
from tinker_cookbook.renderers import get_renderer

import tinker
from tinker import types

service_client = tinker.ServiceClient()
training_client = service_client.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()

renderer = get_renderer("qwen3_vl_instruct", training_client.get_tokenizer())
messages = [
    {"role": "user", "content": [{"type": "image", "image": "cat.png"}, {"type": "text", "text": "?"}]},
    {"role": "tool", "content": "found"},
]
prompt = renderer.build_generation_prompt(messages)
