"""A port that is cast whole keeps the frequencies of its rotary embedding in 16 bits: seen over
some hundred positions, and told from another theta."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from modelmedic.engine import Diagnoser  # noqa: E402
from modelmedic.interfaces.inspection import gather  # noqa: E402

from .faulty import making  # noqa: E402
from .faulty.port import Fault  # noqa: E402

pytestmark = pytest.mark.heavy

ROUNDED = "neuron.component.rope-frequencies-rounded"
THETA = "neuron.component.rope-theta-wrong"


def rounded(model):
    for module in model.modules():
        if hasattr(module, "inv_freq"):
            module.inv_freq = module.inv_freq.bfloat16().float()


def cast_whole(port):
    port.changes.append(rounded)


def with_another_theta(port):
    port.config.rope_parameters["rope_theta"] = 100_000.0
    port.changes.append(rounded)


@pytest.mark.parametrize(
    ("change", "cause", "said"),
    [(cast_whole, ROUNDED, "rounded to BF16"), (with_another_theta, THETA, "theta 100000")],
)
def test_the_cause_is_named(tmp_path, monkeypatch, change, cause, said):
    monkeypatch.setattr(making, "TOKENS", 400)
    model, plan = making.write_references(tmp_path / "of", "llama", 0)
    fault = Fault("rounded", cause, "rotary_emb", change, True)
    assert making.write_target(tmp_path / "port", tmp_path / "of", model, plan, fault, 0)
    doctor = Diagnoser.load()
    facts, problems, _ = gather([tmp_path / "port"], doctor.base.vocabulary)
    assert not problems
    first = doctor.diagnose(facts).diagnoses[0]
    assert (first.id, first.confidence) == (cause, "certain")
    assert said in first.explanation["how"][0]["message"]
