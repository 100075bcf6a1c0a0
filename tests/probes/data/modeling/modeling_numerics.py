# expect: pattern norm-variance-without-upcast 33
# expect: pattern rope-scaling-stored-unused 50
# expect: pattern rotary-scaled-after-cast 58
# expect: pattern routing-unused 73
# expect: pattern copy-into-parallel-weight 92
# expect: pattern functional-activation 83
import torch
from neuronx_distributed.parallel_layers.layers import ColumnParallelLinear
from neuronx_distributed_inference.modules.attention.utils import RotaryEmbedding
from torch import nn
from torch.nn import functional as F


class GoodRMSNorm(nn.Module):
    def forward(self, x):
        h = x.to(torch.float32)
        return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)


class HelpedRMSNorm(nn.Module):
    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x)


class BadRMSNorm(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * x * torch.rsqrt(variance + self.eps)


class GoodRotaryEmbedding(nn.Module):
    def forward(self, x, freqs):
        cos = freqs.cos() * self.attention_scaling
        sin = freqs.sin() * self.attention_scaling
        return cos.to(dtype=x.dtype), sin.to(dtype=x.dtype)


class ToyRotaryEmbedding(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dim = config.head_dim


        self.rope_scaling = config.rope_scaling
        self.rotary = RotaryEmbedding(config.head_dim, config.max_position_embeddings, config.rope_theta)


class LateRotaryEmbedding(nn.Module):
    def forward(self, x, freqs):
        cos = freqs.cos().to(x.dtype)
        sin = freqs.sin().to(x.dtype)
        return cos * self.attention_scaling, sin * self.attention_scaling


class ToyExperts(nn.Module):
    def forward(self, x, router_indices, routing_weights):
        for index in router_indices:
            x = x + self.run(x, index) * routing_weights[index]
        return x


class ToyMoE(nn.Module):
    def run(self, x):
        return x


    def forward(self, x, router_indices, routing_weights):
        for expert in self.experts:
            x = x + expert(x)
        return x


class ToyMLP(nn.Module):
    def __init__(self):
        self.up_proj = ColumnParallelLinear(8, 8)
    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def load(weights):
    layer = ColumnParallelLinear(8, 8)
    other = nn.Linear(8, 8)
    with torch.no_grad():
        other.weight.copy_(weights)
        # Keeps FP32:
        layer.weight.copy_(weights)
