import torch
import torch.nn.functional as F
from torch import nn

from neuronx_distributed.parallel_layers.layers import (
    ColumnParallelLinear,
    ParallelEmbedding,
    RowParallelLinear,
)
from neuronx_distributed_inference.models.config import InferenceConfig, NeuronConfig
from neuronx_distributed_inference.models.model_base import NeuronBaseForCausalLM, NeuronBaseModel
from transformers.activations import ACT2FN


class GPT2InferenceConfig(InferenceConfig):
    attribute_map = {
        "hidden_size": "n_embd",
        "num_attention_heads": "n_head",
        "num_hidden_layers": "n_layer",
        "max_position_embeddings": "n_positions",
    }

    def add_derived_config(self):
        self.num_cores_per_group = 1
        self.intermediate_size = self.n_inner or 4 * self.n_embd

    def get_required_attributes(self):
        return ["n_embd", "n_head", "n_layer", "n_positions", "vocab_size"]

    @classmethod
    def get_neuron_config_cls(cls):
        return NeuronConfig


class NeuronGPT2Attention(nn.Module):
    def __init__(self, config: GPT2InferenceConfig):
        super().__init__()
        self.num_heads = config.n_head
        self.head_dim = config.n_embd // config.n_head
        self.c_attn = ColumnParallelLinear(config.n_embd, 3 * config.n_embd, bias=True, gather_output=True)
        self.c_proj = RowParallelLinear(config.n_embd, config.n_embd, bias=True, input_is_parallel=False)

    def forward(self, hidden_states, attention_mask=None, position_ids=None, past_key_value=None, **kwargs):
        b, s, h = hidden_states.shape
        q, k, v = self.c_attn(hidden_states).chunk(3, dim=-1)
        q = q.view(b, s, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(b, s, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(b, s, self.num_heads, self.head_dim).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-1, -2)) / self.head_dim**0.5
        scores = torch.where(attention_mask, scores, torch.finfo(scores.dtype).min)
        probs = F.softmax(scores, dim=-1)
        out = torch.matmul(probs, v).transpose(1, 2).reshape(b, s, h)
        return self.c_proj(out), (k, v)


class NeuronGPT2MLP(nn.Module):
    def __init__(self, config: GPT2InferenceConfig):
        super().__init__()
        self.c_fc = ColumnParallelLinear(config.n_embd, config.intermediate_size, bias=True, gather_output=False)
        self.c_proj = RowParallelLinear(config.intermediate_size, config.n_embd, bias=True, input_is_parallel=True)
        self.act = ACT2FN[config.activation_function]

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class NeuronGPT2Block(nn.Module):
    def __init__(self, config: GPT2InferenceConfig):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = NeuronGPT2Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = NeuronGPT2MLP(config)

    def forward(self, hidden_states, attention_mask=None, position_ids=None, past_key_value=None, **kwargs):
        attn_out, present = self.attn(self.ln_1(hidden_states), attention_mask)
        hidden_states = hidden_states + attn_out
        hidden_states = hidden_states + self.mlp(self.ln_2(hidden_states))
        return (hidden_states, present, None, None, None)


class NeuronGPT2Model(NeuronBaseModel):
    def setup_attr_for_model(self, config: GPT2InferenceConfig):
        self.tp_degree = config.neuron_config.tp_degree
        self.hidden_size = config.n_embd

    def init_model(self, config: GPT2InferenceConfig):
        self.embed_tokens = ParallelEmbedding(config.vocab_size, config.n_embd, shard_across_embedding=True)
        self.wpe = ParallelEmbedding(config.n_positions, config.n_embd, shard_across_embedding=True)
        self.layers = nn.ModuleList([NeuronGPT2Block(config) for _ in range(config.n_layer)])
        self.norm = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.lm_head = ColumnParallelLinear(config.n_embd, config.vocab_size, bias=False)

    def get_input_embeddings(self, input_ids, position_ids):
        return self.embed_tokens(input_ids) + self.wpe(position_ids)


CONV1D = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


def as_linear(key, tensor):
    return tensor.t().contiguous() if key.endswith(CONV1D) else tensor


class NeuronGPT2ForCausalLM(NeuronBaseForCausalLM):
    _model_cls = NeuronGPT2Model

    @staticmethod
    def convert_hf_to_neuron_state_dict(state_dict, config):
        names = {"wte": "embed_tokens", "ln_f": "norm", "h": "layers"}
        out = {}
        for key, tensor in state_dict.items():
            if key.endswith((".attn.bias", ".masked_bias")):
                continue
            first, _, rest = key.removeprefix("transformer.").partition(".")
            out[f"{names.get(first, first)}.{rest}"] = as_linear(key, tensor)
        return out

    @classmethod
    def get_config_cls(cls):
        return GPT2InferenceConfig
