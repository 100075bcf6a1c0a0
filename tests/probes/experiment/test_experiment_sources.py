"""Facts that the settings, the sources of tests and patches, and the times of files add."""

import os

import pytest

from modelmedic.probes.experiment.probe import gather_experiment
from modelmedic.probes.experiment.recognition import looks_like_experiment

PATCH = """
def apply():
    if getattr(Mlp, "_patched", False):
        return
    original = Mlp.__init__

    def init(self):
        original(self)

    Mlp.__init__ = init
    Mlp._patched = True
"""
TEST = """
def test_norm():
    hf_fp32 = ToyRMSNorm(64)
    hf_bf16 = ToyRMSNorm(64)
    target = {target}(64)
    compare_3tensors(hf_fp32(x).float(), hf_bf16(x).float(), target(x).float())
"""


def facts(experiment, vocabulary, kind, **options):
    outcome = gather_experiment(experiment.root, vocabulary, **options)
    return [dict(fact.values) for fact in outcome.facts if fact.kind == kind]


def set_times(experiment, *names):
    """An hour between each of the files (or folders) and the next."""
    for at, name in enumerate(names):
        path = experiment.root / name
        for each in [path, *path.rglob("*")]:
            os.utime(each, (1_700_000_000 + 3_600 * at,) * 2)


def test_settings_and_benchmark_setup_name_the_inputs(experiment, vocabulary):
    experiment.stage7()
    experiment.write("run.json", {
        "target_stack": "vllm_neuron", "model_path": "/hf", "tp_degree": 8,
        "model_class": "port.py:NeuronToyForCausalLM", "port_inner_class": "NeuronToyModel",
    })  # fmt: skip
    experiment.write("other.json", "{ not for us")
    found = {f["name"]: f["value"] for f in facts(experiment, vocabulary, "workflow_input")}
    assert found == {
        "EXP_DIR": str(experiment.root), "SOURCE_MODEL_PATH": "/hf",
        "TARGET_MODELING_FILE": "port.py", "TARGET_CAUSAL_CLASS": "NeuronToyForCausalLM",
        "TARGET_INNER_CLASS": "NeuronToyModel",
    }  # fmt: skip
    (run,) = facts(experiment, vocabulary, "port_run")
    assert (run["target_stack"], run["tp_degree"]) == ("vllm-neuron", 8)
    assert not gather_experiment(experiment.root, vocabulary).problems


def test_a_path_on_another_machine_is_not_missing(experiment, vocabulary):
    experiment.write("run.json", {"model_path": "/no/such/folder", "model_class": "A"})
    inputs = {f["name"]: f for f in facts(experiment, vocabulary, "workflow_input")}
    assert "exists" not in inputs["SOURCE_MODEL_PATH"]


def test_a_patch_and_the_ratios_around_it(experiment, vocabulary):
    experiment.stage2(mlp=1.01).stage3(("mlp", 14.0, "step", "missing_algorithm"))
    experiment.write("patches/fix_mlp.py", PATCH)
    (patch,) = facts(experiment, vocabulary, "patch_state")
    assert patch == {
        "name": "patches/fix_mlp.py", "target": "mlp", "guarded": True, "keeps_init": True,
        "sets_flag_last": True, "r_before": 14.0, "r_after": 1.01, "composites_broken": 0,
    }  # fmt: skip
    experiment.stage2(mlp=1.01, decoder_layer=3.0)
    (patch,) = facts(experiment, vocabulary, "patch_state")
    assert patch["composites_broken"] == 1


def test_a_ratio_from_before_the_patch_is_not_one_after_it(experiment, vocabulary):
    experiment.stage2(mlp=14.0).stage3(("mlp", 14.0, "step", "missing_algorithm"))
    experiment.write("patches/patch_mlp.py", PATCH)
    (patch,) = facts(experiment, vocabulary, "patch_state")
    assert patch["r_before"] == 14.0
    assert "r_after" not in patch
    set_times(experiment, "results/stage3.json", "patches", "results/stage2.json")
    (patch,) = facts(experiment, vocabulary, "patch_state")
    assert patch["r_after"] == 14.0
    set_times(experiment, "results/stage3.json", "results/stage2.json", "patches")
    (patch,) = facts(experiment, vocabulary, "patch_state")
    assert "r_after" not in patch


@pytest.mark.parametrize("name", ["fix_both.py", "fix_mlp_and_rotary.py", "fix_.py"])
def test_a_patch_that_names_no_single_component(experiment, vocabulary, name):
    experiment.stage2(mlp=14.0)
    experiment.write(f"patches/{name}", "x = 1\n")
    (patch,) = facts(experiment, vocabulary, "patch_state")
    assert patch == {"name": f"patches/{name}"}


@pytest.mark.parametrize(
    ("target", "is_reference", "uses_other"),
    [("CustomRMSNorm", False, False), ("ToyRMSNorm", True, True)],
)
def test_the_classes_of_a_component_test(
    experiment, vocabulary, target, is_reference, uses_other
):  # fmt: skip
    experiment.stage0().tests().stage2()
    experiment.write("tests/test_00_rmsnorm.py", TEST.format(target=target))
    found = {f["component"]: f for f in facts(experiment, vocabulary, "component_test")}
    assert found["rmsnorm"] == {
        "component": "rmsnorm", "file": "tests/test_00_rmsnorm.py", "device_test": True,
        "reference_class": "ToyRMSNorm", "target_class": target, "method": "3-tensor",
        "port_class": "CustomRMSNorm", "casts_float": True,
        "target_is_reference": is_reference, "port_uses_other": uses_other,
    }  # fmt: skip


def test_tests_that_cover_the_mapping(whole, vocabulary):
    checks = {f["check"]: f["ok"] for f in facts(whole, vocabulary, "e2e_check")}
    assert checks["mapping-complete"] is True
    (whole.root / "tests/test_02_mlp.py").unlink()
    whole.write("results/stage2.json", {"results": [{"component": "rmsnorm", "r_ratio": 1.0,
                                                     "passed": True}]})  # fmt: skip
    checks = {f["check"]: f["ok"] for f in facts(whole, vocabulary, "e2e_check")}
    assert checks["mapping-complete"] is False
    files = {f["family"]: f["present"] for f in facts(whole, vocabulary, "test_file")}
    assert [name for name, present in files.items() if not present] == ["mlp"]


def test_without_tests_nothing_is_said_about_their_coverage(experiment, vocabulary):
    experiment.stage0()
    checks = {f["check"] for f in facts(experiment, vocabulary, "e2e_check")}
    assert "mapping-complete" not in checks


@pytest.mark.parametrize(
    ("order", "stale"),
    [
        (("model_tree", "stage1", "stage2", "stage3", "teacher_forced"), set()),
        (("stage1", "stage2", "stage3", "teacher_forced", "model_tree"), {1, 2, 3, 5, 6}),
        (("model_tree", "stage1", "stage3", "teacher_forced", "stage2"), {3, 5, 6}),
        (("model_tree", "stage2", "stage3", "stage1", "teacher_forced"), {2, 3}),
    ],
)
def test_a_result_older_than_what_it_rests_on_is_stale(experiment, vocabulary, order, stale):
    experiment.stage0().stage1().stage2().stage3().stage56()
    paths = [name if "_tree" in name else f"results/{name}.json" for name in order]
    set_times(experiment, "component_mapping.json", "class_divergence_report.json", *paths)
    states = {f["stage"]: f["status"] for f in facts(experiment, vocabulary, "stage_result")}
    assert {stage for stage, status in states.items() if status == "stale"} == stale
    states = {f["stage"]: f["status"]
              for f in facts(experiment, vocabulary, "stage_result", use_times=False)}  # fmt: skip
    assert "stale" not in states.values()


def test_stage_2_run_again_with_a_patch_leaves_stage_3_valid(experiment, vocabulary):
    experiment.stage0().stage1().stage2().stage3().write("patches/fix.py", "x = 1\n")
    set_times(experiment, "component_mapping.json", "class_divergence_report.json", "model_tree",
              "results/stage1.json", "results/stage3.json", "patches",
              "results/stage2.json")  # fmt: skip
    states = {f["stage"]: f["status"] for f in facts(experiment, vocabulary, "stage_result")}
    assert (states[2], states[3], states[4]) == ("done", "done", "done")


def test_the_folders_of_a_fresh_experiment_are_recognised(tmp_path):
    (tmp_path / "model_tree").mkdir()
    assert not looks_like_experiment(tmp_path)
    (tmp_path / "results").mkdir()
    assert looks_like_experiment(tmp_path)
