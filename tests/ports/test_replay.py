"""From a reference and a port file to a named cause: a quick sample of ``tests/ports/faulty``. Its
``measure`` and ``measure_sound`` try all of it."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.ports.faulty import faults_attention, faults_model  # noqa: F401
from tests.ports.faulty.making import fits, write_references, write_target
from tests.ports.faulty.measure import judge
from tests.ports.faulty.port import FAULTS
from tests.ports.faulty.sound import write_sound

from modelmedic.interfaces.cli.main import main
from modelmedic.interfaces.inspection import gather

pytestmark = pytest.mark.heavy

SAMPLE = (
    ("rope-theta-tenfold", "llama", 0), ("rope-theta-tenfold", "mistral", 0),
    ("attention-softcap-dropped", "gemma2", 0), ("qk-norm-dropped", "qwen3", 2),
    ("residual-multiplier-missing", "granite", 0), ("experts-reversed", "mixtral", 0),
    ("sinks-dropped", "gpt-oss", 1), ("tied-head", "qwen2", 2), ("heads-o-rotated", "olmo2", 0),
    ("cache-last-lost", "cohere", 0), ("norm-bias-missing", "stablelm", 0),
    ("shared-gate-missing", "qwen2-moe", 0),
)  # fmt: skip


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    known = {}

    def of(arch, seed):
        if (arch, seed) not in known:
            place = tmp_path_factory.mktemp("references")
            known[arch, seed] = (place, *write_references(place, arch, seed))
        return known[arch, seed]

    return of


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "arch", "seed"), SAMPLE)
def test_component_and_cause_come_first(doctor, references, tmp_path, name, arch, seed):
    place, model, plan = references(arch, seed)
    fault = FAULTS[name]
    assert write_target(tmp_path / "case", place, model, plan, fault, seed % 2)
    found = judge(doctor, tmp_path / "case", fault, seed % 2, plan)
    assert found["component"], found
    assert found["firm"] == [fault.cause], found
    assert fits(found["at"], fault, seed % 2, plan)


@pytest.mark.parametrize(("arch", "ranks", "attention"), [
    ("llama", 1, "sdpa"), ("gemma2", 8, "eager"), ("mixtral", 4, "sdpa"), ("gpt-oss", 2, "eager"),
])  # fmt: skip
def test_a_sound_port_raises_no_alarm(doctor, references, tmp_path, arch, ranks, attention):
    import torch

    place, model, plan = references(arch, 0)
    write_sound(tmp_path / "case", place, model, plan, ranks, attention, torch.bfloat16)
    settings = json.dumps({"neuron_config": {"tp_degree": ranks}})
    (tmp_path / "case" / "neuron_config.json").write_text(settings)
    facts, problems, _ = gather([tmp_path / "case"], doctor.base.vocabulary)
    report = doctor.diagnose(facts, problems)
    assert [d.id for d in report.diagnoses if d.severity == "error" and d.kind != "benign"] == []


PORT = """
import copy
from transformers import LlamaForCausalLM

class Port(LlamaForCausalLM):
    def __init__(self, config):
        config = copy.deepcopy(config)
        config.rope_parameters["rope_theta"] = 10_000.0
        super().__init__(config)
"""


def test_one_command_from_a_configuration_and_a_port_file_to_the_cause(tmp_path, capsys):
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
              "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "vocab_size": 160, "tie_word_embeddings": False, "max_position_embeddings": 128,
              "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "port.py").write_text(PORT)
    files = str(tmp_path / "out"), "--hf", str(tmp_path / "config.json")
    port = "--port", f"{tmp_path / 'port.py'}:Port"
    with pytest.raises(SystemExit) as ended:
        main(["capture", *files, *port, "--positions", "24", "--format", "json"])
    said = capsys.readouterr()
    assert ended.value.code == 1
    assert "code that is not ours" in said.err
    report = json.loads(said.out)
    told = report["diagnoses"]
    assert [each["id"] for each in told[:1]] == ["neuron.port.operation-differs"]
    line = 1 + PORT.splitlines().index("        super().__init__(config)")
    assert f"port.py:{line}" in said.out
    assert "1000000.0 (rope_parameters.rope_theta)" in said.out
    assert "neuron.component.rope-theta-wrong" in [each["id"] for each in told]
    document = json.loads((tmp_path / "out" / "capture.json").read_text())
    assert set(document["runs"]) == {"ref_fp32", "ref_bf16", "target"}
    assert all(len(value) == 64 for value in document["sha256"].values())
