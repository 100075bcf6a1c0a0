"""A mistake that holds in a part only (heads, experts, channels, positions, a phase of a sum), and
mistakes that have two names."""

from types import SimpleNamespace
from typing import Any

import pytest

from modelmedic.probes.replay import joints_tried
from modelmedic.probes.replay.emission import rival_of, shown
from modelmedic.probes.replay.formula.few_bits import in_format
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides
from modelmedic.probes.replay.phases import failing_phase
from modelmedic.probes.replay.replaying import Replayed
from modelmedic.probes.replay.spec import Reading
from modelmedic.probes.replay.sums import Joint
from modelmedic.probes.replay.trials import try_all
from modelmedic.probes.replay.weight_orders import Around

from .test_trials import ALL, ATTENTION, CHANNELS, EXPERTS, MLP, MOE, OWN, PARTS, PROMPT, WIDTH

np = pytest.importorskip("numpy")
GATED = {"act": "silu", "gated": True}


def tried(family, spec, parts, wrong):
    """The trials of a module whose output is ``wrong(right, x)``."""
    random = np.random.default_rng(7)
    x = random.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5
    reading = Reading(family, dict(spec), parts)
    right = FORMULAS[family](reading.spec, parts, {"x": x})

    def noisy(values):
        return values * (1 + np.float32(0.002) * random.normal(size=values.shape)).astype("f4")

    output, low = noisy(wrong(right, x)), noisy(right)
    phase = failing_phase(reading, (right, low), (right, output), 3.0)
    sides = Sides({"x": x, "inputs": list, "siblings": list}, output)
    noise = float(np.linalg.norm(low - right))
    module = Module("layers.1.m", reading, sides, noise, phase=phase, rounding=right - low)
    around = Around(reading.spec, lambda by: {}, lambda name: None)
    return Replayed("layers.1.m", family, module.ratio(reading), tuple(try_all(module, around)))


def firm(found):
    """The cause and the words of the best trial, if none of another cause comes near."""
    best = next(shown(found))
    rival = rival_of(best, found.trials, found.r_ratio)
    assert best.r_ratio < 1.8, found.trials[:3]
    assert rival is None or rival.r_ratio >= 2 * best.r_ratio, (best, rival)
    return best.hypothesis.cause, best.says


def heads_of(spec, x):
    """The output of the heads, before they are joined."""
    kept: dict[str, Any] = {}
    FORMULAS["attention"]({**spec, "edit": kept.setdefault},
                          PARTS, {"x": x})  # fmt: skip
    return kept["mixed"]


def of_heads(change, heads):
    def wrong(right, x):
        plain, other = heads_of(ATTENTION, x), heads_of({**ATTENTION, **change}, x)
        joined = plain.copy()
        joined[:, heads] = other[:, heads]
        return joined.swapaxes(1, 2).reshape(2, ALL, -1) @ PARTS["o.weight"].T

    return wrong


@pytest.mark.parametrize(("change", "cause"), [
    ({"window": 5}, "attention-window-wrong"), ({"mask": "strict-but-first"}, "wrong-masking"),
    ({"rope_layout": "interleaved"}, "rope-layout-wrong"),
])  # fmt: skip
def test_heads_of_one_rank(change, cause):
    found, says = firm(tried("attention", ATTENTION, PARTS, of_heads(change, [2, 3])))
    assert found == cause
    assert "heads 2, 3 only" in says


def test_one_of_the_experts():
    def wrong(right, x):
        parts = {name: values.copy() for name, values in EXPERTS.items()}
        parts["experts.gate"][3], parts["experts.up"][3] = (
            EXPERTS["experts.up"][3], EXPERTS["experts.gate"][3])  # fmt: skip
        return FORMULAS["moe"](MOE, parts, {"x": x})

    found, says = firm(tried("moe", MOE, EXPERTS, wrong))
    assert found == "weight-layout-mismatch"
    assert "of experts 3 only" in says


def test_inner_channels_of_one_rank():
    def wrong(right, x):
        parts = {name: values.copy() for name, values in MLP.items()}
        parts["gate.weight"][24:] = MLP["up.weight"][24:]
        parts["up.weight"][24:] = MLP["gate.weight"][24:]
        return FORMULAS["mlp"](GATED, parts, {"x": x})

    found, says = firm(tried("mlp", GATED, MLP, wrong))
    assert found == "weight-layout-mismatch"
    assert "4, 5, 6, 7 only" in says


def test_a_row_of_the_batch():
    def wrong(right, x):
        other = FORMULAS["mlp"]({**GATED, "act": "gelu"}, MLP, {"x": x})
        return np.stack((right[0], other[1]))

    found, says = firm(tried("mlp", GATED, MLP, wrong))
    assert found == "activation-mismatch"
    assert "in rows of the batch 1 only" in says


def test_channels_that_are_zero_are_a_rank_or_a_weight_and_while_decoding_a_rank():
    def wrong(right, x):
        return np.concatenate((right[..., :16], right[..., 16:] * 0), axis=-1)

    found = tried("linear", {"width": 32}, OWN, wrong)
    causes = {each.hypothesis.cause for each in found.trials if each.r_ratio < 1.8}
    assert causes == {"tp-reduction-missing", "weights-not-loaded"}
    decoding = tried("linear", {"width": 32, "decoding": True}, OWN, wrong)
    assert firm(decoding)[0] == "tp-reduction-missing"


def test_a_single_channel_is_no_rank():
    def wrong(right, x):
        return np.concatenate((right[..., :5], right[..., 5:6] * 16, right[..., 6:]), axis=-1)

    found = tried("linear", {"width": 32}, OWN, wrong)
    assert not any(each.r_ratio < 1.8 and each.hypothesis.cause != "computed-otherwise"
                   for each in found.trials)  # fmt: skip


def run(x, branch, total):
    there = {("layers.0", "in", 0): x, ("layers.0.attn", "out", 0): branch,
             ("layers.0", "out", 0): total}  # fmt: skip
    return SimpleNamespace(get=lambda *place: there.get(tuple(place)),
                           has=lambda *place: tuple(place) in there)  # fmt: skip


@pytest.mark.parametrize(("wrong", "words"), [
    (lambda total, x: np.concatenate((total[:, :PROMPT], (total - x)[:, PROMPT:]), axis=1),
     "while decoding only"),
    (lambda total, x: np.concatenate((total[..., :16], (total - x)[..., 16:]), axis=-1),
     "in channels 16 to 31 only"),
])  # fmt: skip
def test_a_sum_that_lacks_a_branch_in_a_part(wrong, words):
    random = np.random.default_rng(3)
    x, branch = (random.normal(size=(2, ALL, WIDTH)).astype(np.float32) for _ in range(2))
    total = x + branch
    low = total * (1 + np.float32(0.002) * random.normal(size=total.shape)).astype("f4")
    runs = [run(x, branch, each) for each in (total, low, wrong(total, x))]
    places = (("layers.0", "in", 0), ("layers.0.attn", "out", 0))
    joint = Joint("layers.0", ("layers.0", "out", 0), places, (1.0, 1.0), ())
    one = joints_tried.checked(joint, runs)
    assert one is not None
    best = joints_tried.tried(one, [one], runs, 3.0, PROMPT)[0]
    assert best.r_ratio < 1.8
    assert best.hypothesis.cause == "residual-multiplier-wrong"
    assert "the input of layers.0 is not added" in best.says
    assert best.says.endswith(words)


def test_of_two_names_of_the_same_arithmetic_one_is_told():
    """Scores by another factor also result from norms by the sum of squares."""
    spec = {**ATTENTION, "qk_norm": "head", "qk_normed": True, "norm_kind": "rms", "norm_eps": 0.0}
    ones = {f"{side}_norm.weight": np.ones(CHANNELS, np.float32) for side in "qk"}

    def wrong(right, x):
        other = {**spec, "scale": spec["scale"] / CHANNELS}
        return FORMULAS["attention"](other, PARTS | ones, {"x": x})

    cause, says = firm(tried("attention", spec, PARTS | ones, wrong))
    assert cause == "attention-scale-wrong"
    assert "the same thing as: norms of queries and keys divide by another figure (sum)" in says


def test_numbers_of_eight_bits():
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(1)
    values = (random.normal(size=4_000) * np.exp(random.normal(size=4_000) * 3)).clip(-400, 400)
    values = values.astype(np.float32)
    for name, kind in (("F8_E4M3", torch.float8_e4m3fn), ("F8_E5M2", torch.float8_e5m2)):
        assert np.array_equal(torch.tensor(values).to(kind).float().numpy(),
                              in_format(values, name))  # fmt: skip
    assert in_format(np.float32([1e6, -1e6]), "F8_E4M3").tolist() == [448, -448]
