"""Captures that are damaged, mixed or incomplete: a coded error names the file, and what is sound
is read all the same."""

import json
import shutil

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from safetensors.torch import load_file, save_file  # noqa: E402

from modelmedic.engine import Diagnoser  # noqa: E402
from modelmedic.interfaces.inspection import gather  # noqa: E402

from .faulty import faults_attention  # noqa: E402, F401
from .faulty.making import write_references, write_target  # noqa: E402
from .faulty.port import FAULTS  # noqa: E402

pytestmark = pytest.mark.heavy

CAUSE = "neuron.component.head-order-wrong"
ALIEN = ("MM519", "target/captures-00001.safetensors")


@pytest.fixture(scope="module")
def doctor():
    return Diagnoser.load()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A capture of a faulty port, and one of another seed."""
    root = tmp_path_factory.mktemp("captures")
    for seed in (0, 6):
        model, plan = write_references(root / f"of{seed}", "llama", seed)
        assert write_target(root / f"t{seed}", root / f"of{seed}", model, plan,
                            FAULTS["heads-q-reversed"], 0)  # fmt: skip
        shutil.copytree(root / f"t{seed}", root / f"whole{seed}")
        shutil.rmtree(root / f"t{seed}")
    return root


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made / "whole0", tmp_path / "captures")


def tensors_of(folder, role):
    return next((folder / role).glob("*.safetensors"))


def cut(role, size):
    def change(folder, other):
        file = tensors_of(folder, role)
        file.write_bytes(file.read_bytes()[:size])

    return change


def gone(name):
    def change(folder, other):
        shutil.rmtree(folder / name)

    return change


def edit(role, one):
    def change(folder, other):
        file = tensors_of(folder, role)
        tensors = load_file(file)
        one(tensors)
        save_file(tensors, file)

    return change


def exchanged(role):
    def change(folder, other):
        shutil.rmtree(folder / role)
        shutil.copytree(other / role, folder / role)

    return change


def manifest(change_it):
    def change(folder, other):
        file = folder / "capture.json"
        known = json.loads(file.read_text())
        file.write_text(change_it(known) if callable(change_it) else change_it)

    return change


def shorter(tensors):
    name = next(name for name in tensors if "layers.0.self_attn.k_proj_output" in name)
    tensors[name] = tensors[name][:, :5].contiguous()


def whole_numbers(tensors):
    for name in tensors:
        tensors[name] = tensors[name].to(torch.int32)


def other_names(tensors):
    for name in list(tensors):
        tensors[name.replace("module_", "mod_")] = tensors.pop(name)


def infinite(tensors):
    for name in tensors:
        tensors[name] = tensors[name] * float("inf")


def without_configuration(known):
    return json.dumps(known | {"config": "llama"})


def other_hashes(known):
    return json.dumps(known | {"sha256": dict.fromkeys(known["sha256"], "0" * 64)})


def lying_configuration(known):
    lies = {"num_attention_heads": 0, "hidden_size": -3}
    return json.dumps(known | {"config": known["config"] | lies})


BROKEN = {
    # what is done: (how, code, the file or folder that is named, whether the cause is still found)
    "no target": (gone("target"), "MM510", "captures", False),
    "no FP32 reference": (gone("ref_fp32"), "MM510", "captures", False),
    "no BF16 reference": (gone("ref_bf16"), "MM510", "captures", False),
    "no weights": (gone("reference"), "MM516", "captures", False),
    "empty file": (cut("target", 0), "MM431", "target/captures-00001.safetensors", False),
    "file cut in its header": (
        cut("ref_fp32", 5000), "MM431", "ref_fp32/captures-00001.safetensors", False),
    "file cut in its tensors": (
        cut("target", 300_000), "MM431", "target/captures-00001.safetensors", False),
    "weights cut": (cut("reference", 3000), "MM431", "reference/weights-00001.safetensors", False),
    "one tensor of another shape": (
        edit("target", shorter), "MM513", "target/captures-00001.safetensors", True),
    "whole numbers": (
        edit("target", whole_numbers), "MM513", "target/captures-00001.safetensors", False),
    "other names": (edit("target", other_names), "MM510", "captures", False),
    "target of another seed": (exchanged("target"), *ALIEN, False),
    "reference of another seed": (
        exchanged("ref_bf16"), "MM519", "ref_bf16/captures-00001.safetensors", False),
    "weights of another seed": (exchanged("reference"), "MM516", "reference", False),
    "manifest cut": (manifest('{"schema": "modelmedic/cap'), "MM517", "capture.json", False),
    "manifest a list": (manifest("[1, 2]"), "MM517", "capture.json", False),
    "manifest of another schema": (manifest('{"schema": 3}'), "MM517", "capture.json", False),
    "manifest without configuration": (
        manifest(without_configuration), "MM517", "capture.json", False),
    "files exchanged": (
        manifest(other_hashes), "MM518", "ref_bf16/captures-00001.safetensors", True),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_the_file_is_named_and_the_rest_is_read(made, folder, doctor, name):
    change, code, place, named = BROKEN[name]
    change(folder, made / "whole6")
    facts, problems, _ = gather([folder], doctor.base.vocabulary)
    assert any(p.code == code and p.where and p.where.path.endswith(place) for p in problems), (
        problems
    )
    causes = [d.id for d in doctor.diagnose(facts, problems).diagnoses]
    assert (CAUSE in causes) is named


@pytest.mark.parametrize("name", ["target of another seed", "reference of another seed"])
def test_nothing_is_said_of_a_port_by_runs_of_other_tokens(made, folder, doctor, name):
    BROKEN[name][0](folder, made / "whole6")
    facts, problems, _ = gather([folder], doctor.base.vocabulary)
    assert not doctor.diagnose(facts, problems).diagnoses


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", [edit("target", infinite), manifest(lying_configuration)])
def test_odd_numbers_raise_nothing(made, folder, doctor, change):
    change(folder, made / "whole6")
    facts, _, _ = gather([folder], doctor.base.vocabulary)
    assert facts


def test_a_whole_capture_has_no_problem(folder, doctor):
    facts, problems, _ = gather([folder], doctor.base.vocabulary)
    assert not problems
    assert doctor.diagnose(facts).diagnoses[0].id == CAUSE
