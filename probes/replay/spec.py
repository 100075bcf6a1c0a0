"""The computation of a captured module of the reference: its settings from the configuration, and
its weights under common names.

A configuration leaves some of it open (the layout of rotary embeddings, whether a norm adds one to
its weight). :func:`readings` gives all readings; the one that reproduces the reference is right.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...reading.tensors import np

Config = Mapping[str, Any]
Raw = Mapping[str, Any]

_ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_python": "gelu", "relu": "relu",
    "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_tanh": "gelu_tanh", "quick_gelu": "quick_gelu", "relu2": "relu2", "sigmoid": "sigmoid",
}  # fmt: skip
_EPS = ("rms_norm_eps", "layer_norm_eps", "norm_eps", "norm_epsilon", "layer_norm_epsilon")
_GATE = re.compile(r"(gate|w1)(_proj)?\Z")
_UP = re.compile(r"(up_proj|w3|fc1|c_fc|dense_h_to_4h|up)\Z")
_DOWN = re.compile(r"(down_proj|w2|fc2|c_proj|dense_4h_to_h|down)\Z")
OUT = re.compile(r"(o_proj|out_proj|dense|c_proj|wo)\Z")
_FUSED = re.compile(r"(qkv_proj|query_key_value|qkv|Wqkv|c_attn)\Z")


class Reading(NamedTuple):
    """One way to understand a module: its ``family``, settings, and weights by common names."""

    family: str
    spec: dict[str, Any]
    weights: dict[str, Any]


def readings(path: str, layer: int | None, config: Config, raw: Raw) -> Iterator[Reading]:
    """All readings of the module at ``path``; ``raw`` has its weights by their names inside."""
    config = text_config(config)
    names = {name.rpartition(".")[0] or "." for name in raw}
    last = path.rpartition(".")[2]
    if re.search(r"rotary|rope", last):
        yield from _rotary(config, layer)
    elif _is_activation(last) and not raw:
        yield Reading("activation", {"act": _act(config)}, {})
    elif any("experts" in name for name in raw) and "experts" not in last:
        yield from _moe(config, raw)
    elif re.search(r"attn|attention", last) and len(names) > 1:
        yield from _attention(config, layer, raw)
    elif re.search(r"mlp|ffn|feed_forward|shared_expert", last) and len(names) > 1:
        yield from _mlp(config, raw)
    elif set(raw) <= {"weight", "bias"} and "weight" in raw:
        yield from _single(last, config, raw)


def text_config(config: Config) -> Config:
    """The part of a composite configuration that describes the language model."""
    inner = config.get("text_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def _is_activation(last: str) -> bool:
    return bool(re.match(r"act(_fn|ivation(_fn)?)?\Z", last))


def _act(config: Config) -> str:
    given = next((config[key] for key in ("hidden_activation", "hidden_act", "activation_function")
                  if isinstance(config.get(key), str)), "silu")  # fmt: skip
    return _ACTIVATIONS.get(given, "silu")


def _single(last: str, config: Config, raw: Raw) -> Iterator[Reading]:
    weights = {f"own.{name}": values for name, values in raw.items()}
    if raw["weight"].ndim == 2 and re.search(r"embed(?!_out)|wte", last):
        for scale in _distinct(1.0, config.get("hidden_size", 1) ** 0.5):
            yield Reading("embedding", {"scale": scale, "hidden": raw["weight"].shape[1]}, weights)
    elif raw["weight"].ndim == 2 and "norm" not in last:
        yield Reading("linear", {"width": raw["weight"].shape[1]}, weights)
    else:
        for kind in _norms(config, "bias" in raw):
            yield Reading("norm", kind, weights)


def _norms(config: Config, layer_first: bool) -> Iterator[dict[str, Any]]:
    eps = next((config[key] for key in _EPS if isinstance(config.get(key), float)), 1e-5)
    kinds = ("layer", "rms") if layer_first else ("rms", "layer")
    for kind, offset, each in itertools.product(kinds, (0, 1), _distinct(eps, 1e-6, 1e-5)):
        yield {"norm_kind": kind, "norm_offset": offset, "norm_eps": each}


def _distinct(*values: Any) -> list[Any]:
    return list(dict.fromkeys(values))


def _rope(config: Config, layer: int | None, width: int) -> dict[str, Any]:
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and layer is not None and layer < len(kinds):
        given = given.get(kinds[layer], given) if isinstance(given, dict) else {}
    part = given.get("partial_rotary_factor", config.get("partial_rotary_factor"))
    theta = given.get("rope_theta") or config.get("rope_theta") or 10_000.0
    share = float(part) if part else float(config.get("rotary_pct", 1.0) or 1.0)
    most = config.get("max_position_embeddings") or 2048
    key = "original_max_position_embeddings"
    length = given.get(key) or config.get(key) or most
    return {
        "rope": True, "theta": float(theta), "rotary_dim": int(width * share), "head_dim": width,
        "rope_some": int(width * share) < width,
        "rope_type": given.get("rope_type", given.get("type", "default")),
        "rope_factor": given.get("factor") or most / length, "original_length": length,
        "rope_scaled": given.get("rope_type", given.get("type", "default")) != "default",
        "low_freq_factor": given.get("low_freq_factor", 1), "truncate": given.get("truncate", True),
        "high_freq_factor": given.get("high_freq_factor", 4),
        "beta_fast": given.get("beta_fast"), "beta_slow": given.get("beta_slow"),
        "attention_factor": given.get("attention_factor"), "mscale": given.get("mscale"),
        "mscale_all_dim": given.get("mscale_all_dim"),
        "short_factor": given.get("short_factor"), "rope_layout": "half",
    }  # fmt: skip


def head_width(config: Config) -> int:
    """Channels of an attention head."""
    given = config.get("head_dim")
    return int(given or config["hidden_size"] // config["num_attention_heads"])


def _rotary(config: Config, layer: int | None) -> Iterator[Reading]:
    for layout, table in (("half", "whole"), ("interleaved", "whole"), ("half", "half")):
        found = _rope(config, layer, head_width(config))
        yield Reading("rotary", found | {"rope_layout": layout, "rope_table": table}, {})


def _attention(config: Config, layer: int | None, raw: Raw) -> Iterator[Reading]:
    width = head_width(config)
    heads = int(config["num_attention_heads"])
    groups = int(config.get("num_key_value_heads") or heads)
    if any(len(values) == 3 * heads * width for name, values in raw.items() if _FUSED.search(
            name.rpartition(".")[0])):  # fmt: skip
        groups = heads
    spec = _rope(config, layer, width) | {
        "heads": heads, "kv_heads": groups, "softcap": config.get("attn_logit_softcapping"),
        "clip": config.get("clip_qkv"), "mask": "causal", "sinks": "sinks" in raw,
        "hidden": config["hidden_size"], "qk_norm": "none", "gqa": "repeat",
    }  # fmt: skip
    sizes = [raw[name].size for name in raw if re.search(r"q_(norm|layernorm)\.weight", name)]
    if sizes:
        spec["qk_norm"] = "head" if sizes[0] == width or sizes[0] != heads * width else "all"
    scales = _distinct(*_scales(config, width))
    windows = _distinct(_window(config, layer), None, config.get("sliding_window") or None)
    norms = list(_norms(config, False)) if sizes else [{}]
    for weights in _attention_weights(spec, raw):
        for norm, layout, rope, window, scale in itertools.product(
            norms, ("half", "interleaved"), (True, False), windows, scales
        ):
            options = {"rope_layout": layout, "rope": rope, "window": window, "scale": scale}
            yield Reading("attention", spec | options | norm, weights)


def _scales(config: Config, width: int) -> Iterator[float]:
    if config.get("query_pre_attn_scalar"):
        yield float(config["query_pre_attn_scalar"]) ** -0.5
    if config.get("attention_multiplier"):
        yield float(config["attention_multiplier"])
    yield width**-0.5


def _window(config: Config, layer: int | None) -> int | None:
    window, kinds = config.get("sliding_window"), config.get("layer_types")
    if not window:
        return None
    if isinstance(kinds, list) and layer is not None and layer < len(kinds):
        return int(window) if kinds[layer] == "sliding_attention" else None
    return int(window) if config.get("use_sliding_window", True) else None


def _attention_weights(spec: Mapping[str, Any], raw: Raw) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    fused: dict[str, Any] = {}
    for name, values in raw.items():
        module, _, kind = name.rpartition(".")
        part = module.rpartition(".")[2]
        if _FUSED.search(part):
            fused[kind] = values
        elif OUT.search(part):
            found[f"o.{kind}"] = values
        elif re.match(r"[qkv]_proj|w[qkv]\Z", part):
            found[f"{part.removeprefix('w')[0]}.{kind}"] = values
        elif re.match(r"[qk]_(norm|layernorm)", part):
            found[f"{part[0]}_norm.{kind}"] = values
        elif name == "sinks":
            found["sinks"] = values
    if not fused:
        yield found
        return
    q, k = spec["heads"] * spec["head_dim"], spec["kv_heads"] * spec["head_dim"]
    places = {"q": slice(0, q), "k": slice(q, q + k), "v": slice(q + k, q + 2 * k)}
    yield found | {f"{part}.{kind}": values[place] for kind, values in fused.items()
                   for part, place in places.items()}  # fmt: skip
    # Each group has its own queries, keys and values one after another.
    each = spec["heads"] // spec["kv_heads"]
    grouped = {}
    for kind, values in fused.items():
        parts = values.reshape(spec["kv_heads"], each + 2, spec["head_dim"], *values.shape[1:])
        cut = {"q": parts[:, :each], "k": parts[:, each:-1], "v": parts[:, -1:]}
        for part, piece in cut.items():
            grouped[f"{part}.{kind}"] = piece.reshape(-1, *values.shape[1:])
    yield found | grouped


def _mlp(config: Config, raw: Raw) -> Iterator[Reading]:
    plain = feedforward_weights(raw)
    acts = _distinct(_act(config), "silu", "gelu_tanh", "gelu")
    for act in acts:
        spec = {"act": act, "gated": "gate.weight" in plain}
        yield Reading("mlp", spec, plain)


def feedforward_weights(raw: Raw) -> dict[str, Any]:
    """Gate, up and down, of one matrix each or of a fused one."""
    found = {}
    for name, values in raw.items():
        module, _, kind = name.rpartition(".")
        part = module.rpartition(".")[2]
        if re.search(r"gate_up_proj|w13\Z", part):
            half = len(values) // 2
            found[f"gate.{kind}"], found[f"up.{kind}"] = values[:half], values[half:]
        elif _GATE.search(part):
            found[f"gate.{kind}"] = values
        elif _UP.search(part):
            found[f"up.{kind}"] = values
        elif _DOWN.search(part):
            found[f"down.{kind}"] = values
    return found


def _moe(config: Config, raw: Raw) -> Iterator[Reading]:
    count = next((config[key] for key in ("num_experts_per_tok", "moe_topk", "top_k")
                  if config.get(key)), 2)  # fmt: skip
    spec = {
        "act": _act(config), "top_k": int(count), "gated": True,
        "hidden": config.get("hidden_size"),
        "routed_scale": config.get("routed_scaling_factor"), "groups": config.get("n_group"),
        "groups_kept": config.get("topk_group"),
    }  # fmt: skip
    normal = bool(config.get("norm_topk_prob", True))
    sigmoid = "sigmoid" if any("correction" in name for name in raw) else "softmax"
    glus: tuple[dict[str, Any], ...] = ({}, {"glu_limit": config.get("swiglu_limit") or 7.0,
                                              "glu_alpha": 1.702, "up_offset": 1})  # fmt: skip
    for weights in _moe_weights(raw):
        for normalised, score, glu in itertools.product(
            _distinct(normal, True, False), _distinct(sigmoid, "softmax", "sigmoid"), glus
        ):
            yield Reading("moe", spec | glu | {"normalised": normalised, "score": score}, weights)


def _moe_weights(raw: Raw) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for name, values in raw.items():
        if re.match(r"(gate|router)(\.\w+)?\.(weight|bias)\Z", name):
            found[f"router.{name.rpartition('.')[2]}"] = values
        elif "correction" in name:
            found["router.correction"] = values
        elif name.startswith("shared_expert_gate"):
            found[f"shared_gate.{name.rpartition('.')[2]}"] = values
        elif name.startswith("shared_expert"):
            shared[name.partition(".")[2]] = values
    found |= {f"shared.{name}": values for name, values in feedforward_weights(shared).items()}
    gate_up, down = raw.get("experts.gate_up_proj"), raw.get("experts.down_proj")
    if gate_up is None or down is None:
        return
    for turned, mixed in ((False, False), (True, True), (True, False)):
        wide = gate_up.swapaxes(1, 2) if turned else gate_up
        half = wide.shape[1] // 2
        if wide.shape[2] != down.shape[2 if turned else 1]:
            continue
        cut = (slice(0, None, 2), slice(1, None, 2)) if mixed else (slice(half), slice(half, None))
        experts = {"experts.gate": wide[:, cut[0]], "experts.up": wide[:, cut[1]],
                   "experts.down": down.swapaxes(1, 2) if turned else down}  # fmt: skip
        for part, bias in (
            ("gate_up", "experts.gate_up_proj_bias"),
            ("down", "experts.down_proj_bias"),
        ):
            if bias in raw and part == "down":
                experts["experts.down_bias"] = raw[bias]
            elif bias in raw:
                experts["experts.gate_bias"] = raw[bias][:, cut[0]]
                experts["experts.up_bias"] = raw[bias][:, cut[1]]
        yield found | {name: np.ascontiguousarray(values) for name, values in experts.items()}
