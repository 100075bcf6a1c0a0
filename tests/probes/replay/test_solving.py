"""One value inside a module is changed, and no hypothesis knows of it: which relation is found."""

from unittest import mock

import pytest

from modelmedic.probes.replay import trials
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides
from modelmedic.probes.replay.phases import failing_phase
from modelmedic.probes.replay.solving.relations import RELATIONS
from modelmedic.probes.replay.solving.table import rows
from modelmedic.probes.replay.spec import Reading
from modelmedic.probes.replay.trials import try_all
from modelmedic.probes.replay.weight_orders import Around

from .test_trials import ALL, ATTENTION, EXPERTS, MLP, MOE, OWN, PARTS, PROMPT, WIDTH

pytestmark = pytest.mark.deep

np = pytest.importorskip("numpy")
GATED = {"act": "silu", "gated": True}


def found(family, spec, parts, edit, *, knowing=(), low=0.002):
    """Trials of a module inside which ``edit(node, value)`` changes a value."""
    random = np.random.default_rng(7)
    x = random.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5
    reading = Reading(family, dict(spec), parts)
    right = FORMULAS[family](reading.spec, parts, {"x": x})
    output = FORMULAS[family]({**spec, "edit": edit}, parts, {"x": x})

    def noisy(values):
        return values * (1 + np.float32(low) * random.normal(size=values.shape)).astype("f4")

    output, rounded = noisy(output), noisy(right)
    phase = failing_phase(reading, (right, rounded), (right, output), 3.0)
    sides = Sides({"x": x}, output)
    noise = float(np.linalg.norm(rounded - right))
    module = Module("layers.1.m", reading, sides, noise, phase=phase)
    around = Around(reading.spec, lambda by: {}, lambda name: None)
    with mock.patch.object(trials, "all_hypotheses", lambda: knowing):
        return try_all(module, around)


def causes(tried):
    return {each.hypothesis.cause for each in tried if each.r_ratio < 1.8}


def at(place, change):
    return lambda node, value: change(value).astype(np.float32) if node == place else value


def part(change, axis, where):
    def changed(value):
        new = value.copy()
        index = [slice(None)] * value.ndim
        index[axis] = where
        new[tuple(index)] = change(value)[tuple(index)]
        return new

    return changed


def rms(x):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


@pytest.mark.parametrize(("family", "spec", "parts", "edit", "cause"), [
    ("attention", ATTENTION, PARTS, at("mixed", lambda x: x[:, [1, 2, 3, 0]]), "head-order-wrong"),
    ("attention", ATTENTION, PARTS, at("v.projected", lambda x: x[:, [0, 0]]),
     "gqa-grouping-wrong"),
    ("attention", ATTENTION, PARTS, at("scores", lambda x: 2 * x), "attention-scale-wrong"),
    ("attention", ATTENTION, PARTS, at("k.straight", rms), "qk-norm-wrong"),
    ("attention", ATTENTION, PARTS, at("mixed", part(lambda x: 0 * x, 1, [1])),
     "tp-reduction-missing"),
    ("attention", ATTENTION, PARTS, at("mixed", part(lambda x: x / 2, 1, [0, 1])),
     "missing-multiplier"),
    ("mlp", GATED, MLP, at("active", np.tanh), "activation-mismatch"),
    ("mlp", GATED, MLP, at("product", lambda x: np.roll(x, 12, axis=-1)), "shard-order-wrong"),
    ("mlp", GATED, MLP, at("product", rms), "computed-otherwise"),
    ("moe", MOE, EXPERTS, at("router.logits", lambda x: x[:, ::-1]), "expert-order-wrong"),
    ("moe", MOE, EXPERTS, at("router.shares", np.ones_like), "routing-ignored"),
    ("linear", {"width": 32}, OWN, at("x", part(lambda x: 0 * x, 2, slice(16, 32))),
     "tp-reduction-missing"),
    ("linear", {"width": 32}, OWN, at("x", lambda x: np.roll(x, 1, axis=1)), "wrong-input"),
])  # fmt: skip
def test_a_change_that_no_hypothesis_knows_is_named(family, spec, parts, edit, cause):
    assert causes(found(family, spec, parts, edit)) == {cause}


def test_what_only_decoding_reads_is_about_the_cache():
    def edit(node, value):
        return np.roll(value, 1, axis=1) if node == "v.cached" else value

    spec = ATTENTION | {"cached": "edited", "cached_of": "prompt"}
    random = np.random.default_rng(7)
    x = random.normal(size=(2, ALL, WIDTH)).astype(np.float32)
    wrong = FORMULAS["attention"](spec | {"edit": edit}, PARTS, {"x": x})
    right = FORMULAS["attention"](ATTENTION, PARTS, {"x": x})
    assert np.array_equal(wrong[:, :PROMPT], right[:, :PROMPT])
    low = right * (1 + np.float32(0.002) * random.normal(size=right.shape)).astype("f4")
    reading = Reading("attention", dict(ATTENTION), PARTS)
    phase = failing_phase(reading, (right, low), (right, wrong), 3.0)
    noise = float(np.linalg.norm(low - right))
    module = Module("layers.1.m", reading, Sides({"x": x}, wrong), noise, phase=phase)
    around = Around(reading.spec, lambda by: {}, lambda name: None)
    with mock.patch.object(trials, "all_hypotheses", tuple):
        assert causes(try_all(module, around)) == {"kv-cache-wrong"}


def test_noise_alone_is_related_to_nothing():
    """The error must be more than rounding, and of another form than any relation."""
    random = np.random.default_rng(11)

    def edit(node, value):
        return value + random.normal(size=value.shape).astype("f4") if node == "out" else value

    assert causes(found("mlp", GATED, MLP, edit)) == set()
    assert causes(found("attention", ATTENTION, PARTS, edit)) == set()
    assert found("mlp", GATED, MLP, lambda node, value: value) == []


def test_rows_name_known_relations_and_are_all_read():
    assert {relation for row in rows() for relation in row.relations} <= set(RELATIONS)
    assert {family for row in rows() for family in row.families} <= set(FORMULAS)
    assert {letter for row in rows() for letter in row.where} <= set("bpkhcref")
