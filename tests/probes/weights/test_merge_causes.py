"""From the files of a merge to its cause: wrong merges of three families are named with what is
wrong about them, and of sound ones nothing is said."""

import pytest

from modelmedic.engine import Diagnoser

np = pytest.importorskip("numpy")

FAMILIES = ("qwen3", "qwen3-moe", "qwen3.5")
FUSED = ("qwen3.5", "gpt-oss")
OWN, FOREIGN, LOW = "custom-merge", "adapter-base-mismatch", "low-precision-merge"
LAYOUT, SWAP = "gate-up-layout", "gate-up-swap"


def bf16(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def f32(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded_product(a, b):
    return f32(bf16(f32(bf16(f32(bf16(b)) @ f32(bf16(a)))) * 3))


def times(each, factor, *words):
    return {k: t * factor if not words or any(w in k for w in words) else t
            for k, t in each.updates().items()}  # fmt: skip


def without(each, *words):
    return {k: t for k, t in each.updates().items() if not any(w in k for w in words)}


def exchanged(each):
    updates, layer = each.updates(), each.prefix + "layers.0.self_attn."
    k, v = layer + "k_proj.weight", layer + "v_proj.weight"
    updates[k], updates[v] = updates[v], updates[k]
    return updates


def experts_backwards(each):
    lora = {name: (a[::-1], b[::-1]) if "experts" in name else (a, b)
            for name, (a, b) in each.lora.items()}  # fmt: skip
    return each.updates(lora)


def first_expert_alone(each):
    updates = each.updates()
    for name in [n for n in updates if ".experts." in n]:
        if each.family == "qwen3.5":
            updates[name][1:] = 0
        elif ".experts.0." not in name:
            del updates[name]
    return updates


WRONG = {
    # name: (families, how it is merged, cause, what the report says of it)
    "alpha/r left out": (
        FAMILIES, lambda e: e.merge("m", times(e, 1 / 3)), OWN, "leaves out the factor"),
    "alpha/r twice": (FAMILIES, lambda e: e.merge("m", times(e, 3)), OWN, "r twice"),
    "alpha for alpha/r": (
        FAMILIES, lambda e: e.merge("m", times(e, 4)), OWN, "multiplies by lora_alpha, not"),
    "as rank-stabilised": (FAMILIES, lambda e: e.merge("m", times(e, 2)), OWN, "rsLoRA"),
    "some other factor": (FAMILIES, lambda e: e.merge("m", times(e, 10)), OWN, "carries 10"),
    "subtracted": (FAMILIES, lambda e: e.merge("m", times(e, -1)), OWN, "subtracts"),
    "merged twice": (
        FAMILIES, lambda e: e.merge("m", add=lambda w, t: bf16(f32(bf16(f32(w) + t)) + t)), OWN,
        "merged twice"),
    "attention alone": (FAMILIES, lambda e: e.merge("m", without(e, ".mlp.")), OWN, "skips"),
    "MLP alone": (FAMILIES, lambda e: e.merge("m", without(e, "self_attn")), OWN, "skips"),
    "head left out": (FAMILIES, lambda e: e.merge("m", without(e, "lm_head")), OWN, "lm_head"),
    "nothing": (FAMILIES, lambda e: e.merge("m", {}), OWN, "every other tensor"),
    "k for v": (FAMILIES, lambda e: e.merge("m", exchanged(e)), OWN, "mixes up"),
    "another adapter": (
        FAMILIES, lambda e: e.merge("m", e.updates(e.make_lora(9))), FOREIGN, "another adapter"),
    "another base": (
        FAMILIES, lambda e: e.merge("m", base=e.make_base(8)), FOREIGN, "another base"),
    "in bfloat16": (
        FAMILIES, lambda e: e.merge("m", e.updates(product=rounded_product)), LOW, "rounded"),
    "gate for up": (
        ("qwen3-moe", *FUSED), lambda e: e.merge("m", e.updates(swap=True)), SWAP, "exchanged"),
    "the other layout": (
        FUSED, lambda e: e.merge("m", e.updates(layout="other")), LAYOUT, "interleaved"),
    "up added to gate": (FUSED, lambda e: e.merge("m", e.updates(pile=True)), LAYOUT, "gate part"),
    "k, q, v for q, k, v": (
        ("qwen3.5",), lambda e: e.merge("m", e.updates(layout="kqv")), "split-qkv-layout",
        "row ranges"),
    "experts backwards": (
        ("qwen3-moe", "qwen3.5"), lambda e: e.merge("m", experts_backwards(e)), OWN, "mixes up"),
    "one expert alone": (
        ("qwen3-moe", "qwen3.5"), lambda e: e.merge("m", first_expert_alone(e)), OWN, "expert"),
}  # fmt: skip
TOGETHER = {
    # name: (families, how it is merged, causes)
    "attention twice as large, MLP right": (
        FAMILIES, lambda e: e.merge("m", times(e, 2, "self_attn")), [OWN]),
    "gate for up, twice as large": (
        ("qwen3-moe", "qwen3.5"),
        lambda e: e.merge("m", {k: t * 2 for k, t in e.updates(swap=True).items()}), [SWAP, OWN]),
    "the other layout, in bfloat16": (
        FUSED,
        lambda e: e.merge("m", e.updates(layout="other", product=rounded_product)), [LAYOUT, LOW]),
}  # fmt: skip


def attention_alone(each):
    lora = {name: pair for name, pair in each.lora.items() if "attn." in name}
    each.write_adapter("adapter", lora)
    return each.merge("m", without(each, ".mlp.", "lm_head"))


def rank_stabilised(each):
    config = {"r": 4, "lora_alpha": 12, "peft_type": "LORA", "use_rslora": True}
    each.write_adapter("adapter", each.lora, config)
    return each.merge("m", times(each, 2))


SOUND = {
    "right": lambda e: e.merge("m"),
    "in shards": lambda e: e.merge("m", shards=3),
    "stored in float32": lambda e: e.merge("m", add=lambda w, t: f32(w) + t),
    "an adapter of attention": attention_alone,
    "rank-stabilised": rank_stabilised,
}


@pytest.fixture(scope="module")
def doctor():
    return Diagnoser.load()


def causes(report):
    return [d.id.rpartition(".")[2] for d in report.diagnoses if d.kind != "benign"]


def cases(table):
    return [(family, name) for name, (families, *_) in table.items() for family in families]


@pytest.mark.sweep
@pytest.mark.parametrize(("family", "name"), cases(WRONG))
def test_a_wrong_merge_is_named(zoo, compare, doctor, family, name):
    _, merge, cause, said = WRONG[name]
    outcome = compare(merge(zoo(family)))
    report = doctor.diagnose(outcome.facts, outcome.problems)
    assert causes(report) == [cause]
    assert any(said in each for each in messages(report))


@pytest.mark.parametrize(("family", "name"), cases(TOGETHER))
def test_two_faults_are_both_named(zoo, compare, doctor, family, name):
    _, merge, wanted = TOGETHER[name]
    outcome = compare(merge(zoo(family)))
    assert causes(doctor.diagnose(outcome.facts, outcome.problems)) == wanted


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_said_of_a_sound_merge(zoo, compare, doctor, family, name):
    outcome = compare(SOUND[name](zoo(family)))
    assert not outcome.problems
    assert causes(doctor.diagnose(outcome.facts, outcome.problems)) == []


def messages(report):
    return [step["message"] for d in report.diagnoses for step in d.explanation["how"]]
