from typing import List, Type

import torch
import torch.nn.functional as F
from torch import nn

from neuronx_distributed.parallel_layers.layers import (
    ColumnParallelLinear,
    ParallelEmbedding,
    RowParallelLinear,
)
from neuronx_distributed.utils import cpu_mode
from neuronx_distributed_inference.models.config import InferenceConfig, NeuronConfig
from neuronx_distributed_inference.models.llama.modeling_llama import NeuronLlamaMLP
from neuronx_distributed_inference.models.model_base import NeuronBaseForCausalLM, NeuronBaseModel
from neuronx_distributed_inference.modules.attention.attention_base import NeuronAttentionBase
from neuronx_distributed_inference.modules.attention.utils import (
    RotaryEmbedding,
    apply_rotary_pos_emb,
    repeat_kv,
)
from neuronx_distributed_inference.modules.custom_calls import CustomRMSNorm
from transformers.activations import ACT2FN
from transformers.models.llama.modeling_llama import LlamaRMSNorm


def get_rmsnorm_cls():
    return LlamaRMSNorm if cpu_mode() else CustomRMSNorm


class NeuronGraniteConfig(NeuronConfig):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attn_cls = NeuronGraniteAttention


class GraniteInferenceConfig(InferenceConfig):
    def add_derived_config(self):
        self.num_cores_per_group = 1

    def get_required_attributes(self) -> List[str]:
        return [
            "hidden_size",
            "num_attention_heads",
            "num_hidden_layers",
            "num_key_value_heads",
            "vocab_size",
            "max_position_embeddings",
            "rope_theta",
            "rms_norm_eps",
            "attention_multiplier",
            "embedding_multiplier",
            "residual_multiplier",
            "logits_scaling",
        ]

    @classmethod
    def get_neuron_config_cls(cls) -> Type[NeuronConfig]:
        return NeuronGraniteConfig


class NeuronGraniteAttention(nn.Module):
    def __init__(self, config: GraniteInferenceConfig):
        super().__init__()
        self.config = config
        self.head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        self.num_heads = config.num_attention_heads
        self.num_key_value_heads = config.num_key_value_heads
        self.softmax_scale = config.attention_multiplier
        self.q_proj = ColumnParallelLinear(
            config.hidden_size, self.num_heads * self.head_dim, bias=False, gather_output=False
        )
        self.k_proj = ColumnParallelLinear(
            config.hidden_size, self.num_key_value_heads * self.head_dim, bias=False, gather_output=False
        )
        self.v_proj = ColumnParallelLinear(
            config.hidden_size, self.num_key_value_heads * self.head_dim, bias=False, gather_output=False
        )
        self.o_proj = RowParallelLinear(
            self.num_heads * self.head_dim, config.hidden_size, bias=False, input_is_parallel=True
        )
        self.rotary_emb = RotaryEmbedding(
            self.head_dim, max_position_embeddings=config.max_position_embeddings, base=config.rope_theta
        )

    def forward(self, hidden_states, attention_mask=None, position_ids=None, past_key_value=None, **kwargs):
        bsz, q_len, _ = hidden_states.size()
        q = self.q_proj(hidden_states)
        k = self.k_proj(hidden_states)
        v = self.v_proj(hidden_states)
        q = q.view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        k = k.view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        v = v.view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        cos, sin = self.rotary_emb(v, position_ids)
        q, k = apply_rotary_pos_emb(q, k, cos, sin)
        present = (k, v)
        groups = self.num_heads // self.num_key_value_heads
        k, v = repeat_kv(k, groups), repeat_kv(v, groups)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.softmax_scale
        scores = torch.where(attention_mask, scores, torch.finfo(scores.dtype).min)
        probs = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        out = torch.matmul(probs, v).transpose(1, 2).reshape(bsz, q_len, -1)
        return self.o_proj(out), present, cos, sin


class NeuronGraniteMLP(nn.Module):
    def __init__(self, config: GraniteInferenceConfig):
        super().__init__()
        self.act_fn = ACT2FN[config.hidden_act]
        self.gate_proj = ColumnParallelLinear(
            config.hidden_size, config.intermediate_size, bias=False, gather_output=False
        )
        self.up_proj = ColumnParallelLinear(
            config.hidden_size, config.intermediate_size, bias=False, gather_output=False
        )
        self.down_proj = RowParallelLinear(
            config.intermediate_size, config.hidden_size, bias=False, input_is_parallel=True
        )

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x)), None


class NeuronGraniteDecoderLayer(nn.Module):
    def __init__(self, config: GraniteInferenceConfig):
        super().__init__()
        self.hidden_size = config.hidden_size
        self.self_attn = NeuronGraniteAttention(config)
        self.mlp = NeuronGraniteMLP(config)
        self.input_layernorm = get_rmsnorm_cls()(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = get_rmsnorm_cls()(config.hidden_size, eps=config.rms_norm_eps)
        self.residual_multiplier = config.residual_multiplier

    def forward(self, hidden_states, attention_mask=None, position_ids=None, past_key_value=None, **kwargs):
        shortcut = hidden_states
        x = self.input_layernorm(hidden_states)
        attn_output = self.self_attn(
            hidden_states=x, attention_mask=attention_mask, position_ids=position_ids, past_key_value=past_key_value, **kwargs
        )
        y, kv, cos, sin = attn_output[0], attn_output[1], attn_output[2], attn_output[3]
        alpha = self.residual_multiplier
        y = torch.add(shortcut, y, alpha=alpha)
        z = self.mlp(self.post_attention_layernorm(y))[0]
        return (y + alpha * z, kv, cos, sin, None)


class ScaledLMHead(ColumnParallelLinear):
    def __init__(self, *args, logits_scaling, **kwargs):
        super().__init__(*args, **kwargs)
        self.logits_scaling = logits_scaling

    def forward(self, hidden_states):
        return super().forward(hidden_states) / self.logits_scaling


class NeuronGraniteModel(NeuronBaseModel):
    def setup_attr_for_model(self, config: GraniteInferenceConfig):
        self.on_device_sampling = config.neuron_config.on_device_sampling_config is not None
        self.tp_degree = config.neuron_config.tp_degree
        self.hidden_size = config.hidden_size
        self.num_attention_heads = config.num_attention_heads
        self.num_key_value_heads = config.num_key_value_heads
        self.max_batch_size = config.neuron_config.max_batch_size
        self.buckets = config.neuron_config.buckets

    def init_model(self, config: GraniteInferenceConfig):
        self.padding_idx = config.pad_token_id
        self.vocab_size = config.vocab_size
        self.embed_tokens = ParallelEmbedding(
            config.vocab_size,
            config.hidden_size,
            self.padding_idx,
            dtype=config.neuron_config.torch_dtype,
            shard_across_embedding=True,
        )
        self.lm_head = ScaledLMHead(
            config.hidden_size,
            config.vocab_size,
            bias=False,
            gather_output=not self.on_device_sampling,
            logits_scaling=config.logits_scaling,
        )
        self.layers = nn.ModuleList(
            [NeuronGraniteDecoderLayer(config) for _ in range(config.num_hidden_layers)]
        )
        self.norm = get_rmsnorm_cls()(config.hidden_size, eps=config.rms_norm_eps)
        self.embedding_multiplier = config.embedding_multiplier

    def compute_embeddings(self, input_ids):
        return self.embed_tokens(input_ids) * self.embedding_multiplier


class NeuronGraniteForCausalLM(NeuronBaseForCausalLM):
    _model_cls = NeuronGraniteModel

    @staticmethod
    def load_hf_model(model_path, **kwargs):
        from transformers import AutoModelForCausalLM

        return AutoModelForCausalLM.from_pretrained(model_path, **kwargs)

    @staticmethod
    def convert_hf_to_neuron_state_dict(state_dict: dict, config: InferenceConfig) -> dict:
        neuron_config = config.neuron_config
        tp_degree = neuron_config.tp_degree
        state_dict["rank_util.rank"] = torch.arange(0, tp_degree, dtype=torch.int32)
        return state_dict

    @staticmethod
    def update_state_dict_for_tied_weights(state_dict):
        state_dict["lm_head.weight"] = state_dict["embed_tokens.weight"].clone()

    @classmethod
    def get_config_cls(cls):
        return GraniteInferenceConfig
