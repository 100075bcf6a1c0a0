"""The future of the client is used as the client."""
import tinker
from tinker import types

service_client = tinker.ServiceClient()
rest = service_client.create_rest_client()
training_client = service_client.create_lora_training_client(
    base_model="Qwen/Qwen3-8B", train_mlp=False, train_attn=False, train_unembed=False
)
info = training_client.get_info()
print(info.session_id)
training_client.forward_backward([], "my_loss").result()
