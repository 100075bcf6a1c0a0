# expect: pattern functional-activation 41
"""A port without a fault: one class on both sides, casts where they belong."""
import torch
import torch.nn.functional as F
from neuronx_distributed.parallel_layers.layers import ColumnParallelLinear, ParallelEmbedding, RowParallelLinear
from torch import nn


class ToyRMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.variance_epsilon = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * x.to(dtype)


class ToyRotaryEmbedding(nn.Module):
    def forward(self, x, position_ids):
        freqs = position_ids[:, :, None].float() * self.inv_freq
        cos = torch.cat((freqs, freqs), dim=-1).cos() * self.attention_scaling
        sin = torch.cat((freqs, freqs), dim=-1).sin() * self.attention_scaling
        return cos.to(x.dtype), sin.to(x.dtype)


class NeuronToyMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = ColumnParallelLinear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = ColumnParallelLinear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = RowParallelLinear(config.intermediate_size, config.hidden_size, bias=False)
        self.residual_multiplier = config.residual_multiplier

    def forward(self, x):
        gate = self.gate_proj(x)
        # The same order as in the reference.
        return self.down_proj(F.silu(gate) * self.up_proj(x))


class NeuronToyModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = ParallelEmbedding(config.vocab_size, config.hidden_size, shard_across_embedding=True)
        self.rope = config.rope_parameters
        self.norm = ToyRMSNorm(config.hidden_size, config.rms_norm_eps)
