"""Saved logits of a validation: what is computed of them, and what is not known."""

import numpy as np
import pytest

from modelmedic.engine import Diagnoser
from modelmedic.probes.logits.probe import gather_logits
from modelmedic.probes.logits.recognition import looks_like_logits

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.heavy
POSITIONS, VOCABULARY = 6, 2_000


@pytest.fixture(scope="module")
def doctor():
    return Diagnoser.load()


@pytest.fixture
def logits():
    """Logits of six positions whose best token is far ahead."""
    values = np.random.default_rng(5).normal(0, 3, (POSITIONS, 1, VOCABULARY))
    values[np.arange(POSITIONS), 0, np.arange(POSITIONS) * 7] = 20
    return values.astype(np.float32)


def saved(folder, **tensors):
    for name, values in tensors.items():
        torch.save(torch.tensor(values), folder / f"{name}_logits.pt")
    return folder


def comparison(outcome):
    found = [f for f in outcome.facts if f.kind == "logit_comparison"]
    return found[0] if found else None


def noisy(logits, size):
    return logits + np.random.default_rng(6).normal(0, size, logits.shape).astype(np.float32)


def firm(doctor, outcome):
    report = doctor.diagnose(outcome.facts, outcome.problems)
    return {d.id: d.confidence for d in report.diagnoses}


def test_a_port_within_the_limits_is_silent(tmp_path, logits, vocabulary, doctor):
    outcome = gather_logits(
        saved(tmp_path, reference=logits, target=noisy(logits, 0.01)), vocabulary
    )
    fact = comparison(outcome)
    assert fact.get("top5_error") < 0.011 and fact.get("first_failing") is None
    assert firm(doctor, outcome) == {}


def test_errors_are_those_of_the_formula(tmp_path, logits, vocabulary):
    target = logits.copy()
    target[2, 0, 14] -= 0.5  # the best logit, 20
    fact = comparison(gather_logits(saved(tmp_path, reference=logits, target=target), vocabulary))
    assert fact.get("top5_error") == pytest.approx(0.5 / 20, rel=0.02)
    assert fact.get("all_error") == pytest.approx(0.5 / 20, rel=0.02)


def test_a_constant_shift_is_no_error(tmp_path, logits, vocabulary):
    fact = comparison(
        gather_logits(saved(tmp_path, reference=logits, target=logits + 4), vocabulary)
    )
    assert fact.get("all_error") < 1e-4


def test_prohibited_tokens_are_left_out(tmp_path, logits, vocabulary):
    target = logits.copy()
    target[:, 0, 1000:1100] = -np.inf
    fact = comparison(gather_logits(saved(tmp_path, reference=logits, target=target), vocabulary))
    assert fact.get("all_error") < 1e-4


def test_a_wrong_token_fails_where_it_stands(tmp_path, logits, vocabulary, doctor):
    target = logits[:1].copy()
    target[0, 0, 500] = 24
    outcome = gather_logits(saved(tmp_path, reference=logits[:1], target=target), vocabulary)
    assert comparison(outcome).get("first_failing") == 0
    assert "neuron.e2e.prefill-bug" in firm(doctor, outcome)


def test_where_nothing_agrees_errors_are_the_least_possible(tmp_path, logits, vocabulary, doctor):
    target = np.random.default_rng(9).normal(0, 3, logits.shape).astype(np.float32)
    outcome = gather_logits(saved(tmp_path, reference=logits, target=target), vocabulary)
    fact = comparison(outcome)
    assert fact.get("first_failing") is None and fact.get("top5_error") > 0.3
    assert "nowhere" in outcome.problems[0].message
    assert "neuron.distribution.excess-error" in firm(doctor, outcome)


def test_a_last_pass_that_is_too_short_to_place_is_no_failure(tmp_path, logits, vocabulary, doctor):
    target = np.concatenate([logits[5:], noisy(logits[:5], 5)])
    outcome = gather_logits(saved(tmp_path, reference=logits, target=target), vocabulary)
    assert comparison(outcome).get("all_error") < 1e-4 and firm(doctor, outcome) == {}


def test_errors_above_the_map_are_told(tmp_path, logits, vocabulary, doctor):
    outcome = gather_logits(
        saved(tmp_path, reference=logits, target=noisy(logits, 0.5)), vocabulary
    )
    assert comparison(outcome).get("first_failing") is None
    assert "neuron.distribution.excess-error" in firm(doctor, outcome)


def test_noise_of_the_precision_passes_in_three_ways(tmp_path, logits, vocabulary, doctor):
    folder = saved(tmp_path, baseline=logits, reference=noisy(logits, 0.5),
                   target=logits + noisy(logits * 0, 0.4))  # fmt: skip
    outcome = gather_logits(folder, vocabulary)
    assert comparison(outcome).get("ratio") < 1
    assert "neuron.distribution.excess-error" not in firm(doctor, outcome)


def test_a_near_tie_is_no_failing_token(tmp_path, logits, vocabulary):
    target = logits.copy()
    target[5, 0, 36] = target[5, 0, 35] + 0.05  # less than a step of BF16 at 20
    fact = comparison(gather_logits(saved(tmp_path, reference=logits, target=target), vocabulary))
    assert fact.get("first_failing") is None and 0 < fact.get("gap_steps") < 1


def test_the_last_pass_is_the_end_of_the_reference(tmp_path, logits, vocabulary):
    outcome = gather_logits(saved(tmp_path, reference=logits, target=logits[2:]), vocabulary)
    assert comparison(outcome).get("all_error") < 1e-4
    assert [p.code for p in outcome.problems] == ["MM514"]


def test_a_last_pass_of_full_length_is_found(tmp_path, logits, vocabulary):
    longer = np.concatenate([logits[2:], noisy(logits[:2], 5)])
    outcome = gather_logits(saved(tmp_path, reference=logits, target=longer), vocabulary)
    assert comparison(outcome).get("all_error") < 1e-4
    assert "token 2" in outcome.problems[0].message


def test_nan_fails_where_it_stands(tmp_path, logits, vocabulary):
    target = logits.copy()
    target[4, 0, 3] = np.nan
    outcome = gather_logits(saved(tmp_path, reference=logits, target=target), vocabulary)
    assert comparison(outcome).get("first_failing") is not None


@pytest.mark.parametrize("shape", [(3, 1, 10), (6, 2, 2000), (9, 1, 2000)])
def test_what_cannot_be_aligned_gives_no_figures(shape, tmp_path, logits, vocabulary):
    target = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    outcome = gather_logits(saved(tmp_path, reference=logits, target=target), vocabulary)
    assert comparison(outcome) is None and outcome.problems[0].code == "MM514"


def test_other_contents_are_told(tmp_path, logits, vocabulary):
    saved(tmp_path, reference=logits)
    (tmp_path / "target_logits.pt").write_bytes(b"\x80\x04cos\nsystem\n.")
    outcome = gather_logits(tmp_path, vocabulary)
    assert comparison(outcome) is None and outcome.problems[0].code in ("MM511", "MM512")
    (tmp_path / "target_logits.pt").unlink()
    assert gather_logits(tmp_path, vocabulary).problems[0].code == "MM510"
    torch.save(torch.zeros(4, 5), tmp_path / "target_logits.pt")
    assert gather_logits(tmp_path, vocabulary).problems[0].code == "MM513"


def test_too_much_is_left_out(tmp_path, logits, vocabulary):
    folder = saved(tmp_path, reference=logits, target=logits)
    outcome = gather_logits(folder, vocabulary, max_elements=100)
    assert {p.code for p in outcome.problems} == {"MM515"} and not outcome.facts


def test_the_folder_is_recognised(tmp_path):
    assert not looks_like_logits(tmp_path)
    (tmp_path / "logit_analysis_b0.html").touch()
    assert looks_like_logits(tmp_path) and not looks_like_logits(tmp_path, b"x")
    assert not looks_like_logits(tmp_path / "missing")
