"""Reference and port side by side, with a configuration; to be found is one fault, or nothing in a
port that only looks different."""

import json

import pytest

from modelmedic.interfaces.cli.main import main
from modelmedic.probes.modeling.probe import gather_modeling

from .making import NAMES, expected, write_pair

# True of every port with the norm of the library: it has another class on the device.
ALWAYS = {"neuron.scaffold.class-divergence"}
TOY = """
class ToyConfig(InferenceConfig):
    pass
class NeuronToyLayer(nn.Module):
    def forward(self, hidden_states):
        {body}
        return hidden_states
"""


@pytest.fixture
def folder(request, tmp_path):
    """The pair of the name that a test is called with."""
    made = tmp_path / request.param
    made.mkdir()
    write_pair(request.param, made)
    return made


def pairs(*names):
    return pytest.mark.parametrize("folder", names, indirect=True)


def gathered(folder, vocabulary, **options):
    outcome = gather_modeling([folder / "modeling_port.py"], vocabulary,
                              references=[folder / "modeling_hf.py"], **options)  # fmt: skip
    assert not outcome.problems
    return outcome.facts


def of_kind(facts, kind, **values):
    return [fact for fact in facts if fact.kind == kind
            and all(fact.get(name) == value for name, value in values.items())]  # fmt: skip


def diagnosed(folder, capsys):
    with pytest.raises(SystemExit):
        main(["inspect", str(folder), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    return {each["id"]: each["confidence"] for each in report["diagnoses"]}


@pairs(*NAMES)
def test_inspect_names_the_fault_and_is_silent_on_a_sound_port(folder, capsys):
    found = diagnosed(folder, capsys)
    wanted = expected(folder.name).get("diagnosis")
    if wanted is None:
        assert found.keys() <= ALWAYS
    else:
        assert found[wanted] in ("likely", "certain")
        # A value that the port does not know may be reported as that, too.
        assert found.keys() <= {wanted, "neuron.config.parameter-gap"} | ALWAYS


@pairs(*NAMES)
def test_a_difference_has_both_ends(folder, vocabulary):
    facts = gathered(folder, vocabulary)
    for fact in of_kind(facts, "code_difference"):
        for name, file in (("reference_at", "modeling_hf.py"), ("port_at", "modeling_port.py")):
            place, _, line = fact.get(name).rpartition(":")
            text = (folder / file).read_text("utf-8").splitlines()
            assert place == file
            assert text[int(line) - 1].strip()
    present = list(of_kind(facts, "code_difference", differs=True))
    present += of_kind(facts, "weight_mapping")
    assert bool(present) == ("fault" in expected(folder.name))


@pairs("qwen3_s")
def test_what_a_class_of_the_library_computes_stays_unknown(folder, vocabulary):
    facts = gathered(folder, vocabulary)
    assert not of_kind(facts, "code_difference", component="attention")
    assert not of_kind(facts, "formula_difference", difference="scale-missing")


@pairs("qwen3_a")
def test_a_helper_that_is_not_seen_makes_it_unknown(folder, vocabulary, tmp_path):
    text = (folder / "modeling_port.py").read_text("utf-8")
    text = text.replace("= self.k_proj(hidden_states)", "= prepare(self.k_proj(hidden_states))")
    text = text.replace("from torch import nn", "from helpers import prepare\nfrom torch import nn")
    for name in ("modeling_hf.py", "config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "modeling_port.py").write_text(text, "utf-8")
    found = of_kind(gathered(tmp_path, vocabulary), "code_difference", operation="key-norm")
    assert of_kind(gathered(folder, vocabulary), "code_difference", operation="key-norm")
    assert not found


@pairs("llama_a", "starling_a", "gemma2_c")
def test_without_the_configuration_no_values_are_compared(folder, vocabulary, tmp_path):
    for name in ("modeling_hf.py", "modeling_port.py"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert not of_kind(gathered(tmp_path, vocabulary), "code_difference", differs=True)


@pairs("granite_a")
def test_a_missing_operation_is_a_formula_difference_too(folder, vocabulary):
    (found,) = of_kind(gathered(folder, vocabulary), "formula_difference",
                       difference="operation-missing")  # fmt: skip
    assert found.get("component") == "decoder_layer"
    assert "residual_multiplier" in found.get("detail")


@pairs("qwen2_a")
class TestCheckpoint:
    """Keys of a checkpoint replace those that the reference would save."""

    def keys(self, folder, vocabulary):
        layers = range(json.loads((folder / "config.json").read_text())["num_hidden_layers"])
        parts = [f"self_attn.{side}_proj.{end}" for side in "qkv" for end in ("weight", "bias")]
        parts += ["self_attn.o_proj.weight", "input_layernorm.weight",
                  "post_attention_layernorm.weight"]  # fmt: skip
        parts += [f"mlp.{name}_proj.weight" for name in ("gate", "up", "down")]
        return [f"model.layers.{n}.{part}" for n in layers for part in parts] + [
            "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight",
        ]  # fmt: skip

    def index(self, keys, root):
        path = root / "model.safetensors.index.json"
        path.write_text(json.dumps({"weight_map": dict.fromkeys(keys, "model-00001.safetensors")}))
        return path

    def test_a_bias_that_is_left_over_is_lost(self, folder, vocabulary, tmp_path):
        path = self.index(self.keys(folder, vocabulary), tmp_path)
        facts = gathered(folder, vocabulary, checkpoint=path)
        (found,) = of_kind(facts, "weight_mapping")
        assert (found.get("fault"), found.get("tensor")) == (
            "bias-lost", "layers.*.self_attn.Wqkv.bias",
        )  # fmt: skip
        assert of_kind(facts, "e2e_check", check="weights-equal", ok=False)

    def test_a_tensor_that_the_checkpoint_lacks_is_not_filled(self, folder, vocabulary, tmp_path):
        keys = [
            key for key in self.keys(folder, vocabulary) if not key.endswith("model.norm.weight")
        ]
        facts = gathered(folder, vocabulary, checkpoint=self.index(keys, tmp_path))
        faults = {f.get("tensor"): f.get("fault") for f in of_kind(facts, "weight_mapping")}
        assert faults["norm.weight"] == "not-filled"


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        ("torch.clamp(hidden_states, -1, 1)", "result-dropped"),
        ("hidden_states.to(torch.float32)", "cast-dropped"),
        ("hidden_states.masked_fill(mask, 0)", "result-dropped"),
        ("hidden_states.clamp_(-1, 1)", None),
        ("torch.add(hidden_states, 1, out=hidden_states)", None),
        ("hidden_states = torch.clamp(hidden_states, -1, 1)", None),
        ("self.inner.to(torch.float32)", None),
        ("model.to(torch.float32)", None),
        ("seen.add(hidden_states)", None),
        ("dict(state).pop('bias')", "result-dropped"),
        ("state.pop('bias')", None),
    ],
)
def test_results_that_are_dropped(body, pattern, vocabulary, tmp_path):
    path = tmp_path / "modeling_port.py"
    head = "import torch\nfrom torch import nn\nfrom neuronx_distributed.utils import cpu_mode\n"
    path.write_text(head + TOY.format(body=body), "utf-8")
    found = {fact.get("pattern") for fact in of_kind(gather_modeling(path, vocabulary).facts,
                                                     "code_pattern", present=True)}  # fmt: skip
    assert {each for each in found if each.endswith("-dropped")} == ({pattern} - {None})


@pairs("mistral_b")
@pytest.mark.parametrize(
    "body",
    [
        "\n        ".join(["hidden_states = hidden_states * hidden_states"] * 400),
        "\n        ".join(["hidden_states = hidden_states if self.a else -hidden_states"] * 400),
        "for n in range(10**12):\n            hidden_states = hidden_states + n",
        "hidden_states = self.forward(self.forward(hidden_states))",
        "hidden_states = 'a' * 10**12",
        "hidden_states = 10**10**10",
        "[hidden_states for a in 'ab' * 9 " + "for b in range(5000) " * 9 + "]",
    ],
    ids=["products", "branches", "loop", "recursion", "text", "power", "loops"],
)  # fmt: skip
def test_hostile_code_ends_and_does_not_run(folder, body, vocabulary, tmp_path):
    text = (folder / "modeling_port.py").read_text("utf-8")
    marker = tmp_path / "it-ran"
    before = "residual = hidden_states"
    text = text.replace(before, f"{body}\n        {before}", 1) + f"\nopen({str(marker)!r}, 'w')\n"
    for name in ("modeling_hf.py", "config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "modeling_port.py").write_text(text, "utf-8")
    outcome = gather_modeling([tmp_path / "modeling_port.py"], vocabulary,
                              references=[tmp_path / "modeling_hf.py"])  # fmt: skip
    assert of_kind(outcome.facts, "class_divergence")
    assert not marker.exists()
