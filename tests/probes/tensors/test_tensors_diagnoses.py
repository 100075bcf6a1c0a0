"""From captured tensors to diagnoses through ``inspect``: a sound port is silent, a failing module
is named, and the folders of the runs are not taken for models."""

import pytest

from modelmedic.interfaces.inspection import gather

np = pytest.importorskip("numpy")
MODULES = ("embed_tokens", "layers.0.self_attn", "layers.0.mlp", "norm", "lm_head")


def write(root, failing=()):
    random = np.random.default_rng(7)
    for module in MODULES:
        fp32 = random.normal(size=(1, 8, 32)).astype(np.float32)
        low = fp32 + np.float32(0.004) * random.normal(size=fp32.shape).astype(np.float32)
        good = fp32 + np.float32(1.02) * (low - fp32)
        target = fp32 + np.float32(14) * (low - fp32) if module in failing else good
        for role, values in (("ref_fp32", fp32), ("ref_bf16", low), ("target", target)):
            (root / role).mkdir(exist_ok=True)
            np.save(root / role / f"{module}.npy", values)


def diagnose(doctor, root):
    facts, problems, read = gather([root], doctor.base.vocabulary)
    assert problems == []
    assert len(read) == 1, "the folder is one artefact"
    return doctor.diagnose(facts, problems)


def test_a_sound_port_is_silent(doctor, tmp_path):
    write(tmp_path)
    found = diagnose(doctor, tmp_path)
    assert [d.id for d in found.diagnoses if d.kind != "benign"] == []


def test_the_first_failing_module_is_named(doctor, tmp_path):
    write(tmp_path, MODULES[2:])
    found = {d.id: d for d in diagnose(doctor, tmp_path).diagnoses}
    assert {"neuron.component.ratio-fail", "neuron.localization.primary-fault"} <= set(found)
    assert "layers.0.mlp" in str(found["neuron.localization.primary-fault"])
