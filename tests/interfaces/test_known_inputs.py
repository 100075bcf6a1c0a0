"""Actions know the facts: the user's files in commands, nothing that is done."""

import shlex

import pytest

from modelmedic.facts import Provenance

SLOW = "tinker.perf.slow-steps"


def commands_of(doctor, name, *facts):
    """The commands of a diagnosis that follows from facts."""
    (found,) = [d for d in doctor.diagnose(facts).diagnoses if d.id == name]
    return [action["command"] for action in found.actions if action.get("command")]


def commands(doctor, *inputs):
    fact = doctor.base.vocabulary.fact
    facts = [fact("stage_result", stage=0, status="missing")]
    facts += [fact("workflow_input", name=name, value=value) for name, value in inputs]
    return commands_of(doctor, "neuron.flow.stage-0-next", *facts)


@pytest.fixture
def slow(doctor):
    return doctor.base.vocabulary.fact("symptom", name="slow-steps")


def test_values_are_quoted_for_a_shell(doctor):
    path = "/data/it's $HOME; rm"
    words = shlex.split(commands(doctor, ("EXP_DIR", path))[0])
    assert words[words.index("--output-dir") + 1] == f"{path}/model_tree"


def test_what_is_not_known_stays(doctor):
    command = commands(doctor, ("EXP_DIR", "/exp"))[0]
    assert "$SOURCE_MODEL_PATH" in command
    assert "$EXP_DIR" not in command


def test_two_values_are_no_value(doctor):
    assert "$EXP_DIR" in commands(doctor, ("EXP_DIR", "/a"), ("EXP_DIR", "/b"))[0]


@pytest.mark.parametrize(
    ("components", "named"),
    [
        (["rmsnorm"], "test_NN_rmsnorm_device_algo.py"),
        (["layers.0.mlp"], "test_NN_layers_0_mlp_device_algo.py"),
        (["rmsnorm", "attention"], "test_NN_COMPONENT_device_algo.py"),
        (["rms\nnorm <b>"], "test_NN_COMPONENT_device_algo.py"),
    ],
)
def test_what_to_do_names_the_one_component(doctor, components, named):
    fact = doctor.base.vocabulary.fact
    facts = [fact("stage_result", stage=2, status="done")]
    facts += [fact("class_divergence", component=c, dual_tested=False) for c in components]
    found = {d.id: d for d in doctor.diagnose(facts).diagnoses}
    assert named in found["neuron.component.dual-test-missing"].actions[0]["do"]


def read_by(doctor, probe, place, kind="code_pattern", **values):
    """A fact that a probe has read at a place."""
    return doctor.base.vocabulary.fact(kind, (Provenance(f"probe:{probe}", place),), **values)


def proposed(doctor, *facts):
    return {step.id: step.command for step in doctor.diagnose(facts).next}


@pytest.fixture
def waiting(doctor):
    return doctor.base.vocabulary.fact("symptom", name="waits-for-results")


def test_a_command_names_the_script_that_was_read(doctor, waiting):
    script = read_by(
        doctor, "script", "my run.py:12", pattern="empty-batch-submitted", present=False
    )
    assert proposed(doctor, waiting)["watch"] == "diagnose watch -- python train.py"
    assert proposed(doctor, waiting, script)["watch"] == "diagnose watch -- python 'my run.py'"


def test_of_two_scripts_neither_is_meant(doctor, waiting):
    names = ("submits-before-waiting", "empty-batch-submitted")
    scripts = [
        read_by(doctor, "script", f"{name}.py:1", pattern=name, present=False) for name in names
    ]
    assert proposed(doctor, waiting, *scripts)["watch"] == "diagnose watch -- python train.py"


def test_a_run_folder_stands_for_the_files_in_it(doctor, slow):
    places = ("runs/one", "runs/one/metrics.jsonl:3")
    facts = [
        read_by(doctor, "metrics", place, "step_timing", step=n, total_s=9.0)
        for n, place in enumerate(places)
    ]
    found = commands_of(doctor, SLOW, slow, *facts)
    assert "diagnose inspect LOG_PATH" in commands_of(doctor, SLOW, slow)
    assert not any(command.startswith("diagnose inspect LOG_PATH") for command in found)
    assert "diagnose inspect runs/one" not in found, "it has been read"


def test_what_a_step_brings_is_known(doctor, slow):
    known = doctor.base.vocabulary.fact("package", name="pydantic", version="2.12.5")
    assert "diagnose probe environment" in commands_of(doctor, SLOW, slow)
    assert "diagnose probe environment" not in commands_of(doctor, SLOW, slow, known)


def test_the_fix_of_a_row_stays_before_what_is_done(doctor):
    """A row of an error table puts its fix before the actions of the diagnosis."""
    fact = doctor.base.vocabulary.fact
    waits = [
        fact("sdk_task", task="forward-backward", state="pending"),
        fact("loop_dump", thread="sdk", regular=True),
        fact("symptom", name="slow-steps"),
        fact("gil_jitter", max_s=0.1),
    ]
    found = commands_of(doctor, "tinker.perf.high-wait-time", *waits)
    assert found == ["diagnose probe service --capabilities-only"]


def test_stage_3_is_not_run_again_for_its_own_suspects(doctor):
    fact = doctor.base.vocabulary.fact
    failing = fact("component_result", component="attn.0", r_ratio=2.5)
    suspect = fact("fault", component="attn.0", shape="step")
    name = "neuron.component.ratio-fail"
    assert any("run_stage3" in command for command in commands_of(doctor, name, failing))
    assert not commands_of(doctor, name, failing, suspect)


def test_the_plan_names_what_the_run_was_given(doctor):
    fact = doctor.base.vocabulary.fact
    failing = fact("component_result", component="attn.0", r_ratio=2.5)
    given = fact("workflow_input", name="TARGET_MODELING_FILE", value="/port/modeling_x.py")
    bare, filled = proposed(doctor, failing), proposed(doctor, failing, given)
    assert bare["modeling"] == "diagnose probe modeling TARGET_MODELING_FILE"
    assert filled["modeling"] == "diagnose probe modeling /port/modeling_x.py"
