"""Scripts run against the stand-in, each with one fault and without it: named, and left alone."""

import sys

import pytest

from modelmedic.probes.rehearsal.command import run_rehearsal

pytest.importorskip("tinker")
pytestmark = pytest.mark.heavy

HEAD = """
import random
import tinker, torch
from tinker import types
service = tinker.ServiceClient()
client = service.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=8).result()
ADAM, TOKENS = types.AdamParams(learning_rate=1e-4), types.ModelInput.from_ints
def encode(text):
    return [10 + ord(letter) % 120 for letter in text]
def render(question):
    return [1, 2, *encode(question), 3, 4]
def datum(prompt, answer, **inputs):
    ids = [*prompt, *answer]
    if not inputs:
        inputs = {"weights": [0.0] * (len(prompt) - 1) + [1.0] * len(answer)}
    inputs = {"target_tokens": ids[1:], **inputs}
    return types.Datum(model_input=TOKENS(ids[:-1]), loss_fn_inputs=inputs)
def step(batch, loss="cross_entropy", adam=ADAM):
    first, second = client.forward_backward(batch, loss), client.optim_step(adam)
    second.result()
    return first.result()
rows = [datum(render(f"what is {n}"), [*encode(f"it is {n * n}"), 3]) for n in range(32)]
def ask(prompts, **settings):
    sampler = client.save_weights_and_get_sampling_client()
    params = types.SamplingParams(max_tokens=8, stop=[3], **settings)
    futures = [sampler.sample(TOKENS(prompt), 1, params) for prompt in prompts]
    return [future.result().sequences[0] for future in futures]
"""
END = "client.save_state('end').result()\n"
PASS = "for n in range(0, 32, 8):\n    step(rows[n : n + 8])\n"
PAIRS = """
pairs = [datum(render(f"say {n}"), encode(answer)) for n in range(8)
         for answer in (f"good {n}", f"bad {n * n}")]
def score(sampler, batch):
    return [sum(sampler.compute_logprobs(TOKENS([*x.model_input.to_ints(),
            int(x.loss_fn_inputs["target_tokens"].data[-1])])).result()[-5:]) for x in batch]
def compare(references):
    def loss(data, logprobs):
        gains = [l[-5:].sum() - r for l, r in zip(logprobs, references)]
        margins = torch.stack(gains[::2]) - torch.stack(gains[1::2])
        return -torch.nn.functional.logsigmoid(margins * 0.1).mean(), {}
    return loss
"""
PREFERENCES = PAIRS + """
reference = client.save_weights_and_get_sampling_client()
for _ in range(3):
    for n in (0, 8):
        FRESH
        batch = pairs[n : n + 8]
        future = client.forward_backward_custom(batch, compare(score(reference, batch)))
        client.optim_step(ADAM).result()
        future.result()
"""  # fmt: skip
GROUPS = """
for n in range(4):
    prompts = [render(f"what is {n}{m}") for m in range(4) for _ in range(4)]
    said = ask(prompts, temperature=1.0, SEED)
    data = []
    for number, (prompt, each) in enumerate(zip(prompts, said)):
        gain, before = (-1.0) ** number, [0.0] * (len(prompt) - 1)
        tokens, gains = each.tokens, [*before, *[gain] * len(each.tokens)]
        CHANGE
        data.append(datum(prompt, tokens, advantages=gains, logprobs=[*before, *each.logprobs]))
    step(data, "importance_sampling")
"""
SHOW = PASS + "ask([QUESTION(text) for text in ('what now', 'and then')])\n"
WARMING = """
for n in range(12):
    rate = 1e-4 * min(1, (n + 1) / LENGTH)
    step(rows[n % 4 * 8 :][:8], adam=types.AdamParams(learning_rate=rate))
"""
PADDED = """
def padded(n):
    answer = [*encode("so " * (n % 6)), 3]
    missing = 20 - len(answer)
    weights = [*[0.0] * 12, *[1.0] * len(answer), *[WEIGHT] * missing]
    return datum(render(f"what is {n:2}")[:13], [*answer, *[9] * missing], weights=weights)
rows = [padded(n) for n in range(32)]
""" + PASS  # fmt: skip
OPEN = """
rows = [datum(render(f"what is {n}"), [*encode(f"it is {n * n} " + "abc"[: n % 4])END])
        for n in range(32)]
""" + PASS  # fmt: skip

# name: the diagnosis, the script, and what stands for one word of it with the fault and without it
TWINS = {
    "a reference of this step": (
        "tinker.usage.reference-is-policy", PREFERENCES, "FRESH",
        "reference = client.save_weights_and_get_sampling_client()", "pass"),
    "one seed for a group": (
        "tinker.sampling.samples-repeated", GROUPS.replace("CHANGE", "pass"), "SEED", "seed=7", ""),
    "advantages one token late": (
        "tinker.data.loss-mask-wrong", GROUPS.replace("SEED", ""), "CHANGE",
        "gains = [0.0, *gains[:-1]]; gains[len(prompt) - 1] = 0.0", "pass"),
    "answers encoded again": (
        "tinker.data.boundary-retokenization", GROUPS.replace("SEED", ""), "CHANGE",
        "tokens = [token + 500 for token in tokens]", "pass"),
    "answers of other prompts": (
        "tinker.data.answers-swapped", GROUPS.replace("SEED", ""), "CHANGE",
        "prompt = prompts[number - 4]", "pass"),
    "a prompt without its template": (
        "tinker.sampling.prompt-unlike-training", SHOW, "QUESTION", "encode", "render"),
    "a warm-up longer than the run": (
        "tinker.hyperparams.adam-settings", WARMING, "LENGTH", "500", "4"),
    "padding with a weight": ("tinker.data.loss-mask-wrong", PADDED, "WEIGHT", "1.0", "0.0"),
    "answers without an end": ("tinker.data.missing-end-token", OPEN, "END", "", ", 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", TWINS)
def test_a_fault_is_named_and_its_sound_twin_is_not(name, doctor, tmp_path):
    wanted, code, place, *twins = TWINS[name]
    assert place in code
    for number, inserted in enumerate(twins):
        script = tmp_path / f"train_{number}.py"
        script.write_text(HEAD + code.replace(place, inserted) + END)
        ran = run_rehearsal([sys.executable, str(script)], doctor.base.vocabulary)
        report = doctor.diagnose(ran.outcome.facts, ran.outcome.problems)
        assert ran.exit_code == 0
        found = {d.id for d in report.diagnoses if d.severity in ("error", "warning")}
        assert found == (set() if number else {wanted}), inserted
