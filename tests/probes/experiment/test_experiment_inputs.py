"""Experiment folders as they come: cut, binary, of another form, unreadable, hostile."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modelmedic.probes.experiment.probe import gather_experiment
from modelmedic.probes.experiment.recognition import looks_like_experiment

JSON_FILES = (
    "model_tree/model_tree_source_full.json", "component_mapping.json",
    "class_divergence_report.json", "results/stage1.json", "results/stage2.json",
    "results/stage3.json", "results/teacher_forced.json", "results/stage7/stage7_summary.json",
    "calibrated_thresholds.json", "results/stage6.json",
)  # fmt: skip


@pytest.mark.parametrize("name", JSON_FILES)
@pytest.mark.parametrize(
    "content", [b"", b'{"results": [', b"\x00\xff\xfe" * 50, b"[" * 5_000, b"null"]
)
def test_a_bad_file_costs_that_file_only(whole, vocabulary, name, content):
    (whole.root / name).parent.mkdir(parents=True, exist_ok=True)
    (whole.root / name).write_bytes(content)
    outcome = gather_experiment(whole.root, vocabulary)
    places = {(p.code, os.path.basename(p.where.path)) for p in outcome.problems if p.where}
    assert places == {("MM501", os.path.basename(name))}
    assert len(outcome.facts) > 40


def test_a_file_that_may_not_be_read(whole, vocabulary):
    (whole.root / "results/stage2.json").chmod(0)
    if os.access(whole.root / "results/stage2.json", os.R_OK):
        pytest.skip("this user may read everything")
    outcome = gather_experiment(whole.root, vocabulary)
    assert [p.code for p in outcome.problems] == ["MM500"]


def test_a_folder_in_place_of_a_file(whole, vocabulary):
    (whole.root / "results/stage3.json").unlink()
    (whole.root / "results/stage3.json").mkdir()
    outcome = gather_experiment(whole.root, vocabulary)
    assert [p.code for p in outcome.problems] == ["MM500"]


def test_no_folder(tmp_path, vocabulary):
    (problem,) = gather_experiment(tmp_path / "none", vocabulary).problems
    assert problem.code == "MM504"


def test_an_empty_folder_says_what_is_missing(tmp_path, vocabulary):
    outcome = gather_experiment(tmp_path, vocabulary)
    assert outcome.problems == ()
    assert {dict(f.values).get("status") for f in outcome.facts if f.kind == "stage_result"} == {
        "missing"
    }


@pytest.mark.deep
def test_the_bounds_hold(experiment, vocabulary):
    rows = [{"component": f"c{i}", "r_ratio": 2.0, "passed": False} for i in range(3_000)]
    experiment.write("results/stage2.json", {"results": rows})
    pairs = [[["a.{i}.{j}.{k}.{l}"], ["b.{i}"]]] * 3
    experiment.write("component_mapping.json", {
        "component_mapping": pairs, "variables": {n: list(map(str, range(300))) for n in "ijkl"},
    })  # fmt: skip
    facts = gather_experiment(experiment.root, vocabulary).facts
    assert sum(fact.kind == "component_result" for fact in facts) == 2_000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["rotary", "layers.{i}", "model.mlp", "step", "{x}"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["results", "component", "r_ratio", "bc", "passed", "faults", "num_faults", "error",
             "component_mapping", "variables", "reasoning", "mapping_size", "name", "names",
             "type", "children", "divergences", "aggregate", "per_prompt", "cosine", "kl", "p95",
             "p5", "per_position_cosine", "top1_agreement", "token_matching", "match_rate",
             "per_prompt_results", "lm_eval", "lm_eval_hf", "comparison", "tau_r", "num_ports",
             "primary_fault", "method", "enhanced_metrics", "accuracy_analysis", "scores"]
        ),
        inner, max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(st.dictionaries(st.sampled_from(JSON_FILES), VALUES, min_size=1, max_size=5))
def test_it_never_raises(tmp_path, vocabulary, files):
    for name in JSON_FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).unlink(missing_ok=True)
    for name, value in files.items():
        (tmp_path / name).write_text(json.dumps(value), "utf-8")
    looks_like_experiment(tmp_path)
    outcome = gather_experiment(tmp_path, vocabulary)
    assert all(p.code.startswith("MM50") for p in outcome.problems), outcome.problems
