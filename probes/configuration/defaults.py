"""Defaults of NeuronConfig (neuronx-distributed-inference 0.9 and later, models/config.py), for the
settings that its checks compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OFF = (
    "on_cpu", "output_logits", "vocab_parallel", "fused_qkv", "sequence_parallel_enabled",
    "is_continuous_batching", "async_mode", "quantized", "is_mxfp4_compute",
    "is_full_model_shuffled", "kv_cache_quant", "enable_fused_speculation",
    "enable_eagle_speculation", "is_eagle3", "is_eagle_draft", "is_medusa", "is_block_kv_layout",
    "is_prefix_caching", "flash_decoding_enabled", "k_cache_transposed",
    "strided_context_parallel_kernel_enabled", "qkv_kernel_enabled", "qkv_nki_kernel_enabled",
    "qkv_cte_nki_kernel_fuse_rope", "mlp_kernel_enabled", "quantized_mlp_kernel_enabled",
    "attn_tkg_nki_kernel_enabled", "attn_tkg_builtin_kernel_enabled",
    "attn_block_tkg_nki_kernel_enabled", "attn_block_tkg_nki_kernel_cache_update",
    "attn_block_tkg_nki_kernel_cascaded_attention", "attn_block_cte_nki_kernel_enabled",
    "rmsnorm_quantize_kernel_enabled", "chunked_prefill_config", "tensor_capture_config",
    "on_device_sampling_config", "token_tree_config", "token_generation_batches",
    "quantized_checkpoints_path", "modules_to_not_convert", "activation_quantization_type",
    "windowed_context_encoding_size", "attention_dtype", "lora_config", "out_proj_kernel_enabled",
)  # fmt: skip
_NUMBERS = {
    "tp_degree": 1, "cp_degree": 1, "mlp_cp_degree": 1, "attention_dp_degree": 1, "pp_degree": 1,
    "ep_degree": 1, "batch_size": 1, "seq_len": 128, "speculation_length": 0,
    "medusa_speculation_length": 0,
}  # fmt: skip
_TEXTS = {"cast_type": "config", "ep_dispatch_cc_option": "AR_AG", "padding_side": "right",
          "torch_dtype": "bfloat16"}  # fmt: skip


def with_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, and the defaults of those that were left out."""
    found: dict[str, Any] = {**dict.fromkeys(_OFF, False), **_NUMBERS, **_TEXTS, **given}
    for name in ("tkg_batch_size", "ctx_batch_size", "kv_cache_batch_size"):
        found.setdefault(name, found["batch_size"])
    for name in ("max_context_length", "max_length"):
        found.setdefault(name, found["seq_len"])
    if found["enable_eagle_speculation"] is True:
        found["enable_fused_speculation"] = True
    if found["attn_tkg_nki_kernel_enabled"] or found["attn_tkg_builtin_kernel_enabled"]:
        found["attn_block_tkg_nki_kernel_enabled"] = True
    return found
