"""The meaning of the figures of a series, on series whose course is known."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.probes.shared import series_statistics as stats
from modelmedic.probes.shared.series_statistics import Interval

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


def noisy(course, sd, seed=1):
    spread = random.Random(seed)
    return [value + spread.gauss(0, sd) for value in course]


COURSES = [
    ("falling", noisy([2 - i / 100 for i in range(100)], 0.1)),
    ("falling", [5 * 0.6**i for i in range(9)]),
    ("falling", [5, 4, 3, 2, 1]),
    ("rising", noisy([0.2 + i / 200 for i in range(100)], 0.1)),
    ("flat", [0.5] * 20),
    ("flat", [0.5, 0.5, 0.49999994]),
    ("flat", noisy([1.0] * 200, 0.2)),
    ("turning-up", noisy([1 + abs(i - 30) / 30 for i in range(60)], 0.05)),
    ("turning-up", [3, 2, 1.2, 1.1, 1.6, 2.4]),
    ("turning-down", noisy([1 - abs(i - 30) / 30 for i in range(60)], 0.05)),
    ("unstable", [1, 10] * 10),
    (None, [1.0]),
    (None, [4, 3, 2, 1]),
]


@pytest.mark.parametrize(("course", "values"), COURSES)
def test_the_trend_names_the_course(course, values):
    assert stats.trend(values) == course


@pytest.mark.parametrize("seed", range(20))
def test_noise_without_a_course_is_flat(seed):
    assert stats.trend(noisy([2.0] * 60, 0.3, seed)) == "flat"


def test_a_drop_is_measured_from_the_best_part_to_the_end():
    fallen = [0.1, 0.5, 0.9, 0.9, 0.9, 0.9, 0.3, 0.1, 0.1, 0.1, 0.1]
    assert stats.drop(fallen) == pytest.approx(8 / 9)
    assert stats.drop(noisy([i / 50 for i in range(60)], 0.001)) == 0
    assert stats.drop([-1.0] * 10 + [-3.0] * 10) == pytest.approx(2)
    assert stats.drop([0.0] * 10) is None
    assert stats.drop([1, 0, 0]) is None


def test_spikes_stand_far_above_their_neighbours():
    values = noisy([1.0] * 60, 0.05)
    assert stats.spikes(values) == 0
    values[20], values[40] = 9, 5
    assert stats.spikes(values) == 2
    assert stats.spikes([1, 2, 30]) is None
    assert stats.spikes([1.0] * 10) == 0


@pytest.mark.parametrize(
    ("values", "alternates"),
    [
        ([0.82, 0.004, 0.80, 0.008, 0.81], True),
        ([9, 0.1, 0.1] * 6, True),
        ([9, 0.1] * 20 + [9, 9, 0.1], True),
        ([3.0, 0.01, 0.01, 0.01, 0.01, 0.01], False),
        ([0.8, 0.81, 0.8, 0.82, 0.8], False),
        ([9, 5, 9, 5, 9, 5], False),
        ([0.0] * 6, False),
    ],
)
def test_two_levels_in_a_pattern_alternate(values, alternates):
    found = stats.levels(values)
    assert found is not None
    assert found.alternates is alternates


def test_correlation_and_slope():
    rising = [1.0, 2, 3, 4, 5]
    assert stats.correlation(rising, [2.0, 4, 6, 8, 10]) == pytest.approx(1)
    assert stats.correlation(rising, rising[::-1]) == pytest.approx(-1)
    assert stats.correlation(rising, [1.0] * 5) is None
    assert stats.correlation([1.0, 2], [1.0, 2]) is None
    assert stats.slope([0, 10, 20], [1, 2, 3]) == pytest.approx(0.05)
    assert stats.slope([1], [1]) is None


def test_the_union_of_intervals_counts_each_moment_once():
    joined = stats.union([Interval(0, 2), Interval(1, 3), Interval(5, 6), Interval(5.2, 5.4)])
    assert joined == [(0, 3), (5, 6)]
    assert stats.length(joined) == 4


@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_any_numbers_have_figures(values):
    places = [float(i) for i in range(len(values))]
    for figure in (stats.slope(places, values), stats.variation(values), stats.noise(values)):
        assert figure is None or math.isfinite(figure)
    assert stats.trend(values) in (None, "flat", "falling", "rising", "turning-up",
                                   "turning-down", "unstable")  # fmt: skip
    stats.spikes(values)
    fallen = stats.drop(values)
    assert fallen is None or fallen >= 0
    stats.levels([abs(value) for value in values])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_keeps_six_digits(value):
    assert stats.rounded(value) == pytest.approx(value, rel=1e-5, abs=1e-300)
