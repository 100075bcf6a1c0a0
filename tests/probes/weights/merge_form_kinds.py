"""Kinds of exports that are wrong in their form (names, biases, shards, what is beside the
weights), and sound ones that look alike."""

import numpy as np
from tests.probes.weights.merge_farm import FAMILIES, LAYERS
from tests.probes.weights.merge_kinds import DENSE, OWN, PEFT, Sound, Wrong, start

NAMES = ("tensor-names", "vl-prefix-missing", "custom-merge")


# --- biases ---


def biases_left_out(farm):
    merged = {k: v for k, v in farm.merged().items() if not k.endswith(".bias")}
    return start(farm).export(merged)


def biases_zero(farm):
    merged = {k: v * 0 if k.endswith(".bias") else v for k, v in farm.merged().items()}
    return start(farm).export(merged)


def trained_biases(farm):
    rng = np.random.default_rng(6)
    return {k: (v + rng.standard_normal(v.shape) * 0.05).astype(np.float32)
            for k, v in farm.base.items() if k.endswith(".bias")}  # fmt: skip


def trained_biases_ignored(farm):
    biases = trained_biases(farm)
    start(farm, extra={PEFT + k: v for k, v in biases.items()}, bias="lora_only")
    return farm.export()


def trained_biases_right(farm):
    biases = trained_biases(farm)
    start(farm, extra={PEFT + k: v for k, v in biases.items()}, bias="lora_only")
    return farm.export(farm.merged() | biases)


# --- names ---


def renamed(old, new, **options):
    def make(farm):
        def name(each):
            return new + each.removeprefix(old) if each.startswith(old) else each

        return start(farm).export(rename=name, **options)

    return make


def other_nesting(farm):
    """The prefix of the other kind of model, while config.json describes this one."""
    if farm.family == "moe":
        return renamed("model.language_model.", "model.")(farm)
    return renamed("model.", "model.language_model.")(farm)


def text_only(farm):
    """The text part of a model with images, saved as the text model that it is."""
    config = {"model_type": "qwen3_5_moe_text", "architectures": ["Qwen3_5MoeForCausalLM"]}
    return renamed("model.language_model.", "model.", config=config)(farm)


def nested(farm):
    config = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"]}
    return renamed("model.", "model.language_model.", config=config)(farm)


# --- more than there should be ---


def matrices(farm, at=""):
    return {
        f"{at}{farm.prefix}{m}.lora_{side}.default.weight": x
        for m, pair in farm.lora.items()
        for side, x in zip("AB", pair, strict=True)
    }


def not_merged(farm):
    """A PeftModel saved as it is: base weights with the matrices beside them."""

    def name(each):
        leaf = each.removesuffix(".weight")
        return f"{leaf}.base_layer.weight" if leaf.endswith("_proj") and leaf != each else each

    return start(farm).export(farm.merged({}), rename=name, extra=matrices(farm))


def matrices_beside(farm):
    return start(farm).export(extra=matrices(farm))


def under_own_names(farm):
    """Updates under new names; the tensors that they belong to are those of the base."""
    extra = {f"layers.{k.partition('layers.')[2]}": v for k, v in farm.merged().items()
             if "_proj" in k and "bias" not in k and v is not farm.base.get(k)}  # fmt: skip
    return start(farm).export(farm.merged({}), extra=extra)


def with_buffers(farm):
    extra = {f"{farm.prefix}layers.{n}.self_attn.rotary_emb.inv_freq":
             (10000.0 ** -np.linspace(0, 1, 8)).astype(np.float32)
             for n in range(LAYERS)}  # fmt: skip
    return start(farm).export(extra=extra)


# --- shards ---


def shard_lost(**options):
    def make(farm):
        return start(farm).export(shards=4, **options)

    return make


def in_shards(farm):
    return start(farm).export(shards=4)


def in_shards_without_index(farm):
    return start(farm).export(shards=3, index=False)


# --- another base of the same shapes ---


def named(adapter, base):
    def make(farm):
        start(farm, base={"_name_or_path": base}, base_model_name_or_path=adapter)
        return farm.export()

    return make


WRONG: Wrong = {
    "biases left out": (FAMILIES, biases_left_out, (*OWN, "export-incomplete"), "bias"),
    "biases zero": (FAMILIES, biases_zero, OWN, "bias"),
    "trained biases ignored": (FAMILIES, trained_biases_ignored, OWN, "bias"),
    "other nesting": (FAMILIES, other_nesting, NAMES, "language_model"),
    "PEFT's prefix": (FAMILIES, renamed("model.", "base_model.model.model."), NAMES, "base_model"),
    "compiled prefix": (FAMILIES, renamed("", "_orig_mod."), NAMES, "_orig_mod"),
    "not merged": (FAMILIES, not_merged, (*OWN, "adapter-not-merged"), "lora_A"),
    "matrices beside": (FAMILIES, matrices_beside, (*OWN, "adapter-not-merged"), "lora_A"),
    "under own names": (FAMILIES, under_own_names, NAMES, "layers\\.\\d"),
    "a shard lost": (FAMILIES, shard_lost(lost=(2,)), ("export-incomplete",), "shard"),
    "shards lost, no index": (
        FAMILIES,
        shard_lost(lost=(1, 3), index=False),
        ("export-incomplete",),
        "shard",
    ),
    "base of another kind": (
        FAMILIES,
        named("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base"),
        ("adapter-base-mismatch",),
        "Qwen3-8B",
    ),
    "base of another maker": (
        FAMILIES,
        named("meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-R1-Distill-Llama-8B"),
        ("adapter-base-mismatch",),
        "Distill",
    ),
}

SOUND: Sound = {
    "trained biases": (FAMILIES, trained_biases_right),
    "text part alone": (("moe",), text_only),
    "nested in a model with images": (DENSE, nested),
    "with buffers": (FAMILIES, with_buffers),
    "in shards": (FAMILIES, in_shards),
    "in shards without index": (FAMILIES, in_shards_without_index),
    "base from a mirror": (FAMILIES, named("unsloth/Qwen3-8B-unsloth-bnb-4bit", "Qwen/Qwen3-8B")),
    "base from a folder": (FAMILIES, named("/models/qwen3-8b", "Qwen/Qwen3-8B")),
    "base from an unnamed folder": (FAMILIES, named("/data/snapshot", "Qwen/Qwen3-8B")),
}
