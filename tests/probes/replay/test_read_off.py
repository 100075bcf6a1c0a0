"""Readings of a module where no hypothesis fits: functions, shares of experts, counts of keys,
sinks, figures of norms, and whatever parts of a value are concerned."""

import pytest

from modelmedic.probes.replay.doubts import differs
from modelmedic.probes.replay.finding.functions_read import Bumps
from modelmedic.probes.replay.finding.given import Given
from modelmedic.probes.replay.finding.registry import FINDERS
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides, late_noise, sure
from modelmedic.probes.replay.solving.fitting import fitted
from modelmedic.probes.replay.spec import Reading
from modelmedic.reading.tensors.captures import Run

from .test_solving import at, causes, found, part
from .test_trials import ALL, ATTENTION, CHANNELS, EXPERTS, MLP, MOE, PARTS, PROMPT, WIDTH

np = pytest.importorskip("numpy")
GATED = {"act": "silu", "gated": True}
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5


def read(name, family, spec, parts, *, change=(), changed=(), x=X, rows=slice(None), made=None):
    """The words that a finder reads off a module that was changed, and how far they explain it."""
    broken = Reading(family, {**spec, **dict(change)}, {**parts, **dict(changed)})
    output = FORMULAS[family](broken.spec, broken.weights, {"x": x}) if made is None else made
    noise = np.random.default_rng(9).normal(size=output.shape)
    output = output * (1 + np.float32(0.001) * noise).astype("f4")
    one = Given(Reading(family, dict(spec), parts), {"x": x}, output, rows, {})
    told = []
    for reading, words in FINDERS[name](one):
        again = FORMULAS[family](reading.spec, reading.weights, {"x": x})
        off = np.linalg.norm((again - output)[:, rows]) / np.linalg.norm(output[:, rows])
        told.append((words, float(off)))
    return told


def one(told):
    """The words of the only finding, which has to explain the module."""
    assert len(told) == 1, told
    assert told[0][1] < 0.012, told
    return told[0][0]


@pytest.mark.parametrize(("family", "spec", "parts"), [
    ("mlp", GATED, MLP), ("mlp", {"act": "gelu_tanh"}, MLP), ("moe", MOE, EXPERTS),
    ("activation", {"act": "silu"}, {}),
])  # fmt: skip
def test_an_activation_that_has_no_name_is_read_off(family, spec, parts):
    def bent(x):
        return (x / (1 + np.exp(-1.4 * x)) - 0.1 * np.cos(x)).astype(np.float32)

    assert " to " in one(read("activation-read", family, spec, parts, change={"act": bent}))
    assert read("activation-read", family, spec, parts) == []


def test_bumps_are_a_function_between_two_ends():
    flat = Bumps("", -2.0, 2.0, (1.0,) * 24)
    assert np.allclose(flat(np.linspace(-2, 2, 9)), 1, atol=1e-6)


def test_keys_that_are_read_twice_are_counted():
    seen = np.tril(np.ones((ALL, ALL)))[None].repeat(2, axis=0)
    seen[:, PROMPT:, :3] = 2
    seen[:, :PROMPT, PROMPT:] = 0
    rows = slice(PROMPT, None)
    told = read("counts-of-cache", "attention", ATTENTION, PARTS, change={"mask_found": seen},
                rows=rows)  # fmt: skip
    assert one(told) == "0 2 times, 1 2 times, 2 2 times"
    assert read("counts-of-cache", "attention", ATTENTION, PARTS, rows=rows) == []


@pytest.mark.parametrize(("places", "share"), [([1, 4], 1.0), ([0, 1, 2], 0.4), ([5], -1.5)])
def test_parts_and_their_common_share_are_fitted(places, share):
    effects = RANDOM.normal(size=(6, 50))
    fit = fitted(6, share * effects[places].sum(axis=0), lambda place: effects[place])
    assert fit is not None
    assert list(np.flatnonzero(fit.shares)) == places
    assert fit.by == pytest.approx(share, abs=0.01)


def test_parts_of_different_shares_are_not_alike():
    effects = RANDOM.normal(size=(6, 50))
    assert fitted(6, 0.2 * effects[0] + 0.4 * effects[3], lambda place: effects[place]) is None
    assert fitted(6, effects[0], lambda place: None) is None


def test_a_factor_of_one_head_is_found_whatever_it_is():
    edit = at("mixed", part(lambda x: x * np.float32(1.37), 1, [2]))
    assert causes(found("attention", ATTENTION, PARTS, edit)) == {"missing-multiplier"}


def test_rows_that_are_routed_otherwise_at_ties_do_not_count():
    reading = Reading("moe", MOE | {"decode_from": PROMPT}, EXPERTS)
    right = FORMULAS["moe"](reading.spec, EXPERTS, {"x": X})
    rows = sure(reading, Sides({"x": X}, right))
    assert rows is not None
    assert 0.4 < rows.mean() <= 1
    assert late_noise(reading, Sides({"x": X}, 1.01 * right)) > 0
    assert sure(Reading("mlp", GATED, MLP), Sides({"x": X}, right)) is None


class Captured(Run):
    """A run that has what projections gave."""

    def __init__(self, outputs):
        self.outputs = outputs

    def get(self, module, side, element=0):
        return self.outputs.get(module.rpartition(".")[2]) if side == "out" else None


@pytest.mark.parametrize("behind", [False, True])
def test_a_bias_that_comes_behind_the_rotation_is_not_missing(behind):
    bias = np.linspace(-1, 1, 32, dtype=np.float32)
    given = {f"{part}_proj": X @ PARTS[f"{part}.weight"].T for part in "qkv"}
    later = bias.reshape(4, 1, CHANNELS)
    edit = at("q.turned", lambda x: x + later) if behind else None
    output = FORMULAS["attention"](ATTENTION | {"edit": edit}, PARTS, {"x": X})
    right = Reading("attention", ATTENTION, PARTS | {"q.bias": bias})
    module = Module("layers.0.self_attn", right, Sides({"x": X}, output), 0.01)
    assert differs(module, ["q_proj", "k_proj", "v_proj"], Captured(given), 3.0) is behind
    assert not differs(module, ["q_proj"], Captured(given), 3.0)
