"""Tiny models of the architectures that ports are made of, with random weights of trained size."""

import copy
from typing import Any

SIZES: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 160,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False,
}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64, "rope_theta": 500_000.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 8.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
        "original_max_position_embeddings": 16, "rope_theta": 150_000.0}  # fmt: skip
LAYERS = ["sliding_attention", "full_attention"]
LAST = {"num_key_value_heads": None}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
# Dense, grouped heads, windows, soft caps, norms of queries and keys, partial and scaled rotary
# embeddings, biases, experts of four kinds, sinks, and the text part of multimodal models.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {"rope_parameters": LLAMA3}),
    "llama-bias": ("LlamaConfig", {"attention_bias": True, "mlp_bias": True,
                                    "num_attention_heads": 8}),
    "mistral": ("MistralConfig", {"sliding_window": 8, "rope_parameters": {"rope_type": "default",
                                                                           "rope_theta": 1e6}}),
    "qwen2": ("Qwen2Config", {"num_attention_heads": 8, "num_key_value_heads": 4}),
    "qwen3": ("Qwen3Config", {"head_dim": 16, "rope_parameters": {"rope_type": "default",
                                                                  "rope_theta": 1e6}}),
    "gemma2": ("Gemma2Config", {"head_dim": 16, "sliding_window": 8, "query_pre_attn_scalar": 24,
                                "attn_logit_softcapping": 5.0, "final_logit_softcapping": 5.0}),
    "gemma3": ("Gemma3TextConfig", {"head_dim": 16, "sliding_window": 8, "layer_types": LAYERS}),
    "phi3": ("Phi3Config", {}),
    "granite": ("GraniteConfig", {"embedding_multiplier": 12.0, "logits_scaling": 8.0,
                                  "residual_multiplier": 0.22, "attention_multiplier": 0.1}),
    "olmo2": ("Olmo2Config", {}),
    "cohere": ("CohereConfig", {}),
    "stablelm": ("StableLmConfig", {"use_qkv_bias": True}),
    "starcoder2": ("Starcoder2Config", {"num_attention_heads": 8}),
    "gpt-neox": ("GPTNeoXConfig", LAST),
    "glm4": ("Glm4Config", {"head_dim": 16}),
    "mixtral": ("MixtralConfig", {"num_local_experts": 8, "num_experts_per_tok": 2}),
    "qwen2-moe": ("Qwen2MoeConfig", EXPERTS | {"shared_expert_intermediate_size": 48}),
    "qwen3-moe": ("Qwen3MoeConfig", EXPERTS | {"head_dim": 16}),
    "gpt-oss": ("GptOssConfig", {"num_local_experts": 8, "num_experts_per_tok": 2, "head_dim": 16,
                                 "sliding_window": 8, "rope_parameters": YARN,
                                 "layer_types": LAYERS}),
}  # fmt: skip


def config_of(name):
    import transformers

    kind, options = ARCHITECTURES[name]
    return getattr(transformers, kind)(**copy.deepcopy(SIZES | options))


def build(config, weights=None, attention="eager"):
    """A model in FP32, with ``weights`` or those that it is made with."""
    import torch
    import transformers

    kind = transformers.AutoModelForCausalLM
    model = kind.from_config(copy.deepcopy(config), attn_implementation=attention,
                             dtype=torch.float32).eval()  # fmt: skip
    if weights is not None:
        model.load_state_dict(weights)
    return model


def reference(config, seed):
    """The reference: norms are near one (or near zero if one is added), BF16 numbers."""
    import torch

    torch.manual_seed(seed)
    model = build(config)
    near = 0.0 if config.model_type.startswith("gemma") else 1.0
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn_like(weight)
            if "norm" in name and name.endswith("weight"):
                value = 0.3 * noise + near
            elif weight.ndim == 1 or name.endswith("_bias"):
                value = 0.5 * noise
            elif weight.ndim == 3:
                axis = weight.shape[-2 if config.model_type == "gpt_oss" else -1]
                value = noise / axis**0.5 * 1.3
            elif "embed" in name:
                value = noise * (0.2 if "gemma" in config.model_type else 1.0)
            else:
                value = noise / weight.shape[-1] ** 0.5 * 1.3
            weight.copy_(value.bfloat16().float())
    return model
