"""When a cause that explains a module is not sure."""

import pytest

from modelmedic.probes.replay.doubts import usual, with_doubt
from modelmedic.probes.replay.emission import rival_of
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.hypotheses import all_hypotheses
from modelmedic.probes.replay.modules import Module, Sides, Trial
from modelmedic.probes.replay.phases import WHERE
from modelmedic.probes.replay.spec import Reading

from .test_trials import EXPERTS, MLP, MOE

np = pytest.importorskip("numpy")
KNOWN = {each.id: each for each in all_hypotheses()}
MARK, OTHER = (1.0, 2.0, 3.0), (1.0, 9.0, 3.0)


def trial(name, ratio=1.0, mark=MARK, **more):
    return Trial(KNOWN[name], ratio, "says", mark=mark, **more)


@pytest.mark.parametrize(("name", "ratio", "sound", "sure"), [
    ("linear-factor", 1.2, 1.0, True), ("linear-factor", 1.5, 1.0, False),
    ("linear-factor", 1.5, 1.4, True), ("activation-read", 1.5, 1.0, False),
    ("window-added", 1.5, 1.0, False), ("rope-missing", 1.5, 1.0, True),
    ("linear-factor", 5.0, 1.0, True),
])  # fmt: skip
def test_numbers_that_were_looked_for_have_to_leave_rounding_alone(name, ratio, sound, sure):
    found = with_doubt((trial(name, ratio),), sound, 12.0)
    rival = rival_of(found[0], found, 100.0)
    assert (rival is None) is sure
    if rival is not None:
        assert rival.hypothesis.cause == "computed-otherwise"
        assert rival.r_ratio == ratio


def test_sound_modules_say_what_rounding_is():
    assert usual([]) == usual([0.7, 0.8]) == 1.0
    assert usual([1.5, 1.4, 1.6]) == 1.5


@pytest.mark.parametrize(("mark", "rival"), [(MARK, True), (OTHER, False)])
@pytest.mark.parametrize("phase", [True, False])
def test_the_same_output_by_another_cause_is_a_rival(mark, rival, phase):
    first = trial("cache-frozen-at")
    says = f"says, {WHERE['decode']}" if phase else "says, in channels 0 to 3 only"
    second = trial("rope-missing", mark=mark)._replace(limited=True, says=says)
    assert (rival_of(first, [first, second], 100.0) is not None) is (rival and phase)


def test_a_value_that_is_looked_for_is_no_rival_of_a_known_one_though_it_gives_the_same():
    first, second = trial("attention-scale"), trial("queries-or-keys-scaled")
    assert rival_of(first, [first, second], 100.0) is None
    first = trial("attention-scale-any")
    assert rival_of(first, [first, second], 100.0) is second


@pytest.mark.parametrize(("plain", "sure"), [(6.0, False), (30.0, True)])
def test_where_little_is_wrong_less_may_be_left(plain, sure):
    assert (len(with_doubt((trial("norm-eps-any", 1.2),), 1.0, plain)) == 1) is sure


@pytest.mark.parametrize(("family", "spec", "weights", "wrong", "sure"), [
    ("moe", MOE, EXPERTS, 2, False), ("moe", MOE, EXPERTS, 40, True),
    ("mlp", {"act": "silu", "gated": True}, MLP, 2, True),
])  # fmt: skip
def test_few_bits_move_every_token_and_a_near_tie_of_experts_some(
    family, spec, weights, wrong, sure
):
    """Few bits explain a module with ``wrong`` of 40 tokens off."""
    x = np.random.default_rng(3).normal(size=(2, 20, 32)).astype(np.float32)
    right = FORMULAS[family](spec, weights, {"x": x})
    output = right.copy()
    output.reshape(40, 32)[:wrong] += 0.1
    module = Module("m", Reading(family, spec, weights), Sides({"x": x}, output), noise=0.02)
    found = with_doubt((trial("all-weights-rounded"),), 1.0, 100.0, module)
    assert (len(found) == 1) is sure
