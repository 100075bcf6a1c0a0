"""Values inside and weights of few bits, and parts of ranks."""

import pytest

from modelmedic.probes.replay import joints_tried
from modelmedic.probes.replay.finding.given import Given
from modelmedic.probes.replay.finding.registry import FINDERS
from modelmedic.probes.replay.formula.few_bits import stored, weight_in
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides
from modelmedic.probes.replay.solving.relations import RELATIONS
from modelmedic.probes.replay.solving.values import Value
from modelmedic.probes.replay.spec import Reading
from modelmedic.probes.replay.sums import Joint
from modelmedic.probes.replay.weight_changes import changed
from modelmedic.probes.replay.weight_orders import Around
from modelmedic.reading.tensors.captures import Run

from .test_solving import at, causes, found
from .test_trials import ALL, ATTENTION, EXPERTS, MLP, MOE, OWN, PARTS, PROMPT, WIDTH, named

np = pytest.importorskip("numpy")
RANDOM = np.random.default_rng(13)
LOW = {"precision-ordering"}
GATED = {"act": "silu", "gated": True}
X = RANDOM.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5


@pytest.mark.parametrize("change", [
    {"rounded_parts": "qk", "parts_format": "F8_E4M3"},
    {"rounded_parts": "v", "parts_format": "I8-all"},
    {"rounded_parts": "w", "parts_format": "F8_E5M2"},
    {"rounded_parts": "m", "parts_format": "F8_E4M3"},
])  # fmt: skip
def test_parts_of_attention_in_eight_bits(change):
    assert named("attention", ATTENTION, PARTS, change=change) == LOW


@pytest.mark.parametrize(("family", "spec", "parts", "change"), [
    ("mlp", GATED, MLP, {"product_format": "F8_E4M3-token"}),
    ("moe", MOE, EXPERTS, {"product_format": "F8_E5M2"}),
    ("moe", MOE, EXPERTS, {"weighted_format": "F8_E5M2"}),
])  # fmt: skip
def test_what_output_projections_are_given_in_eight_bits(family, spec, parts, change):
    assert named(family, spec, parts, change=change) == LOW


@pytest.mark.parametrize(("family", "spec", "parts", "name"), [
    ("linear", {}, OWN, "I4-row"), ("linear", {}, OWN, "F8_E4M3-all"),
    ("mlp", GATED, MLP, "I4-row"), ("moe", MOE, EXPERTS, "F8_E5M2"),
    ("attention", ATTENTION, PARTS, "I4-row"),
])  # fmt: skip
def test_weights_of_few_bits(family, spec, parts, name):
    lower = {key: weight_in(each, name) for key, each in parts.items() if "router" not in key}
    assert named(family, spec, parts, changed=lower) == LOW


def test_steps_are_those_of_tokens_or_of_calls():
    values = RANDOM.normal(size=(2, 3, 6, 8)).astype(np.float32)
    of_tokens, of_calls = (stored(values, name, 4) for name in ("I8", "I8-all"))
    levels = [len(np.unique(each[:, :, :4])) for each in (of_tokens, of_calls)]
    assert levels[0] > levels[1]
    np.testing.assert_array_equal(stored(values[:, :, 5:], "I8-all"), of_calls[:, :, 5:])
    with pytest.raises(ValueError, match="no such blocks"):
        weight_in(values[0, 0], "I4-32")


def test_only_what_came_nearer_by_it_was_rounded():
    """Noise of the size of eight bits is not rounding to them."""

    def edit(node, value):
        noise = np.random.default_rng(2).normal(size=value.shape)
        return value * (1 + np.float32(0.03) * noise).astype("f4") if node == "mixed" else value

    told = causes(found("attention", ATTENTION, PARTS, edit))
    assert "precision-ordering" not in told


def read(name, family, spec, parts, output, x=X):
    """The words of what a finder reads off, and what it computes."""
    one = Given(Reading(family, dict(spec), parts), {"x": x}, output, slice(None), {})
    return [(words, FORMULAS[family](again.spec, again.weights, {"x": x}))
            for again, words in FINDERS[name](one)]  # fmt: skip


TABLE = {"own.weight": RANDOM.normal(size=(160, WIDTH)).astype(np.float32)}
IDS = np.arange(160).reshape(2, 80)[:, ::2].astype(np.float32)


def lookup(name, change):
    table = TABLE["own.weight"].copy()
    table = change(table)
    output = FORMULAS["embedding"]({"scale": 1}, {"own.weight": table}, {"x": IDS})
    told = read(name, "embedding", {"scale": 1}, TABLE, output, IDS)
    for _, made in told:
        np.testing.assert_allclose(made, output, rtol=1e-3, atol=1e-3)
    return [words for words, _ in told]


def end(first, rows):
    def change(table):
        table[first:] = rows(table) if callable(rows) else rows
        return table

    return change


def test_rows_of_added_tokens():
    mean = end(128, lambda table: table[:128].mean(axis=0))
    assert lookup("embedding-mean", mean) == ["the mean of the first 128"]
    assert lookup("embedding-unfilled", end(128, 0)) == ["from 128 on"]


def test_other_rows_of_the_embedding_are_none_of_these():
    for name in ("embedding-mean", "embedding-unfilled"):
        assert lookup(name, lambda table: table) == []
        assert lookup(name, lambda table: table[::-1]) == []
        assert lookup(name, end(80, 0)) == []  # a rank of two


def test_rows_of_the_head_that_were_never_filled():
    weight = RANDOM.normal(size=(90, WIDTH)).astype(np.float32)
    for first, told in ((64, 1), (45, 0), (90, 0)):
        lower = np.where(np.arange(90)[:, None] < first, weight, 0)
        output = FORMULAS["linear"]({}, {"own.weight": lower}, {"x": X})
        spec, parts = {"is_head": True}, {"own.weight": weight}
        assert len(read("head-unfilled", "linear", spec, parts, output)) == told


def ranks(relation, words):
    def change(value):
        one = Value(value, "bpc", {}, {"decode_from": PROMPT})
        return dict(RELATIONS[relation](one))[words]

    return at("out", change)


@pytest.mark.parametrize(("relation", "words", "cause"), [
    ("ranks-p", "parts of 2 ranks of the prompt reversed", "shard-order-wrong"),
    ("ranks-p", "parts of 4 ranks of the prompt dealt out", "shard-order-wrong"),
    ("rank-p-lost", "positions of rank 1 of 2 missing in the prompt", "tp-reduction-missing"),
])  # fmt: skip
def test_positions_of_ranks(relation, words, cause):
    spec = GATED | {"decode_from": PROMPT}
    assert causes(found("mlp", spec, MLP, ranks(relation, words))) == {cause}


@pytest.mark.sweep
@pytest.mark.parametrize(("change", "cause"), [
    ({"score": "local2"}, "router-score-wrong"),
    ({"normalised": "ranks-2"}, "router-normalisation-wrong"),
    ({"choice_ranks": 2, "choice_of": "all"}, "router-top-k-wrong"),
    ({"experts_capacity": 1.0, "capacity_is": "floor", "capacity_by": "token"}, "routing-ignored"),
])  # fmt: skip
def test_routing_by_rank(change, cause):
    assert named("moe", MOE, EXPERTS, change=change) == {cause}


def test_heads_that_are_turned_with_zeros_for_partners():
    found = named("attention", ATTENTION, PARTS, change={"rope_turn": "padded"})
    assert found == {"rope-layout-wrong"}


YARN = ATTENTION | {"rope_type": "yarn", "rope_scaled": True, "rope_factor": 4.0,
                    "original_length": 16, "table_seen": False}  # fmt: skip


@pytest.mark.parametrize(("change", "cause"), [
    ({"warmth_power": -1}, "rope-attention-factor-wrong"),
    ({"rope_type": "default", "theta": 10_000.0}, "rope-scaling-missing"),
])  # fmt: skip
def test_what_a_port_makes_of_the_settings_of_yarn(change, cause):
    assert named("attention", YARN | {"theta": 150_000.0}, PARTS, change=change) == {cause}


def test_gate_and_up_that_lie_in_turn_in_blocks():
    lower = changed(MLP, "join gate+up of-8", Around({}, lambda by: {}, lambda name: None))
    told = named("mlp", GATED, MLP, changed=lower)
    assert told == {"weight-layout-mismatch"}


def test_each_rank_normalises_its_own_heads():
    spec = ATTENTION | {"qk_norm": "all", "qk_normed": True, "norm_eps": 1e-6}
    norms = {f"{part}_norm.weight": RANDOM.normal(size=size).astype(np.float32) / 4 + 1
             for part, size in (("q", 32), ("k", 16))}  # fmt: skip
    told = named("attention", spec, PARTS | norms, change={"norm_ranks": 4})
    assert told == {"qk-norm-wrong"}


@pytest.mark.parametrize("in_turn", [True, False])
def test_one_norm_for_branches_that_are_computed_in_turn(in_turn):
    """The second branch is given the norm of the sum, not that of the input again."""
    one, two = (RANDOM.normal(size=(2, ALL, WIDTH)).astype(np.float32) for _ in range(2))
    spec, weights = {"norm_kind": "rms", "norm_eps": 1e-6}, {"own.weight": one[0, 0]}
    norm = Module("norm", Reading("norm", spec, weights), Sides({"x": one}, one), 1.0)
    right = FORMULAS["norm"](spec, weights, {"x": one})
    given = FORMULAS["norm"](spec, weights, {"x": one + two}) if in_turn else right + two
    terms, others = (("norm", "out", 0),), (("branch", "out", 0),)
    joint = Joint("mlp (input)", ("mlp", "in", 0), terms, (1.0,), others)
    checked = joints_tried.Checked(joint, 1_000.0, 1e-3)
    target = Taken({("norm", "in"): one, ("norm", "out"): right, ("branch", "out"): two,
                    ("mlp", "in"): given})  # fmt: skip
    (trial,) = joints_tried.normed(checked, target, lambda name: norm)
    assert trial.hypothesis.cause == "wrong-input"
    assert (trial.r_ratio < 1.8) is in_turn


class Taken(Run):
    """A run of tensors that were not captured."""

    def __init__(self, tensors):
        self.tensors = tensors

    def get(self, module, side, element=0):
        return self.tensors.get((module, side))

    def has(self, module, side, element=0):
        return (module, side) in self.tensors


@pytest.mark.parametrize("most", [True, False])
def test_rounding_grows_with_an_output_of_which_most_is_large(most):
    reading = Reading("linear", {}, OWN)
    output = FORMULAS["linear"]({}, OWN, {"x": X})
    whole, larger = float(np.linalg.norm(output)), output.copy()
    larger[:, slice(None) if most else slice(1)] *= 1_000
    module = Module("m", reading, Sides({"x": X}, larger), 1.0, 1.0, whole)
    assert (module.larger() > 900) is most
    assert module.larger() >= 50
