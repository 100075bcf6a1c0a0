"""From experiment folders to diagnoses: sound ports are silent, faults are named, partial folders
name the next stage."""

import pytest

from modelmedic.interfaces.inspection import gather


@pytest.fixture
def report(doctor, experiment):
    def run():
        facts, problems, read = gather([experiment.root], doctor.base.vocabulary)
        assert len(read) == 1, "the folder is one artefact"
        return doctor.diagnose(facts, problems)

    return run


def ids(report, *kinds):
    return {d.id for d in report.diagnoses if not kinds or d.kind in kinds}


def test_a_sound_port_is_silent(report, whole):
    found = report()
    assert ids(found, "root-cause", "symptom", "user-code", "escalation") == set()
    assert "neuron.flow.complete" in ids(found)


@pytest.mark.parametrize(
    ("done", "next_stage"),
    [
        ((), "stage-0-next"),
        (("stage0",), "stage-1-next"),
        (("stage0", "stage1"), "stage-2-next"),
        (("stage0", "stage1", "tests", "stage2"), "stage-3-next"),
        (("stage0", "stage1", "tests", "stage2", "stage3"), "stage-5-6-next"),
        (("stage0", "stage1", "tests", "stage2", "stage3", "stage56"), "stage-7-next"),
    ],
)
def test_a_partial_folder_names_the_next_stage(report, experiment, done, next_stage):
    experiment.write("calibrated_thresholds.json", {})
    experiment.write("EQUIVALENCE_REPORT.md", "# Report\n")
    for stage in done:
        getattr(experiment, stage)()
    found = report()
    assert {i for i in ids(found) if i.startswith("neuron.flow.")} == {f"neuron.flow.{next_stage}"}
    assert not [d.id for d in found.diagnoses if d.severity in ("error", "blocker")]


def test_a_failing_component_is_named(report, experiment):
    experiment.stage0().stage1().tests().stage2(mlp=14.0, decoder_layer=12.0)
    experiment.stage3(("mlp", 14.0, "step", "missing_algorithm"))
    found = report()
    assert {"neuron.component.ratio-fail", "neuron.flow.stage-4-next"} <= ids(found)
    failing = next(d for d in found.diagnoses if d.id == "neuron.component.ratio-fail")
    assert "mlp" in str(failing)


def test_patches_newer_than_the_components_ask_for_stage_2_again(report, experiment):
    import os

    experiment.stage0().stage1().tests().stage2(mlp=14.0, decoder_layer=12.0)
    experiment.stage3(("mlp", 14.0, "step", "missing_algorithm"))
    for at, name in enumerate(sorted(experiment.root.rglob("*"))):
        os.utime(name, (1_000_000 + at, 1_000_000 + at))
    for name, at in (("stage1", 1_000_100), ("stage2", 1_000_200), ("stage3", 1_000_300)):
        os.utime(experiment.root / f"results/{name}.json", (at, at))
    experiment.write("patches/fix_mlp.py", "def apply():\n    pass\n")
    assert "neuron.flow.stage-2-again" in ids(report())


def test_another_number_of_layers(report, experiment):
    from .conftest import target_tree

    experiment.stage0(target=target_tree(2))
    assert "neuron.scaffold.layer-count-mismatch" in ids(report())
