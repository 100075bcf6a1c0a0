"""Comparisons with the chat template that cannot come out equal."""
import tinker
from tinker_cookbook import model_info, renderers
from tinker_cookbook.tokenizer_utils import get_tokenizer

tokenizer = get_tokenizer("Qwen/Qwen3-8B")
print(renderers.get_registered_renderer_names())
print(model_info.get_model_attributes())
renderer = renderers.get_renderer("qwen3", tokenizer)
messages = [{"role": "user", "content": "Hi"}]
theirs = list(tokenizer.apply_chat_template(messages, thinking=False, add_generation_prompt=True))
model_input = renderer.build_generation_prompt(messages)
ours = [chunk.tokens for chunk in model_input.chunks]
if ours == theirs:
    print("equal")
message, ok = renderer.parse_response(theirs)
if not ok:
    print("broken")
