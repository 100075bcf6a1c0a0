"""Signs of two mistakes: both are reported, and neither is firm; and searches in one layer without
success."""

import pytest

from modelmedic.probes.replay.emission import rival_of, shown
from modelmedic.probes.replay.finding import masks
from modelmedic.probes.replay.finding.given import Given
from modelmedic.probes.replay.finding.registry import FINDERS
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides
from modelmedic.probes.replay.phases import Phase
from modelmedic.probes.replay.replaying import Replayed
from modelmedic.probes.replay.spec import Reading
from modelmedic.probes.replay.trials import try_all
from modelmedic.probes.replay.weight_orders import Around

from .test_trials import ALL, ATTENTION, EXPERTS, MOE, PARTS, PROMPT, WIDTH

np = pytest.importorskip("numpy")
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5
WEIGHT = RANDOM.normal(size=(64, WIDTH)).astype(np.float32)


def told(name, family, spec, parts, x, output):
    """The findings of a finder for an output."""
    rows = slice(None)
    one = Given(Reading(family, dict(spec), parts), {"x": x}, output, rows, {})
    return [words for _, words in FINDERS[name](one)]


def firm(family, spec, parts, made, rows=slice(None)):
    """Whether the best cause of a module leaves others behind; and all that explain it."""
    reading = Reading(family, dict(spec), parts)
    right = FORMULAS[family](reading.spec, parts, {"x": X})
    off = np.linalg.norm(right) * 0.004
    sides = Sides({"x": X, "inputs": list, "siblings": list}, made)
    phase = (
        None
        if rows == slice(None)
        else Phase("decode", rows, 0.004 * float(np.linalg.norm(made[:, rows])))
    )
    module = Module("layers.1.m", reading, sides, float(off), phase=phase)
    trials = try_all(module, Around(reading.spec, lambda by: {}, lambda name: None), solving=False)
    one = Replayed("layers.1.m", family, module.alone(), tuple(trials))
    first = next(shown(one))
    rival = rival_of(first, trials, one.r_ratio)
    fit = {trial.hypothesis.cause for trial in trials if trial.r_ratio < 1.8}
    return rival is None or rival.r_ratio > 2 * first.r_ratio, fit


def noisy(made):
    noise = np.random.default_rng(2).normal(size=made.shape)
    return (made * (1 + 0.002 * noise)).astype(np.float32)


EACH = np.arange(64)
LOST = [(EACH >= 56, True), (EACH >= 32, True), (EACH < 16, True), (EACH // 16 == 1, True),
        (EACH >= 16, False), (EACH // 16 % 2 == 1, False)]  # fmt: skip
"""Rows that are zero, and whether they may never have been filled: half of them at the most, side
by side."""


@pytest.mark.parametrize(("lost", "both"), LOST)
def test_rows_of_zeros_side_by_side_may_never_have_been_filled(lost, both):
    output = np.where(lost, np.float32(0), X @ WEIGHT.T)
    parts = {"own.weight": WEIGHT}
    assert told("rows-of-ranks", "linear", {}, parts, X, output)
    assert bool(told("rows-in-one-stretch", "linear", {}, parts, X, output)) is both


@pytest.mark.parametrize(("lost", "both"), LOST)
def test_so_may_rows_of_the_embedding(lost, both):
    ids = np.arange(64, dtype=np.float32)[None]
    output = WEIGHT[None] * ~lost[:, None]
    parts = {"own.weight": WEIGHT}
    assert told("embedding-ranks", "embedding", {}, parts, ids, output)
    assert bool(told("embedding-stretch", "embedding", {}, parts, ids, output)) is both


@pytest.mark.parametrize(("lost", "both"), LOST)
def test_so_may_a_shard_in_front_of_a_sum(lost, both):
    weight = RANDOM.normal(size=(WIDTH, 64)).astype(np.float32)
    x = RANDOM.normal(size=(2, 200, 64)).astype(np.float32)
    parts = {"own.weight": weight}
    output = (x * ~lost) @ weight.T
    assert told("ranks", "linear", {}, parts, x, output)
    assert bool(told("one-shard", "linear", {}, parts, x, output)) is both


@pytest.mark.parametrize(("kept", "both"), [(56, True), (60, True), (48, False), (32, False)])
def test_so_may_columns(kept, both):
    weight = RANDOM.normal(size=(WIDTH, 64)).astype(np.float32)
    x = RANDOM.normal(size=(2, 200, 64)).astype(np.float32)
    output = (x * (np.arange(64) < kept)) @ weight.T
    parts = {"own.weight": weight}
    assert told("ranks", "linear", {}, parts, x, output)
    assert bool(told("last-rank", "linear", {}, parts, x, output)) is both
    heads = {"is_out": True, "head_dim": 16}
    assert bool(told("last-rank", "linear", heads, parts, x, output)) is (kept >= 48)
    last = (x * (np.arange(64) >= 8)) @ weight.T
    assert not told("last-rank", "linear", {}, parts, x, last)


def test_experts_that_are_lost_may_have_no_weights():
    """Half of them at the most, side by side."""
    count = len(EXPERTS["experts.down"])
    half = tuple(range(count // 2))
    for lost, both in (((2,), True), (half, True), (tuple(range(0, count, 2)), False)):
        kept = tuple(each for each in range(count) if each not in lost)
        output = FORMULAS["moe"](MOE | {"experts_kept": kept}, EXPERTS, {"x": X})
        assert told("experts", "moe", MOE, EXPERTS, X, output)
        assert bool(told("experts-of-zeros", "moe", MOE, EXPERTS, X, output)) is both


def test_heads_that_are_joined_as_they_lie_are_no_firm_order():
    made = FORMULAS["attention"](ATTENTION | {"heads_unjoined": True}, PARTS, {"x": X})
    sure, causes = firm("attention", ATTENTION, PARTS, noisy(made))
    assert not sure
    assert {"head-order-wrong", "computed-otherwise"} <= causes


@pytest.mark.parametrize("key", ["scale", "value_scale"])
def test_a_factor_while_decoding_may_be_that_of_the_cache(key):
    spec = ATTENTION | {"decode_from": PROMPT, "decoding": True}
    right = FORMULAS["attention"](spec, PARTS, {"x": X})
    other = FORMULAS["attention"](
        spec | {key: 0.37 * spec.get(key, 1.0)}, PARTS, {"x": X})  # fmt: skip
    made = noisy(np.concatenate((right[:, :PROMPT], other[:, PROMPT:]), axis=1))
    sure, causes = firm("attention", spec, PARTS, made, slice(PROMPT, None))
    assert not sure
    assert "kv-cache-wrong" in causes


@pytest.mark.parametrize("vain", [False, True])
def test_a_mask_is_not_searched_where_a_layer_before_had_none(monkeypatch, vain):
    output = FORMULAS["attention"](
        ATTENTION | {"edit": lambda name, value: np.tanh(value) if name == "scores" else value},
        PARTS, {"x": X})  # fmt: skip
    searched = []
    row = masks._row

    def counted(*given):
        searched.append(given)
        return row(*given)

    monkeypatch.setattr(masks, "_row", counted)
    reading = Reading("attention", dict(ATTENTION), PARTS)
    known = {(None, None, ATTENTION.get("window"))} if vain else set()
    given = {"x": X, "vain": known}
    assert not list(FINDERS["mask-of-keys"](Given(reading, given, output, slice(None), {})))
    assert known == {(None, None, ATTENTION.get("window"))}
    assert len(searched) <= (0 if vain else 4 * masks.SAMPLE)
