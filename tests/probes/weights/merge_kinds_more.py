"""More kinds of wrong merges and sound ones, written when those of :mod:`merge_kinds` were all
told apart, and before the probe had seen one of these."""

import numpy as np
from tests.probes.weights.merge_farm import (
    ALPHA,
    FAMILIES,
    HIDDEN,
    LAYERS,
    RANK,
    VOCAB,
    halved,
    layer_of,
    other_layer,
    root_scale,
    rounded,
)
from tests.probes.weights.merge_form_kinds import NAMES, renamed
from tests.probes.weights.merge_kinds import (
    DENSE,
    OWN,
    Sound,
    Wrong,
    dora,
    drifted,
    exact,
    start,
    tied,
)


def only(farm, word, wrong):
    right = farm.updates()
    return {k: (wrong[k] if any(w in k for w in word.split("|")) else right[k]) for k in right}


def shift_two(farm):
    return start(farm).export(farm.merged(farm.updates(source=lambda m: other_layer(m, -2))))


def reversed_layers(farm):
    def source(module):
        layer = layer_of(module)
        return module if layer is None else other_layer(module, LAYERS - 1 - 2 * layer)

    return start(farm).export(farm.merged(farm.updates(source=source)))


def attention_shifted(farm):
    return start(farm).export(
        farm.merged(only(farm, "self_attn", farm.updates(source=lambda m: other_layer(m, -1))))
    )


def shift_and_scale(farm):
    return start(farm).export(
        farm.merged(farm.updates(source=lambda m: other_layer(m, -1), scale=lambda m, r: 1.0))
    )


def k_for_v(farm):
    u = farm.updates()
    for layer in range(LAYERS):
        k, v = (f"{farm.prefix}layers.{layer}.self_attn.{x}_proj.weight" for x in "kv")
        u[k], u[v] = u[v], u[k]
    return start(farm).export(farm.merged(u))


def q_for_o(farm):
    u = farm.updates()
    for layer in range(LAYERS):
        k, v = (f"{farm.prefix}layers.{layer}.self_attn.{x}_proj.weight" for x in "qo")
        u[k], u[v] = u[v], u[k]
    return start(farm).export(farm.merged(u))


def newer(farm):
    more = {m: (a, (b * 1.3).astype(np.float32)) for m, (a, b) in farm.lora.items()}
    more = drifted(more, 0.2, 8)
    return start(farm).export(farm.merged(farm.updates(more)))


def same_a_trained_b(farm):
    rng = np.random.default_rng(77)
    part = {
        m: (a, (b * 0.6 + 0.5 * b.std() * rng.standard_normal(b.shape)).astype(np.float32))
        for m, (a, b) in farm.lora.items()
    }
    return start(farm).export(farm.merged(farm.updates(part)))


def ranks_and_alphas(farm):
    farm.lora = farm.make_lora(12, {"o_proj": 8})
    start(farm, rank_pattern={"o_proj": 8}, alpha_pattern={"o_proj": 32})
    return farm.export(farm.merged(farm.updates(scale=lambda m, r: ALPHA / RANK)))


def alpha_regex_ignored(farm):
    start(farm, alpha_pattern={r".*\.layers\.[02]\.self_attn\.(q|v)_proj": 36})
    return farm.export()


def bias_k_lost(farm):
    return start(farm).export(
        {k: v for k, v in farm.merged().items() if not k.endswith("k_proj.bias")}, fuse=False
    )


def head_module_ignored(farm):
    rng = np.random.default_rng(4)
    head = (farm.base["lm_head.weight"] + rng.standard_normal((VOCAB, HIDDEN)) * 0.02).astype(
        np.float32
    )
    start(farm, extra={"base_model.model.lm_head.weight": head}, modules_to_save=["lm_head"])
    return farm.export()


def head_module_right(farm):
    rng = np.random.default_rng(4)
    head = (farm.base["lm_head.weight"] + rng.standard_normal((VOCAB, HIDDEN)) * 0.02).astype(
        np.float32
    )
    start(farm, extra={"base_model.model.lm_head.weight": head}, modules_to_save=["lm_head"])
    return farm.export(farm.merged() | {"lm_head.weight": head})


def stabilised_no_scale(farm):
    start(farm, use_rslora=True)
    return farm.export(farm.merged(farm.updates(scale=lambda m, r: 1.0)))


def plain_as_stabilised(farm):
    return start(farm).export(farm.merged(farm.updates(scale=root_scale)))


def dora_twice_scale(farm):
    dora(farm)
    return farm.export(farm.merged(farm.updates(scale=lambda m, r: 1.0)))


def tied_minus(farm):
    tied(farm)
    u = farm.updates()
    u.pop(farm.prefix + "embed_tokens.weight")
    return start(farm).export(farm.merged(u))


def half_stored(farm):
    exact(farm)
    return farm.export(farm.merged(base={k: halved(v) for k, v in farm.base.items()}), dtype="f16")


def first_shard(farm):
    return start(farm).export(shards=5, lost=(0,))


def with_vision(farm):
    for k in ("blocks.0.attn.proj.weight", "merger.weight"):
        farm.base["model.visual." + k] = rounded(
            np.random.default_rng(3).standard_normal((8, 8)).astype(np.float32)
        )


def vision_dropped(farm):
    with_vision(farm)
    config = {"model_type": "qwen3_5_moe_text", "architectures": ["Qwen3_5MoeForCausalLM"]}
    m = {k: v for k, v in farm.merged().items() if "visual" not in k}
    return start(farm).export(
        m, config=config, rename=lambda n: n.replace("model.language_model.", "model.")
    )


def mtp_dropped(farm):
    farm.base["mtp.layers.0.self_attn.q_proj.weight"] = rounded(
        np.random.default_rng(3).standard_normal((8, 8)).astype(np.float32)
    )
    m = {k: v for k, v in farm.merged().items() if "mtp" not in k}
    return start(farm).export(m)


def widened(farm):
    start(farm)
    return farm.export({k: rounded(v) for k, v in farm.merged().items()}, dtype="f32")


def widened_from_exact(farm):
    exact(farm)
    return farm.export({k: rounded(v) for k, v in farm.merged().items()}, dtype="f32")


def tiny(farm):
    farm.lora = {m: (a, (b * 0.02).astype(np.float32)) for m, (a, b) in farm.lora.items()}
    return start(farm).export()


def tiny_stabilised(farm):
    farm.lora = {m: (a, (b * 0.02).astype(np.float32)) for m, (a, b) in farm.lora.items()}
    start(farm, use_rslora=True)
    return farm.export(farm.merged(farm.updates(scale=root_scale)))


def huge(farm):
    farm.lora = {m: (a, (b * 20).astype(np.float32)) for m, (a, b) in farm.lora.items()}
    return start(farm).export()


def vlm_renamed(farm):
    """The library's own change of names: layers and vision tower both."""
    farm.config["architectures"] = ["Qwen2_5_VLForConditionalGeneration"]
    farm.config["model_type"] = "qwen2_5_vl"
    farm.base["visual.merger.weight"] = rounded(
        np.random.default_rng(3).standard_normal((8, 8)).astype(np.float32)
    )

    def name(n):
        return (
            "model.language_model." + n[6:]
            if n.startswith("model.")
            else "model." + n
            if n.startswith("visual")
            else n
        )

    return start(farm).export(rename=name)


def embed_trained(farm):
    rng = np.random.default_rng(4)
    n = farm.prefix + "embed_tokens.weight"
    e = (farm.base[n] + rng.standard_normal((VOCAB, HIDDEN)) * 0.02).astype(np.float32)
    start(farm, extra={"base_model.model." + n: e}, modules_to_save=["embed_tokens"])
    return farm.export(farm.merged() | {n: e})


def apart_swapped(farm):
    u: dict[str, np.ndarray] = {}
    for m in farm.lora:
        src = m.replace(".w1", ".wX").replace(".w3", ".w1").replace(".wX", ".w3")
        x, y = farm.lora[src]
        farm.place(u, m, np.matmul(y * np.float32(ALPHA / RANK), x))
    return start(farm).export(farm.merged(u), apart=True)


def apart_experts_backwards(farm):
    lora = {m: (a, b[::-1].copy()) if "experts" in m else (a, b) for m, (a, b) in farm.lora.items()}
    return start(farm).export(farm.merged(farm.updates(lora)), apart=True)


def experts_backwards(farm):
    lora = {m: (a, b[::-1].copy()) if "experts" in m else (a, b) for m, (a, b) in farm.lora.items()}
    return start(farm).export(farm.merged(farm.updates(lora)))


WRONG: Wrong = {
    "layers off by two": (FAMILIES, shift_two, OWN, "layer"),
    "layers backwards": (FAMILIES, reversed_layers, OWN, "layer"),
    "attention one layer off": (FAMILIES, attention_shifted, OWN, "another layer"),
    "one layer off, without alpha": (FAMILIES, shift_and_scale, OWN, "another layer"),
    "k for v": (FAMILIES, k_for_v, OWN, "mixes up"),
    "q for o": (FAMILIES, q_for_o, OWN, "mixes up"),
    "later checkpoint": (FAMILIES, newer, ("other-checkpoint",), "checkpoint"),
    "same A, other B": (FAMILIES, same_a_trained_b, ("other-checkpoint",), "checkpoint"),
    "rank and alpha pattern": (FAMILIES, ranks_and_alphas, OWN, "pattern"),
    "alpha expression": (FAMILIES, alpha_regex_ignored, OWN, "alpha_pattern"),
    "one bias lost": (DENSE, bias_k_lost, OWN, "bias"),
    "trained head ignored": (FAMILIES, head_module_ignored, OWN, "modules_to_save|lm_head"),
    "rsLoRA without factor": (FAMILIES, stabilised_no_scale, OWN, "leaves out|lora_alpha"),
    "plain as rsLoRA": (FAMILIES, plain_as_stabilised, OWN, "rsLoRA|root"),
    "DoRA as plain, no alpha": (FAMILIES, dora_twice_scale, OWN, "DoRA|lora_alpha"),
    "tied head left out": (FAMILIES, tied_minus, (*OWN, "tied-head"), "embed_tokens"),
    "through float16": (FAMILIES, half_stored, ("low-precision-merge",), "float16|16.bit"),
    "first shard lost": (FAMILIES, first_shard, ("export-incomplete",), "shard"),
    "parallel prefix": (FAMILIES, renamed("", "module."), NAMES, "module"),
    "both prefixes": (DENSE, renamed("model.", "model.model."), NAMES, "model\\.model"),
    "apart and swapped": (("moe",), apart_swapped, ("gate-up-swap",), "w1"),
    "apart, experts backwards": (("moe",), apart_experts_backwards, OWN, "expert"),
    "experts backwards": (("moe",), experts_backwards, OWN, "expert"),
}
SOUND: Sound = {
    "trained head": (FAMILIES, head_module_right),
    "trained embedding": (FAMILIES, embed_trained),
    "vision dropped": (("moe",), vision_dropped),
    "mtp dropped": (FAMILIES, mtp_dropped),
    "widened": (FAMILIES, widened),
    "widened from float32": (FAMILIES, widened_from_exact),
    "tiny": (FAMILIES, tiny),
    "tiny rsLoRA": (FAMILIES, tiny_stabilised),
    "huge": (FAMILIES, huge),
    "library renames": (("llama",), vlm_renamed),
}
