"""Names of errors and tasks that are not those of the SDK."""
import os

import tinker
from tinker import types

os.environ["TINKER_SUBPROCESS_SAMPLING"] = "1"
WATCHED = ("_forward_backward_async", "heartbeat")


def explain(error):
    if isinstance(error, tinker.PromptTooLong):
        return "too long"
    return types.ForwardBackwardResult


try:
    tinker.ServiceClient().create_lora_training_client(base_model="Qwen/Qwen3-8B").result()
except tinker.AuthenticationError:
    print("403: no permission")
print(types.AdamParams(lr=1e-4))
