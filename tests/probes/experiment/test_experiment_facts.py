"""Experiment folders -> facts, stage by stage and in both revisions of the files."""

import os

import pytest

from modelmedic.probes.experiment.probe import gather_experiment
from modelmedic.probes.experiment.recognition import looks_like_experiment

from .conftest import mapping, node, source_tree, target_tree


def facts(experiment, vocabulary, kind, **options):
    outcome = gather_experiment(experiment.root, vocabulary, **options)
    return [dict(fact.values) for fact in outcome.facts if fact.kind == kind]


def states(experiment, vocabulary, **options):
    return {f["stage"]: f["status"] for f in facts(experiment, vocabulary, "stage_result",
                                                   **options)}  # fmt: skip


def test_a_sound_port_is_read_without_a_problem(whole, vocabulary):
    outcome = gather_experiment(whole.root, vocabulary)
    assert outcome.problems == ()
    assert {fact.provenance[0].source for fact in outcome.facts} == {"probe:experiment"}
    assert states(whole, vocabulary) == dict.fromkeys((0, 1, 2, 3, 5, 6, 7), "done")
    assert not facts(whole, vocabulary, "fault")
    assert gather_experiment(whole.root, vocabulary) == outcome


def test_partial_folders_have_states(experiment, vocabulary):
    experiment.stage0()
    assert states(experiment, vocabulary)[0] == "done"
    assert states(experiment, vocabulary)[1] == "missing"
    experiment.stage1(0.2)
    assert states(experiment, vocabulary)[1] == "failed"
    experiment.stage2(mlp=14.0)
    found = states(experiment, vocabulary)
    assert (found[2], found[3], found[4]) == ("failed", "missing", "missing")
    experiment.write("patches/fix_mlp.py", "def apply():\n    pass\n")
    assert states(experiment, vocabulary)[4] == "done"


def test_expected_differences_are_told_from_real_ones(whole, vocabulary):
    found = facts(whole, vocabulary, "structure_difference")
    assert {(f["difference"], f["module"], f.get("count")) for f in found} == {
        ("type-changed", "embed_tokens", 1), ("type-changed", "layers.0", 3),
        ("type-changed", "layers.0.self_attn", 3), ("regrouped", "layers.0.self_attn.q_proj", 3),
        ("regrouped", "layers.0.self_attn.k_proj", 3),
        ("regrouped", "layers.0.self_attn.v_proj", 3),
        ("type-changed", "layers.0.self_attn.o_proj", 3), ("type-changed", "layers.0.mlp", 3),
        ("regrouped", "layers.0.mlp.gate_up_proj", 3),
        ("type-changed", "layers.0.mlp.down_proj", 3),
        ("type-changed", "layers.0.input_layernorm", 3),
        ("type-changed", "layers.0.post_attention_layernorm", 3), ("type-changed", "norm", 1),
        ("moved", "rotary_emb", 1), ("type-changed", "lm_head", 1),
        ("extra-in-target", "kv_mgr", 1), ("extra-in-target", "rank_util", 1),
        ("extra-in-target", "layers.0.self_attn.o_proj.o_proj", 3),
        ("extra-in-target", "layers.1.self_attn.rotary_emb", 2),
    }  # fmt: skip
    gate_up = next(f for f in found if f["module"].endswith("gate_up_proj"))
    assert gate_up["target_value"] == "gate_proj, up_proj"


def test_a_module_without_counterpart_is_missing(experiment, vocabulary):
    source = source_tree()
    source["children"][0]["children"].append(node("gate", "ToyRouter", node("weight", "Linear")))
    experiment.stage0(source=source)
    missing = [f for f in facts(experiment, vocabulary, "structure_difference")
               if f["difference"] == "missing-in-target"]  # fmt: skip
    assert [(f["module"], f["reasoned"]) for f in missing] == [("gate", False)]
    checks = {f["problem"]: f["present"] for f in facts(experiment, vocabulary, "mapping_check")}
    assert checks["unmapped-source"] is True
    assert checks["unmapped-target"] is False


@pytest.mark.parametrize("kept", ["_full.json", ".json", "_flat_paths.txt"])
def test_every_form_of_the_tree_is_read(experiment, vocabulary, kept):
    experiment.stage0(target=target_tree(5))
    for side in ("source", "target"):
        for end in ("_full.json", ".json", "_flat_paths.txt"):
            if end != kept:
                (experiment.root / f"model_tree/model_tree_{side}{end}").unlink()
    counts = {f["side"]: f["count"] for f in facts(experiment, vocabulary, "layer_count")}
    assert counts == {"source": 3, "target": 5}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"mapping_size": 3}, "size-mismatch"),
        ({"variables": {}}, "undefined-variable"),
        ({"component_mapping": [["model.lm_head", "model.lm_head"]]}, "entry-shape"),
        ({"component_mapping": [[["model.head"], ["model.lm_head"]]]}, "unknown-path"),
        ({"reasoning": {}}, "unmapped-target"),
    ],
)
def test_faults_of_the_mapping(experiment, vocabulary, change, problem):
    experiment.stage0(pairs=mapping() | change)
    checks = {f["problem"]: f["present"] for f in facts(experiment, vocabulary, "mapping_check")}
    assert checks[problem] is True


def test_a_sound_mapping_has_no_faults(whole, vocabulary):
    checks = facts(whole, vocabulary, "mapping_check")
    assert {f["problem"] for f in checks} >= {"entry-shape", "undefined-variable", "unknown-path"}
    assert not any(f["present"] for f in checks)


def test_a_rotary_is_part_of_a_layer(experiment, vocabulary):
    """Whichever side of the layer makes it: its fault is not a fault of the composition."""
    experiment.stage0().stage2(rotary=131.4, decoder_layer=22.0)
    rows = {f["component"]: f for f in facts(experiment, vocabulary, "component_result")}
    assert rows["decoder_layer"]["leaves"] == "fail"


def test_components_keep_order_family_and_containment(experiment, vocabulary):
    experiment.stage0().stage2(rotary=131.4, lm_head=None, mlp=2.0, decoder_layer=1.1)
    rows = {f["component"]: f for f in facts(experiment, vocabulary, "component_result")}
    assert [rows[name]["index"] for name in ("rmsnorm", "rotary", "mlp")] == [0, 1, 2]
    assert rows["lm_head"]["status"] == "error"
    assert rows["lm_head"]["state"] == "missing"
    assert rows["decoder_layer"]["leaves"] == "fail"
    assert rows["decoder_layer"]["composite"] is True
    assert {name: f["family"] for name, f in rows.items()} == {
        "rmsnorm": "norm", "rotary": "rotary", "mlp": "mlp", "attention_qkv": "attention",
        "lm_head": "lm-head", "decoder_layer": "layer", "embedding": "embedding",
        "linear": "linear",
    }  # fmt: skip


def test_a_fault_is_a_step_if_what_contains_it_fails_too(experiment, vocabulary):
    experiment.stage0().stage2(attention_qkv=4.0, mlp=14.0, decoder_layer=11.0)
    experiment.stage3(("mlp", 14.0, "spike", "missing_algorithm"))
    found = {f["component"]: f for f in facts(experiment, vocabulary, "fault")}
    assert [found[name]["shape"] for name in ("mlp", "attention_qkv")] == ["step", "step"]
    assert found["decoder_layer"]["shape"] == "unknown"
    assert [found[name]["step_order"] for name in ("mlp", "attention_qkv")] == [1, 2]
    assert found["mlp"]["script_pattern"] == "spike"
    assert found["mlp"]["script_primary"] is True
    assert found["mlp"]["target_paths"] == "layers.{i}.mlp"
    experiment.stage2(mlp=14.0)
    (fault,) = facts(experiment, vocabulary, "fault")
    assert fault["shape"] == "spike"


def test_not_a_number_is_a_state(experiment, vocabulary):
    text = ('{"results": [{"component": "mlp", "r_ratio": NaN, "passed": false}, '
            '{"component": "norm", "r_ratio": Infinity, "passed": false}]}')  # fmt: skip
    experiment.write("results/stage2.json", text)
    rows = facts(experiment, vocabulary, "component_result")
    assert [row["state"] for row in rows] == ["nan", "infinite"]


def test_the_older_revision_of_stage_1(experiment, vocabulary):
    prompts = [{"prompt": "a", "match_rate": 0.5, "matching_tokens": 16, "total_tokens": 32,
                "first_divergence_idx": 9, "hf_output": "x", "neuron_output": "x"}]  # fmt: skip
    experiment.write("results/stage1.json", {
        "token_matching": {"match_rate": 0.5, "num_prompts_tested": 1,
                           "per_prompt_results": prompts},
        "enhanced_metrics": {"enhanced_metrics_available": True,
                             "logit_cosine_similarity_mean": 0.997},
    })  # fmt: skip
    (smoke,) = facts(experiment, vocabulary, "smoke_result")
    assert smoke == {"check": "token-matching", "match_rate": 0.5, "prompts": 1, "full_share": 0,
                     "cosine_mean": 0.997, "first_divergence": 9, "text_equal": True}  # fmt: skip
    assert states(experiment, vocabulary)[1] == "done"
    (run,) = facts(experiment, vocabulary, "port_run")
    assert run["script_revision"] == "older"


def test_a_device_error_compares_nothing(experiment, vocabulary):
    experiment.write("results/stage1.json", {"passed": False, "error": "no neuron_config.json"})
    (smoke,) = facts(experiment, vocabulary, "smoke_result")
    assert smoke["error"] == "no neuron_config.json"
    result = facts(experiment, vocabulary, "stage_result")[1]
    assert (result["status"], result["reason"]) == ("failed", "error")


def test_the_figures_of_stages_5_and_6(experiment, vocabulary):
    experiment.stage56(r_p95=2.5, cosine_p5=0.9)
    found = {f["metric"]: f for f in facts(experiment, vocabulary, "e2e_result")}
    assert found["r_ratio_p95"]["value"] == 2.5
    assert found["cosine_tail"]["value"] == pytest.approx(1 / 3)
    assert found["cosine_tail"]["position"] == 1
    assert found["top1_agreement"]["value"] == 1
    state = states(experiment, vocabulary)
    assert (state[5], state[6]) == ("failed", "failed")


def test_the_plugin_form_of_stage_5(experiment, vocabulary):
    experiment.write("results/teacher_forced.json", {
        "passed": False, "method": "accuracy_debugger_logit_validation", "num_prompts": 3,
        "plugin_results": {"prompt_0": "{'passed': False}"},
    })  # fmt: skip
    assert states(experiment, vocabulary)[5] == "failed"
    (run,) = facts(experiment, vocabulary, "port_run")
    assert run == {"target_stack": "vllm-neuron", "script_revision": "current"}


def test_benchmarks_have_delta_and_standard_error(whole, vocabulary):
    found = {f["task"]: f for f in facts(whole, vocabulary, "benchmark_result")}
    assert found["gsm8k_cot"]["delta"] == pytest.approx(0.005)
    assert found["gsm8k_cot"]["samples"] == 200
    assert found["gsm8k_cot"]["stderr"] == pytest.approx(0.0486, abs=1e-3)
    assert {f["group"] for f in found.values()} == {"reasoning", "knowledge"}
    (setup,) = facts(whole, vocabulary, "benchmark_setup")
    assert setup == {"hf_baseline": True, "baseline_nested": False, "baseline_present": True}


def test_calibration_replaces_limits(experiment, vocabulary):
    experiment.stage2(mlp=1.25)
    assert facts(experiment, vocabulary, "fault")
    experiment.write("calibrated_thresholds.json", {"tau_r": 1.3, "delta": 0.1, "num_ports": 3})
    limits = {f["limit"]: f["calibrated"] for f in facts(experiment, vocabulary,
                                                         "calibrated_limit")}  # fmt: skip
    assert limits == {"tau_r": True, "delta": False}


def test_calibration_by_type_gives_a_limit_to_components_of_that_type(experiment, vocabulary):
    experiment.stage2(mlp=1.25)
    by_type = {"tau_r_by_type": {"mlp": 1.43, "router": 1.2}}
    experiment.write("calibrated_thresholds.json", {"tau_r": 1.3, **by_type})
    assert not facts(experiment, vocabulary, "component_limit")  # no port is behind these figures
    experiment.write("calibrated_thresholds.json", {"tau_r": 1.3, "num_ports": 3, **by_type})
    (limit,) = facts(experiment, vocabulary, "component_limit")
    assert limit == {"component": "mlp", "type": "mlp", "value": 1.43}


def test_times_count_only_where_they_can_mean_something(whole, vocabulary):
    assert not any("written" in f for f in facts(whole, vocabulary, "stage_result"))
    os.utime(whole.root / "results/stage2.json", (1_000_000, 1_000_000))
    found = {f["stage"]: f.get("written") for f in facts(whole, vocabulary, "stage_result")}
    assert found[2] == 1_000_000
    assert found[1] > 1_000_000
    assert not any("written" in f for f in facts(whole, vocabulary, "stage_result",
                                                 use_times=False))  # fmt: skip


def test_test_files_are_parsed_not_run(experiment, vocabulary):
    experiment.tests()
    bad = "def test_x():\n    try:\n        pass\n    except ValueError:\n        pass\n"
    experiment.write("tests/test_09_mlp.py", bad)
    experiment.write("tests/conftest.py", "HIDDEN = 0\nNAME = '{MODEL_NAME}'\nLAYERS = 3\n")
    (breach,) = facts(experiment, vocabulary, "conduct_breach")
    assert breach["file"] == "tests/test_09_mlp.py"
    (state,) = facts(experiment, vocabulary, "conftest_state")
    assert (state["unfilled"], state["names"]) == (2, "HIDDEN, NAME")
    families = {f["family"] for f in facts(experiment, vocabulary, "test_file")}
    assert families == {"rmsnorm", "embedding", "linear", "rotary", "mlp", "attention", "lm-head",
                        "decoder-layer"}  # fmt: skip


def test_recognition(whole, tmp_path):
    assert looks_like_experiment(whole.root)
    (tmp_path / "other" / "results").mkdir(parents=True)
    (tmp_path / "other" / "results" / "stage1.json").write_text("{}")
    assert not looks_like_experiment(tmp_path / "other")
    assert not looks_like_experiment(tmp_path / "nothing")
    assert not looks_like_experiment(whole.root / "component_mapping.json", b"{")
