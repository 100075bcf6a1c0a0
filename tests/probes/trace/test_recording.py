"""Traces of real models: edits of a port are found at their lines, other forms are not faults."""

import copy

import pytest

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def llama():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    return model.eval()


@pytest.fixture
def compare(llama, tmp_path, vocabulary):
    import torch

    from modelmedic.probes.capture import Plan, trace_run
    from modelmedic.probes.outcome import Collector
    from modelmedic.probes.trace.facts import add_trace
    from modelmedic.probes.trace.recorder import beside_each_other
    from modelmedic.probes.trace.stored import write_trace

    ids = torch.randint(3, 96, (2, 20), generator=torch.Generator().manual_seed(1))

    def run(port, decode=2):
        plan = Plan(ids, decode)
        mine, theirs = trace_run(port, plan), trace_run(llama, plan)
        for role, trace in zip(("port", "reference"), beside_each_other(mine, theirs), strict=True):
            write_trace(tmp_path, role, trace)
        collector = Collector(vocabulary, "probe:tensors")
        add_trace(collector, tmp_path, llama.config.to_dict())
        outcome = collector.outcome()
        assert not outcome.problems
        return {fact.kind: dict(fact.values) for fact in outcome.facts}

    return run


def edited(model, name, attribute, value):
    port = copy.deepcopy(model)
    setattr(port.get_submodule(name), attribute, value)
    return port


def test_a_copy_is_equal_in_prompt_and_decoding(llama, compare):
    found = compare(copy.deepcopy(llama))
    assert found == {"trace_summary": found["trace_summary"]}
    assert found["trace_summary"]["equal"] is True
    assert found["trace_summary"]["decoded"] == 2


@pytest.mark.parametrize(
    ("name", "attribute", "value", "kind", "words"),
    [
        ("model.layers.1.self_attn", "scaling", 0.2, "other-constant", "0.25 (self.scaling"),
        ("model.layers.0.mlp", "act_fn", "gelu", "other-operation", "silu"),
        (
            "model.layers.1.input_layernorm",
            "variance_epsilon",
            0.5,
            "other-constant",
            "rms_norm_eps",
        ),
    ],
)
def test_an_edit_is_named(name, attribute, value, kind, words, llama, compare):
    import torch

    edit = torch.nn.GELU() if value == "gelu" else value
    told = compare(edited(llama, name, attribute, edit))["trace_difference"]
    assert told["difference"] == kind
    assert told["component"].startswith(name)
    assert words in told["says"]
    assert told["phase"] == "prompt"


def test_a_norm_that_is_never_called(llama, compare):
    port = copy.deepcopy(llama)
    port.model.norm.forward = lambda x: x
    told = compare(port)["trace_difference"]
    assert told["component"] == "model.norm"
    assert told["difference"] == "missing-operation"


def test_a_weight_of_its_own(llama, compare):
    port = copy.deepcopy(llama)
    port.model.rotary_emb.inv_freq.mul_(0.9)
    told = compare(port)["trace_difference"]
    assert told["difference"] == "other-weight"
    assert "model.rotary_emb.inv_freq" in told["says"]


def test_permuted_and_fused_weights_are_no_fault(llama, compare):
    import torch

    port = copy.deepcopy(llama)
    for layer in port.model.layers:
        mlp, order = layer.mlp, torch.randperm(96)
        both = torch.cat((mlp.gate_proj.weight[order], mlp.up_proj.weight[order]))
        down = mlp.down_proj.weight[:, order]
        mlp.forward = lambda x, both=both, down=down: _fused(x, both.detach(), down.detach())
    found = compare(port)
    assert "trace_difference" not in found, found
    assert found["trace_summary"]["equal"] is True


def _fused(x, both, down):
    import torch

    gate, up = (x @ both.T).chunk(2, -1)
    half = torch.nn.functional.silu(gate) * up
    cut = half.shape[-1] // 2
    return half[..., :cut] @ down[:, :cut].T + half[..., cut:] @ down[:, cut:].T


def test_a_reference_that_a_function_makes(llama, tmp_path):
    from modelmedic.facts import ModelMedicError
    from modelmedic.probes.capture import load_made

    folder, file = tmp_path / "model", tmp_path / "made.py"
    llama.save_pretrained(folder)
    file.write_text(
        "import transformers\n"
        f"def made(): return transformers.LlamaForCausalLM.from_pretrained({str(folder)!r})\n"
        "def nothing(): return None\n",
        encoding="utf-8",
    )
    assert load_made(f"{file}:made").config.hidden_size == 64
    with pytest.raises(ModelMedicError) as error:
        load_made(f"{file}:nothing")
    assert error.value.problems[0].code == "MM530"
