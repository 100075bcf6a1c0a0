# expect: divergence norm conditional_assignment ToyRMSNorm CustomRMSNorm 18
# expect: divergence mlp conditional_block ToyMLP DeviceMLP 21
# expect: divergence rotary_emb conditional_assignment ToyRotary DeviceRotary 25
# expect: divergence router conditional_block ToyRouter DeviceRouter 26
# expect: divergence q_norm conditional_assignment ToyRMSNorm CustomRMSNorm 29
# expect: divergence Other.norm conditional_assignment DeviceRotary ToyRotary 44
# expect: divergence Layer conditional_call - - 34
# expect: pattern parallel-output-indexed 38
import torch
from neuronx_distributed.parallel_layers.layers import RowParallelLinear
from neuronx_distributed.utils import cpu_mode
from neuronx_distributed_inference.modules.custom_calls import CustomRMSNorm
from toy import DeviceMLP, DeviceRotary, DeviceRouter, ToyMLP, ToyRMSNorm, ToyRotary, ToyRouter


class Layer(torch.nn.Module):
    def __init__(self, config):
        self.norm = ToyRMSNorm(config.hidden_size) if cpu_mode() else CustomRMSNorm(config.hidden_size)
        is_cpu = config.device == "cpu"
        if is_cpu:
            self.mlp = ToyMLP(config)
        else:
            self.mlp = DeviceMLP(config)
        # A keyword counts as well, and a class that is called in place.
        self.attn = Attention(rotary_emb=ToyRotary() if cpu_mode() else DeviceRotary())
        self.router = ToyRouter(config)
        if not cpu_mode():
            self.router = DeviceRouter(config)
        self.q_norm = (ToyRMSNorm if cpu_mode() else CustomRMSNorm)(config.head_dim)
        self.o_proj = RowParallelLinear(8, 8)
        self.tied = RowParallelLinear(8, 8, skip_bias_add=True)

    def forward(self, x):
        if cpu_mode():
            x = plain_attention(x)
        else:
            x = kernel_attention(x)
        x = self.o_proj(x)[0]
        return self.tied(x)[0]


class Other(torch.nn.Module):
    def __init__(self):
        self.norm = ToyRotary() if not cpu_mode() else DeviceRotary()


class Attention(torch.nn.Module):
    def forward(self, x):
        # Moving a tensor is no other computation.
        x = x.cpu() if cpu_mode() else x.contiguous()
        if self.config.cpu_offload:
            x = ToyMLP(x)
        else:
            x = DeviceMLP(x)
        return x
