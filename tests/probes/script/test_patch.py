"""The changes of findings as a patch: git applies it, the findings go, and nothing else changes."""

import subprocess
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modelmedic.facts import Fact
from modelmedic.interfaces.reports.patch import patch_of
from modelmedic.probes.script.probe import gather_script

HEAD = """import tinker
from tinker import types
service = tinker.ServiceClient()
tc = service.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=32).result()
sampler = tc.save_weights_and_get_sampling_client().result()
tokenizer = tc.get_tokenizer()
"""
# The faulty text, and the mended one.
FAULTS = {
    "p = types.SamplingParams(max_new_tokens=5)": "p = types.SamplingParams(max_tokens=5)",
    'p = types.SamplingParams(stop_sequences=["é"], max_tokens=9)':
        'p = types.SamplingParams(stop=["é"], max_tokens=9)',
    'ü = "größe"; q = tinker.AdamParams(lr=1e-4)':
        'ü = "größe"; q = tinker.AdamParams(learning_rate=1e-4)',
    'f = tc.forward_backward(datums=[d for d in xs], loss_fn="cross_entropy")':
        'f = tc.forward_backward(data=[d for d in xs], loss_fn="cross_entropy")',
    "r = sampler.sample(prompt=m, sampling_params=p).result()":
        "r = sampler.sample(prompt=m, sampling_params=p, num_samples=1).result()",
    "t = sampler.sample(m, 1, p).result().completions":
        "t = sampler.sample(m, 1, p).result().sequences",
    "t = sampler.sample(m, 1, p).sequences": "t = sampler.sample(m, 1, p).result().sequences",
    'path = tc.save_state("end").path': 'path = tc.save_state("end").result().path',
    'c = tinker.ServiceClient(base_url=None, timeout=60, api_key="k")':
        'c = tinker.ServiceClient(base_url=None, api_key="k")',
    "c = tinker.ServiceClient(timeout=60)": "c = tinker.ServiceClient()",
    'c = service.create_lora_training_client("Qwen/Qwen3-8B", optimizer="adam").result()':
        'c = service.create_lora_training_client("Qwen/Qwen3-8B").result()',
    'x = tc.forward_backward(ds, "ppo").result().loss':
        'x = tc.forward_backward(ds, "ppo").result().metrics["loss:sum"]',
    "m = service.get_server_capabilities().result().models":
        "m = service.get_server_capabilities().result().supported_models",
    "y = tc.optim_step_async(q).result()": "y = tc.optim_step(q).result()",
    "def g(z: types.ForwardBackwardResult): return z":
        "def g(z: types.ForwardBackwardOutput): return z",
}  # fmt: skip
PLAIN = ["", "# a note", "print(1)", "xs = [1,\n      2]", 'text = """\n  é\n"""']
VERSION = Fact.of("package", name="tinker", version="0.38.0")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    return tmp_path


def facts_of(vocabulary, name):
    return [*gather_script(name, vocabulary).facts, VERSION]


def suggested(facts):
    return Counter(f.get("pattern") for f in facts if f.get("suggestion"))


def patch(doctor, facts):
    return patch_of(doctor.diagnose(facts, plan=False))


def applied(text, folder):
    (folder / "x.patch").write_bytes(text.encode())
    command = ["git", "apply", "--verbose", "x.patch"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_change_is_the_right_one(fault, folder, doctor, vocabulary):
    (folder / "train.py").write_text(f"{HEAD}{fault}\n")
    facts = facts_of(vocabulary, "train.py")
    assert suggested(facts).total() == 1
    done = applied(patch(doctor, facts), folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "train.py").read_text() == f"{HEAD}{FAULTS[fault]}\n"
    assert not suggested(facts_of(vocabulary, "train.py"))


@settings(max_examples=25, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    lines=st.lists(st.sampled_from([*FAULTS, *PLAIN]), max_size=12),
    nested=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n"]),
    end=st.booleans(),
    mark=st.booleans(),
)
def test_the_findings_go_and_nothing_else_changes(
    lines, nested, ending, end, mark, folder, doctor, vocabulary
):
    def program(each):
        indent = "    " if nested else ""
        body = "\n".join(each).split("\n")
        text = HEAD + ("if True:\n    pass\n" if nested else "")
        inside = False
        for line in body:  # lines in a text keep their margin
            text += ("" if inside else indent) + line + "\n"
            inside ^= line.count('"""') % 2 == 1
        text = text if end else text.removesuffix("\n")
        return (("\ufeff" if mark else "") + text.replace("\n", ending)).encode()

    path = folder / "train.py"
    path.write_bytes(program(lines))
    before = facts_of(vocabulary, "train.py")
    text = patch(doctor, before)
    wrong = sum(line in FAULTS for line in lines)
    assert suggested(before).total() == wrong
    assert wrong or text == "# No change is suggested.\n"
    if wrong:
        done = applied(text, folder)
        assert done.returncode == 0, done.stderr
    after = facts_of(vocabulary, "train.py")
    assert not suggested(after)
    assert path.read_bytes() == program([FAULTS.get(line, line) for line in lines])


def test_what_cannot_be_written_safely_is_left_out(folder, doctor, vocabulary):
    wrong = "p = tinker.SamplingParams(max_new_tokens=5)\n"
    secret = 'key = "hf_' + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3" + '"\n'
    (folder / "train.py").write_text(HEAD + wrong + secret)
    facts = facts_of(vocabulary, "train.py")
    text = patch(doctor, facts)
    assert "hf_" not in text and text.startswith("# Left out: train.py:")
    (folder / "train.py").write_text(HEAD + wrong + "\n" * 5 + secret)
    assert "# Left out" not in patch(doctor, facts)
    (folder / "train.py").write_text("# new\n" + HEAD + wrong)
    assert patch(doctor, facts).startswith("# Left out: train.py:7: the file has changed since")
    (folder / "train.py").unlink()
    assert "---" not in patch(doctor, facts)


def test_what_does_not_hold_for_the_version_is_not_changed(folder, doctor, vocabulary):
    (folder / "train.py").write_text(HEAD + "c = tinker.ServiceClient(timeout=60)\n")
    facts = [f for f in facts_of(vocabulary, "train.py") if f != VERSION]
    older = Fact.of("package", name="tinker", version="0.30.4")
    assert patch(doctor, [*facts, older]) == "# No change is suggested.\n"
    assert "-c = tinker.ServiceClient(timeout=60)" in patch(doctor, [*facts, VERSION])


def test_notebooks_are_not_edited(folder, doctor, vocabulary):
    cell = '{"cell_type": "code", "source": ["import tinker\\n", "tinker.AdamParams(lr=1)"]}'
    (folder / "a.ipynb").write_text('{"cells": [' + cell + "]}")
    facts = facts_of(vocabulary, "a.ipynb")
    assert any(f.get("pattern") == "api-adam-params-lr" for f in facts)
    assert not suggested(facts)
