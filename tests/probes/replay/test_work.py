"""How much is computed of one failing module: a count that depends on sizes alone."""

import pytest

from modelmedic.probes.replay import modules
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.modules import Module, Sides
from modelmedic.probes.replay.phases import prompt_phase
from modelmedic.probes.replay.solving import solve
from modelmedic.probes.replay.spec import Reading
from modelmedic.probes.replay.trials import try_all
from modelmedic.probes.replay.weight_orders import Around

from .test_trials import ALL, ATTENTION, PARTS, WIDTH

np = pytest.importorskip("numpy")
EACH = 3
"""Outputs at the most for each that is tried: itself, with a rounded input, and of heads alone."""


def odd(name, value):
    return value + 2 * np.sin(3 * value) * np.roll(value, 3, -1) if name == "q.turned" else value


def outputs(monkeypatch, times):
    """How often attention that fails everywhere, for no known cause, is computed if it may be
    ``times`` times in phases and parts."""
    random = np.random.default_rng(7)
    x = random.normal(size=(2, ALL, WIDTH)).astype(np.float32) * 1.5
    reading = Reading("attention", dict(ATTENTION), PARTS)
    formula = FORMULAS["attention"]
    right = formula(reading.spec, PARTS, {"x": x})
    low = right * (1 + np.float32(0.002) * random.normal(size=right.shape)).astype("f4")
    output = formula({**ATTENTION, "edit": odd}, PARTS, {"x": x})
    output[0] = right[0]  # so that there is a part in which alone it fails
    sides = Sides({"x": x, "inputs": list, "siblings": list}, output)
    noise = float(np.linalg.norm(low - right))
    prompt = prompt_phase(reading, (right, low), (right, output), 3.0)
    assert prompt is not None
    module = Module("layers.1.m", reading, sides, noise, prompt=prompt, rounding=right - low)
    made = []

    def counted(*given):
        made.append(given)
        return formula(*given)

    numbers = sum(each.size for each in PARTS.values()) + 16 * output.size
    with monkeypatch.context() as patched:
        patched.setitem(FORMULAS, "attention", counted)
        patched.setattr(solve, "CLEAR", float("inf"))  # that search has a bound of its own
        patched.setattr(modules, "MOST_NUMBERS", times * numbers)
        assert modules.work_on(module).left == times
        try_all(module, Around(reading.spec, lambda by: {}, lambda name: None))
    return len(made)


@pytest.mark.deep
def test_what_is_tried_in_phases_and_parts_is_bounded(monkeypatch):
    without = outputs(monkeypatch, 0)
    few, more, all_there_is = (outputs(monkeypatch, times) for times in (50, 100, 100_000))
    assert without < few <= without + EACH * 50
    assert few < more <= without + EACH * 100
    assert more < all_there_is
    assert outputs(monkeypatch, 100) == more


def test_a_larger_module_is_tried_less_often():
    def left(width):
        weights = {"own.weight": np.zeros((width, width), np.float32)}
        sides = Sides({}, np.zeros((2, 64, width), np.float32))
        return modules.work_on(Module("m", Reading("linear", {}, weights), sides, 1.0)).left

    assert left(64) > 10 * left(768) > 10 * left(8_192)
    assert left(768) < 4_000
