"""Findings of hypotheses and finders on one module whose output was changed in one way."""

import pytest

from modelmedic.probes.replay.emission import rival_of, shown
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides
from modelmedic.probes.replay.phases import failing_phase
from modelmedic.probes.replay.replaying import Replayed
from modelmedic.probes.replay.spec import Reading
from modelmedic.probes.replay.trials import try_all
from modelmedic.probes.replay.weight_orders import Around

np = pytest.importorskip("numpy")

WIDTH, HEADS, GROUPS, CHANNELS, PROMPT, ALL = 32, 4, 2, 8, 16, 20
ATTENTION = {"heads": HEADS, "kv_heads": GROUPS, "head_dim": CHANNELS, "scale": CHANNELS**-0.5,
             "rope": True, "theta": 1e4, "rotary_dim": CHANNELS, "mask": "causal", "gqa": "repeat",
             "window": None, "softcap": None, "qk_norm": "none", "hidden": WIDTH,
             "decode_from": PROMPT, "positions": ALL, "prefill": PROMPT}  # fmt: skip
MOE = {"act": "silu", "gated": True, "top_k": 2, "score": "softmax", "normalised": True}


def weights(**shapes):
    random = np.random.default_rng(5)
    return {name.replace("__", "."): random.normal(size=shape).astype(np.float32) / shape[-1] ** 0.5
            for name, shape in shapes.items()}  # fmt: skip


PARTS = weights(q__weight=(32, 32), k__weight=(16, 32), v__weight=(16, 32), o__weight=(32, 32))
MLP = weights(gate__weight=(48, 32), up__weight=(48, 32), down__weight=(32, 48))
EXPERTS = weights(router__weight=(8, 32), experts__gate=(8, 16, 32), experts__up=(8, 16, 32),
                  experts__down=(8, 32, 16))  # fmt: skip
OWN = weights(own__weight=(32, 32))


def named(family, spec, parts, *, change=(), changed=(), between=None, **given):
    """The firm cause, or the two that cannot be told apart, of a module that was changed."""
    random = np.random.default_rng(7)
    x = random.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5
    reading = Reading(family, dict(spec), parts)
    broken = Reading(family, {**spec, **dict(change)}, {**parts, **dict(changed)})
    right = FORMULAS[family](reading.spec, parts, {"x": x})
    output = FORMULAS[family](broken.spec, broken.weights, {"x": x, **given})
    if between is not None:
        output[:, between] = right[:, between]

    def noisy(values):
        return values * (1 + np.float32(0.002) * random.normal(size=values.shape)).astype("f4")

    output, low = noisy(output), noisy(right)
    phase = failing_phase(reading, (right, low), (right, output), 3.0)
    late = phase is not None and phase.name == "decode"
    reading = reading._replace(spec=reading.spec | {"decoding": late})
    noise = float(np.linalg.norm(low - right))
    sides = Sides({"x": x, "inputs": lambda: [], "siblings": list, **given}, output)
    module = Module("layers.1.m", reading, sides, noise, phase=phase)
    around = Around(reading.spec, lambda by: {}, lambda name: None)
    found = Replayed("layers.1.m", family, module.ratio(reading), tuple(try_all(module, around)))
    assert found.fails
    best = next(shown(found))
    rival = rival_of(best, found.trials, found.r_ratio)
    assert rival is not None
    assert best.r_ratio < 1.8, found.trials[:3]
    causes = {best.hypothesis.cause}
    return causes | ({rival.hypothesis.cause} if rival.r_ratio < 2 * best.r_ratio else set())


@pytest.mark.sweep
@pytest.mark.parametrize(("change", "cause"), [
    ({"gqa": (1, 0, 0, 1)}, "gqa-grouping-wrong"), ({"gqa_v": (0, 1, 1, 1)}, "gqa-grouping-wrong"),
    ({"q_order": (2, 0, 3, 1)}, "head-order-wrong"),
    ({"head_order": (3, 1, 0, 2)}, "head-order-wrong"),
    ({"scale": 1 / CHANNELS}, "attention-scale-wrong"),
    ({"mask_use": "zeroed"}, "wrong-masking"), ({"mask_turned": True}, "wrong-masking"),
    ({"prefix": 11}, "wrong-masking"), ({"mask_value": 3.0}, "wrong-masking"),
    ({"window": 7}, "attention-window-wrong"), ({"cache_length": 6}, "kv-cache-wrong"),
    ({"cached": "rows reversed"}, "kv-cache-wrong"), ({"cached": "slots 1"}, "kv-cache-wrong"),
    ({"cached": "unturned"}, "kv-cache-wrong"),
    ({"decode_offset": -PROMPT}, "rope-positions-wrong"),
    ({"softmax_plus": 5.0}, "wrong-masking"),
    ({"prompt_chunk": 8}, "rope-positions-wrong"), ({"positions_most": 9}, "rope-positions-wrong"),
    ({"decode_frozen": True, "decode_offset": -1}, "rope-positions-wrong"),
    ({"decode_step": 2}, "rope-positions-wrong"), ({"rope_turn": "unsigned"}, "rope-layout-wrong"),
    ({"rope_table_as": "other"}, "rope-layout-wrong"),
    ({"rope_backwards": True, "rope_wrong_on": "k"}, "rope-layout-wrong"),
    ({"scale": 1.0, "value_scale": CHANNELS**-0.5}, "attention-scale-wrong"),
    ({"cached": "slots 1", "cached_of": "decoded", "cached_parts": "v"}, "kv-cache-wrong"),
    ({"cache_first": 9}, "kv-cache-wrong"), ({"counted": "own"}, "kv-cache-wrong"),
    ({"hidden_from": 12}, "wrong-masking"), ({"mask_block": 4}, "wrong-masking"),
    ({"qk_norm": "head", "norm_eps": 1e-6}, "qk-norm-wrong"),
])  # fmt: skip
def test_attention(change, cause):
    assert named("attention", ATTENTION, PARTS, change=change) == {cause}


@pytest.mark.parametrize("seen", [False, True])
def test_a_factor_of_no_name_may_be_that_of_a_weight_that_was_not_captured(seen):
    """The weight may be that of queries, or of a gate."""
    both = set() if seen else {"missing-multiplier"}
    spec = ATTENTION | {"parts_seen": seen}
    found = named("attention", spec, PARTS, change={"scale": CHANNELS**0.5 / 9})
    assert found == {"attention-scale-wrong"} | both
    spec = {"act": "silu", "gated": True, "gate_seen": seen, "parts_seen": seen}
    found = named("mlp", spec, MLP, change={"gate_scale": 0.6})
    assert found == {"activation-mismatch"} | both


def test_what_only_decoding_does_is_named_though_the_prefill_is_right():
    spec = ATTENTION | {"window": 6}
    change, prompt = {"window": None}, slice(None, PROMPT)
    assert named("attention", spec, PARTS, change=change, between=prompt) == {
        "attention-window-wrong"
    }


def test_the_cache_of_another_layer_is_told_from_its_input():
    other = weights(q__weight=(32, 32), k__weight=(16, 32), v__weight=(16, 32), o__weight=(32, 32))
    other = {name: values[::-1].copy() for name, values in other.items()}
    x = np.random.default_rng(9).normal(size=(2, ALL, WIDTH)).astype(np.float32)
    found = named("attention", ATTENTION, PARTS, change={"cached": -1},
                  layer=lambda by, parts: (other, {"x": x}))  # fmt: skip
    assert found == {"kv-cache-wrong"}


def lost(matrix, *columns):
    matrix = matrix.copy()
    for at in columns:
        matrix[:, at] = 0
    return matrix


@pytest.mark.parametrize("columns", [(slice(36, 48),), (slice(0, 6), slice(18, 24))])
def test_ranks_that_are_lost(columns):
    changed = {"down.weight": lost(MLP["down.weight"], *columns)}
    spec = {"act": "silu", "gated": True, "parts_seen": True}
    assert named("mlp", spec, MLP, changed=changed) == {"tp-reduction-missing"}


def test_a_shard_of_gates_that_was_not_loaded_looks_like_a_lost_rank():
    changed = {"gate.weight": lost(MLP["gate.weight"].T, slice(24, 48)).T}
    found = named("mlp", {"act": "silu", "gated": True}, MLP, changed=changed)
    assert found == {"tp-reduction-missing", "weights-not-loaded"}


@pytest.mark.parametrize(("tags", "causes"), [
    ({"is_column": True}, {"weights-not-loaded"}),
    ({"is_column": False}, {"weights-not-loaded", "tp-reduction-missing"}),
])  # fmt: skip
def test_rows_of_zeros_of_a_projection(tags, causes):
    changed = {"own.weight": lost(OWN["own.weight"].T, slice(16, 32)).T}
    assert named("linear", tags, OWN, changed=changed) == causes


def test_queries_that_were_multiplied_by_the_factor_of_the_softmax():
    spec = {"head_dim": 8, "heads": 4, "kv_heads": 4, "is_column": True}
    changed = {"own.weight": OWN["own.weight"] * np.float32(8**-0.5)}
    assert named("linear", spec, OWN, changed=changed) == {"attention-scale-wrong"}


def test_shards_of_the_gate_that_no_list_names():
    order = [2, 0, 3, 1]
    moved = np.concatenate([np.split(MLP["down.weight"], 4, axis=1)[at] for at in order], axis=1)
    found = named("mlp", {"act": "silu", "gated": True}, MLP, changed={"down.weight": moved})
    assert found == {"shard-order-wrong"}


@pytest.mark.parametrize(("change", "changed", "cause"), [
    ({"experts_kept": (0, 1, 4, 5)}, {}, "tp-reduction-missing"),
    ({}, {"experts.down": EXPERTS["experts.down"][[3, 0, 2, 1, 7, 4, 6, 5]]}, "expert-order-wrong"),
])  # fmt: skip
def test_experts(change, changed, cause):
    assert named("moe", MOE, EXPERTS, change=change, changed=changed) == {cause}


@pytest.mark.parametrize(("order", "tags", "cause"), [
    ([*range(16, 24), *range(8), *range(24, 32), *range(8, 16)],
     {"head_dim": 8, "heads": 4, "kv_heads": 4}, "head-order-wrong"),
    (np.random.default_rng(1).permutation(32), {"is_plain": True}, "weight-layout-mismatch"),
    (np.random.default_rng(1).permutation(32), {"is_router": True}, "expert-order-wrong"),
])  # fmt: skip
def test_rows_in_any_order(order, tags, cause):
    changed = {"own.weight": OWN["own.weight"][order]}
    assert named("linear", tags, OWN, changed=changed) == {cause}


NORM = {"norm_kind": "rms", "norm_eps": 1e-6, "norm_offset": 0, "width": WIDTH}
SCALES = {"own.weight": np.random.default_rng(2).normal(size=32).astype(np.float32) + 1}


@pytest.mark.parametrize("change", [
    {"norm_mean": "amounts"}, {"norm_mean": "largest"}, {"norm_mean": "sum"},
    {"norm_width": WIDTH // 2}, {"norm_weight_as": "before"},
])  # fmt: skip
def test_figures_of_norms(change):
    assert named("norm", NORM, SCALES, change=change) == {"norm-kind-wrong"}


def test_a_shard_of_a_norm_that_was_not_loaded():
    changed = {"own.weight": np.where(np.arange(32) < 16, SCALES["own.weight"], np.float32(0))}
    assert named("norm", NORM, SCALES, changed=changed) == {"weights-not-loaded"}


def test_what_has_no_name_is_computed_otherwise():
    assert named("norm", NORM, SCALES, change={"norm_twice": True}) == {"computed-otherwise"}


def test_a_norm_of_queries_is_named_as_one():
    spec = NORM | {"is_qk": True, "head_dim": WIDTH}
    found = named("norm", spec, SCALES, change={"norm_mean": "amounts"})
    assert found == {"qk-norm-wrong"}


def test_a_part_that_computes_from_something_else():
    other = np.random.default_rng(3).normal(size=(2, ALL, WIDTH)).astype(np.float32)
    found = named("moe", MOE, EXPERTS, change={"part_inputs": {"router": other}},
                  inputs=lambda: [("the output of layers.1.norm", other)])  # fmt: skip
    assert found == {"wrong-input"}


def test_equal_from_outside_is_said_of_both():
    spec = ATTENTION | {"rope_type": "yarn", "rope_factor": 8.0, "original_length": 16,
                        "parts_seen": True}  # fmt: skip
    found = named("attention", spec, PARTS, change={"attention_factor": 1.7})
    assert found == {"attention-scale-wrong", "rope-attention-factor-wrong"}
