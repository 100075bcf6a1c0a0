"""Scripts run against the stand-in with the real SDK: faults are named, sound ones are not."""

import re
import sys
from pathlib import Path

import pytest

from modelmedic.facts.problems import ModelMedicError
from modelmedic.probes.rehearsal.answers import read_answers
from modelmedic.probes.rehearsal.command import Limits, run_rehearsal

pytest.importorskip("tinker")
pytestmark = pytest.mark.heavy

HEAD = """
import asyncio
import tinker
from tinker import types
service = tinker.ServiceClient(base_url="https://example.invalid")
client = service.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=8).result()
ADAM = types.AdamParams(learning_rate=1e-4)
def datum(n):
    ids = [(n * 7 + k * 3 + k * k * (n % 5)) % 97 + 10 for k in range(13)]
    inputs = {"target_tokens": ids[1:], "weights": [0.0] * 4 + [1.0] * 8}
    return types.Datum(model_input=types.ModelInput.from_ints(ids[:-1]), loss_fn_inputs=inputs)
batches = [[datum(s * 4 + j) for j in range(4)] for s in range(8)]
def train(batch):
    first, second = client.forward_backward(batch, "cross_entropy"), client.optim_step(ADAM)
    second.result()
    return first.result().metrics["loss:sum"]
"""
SOUND = """
losses = [train(batches[0]) for _ in range(3)] + [train(batch) for batch in batches]
assert losses[0] > losses[1] > losses[2]
for step in range(3):
    sampler = client.save_weights_and_get_sampling_client("x")
    prompt = types.ModelInput.from_ints([10, 11, 12])
    said = sampler.sample(prompt, 4, types.SamplingParams(max_tokens=6)).result().sequences
    data = []
    for number, each in enumerate(said):
        ids = [10, 11, 12, *each.tokens]
        gain = [0.0] * 2 + [(-1.0) ** number] * len(each.tokens)
        inputs = {"target_tokens": ids[1:], "advantages": gain}
        inputs["logprobs"] = [0.0] * 2 + list(each.logprobs)
        tokens = types.ModelInput.from_ints(ids[:-1])
        data.append(types.Datum(model_input=tokens, loss_fn_inputs=inputs))
    first = client.forward_backward(data, "importance_sampling")
    client.optim_step(ADAM).result()
    for datum_, output in zip(data, first.result().loss_fn_outputs):
        was, now = datum_.loss_fn_inputs["logprobs"].to_numpy(), output["logprobs"].to_numpy()
        assert abs(was[2:] - now[2:]).max() < 1e-4
print(client.forward(batches[0], "cross_entropy").result().metrics)
path = client.save_state("end").result().path
again = service.create_training_client_from_state_with_optimizer(path).result()
assert service.create_rest_client().list_checkpoints(path.split("/")[2]).result().checkpoints
"""
FAULTS = {
    "one step for all": (
        'for b in batches:\n    client.forward_backward(b, "cross_entropy").result()\n'
        "client.optim_step(ADAM).result()  # here\n", "tinker.usage.missing-optim-step"),
    "an evaluation trains, and a save is not awaited": (
        "for n, b in enumerate(batches):\n    train(b)\n    if n % 2:\n"
        '        client.forward_backward(batches[0], "cross_entropy").result()  # here\n'
        'client.save_state("end")\n', "tinker.usage.evaluation-trains"),
    "a coroutine is dropped": (
        "async def main():\n    for b in batches:\n"
        '        f = await client.forward_backward_async(b, "cross_entropy")\n'
        "        client.optim_step_async(ADAM)  # here\n        await f\nasyncio.run(main())\n",
        "tinker.usage.call-not-sent"),
    "half of the examples carry no loss": (
        "def without(x):\n    targets = x.loss_fn_inputs['target_tokens']\n"
        "    inputs = {'target_tokens': targets, 'weights': [0.0] * 12}\n"
        "    return types.Datum(model_input=x.model_input, loss_fn_inputs=inputs)\n"
        "for b in batches:\n    half = [*b[:2], *map(without, b[2:])]\n"
        '    client.forward_backward(half, "cross_entropy").result()  # here\n'
        "    client.optim_step(ADAM).result()\nclient.save_state('end').result()\n",
        "tinker.data.loss-mask-wrong"),
}  # fmt: skip


RL = """
sampler = client.save_weights_and_get_sampling_client("x")
prompt = types.ModelInput.from_ints([10, 11, 12])
said = sampler.sample(prompt, 2, types.SamplingParams(max_tokens=6)).result().sequences
assert [each.tokens for each in said] == [[7, 8], [9, 8]]
data = []
for each in said:
    ids = [10, 11, 12, *each.tokens]
    inputs = {"target_tokens": ids[1:], "advantages": [0.0] * 2 + [1.0] * 2}
    inputs["logprobs"] = [0.0] * 2 + list(each.logprobs)
    tokens = types.ModelInput.from_ints(ids[:-1])
    data.append(types.Datum(model_input=tokens, loss_fn_inputs=inputs))
client.forward_backward(data, "importance_sampling").result()
client.optim_step(ADAM).result()
client.save_state("end").result()
"""


def rehearsed(code, doctor, folder, limits=None, given=None):
    script = folder / "train.py"
    script.write_text(HEAD + code)
    ran = run_rehearsal([sys.executable, str(script)], doctor.base.vocabulary, limits or Limits(),
                        given=given)  # fmt: skip
    return ran, doctor.diagnose(ran.outcome.facts, ran.outcome.problems)


def test_a_sound_script_is_not_blamed(doctor, tmp_path, capfd):
    ran, report = rehearsed(SOUND, doctor, tmp_path)
    assert ran.exit_code == 0, capfd.readouterr().err
    assert not ran.outcome.problems
    assert [d.id for d in report.diagnoses if d.severity in ("error", "warning")] == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_line(name, doctor, tmp_path):
    code, wanted = FAULTS[name]
    _, report = rehearsed(code, doctor, tmp_path)
    (found,) = [d for d in report.diagnoses if d.id == wanted]
    line = next(n for n, text in enumerate((HEAD + code).splitlines(), 1) if "# here" in text)
    assert re.search(rf"train\.py:{line}\b", str(found))


def test_an_interrupt_after_steps_lets_the_script_save(doctor, tmp_path):
    code = (
        'try:\n    while True: train(batches[0])\nfinally:\n    client.save_state("end").result()\n'
    )
    ran, report = rehearsed(code, doctor, tmp_path, Limits(steps=3))
    (run,) = [fact for fact in ran.outcome.facts if fact.kind == "rehearsal"]
    assert run.get("ended") == "stopped" and run.get("saves") == 1 and run.get("steps") < 50
    assert ran.exit_code == 0 and not [d for d in report.diagnoses if d.severity == "error"]


def test_rewards_are_judged_by_answers_of_the_user(doctor, tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text("[7, 8]\n[9, 8]\n")
    for given, wanted in ((read_answers(answers), ["tinker.dynamics.reward-flat"]), (None, [])):
        code = RL if given else RL.replace("assert", "0 and")
        code = code if given else code.replace("[1.0] * 2", "[1.0] * len(each.tokens)")
        _, report = rehearsed(code, doctor, tmp_path, given=given)
        assert [d.id for d in report.diagnoses if d.severity == "warning"] == wanted


def test_answers_that_are_none_are_refused(tmp_path):
    (tmp_path / "answers").write_text('["yes"]')
    with pytest.raises(ModelMedicError, match="MM473"):
        read_answers(tmp_path / "answers")


def test_the_page_shows_what_is_said(doctor, tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "rehearsal.md").read_text()
    shown = page.split("```")
    loop = next(each for each in shown if each.startswith("python\n")).removeprefix("python\n")
    _, report = rehearsed(loop, doctor, tmp_path)
    (found,) = [d for d in report.diagnoses if d.id == "tinker.usage.missing-optim-step"]
    assert shown[-2].strip() in str(found)
