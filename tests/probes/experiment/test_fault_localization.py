"""Laws of fault localization over Stage 2 results: steps, spikes, composites, order of suspects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.probes.experiment.components import Component, contains, normal_name
from modelmedic.probes.experiment.faults import rank, shape_of

LIMIT = 1.2
# A small model: every path contains those that go on from it.
PATHS = ("layers", "layers.attn", "layers.attn.qkv", "layers.attn.o", "layers.mlp", "embed", "head")
ratios = st.sampled_from([0.5, 1.0, 1.19, 1.2, 1.21, 5.0, 1e4])


def row(path, place, ratio, status=None):
    status = status or ("fail" if ratio >= LIMIT else "pass")
    return Component(path, "other", place, status, ratio, None, {}, (path,), (path,))


@st.composite
def results(draw):
    paths = draw(st.permutations(PATHS))
    chosen = paths[: draw(st.integers(1, len(paths)))]
    return [row(path, at, draw(ratios)) for at, path in enumerate(chosen)]


@given(results())
def test_a_step_fails_with_all_that_contains_it_and_a_spike_does_not(rows):
    for each in rows:
        around = [other for other in rows if contains(other, each)]
        assert {other.name for other in around} == {
            other.name for other in rows if each.name.startswith(f"{other.name}.")
        }
        expected = "unknown"
        if around:
            expected = "step" if all(other.r_ratio >= LIMIT for other in around) else "spike"
        assert shape_of(each, rows, LIMIT) == expected


@given(results(), st.randoms(use_true_random=False))
def test_the_shape_does_not_depend_on_the_order_of_the_tests(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert {r.name: shape_of(r, rows, LIMIT) for r in rows} == {
        r.name: shape_of(r, shuffled, LIMIT) for r in rows
    }


@given(results())
def test_suspects_are_the_failing_components_each_with_its_own_rank(rows):
    suspects = rank(rows, LIMIT)
    assert set(suspects) == {r.name for r in rows if r.r_ratio >= LIMIT}
    assert sorted(s.rank for s in suspects.values()) == list(range(1, len(suspects) + 1))


@given(results())
def test_no_composite_stands_before_its_failing_part(rows):
    suspects = rank(rows, LIMIT)
    for outer in rows:
        for inner in rows:
            if contains(outer, inner) and {outer.name, inner.name} <= suspects.keys():
                assert suspects[outer.name].rank > suspects[inner.name].rank
                assert suspects[outer.name].accounted


@given(results(), st.floats(1.2, 1e6))
def test_the_size_of_a_ratio_changes_no_rank(rows, ratio):
    larger = [r._replace(r_ratio=ratio if r.r_ratio >= LIMIT else r.r_ratio) for r in rows]
    assert rank(rows, LIMIT) == rank(larger, LIMIT)


@given(results())
def test_a_passing_composite_turns_steps_into_spikes(rows):
    steps = {n for n, s in rank(rows, LIMIT).items() if s.shape == "step"}
    if "layers" in {r.name for r in rows}:
        return
    more = [*rows, row("layers", len(rows), 1.0)]
    for name in steps:
        assert rank(more, LIMIT)[name].shape == "spike"


def test_the_script_calls_the_largest_step_the_primary_fault_and_we_the_earliest():
    rows = [row("layers.mlp", 0, 3.0), row("layers.attn", 1, 80.0), row("layers", 2, 90.0)]
    suspects = rank(rows, LIMIT)
    assert [n for n, _ in sorted(suspects.items(), key=lambda item: item[1].rank)] == [
        "layers.mlp", "layers.attn", "layers",
    ]  # fmt: skip


def test_the_last_tests_of_the_file_can_be_steps():
    """The script needs two later entries to call something a step."""
    rows = [row("layers", 0, 9.0), row("embed", 1, 1.0), row("layers.mlp", 2, 9.0)]
    assert shape_of(rows[2], rows, LIMIT) == "step"


def test_a_test_that_could_not_run_is_no_suspect():
    rows = [row("layers", 0, 9.0), row("layers.mlp", 1, None, "error")]
    assert list(rank(rows, LIMIT)) == ["layers"]


@pytest.mark.parametrize(
    ("written", "name"),
    [("RMSNorm", "rmsnorm"), ("test_03_rotary", "rotary"), ("Rotary Embedding", "rotary_embedding"),
     ("MLP_2", "mlp"), ("decoderLayer", "decoder_layer")],
)  # fmt: skip
def test_names_are_read_in_lower_case_with_underscores(written, name):
    assert normal_name(written) == name
