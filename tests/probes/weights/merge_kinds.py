"""Kinds of wrong merges and, for each, sound ones that look alike (see :mod:`merge_farm`)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.probes.weights.merge_farm import (
    ALPHA,
    FAMILIES,
    HIDDEN,
    LAYERS,
    RANK,
    Farm,
    bf16,
    halved,
    layer_of,
    other_layer,
    root_scale,
    rounded,
)

DENSE = ("llama", "fused")
Make = Callable[[Farm], Path]
# name: (families, how it is made, causes that are right, what the report has to say)
Wrong = dict[str, tuple[tuple[str, ...], Make, tuple[str, ...], str]]
Sound = dict[str, tuple[tuple[str, ...], Make]]
PEFT = "base_model.model."


def start(farm, lora=None, base=None, extra=None, **adapter):
    farm.save_base(base)
    farm.save_adapter(lora=lora, extra=extra, **adapter)
    return farm


# --- layers ---


def shifted(step):
    def make(farm):
        updates = farm.updates(source=lambda module: other_layer(module, step))
        return start(farm).export(farm.merged(updates))

    return make


def shifted_without_first(farm):
    updates = {k: t for k, t in farm.updates(source=lambda m: other_layer(m, -1)).items()
               if ".layers.0." not in k}  # fmt: skip
    return start(farm).export(farm.merged(updates))


def some_layers(farm):
    farm.lora = {m: pair for m, pair in farm.lora.items() if layer_of(m) in (1, 2)}
    return start(farm, layers_to_transform=[1, 2]).export()


# --- A and B ---


def turned(farm):
    """A and B exchanged: where the matrix is square, (B A) transposed is added."""
    updates = {k: np.ascontiguousarray(np.swapaxes(t, -1, -2)) for k, t in farm.updates().items()
               if "q_proj" in k or "o_proj" in k}  # fmt: skip
    return start(farm).export(farm.merged(updates))


def turned_beside_right(farm):
    updates = farm.updates()
    for name in updates:
        if "q_proj" in name or "o_proj" in name:
            updates[name] = np.ascontiguousarray(updates[name].T)
    return start(farm).export(farm.merged(updates))


def reshaped(farm):
    updates = farm.updates()
    for module, (a, b) in farm.lora.items():
        if module.endswith(("q_proj", "o_proj")):
            wrong = a.reshape(HIDDEN, RANK) @ b.reshape(RANK, HIDDEN)
            updates[f"{farm.prefix}{module}.weight"] = wrong * np.float32(ALPHA / RANK)
    return start(farm).export(farm.merged(updates))


def symmetric(farm):
    """One whose update is nearly its own transpose, rightly merged."""
    for layer in range(LAYERS):
        a, _ = farm.lora[f"layers.{layer}.self_attn.o_proj"]
        noise = np.random.default_rng(layer).standard_normal(a.T.shape) * 0.001
        farm.lora[f"layers.{layer}.self_attn.o_proj"] = (a, (a.T * 0.1 + noise).astype(np.float32))
    return start(farm).export()


# --- another checkpoint of the run ---


def drifted(lora, amount, seed=5):
    rng = np.random.default_rng(seed)
    return {m: tuple((x * (1 - amount / 4) + rng.standard_normal(x.shape) * x.std() * amount)
                     .astype(np.float32) for x in pair) for m, pair in lora.items()}  # fmt: skip


def older(amount):
    def make(farm):
        return start(farm).export(farm.merged(farm.updates(drifted(farm.lora, amount))))

    return make


def adapter_in_bfloat16(farm):
    farm.lora = {m: (rounded(a), rounded(b)) for m, (a, b) in farm.lora.items()}
    farm.save_base()
    farm.save_adapter(lora={m: (bf16(a), bf16(b)) for m, (a, b) in farm.lora.items()})
    return farm.export()


# --- a tied head ---


def tied(farm):
    farm.renew(tied=True)
    return farm


def tied_twice(farm):
    tied(farm)
    updates = farm.updates()
    updates[farm.prefix + "embed_tokens.weight"] *= 2
    return start(farm).export(farm.merged(updates))


def tied_head_copy(farm):
    """The update in a head of its own, which loading throws away: config.json still says tied."""
    tied(farm)
    updates = farm.updates()
    name = farm.prefix + "embed_tokens.weight"
    head = farm.base[name] + updates.pop(name)
    return start(farm).export(farm.merged(updates), extra={"lm_head.weight": head})


def tied_one_of_two(farm):
    """Both copies are in the files, and only the embedding received the update."""
    farm.renew(tied=True, drop_head=False)
    updates = farm.updates()
    updates.pop("lm_head.weight")
    name = farm.prefix + "embed_tokens.weight"
    a, b = farm.lora["unembed_tokens"]
    updates[name] = b * np.float32(ALPHA / RANK) @ a
    return start(farm).export(farm.merged(updates))


def tied_right(farm):
    tied(farm)
    return start(farm).export()


def tied_in_both(farm):
    farm.renew(tied=True, drop_head=False)
    updates = farm.updates()
    updates[farm.prefix + "embed_tokens.weight"] = updates["lm_head.weight"]
    return start(farm).export(farm.merged(updates))


def untied(farm):
    """A head of its own with the update, and config.json says that it is one."""
    tied(farm)
    updates = farm.updates()
    name = farm.prefix + "embed_tokens.weight"
    head = farm.base[name] + updates.pop(name)
    return start(farm).export(farm.merged(updates), extra={"lm_head.weight": head},
                              config={"tie_word_embeddings": False})  # fmt: skip


# --- patterns of rank and alpha ---


def ranks_ignored(farm):
    farm.lora = farm.make_lora(12, {"q_proj": 8, "v_proj": 8})
    start(farm, rank_pattern={"q_proj": 8, "v_proj": 8})
    return farm.export(farm.merged(farm.updates(scale=lambda m, rank: ALPHA / RANK)))


def alphas_ignored(farm):
    start(farm, alpha_pattern={"o_proj": 32, "layers.1.self_attn.k_proj": 24})
    return farm.export(farm.merged(farm.updates()))


def alpha_of(module):
    if module.endswith("o_proj"):
        return 32
    return 24 if ".1." in module and "k_proj" in module else ALPHA


def ranks_right(farm):
    farm.lora = farm.make_lora(12, {"q_proj": 8, "v_proj": 8})
    return start(farm, rank_pattern={"q_proj": 8, "v_proj": 8}).export()


def alphas_right(farm):
    start(farm, alpha_pattern={"o_proj": 32, "layers.1.self_attn.k_proj": 24})
    return farm.export(farm.merged(farm.updates(scale=lambda m, rank: alpha_of(m) / rank)))


def expressions_right(farm):
    """Patterns are regular expressions, as PEFT has them."""
    farm.lora = farm.make_lora(12, {"layers.1.self_attn.q": 8, "layers.2.self_attn.q": 8})
    start(farm, rank_pattern={r"model\.layers\.[12]\.self_attn\.q_proj": 8},
          alpha_pattern={r".*\.layers\.(0|1)\.self_attn\.(o|k)_proj": 20})  # fmt: skip
    hit = [f"layers.{n}.self_attn.{p}_proj" for n in "01" for p in "ok"]
    return farm.export(farm.merged(farm.updates(
        scale=lambda m, rank: (20 if m in hit else ALPHA) / rank)))  # fmt: skip


# --- kinds of adapters ---


def stabilised_as_plain(farm):
    start(farm, use_rslora=True)
    return farm.export(farm.merged(farm.updates(scale=lambda m, rank: ALPHA / rank)))


def stabilised_right(farm):
    start(farm, use_rslora=True)
    return farm.export(farm.merged(farm.updates(scale=root_scale)))


def dora(farm):
    """Magnitudes by module (plain matrices only), and the right change of each tensor."""
    rng = np.random.default_rng(7)
    farm.lora = {m: pair for m, pair in farm.lora.items() if "experts" not in m}
    extra, updates = {}, {}
    for module, (a, b) in farm.lora.items():
        name = f"{farm.prefix}{module}.weight"
        weight = farm.base[name]
        sum_ = weight + b * np.float32(ALPHA / RANK) @ a
        norm = np.linalg.norm(sum_, axis=1)
        size = np.linalg.norm(weight, axis=1) * (1 + 0.1 * rng.standard_normal(len(norm)))
        size = size.astype(np.float32)
        extra[f"{PEFT}model.{module}.lora_magnitude_vector.weight"] = size
        updates[name] = (size / norm)[:, None] * sum_ - weight
    start(farm, extra=extra, use_dora=True)
    return updates


def dora_as_plain(farm):
    dora(farm)
    return farm.export()


def dora_right(farm):
    return farm.export(farm.merged(dora(farm)))


# --- formats of the base ---


def exact(farm):
    farm.renew(exact=True)
    return start(farm)


def base_rounded_first(cast, dtype):
    def make(farm):
        exact(farm)
        base = {k: cast(v) for k, v in farm.base.items()}
        return farm.export(farm.merged(base=base), dtype=dtype)

    return make


def exact_right(dtype):
    def make(farm):
        return exact(farm).export(dtype=dtype)

    return make


OWN = ("custom-merge", "wrong-delta", "adapter-options-ignored")
WRONG: Wrong = {
    "layers shifted by one": (FAMILIES, shifted(-1), OWN, "layer"),
    "layers shifted back": (FAMILIES, shifted(1), OWN, "layer"),
    "layers shifted, first left out": (
        FAMILIES,
        shifted_without_first,
        OWN,
        "another layer|layer off",
    ),
    "A and B exchanged": (FAMILIES, turned, OWN, "transposed"),
    "A and B exchanged in square ones": (FAMILIES, turned_beside_right, OWN, "transposed"),
    "reshaped for transposed": (FAMILIES, reshaped, OWN, "reshap|not its own"),
    "older checkpoint": (
        FAMILIES,
        older(0.3),
        ("other-checkpoint", "adapter-base-mismatch"),
        "checkpoint",
    ),
    "much older checkpoint": (
        FAMILIES,
        older(0.6),
        ("other-checkpoint", "adapter-base-mismatch"),
        "checkpoint",
    ),
    "tied head merged twice": (FAMILIES, tied_twice, (*OWN, "tied-head"), "twice"),
    "tied head in a copy": (FAMILIES, tied_head_copy, ("tied-head",), "tied|tie_word"),
    "tied head in one of two": (FAMILIES, tied_one_of_two, ("tied-head",), "tied|tie_word"),
    "rank_pattern ignored": (FAMILIES, ranks_ignored, OWN, "rank_pattern"),
    "alpha_pattern ignored": (FAMILIES, alphas_ignored, OWN, "alpha_pattern"),
    "rsLoRA as plain": (FAMILIES, stabilised_as_plain, OWN, "rsLoRA|rank-stabilised|use_rslora"),
    "DoRA as plain": (FAMILIES, dora_as_plain, OWN, "DoRA|magnitude"),
    "base rounded to bfloat16": (
        FAMILIES,
        base_rounded_first(rounded, "f32"),
        ("low-precision-merge",),
        "bfloat16|16.bit",
    ),
    "base rounded to bfloat16, stored so": (
        FAMILIES,
        base_rounded_first(rounded, "bf16"),
        ("low-precision-merge",),
        "bfloat16|16.bit",
    ),
    "base rounded to float16": (
        FAMILIES,
        base_rounded_first(halved, "f32"),
        ("low-precision-merge",),
        "float16|16.bit",
    ),
}

SOUND: Sound = {
    "some layers": (FAMILIES, some_layers),
    "nearly symmetric": (FAMILIES, symmetric),
    "adapter in bfloat16": (FAMILIES, adapter_in_bfloat16),
    "tied head": (FAMILIES, tied_right),
    "tied head in both copies": (FAMILIES, tied_in_both),
    "head untied": (FAMILIES, untied),
    "rank_pattern": (FAMILIES, ranks_right),
    "alpha_pattern": (FAMILIES, alphas_right),
    "patterns that are expressions": (FAMILIES, expressions_right),
    "plain": (FAMILIES, lambda farm: start(farm).export()),
    "rsLoRA": (FAMILIES, stabilised_right),
    "DoRA": (FAMILIES, dora_right),
    "float32": (FAMILIES, exact_right("f32")),
    "float32 stored in bfloat16": (FAMILIES, exact_right("bf16")),
    "float32 stored in float16": (FAMILIES, exact_right("f16")),
    "not fused": (("fused",), lambda farm: start(farm).export(fuse=False)),
    "experts apart": (("moe",), lambda farm: start(farm).export(apart=True)),
}
