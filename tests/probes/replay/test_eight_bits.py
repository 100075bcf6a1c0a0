"""Operations that are applied twice, kept in eight bits, or right in a part only."""

import pytest

from modelmedic.probes.replay import joints_tried
from modelmedic.probes.replay.finding.given import Given
from modelmedic.probes.replay.finding.registry import FINDERS
from modelmedic.probes.replay.formula.few_bits import stored
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides
from modelmedic.probes.replay.spec import Reading
from modelmedic.probes.replay.sums import Joint
from modelmedic.probes.replay.trials import try_all
from modelmedic.probes.replay.weight_orders import Around
from modelmedic.reading.tensors.captures import Run

from .test_trials import ALL, ATTENTION, EXPERTS, MLP, MOE, OWN, PARTS, WIDTH, named

np = pytest.importorskip("numpy")
RANDOM = np.random.default_rng(11)
NORM = {"own.weight": RANDOM.normal(size=WIDTH).astype(np.float32)}
BIASES = {f"{part}.bias": RANDOM.normal(size=len(PARTS[f"{part}.weight"])).astype(np.float32) / 3
          for part in "qkv"}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize(("change", "cause"), [
    ({"cached": "fixed 8", "cache_step": 1.0}, "kv-cache-wrong"),
    ({"cache_scales_of": "kv"}, "kv-cache-wrong"), ({"cache_scales_of": "v"}, "kv-cache-wrong"),
    ({"gqa": "padded-2"}, "gqa-grouping-wrong"),
    ({"table_format": "F8_E5M2"}, "precision-ordering"),
])  # fmt: skip
def test_attention(change, cause):
    assert named("attention", ATTENTION, PARTS, change=change) == {cause}


def test_values_that_lie_in_the_cache_before_their_bias():
    change = {"cached": "unbiased", "cached_of": "prompt", "cached_parts": "v"}
    assert named("attention", ATTENTION, PARTS | BIASES, change=change) == {"kv-cache-wrong"}


def test_a_bias_of_projections_that_is_added_twice():
    changed = {name: 2 * values for name, values in BIASES.items()}
    assert named("attention", ATTENTION, PARTS | BIASES, changed=changed) == {"bias-repeated"}


def test_a_cap_that_is_applied_twice():
    spec = ATTENTION | {"softcap": 2.0}
    assert named("attention", spec, PARTS, change={"softcap_kind": "twice"}) == {"softcap-wrong"}


LLAMA3 = ATTENTION | {"theta": 100.0, "rope_type": "llama3", "rope_scaled": True,
                      "rope_factor": 2.0, "original_length": 64, "low_freq_factor": 1,
                      "high_freq_factor": 4}  # fmt: skip


@pytest.mark.parametrize("how", ["again", "squared"])
def test_frequencies_that_are_scaled_twice_are_no_other_theta(how):
    found = named("attention", LLAMA3, PARTS, change={"rates_twice": how})
    assert found == {"rope-scaling-missing"}


@pytest.mark.parametrize(("change", "cause"), [
    ({"experts_padded": 4}, "router-score-wrong"), ({"weigh_input": "too"}, "router-score-wrong"),
    ({"expert_format": "F8_E4M3"}, "precision-ordering"),
])  # fmt: skip
def test_experts(change, cause):
    assert named("moe", MOE | {"top_k": 6}, EXPERTS, change=change) == {cause}


@pytest.mark.parametrize("name", ["F8_E4M3", "F8_E5M2", "I8"])
def test_a_norm_that_gives_eight_bits(name):
    spec = {"norm_kind": "rms", "norm_eps": 1e-6, "is_qk": False}
    assert named("norm", spec, NORM, change={"out_format": name}) == {"precision-ordering"}


def test_a_one_that_is_added_twice_to_the_weight_of_a_norm():
    spec = {"norm_kind": "rms", "norm_eps": 1e-6, "is_qk": False, "norm_offset": 1}
    assert named("norm", spec, NORM, change={"norm_offset": 2}) == {"norm-weight-offset"}


@pytest.mark.parametrize("name", ["F8_E5M2", "I8"])
def test_a_projection_that_is_given_eight_bits(name):
    given = stored(X, name)
    output = FORMULAS["linear"]({}, OWN, {"x": given})
    trials, alone = tried(output)
    assert alone > 3
    assert trials[0].hypothesis.cause == "precision-ordering"
    assert trials[0].r_ratio < 1.8


def test_sinks_that_each_rank_adds():
    spec, parts = (
        ATTENTION | {"sinks": True},
        PARTS | {"sinks": np.array([0.5, 2.0, -1.0, 3.0], np.float32)},
    )
    found = named("attention", spec, parts, change={"sinks_as": "repeated-4"})
    assert found == {"attention-sinks-wrong"}


def test_a_weight_that_was_scaled_before_it_was_rounded():
    found = named("linear", {"is_plain": True}, OWN, change={"weight_scale": 0.9})
    assert found == {"missing-multiplier"}


@pytest.mark.parametrize(("router", "cause"), [
    (True, "router-bias-missing"), (False, "bias-missing"),
])  # fmt: skip
def test_a_bias_that_one_rank_lacks(router, cause):
    bias = np.arange(1, 33, dtype=np.float32) / 8
    half = np.where(np.arange(32) < 16, bias, 0)
    spec = {"is_router": router}
    found = named("linear", spec, OWN | {"own.bias": bias}, changed={"own.bias": half},
                  vectors=lambda size: [])  # fmt: skip
    assert found == {cause}


def told(name, family, spec, parts, output, **given):
    """The findings of a finder for an output."""
    x = X if "x" not in given else given.pop("x")
    one = Given(Reading(family, dict(spec), parts), {"x": x, **given}, output, slice(None), {})
    return [FORMULAS[family](reading.spec, reading.weights, {"x": x})
            for reading, _ in FINDERS[name](one)]  # fmt: skip


X = RANDOM.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5


def test_a_shared_expert_that_applies_its_own_gate():
    gate = RANDOM.normal(size=(1, WIDTH)).astype(np.float32)
    spec = {"act": "silu", "gated": True}
    right = FORMULAS["mlp"](spec, MLP, {"x": X})
    output = right / (1 + np.exp(-X @ gate.T))
    (made,) = told("gated-inside", "mlp", spec, MLP, output, gate=lambda: (gate, None))
    np.testing.assert_allclose(made, output, rtol=1e-4, atol=1e-5)
    assert not told("gated-inside", "mlp", spec, MLP, output, gate=lambda: None)


@pytest.mark.parametrize(("rows", "both"), [
    ([0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11], True),
    ([8, 9, 10, 11, 8, 9, 10, 11, 0, 1, 2, 3, 0, 1, 2, 3], False),
])  # fmt: skip
def test_ranks_with_rows_of_others_or_heads_that_were_cut(rows, both):
    spec = {"head_dim": 8, "is_shared": True}
    parts = {"own.weight": PARTS["k.weight"]}
    output = X @ parts["own.weight"][rows].T
    assert told("rows-in-shards-of-heads", "linear", spec, parts, output)
    assert bool(told("rows-of-cut-heads", "linear", spec, parts, output)) is both


def tried(output):
    """The trials of a projection with another output, and R of it as it should be."""
    reading = Reading("linear", {"out_scale": 1}, OWN)
    right = FORMULAS["linear"](reading.spec, OWN, {"x": X})
    off, size = float(np.linalg.norm(right)) * 0.001, float(np.linalg.norm(right))
    sides = Sides({"x": X, "inputs": list, "siblings": list}, output)
    module = Module("layers.1.m", reading, sides, off, off, size)
    around = Around(reading.spec, lambda by: {}, lambda name: None)
    return try_all(module, around, solving=False), module.alone()


def test_what_only_makes_more_of_rounding_explains_nothing():
    """Eight bits move with the rounding of an input, but what is wrong here is no such rounding."""
    right = FORMULAS["linear"]({}, OWN, {"x": X})
    random = np.random.default_rng(3)
    trials, alone = tried(right + np.float32(0.02) * random.normal(size=right.shape).astype("f4"))
    assert alone > 3
    rounded = [trial for trial in trials if trial.hypothesis.cause == "precision-ordering"]
    assert rounded
    assert all(trial.r_ratio > 3 for trial in rounded)


class Tensors(Run):
    """A run of tensors that were not captured."""

    def __init__(self, **tensors):
        self.tensors = tensors

    def get(self, module, side, element=0):
        return self.tensors.get(module)

    def has(self, module, side, element=0):
        return module in self.tensors


@pytest.mark.parametrize("eight", [True, False])
def test_a_sum_that_is_kept_in_eight_bits_is_told_from_one_with_other_noise(eight):
    random = np.random.default_rng(4)
    one, two = (random.normal(size=(2, ALL, WIDTH)).astype(np.float32) for _ in range(2))
    whole, low = one + two, stored(one + two, "BF16")
    other = whole + np.float32(0.02) * random.normal(size=whole.shape).astype(np.float32)
    target = stored(whole, "F8_E5M2") if eight else other
    terms = (("one", "out", 0), ("two", "out", 0))
    joint = Joint("sum", ("sum", "out", 0), terms, (1.0, 1.0), ())
    runs = [Tensors(one=one, two=two, sum=each) for each in (whole, low, target)]
    found = joints_tried.checked(joint, runs)
    assert found is not None and found.ratio > 3
    trials = joints_tried.tried(found, [found], runs, 3.0, None)
    rounded = [each.r_ratio for each in trials if each.hypothesis.cause == "precision-ordering"]
    assert (min(rounded) < 1.8) is eight
