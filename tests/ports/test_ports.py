"""Ports of real transformers, sound and broken one at a time: from the tensors captured at each
component, ``inspect`` names the broken component and the cause, and is silent about sound ports.

No ratio is written down here: every figure comes out of models that run.
"""

import json
import re
from typing import Any, NamedTuple

import pytest

from modelmedic.interfaces.inspection import gather

pytestmark = pytest.mark.heavy


class Broken(NamedTuple):
    """A fault of the port, the families it is tried on (each with a seed of its own), the component
    that is to be named first, and the cause."""

    fault: str
    families: tuple[str, ...]
    component: str
    cause: str


BROKEN = (
    Broken("attention-scaling", ("llama", "gemma", "mixtral"), "self_attn",
           "attention-scaling-missing"),
    Broken("rope-scaling", ("llama", "llama-yarn", "qwen2"), "rotary_emb", "rope-scaling-missing"),
    Broken("norm-variance", ("llama", "gemma", "qwen2"), "input_layernorm", "norm-variance-bf16"),
    Broken("norm-offset", ("gemma", "llama", "mixtral"), "input_layernorm", "norm-weight-offset"),
    Broken("swapped-gate-up", ("llama", "gemma", "qwen2"), "mlp.gate_proj",
           "weight-layout-mismatch"),
    Broken("bias", ("llama", "qwen2", "gemma"), "self_attn.q_proj", "bias-missing"),
    Broken("no-mask", ("llama", "qwen2", "mixtral"), "self_attn", "wrong-masking"),
    Broken("routing-all", ("mixtral",) * 3, "mlp.experts", "routing-ignored"),
    Broken("upcast-mlp", ("llama", "gemma", "qwen2"), "mlp.gate_proj", "over-precision"),
    Broken("activation", ("llama", "gemma", "qwen2"), "mlp.act_fn", "activation-mismatch"),
    Broken("untransposed", ("llama", "gemma", "mixtral"), "self_attn.q_proj",
           "weights-untransposed"),
)  # fmt: skip
VARIANTS = (
    Broken("no-window", ("mixtral",) * 3, "self_attn", "wrong-masking"),
    Broken("routing-binary", ("mixtral",) * 3, "mlp.experts", "routing-ignored"),
)
RUNS = [(broken, family, seed) for broken in BROKEN + VARIANTS
        for seed, family in enumerate(broken.families)]  # fmt: skip


@pytest.fixture(scope="module")
def inspect(capture, doctor, tmp_path_factory):
    """Captures of a port -> the report."""

    def run(family, *faults, tp_degree=None, only=None, **options):
        options.setdefault("tokens", 48 if family == "mixtral" else 24)
        folder = tmp_path_factory.mktemp("captures")
        capture(folder, family, faults, only=only, **options)
        if tp_degree:
            text = json.dumps({"neuron_config": {"tp_degree": tp_degree}})
            (folder / "neuron_config.json").write_text(text)
        facts, problems, read = gather([folder], doctor.base.vocabulary)
        assert problems == []
        assert len(read) == 1, "the folder is one artefact"
        return doctor.diagnose(facts, problems)

    return run


def first_component(report):
    """The component that the evidence of the first finding names."""
    found = re.search(r"component='([^']+)'", report.diagnoses[0].evidence[0].text)
    return found and found[1]


def causes(report):
    """Root causes that are more than possible, most important first."""
    return [d.id.removeprefix("neuron.component.") for d in report.diagnoses
            if d.kind == "root-cause" and d.confidence != "possible"]  # fmt: skip


def findings(report):
    return [d.id for d in report.diagnoses if d.kind != "benign"]


@pytest.mark.sweep
@pytest.mark.parametrize(("broken", "family", "seed"), RUNS,
                         ids=[f"{b.fault}-{name}-{seed}" for b, name, seed in RUNS])  # fmt: skip
@pytest.mark.parametrize("isolated", [False, True], ids=["one-pass", "each-alone"])
def test_the_broken_component_and_its_cause_come_first(inspect, broken, family, seed, isolated):
    # A variance in BF16 is lost in the rounding of earlier layers: R stays at 1 behind them.
    layer = 0 if broken.fault == "norm-variance" and not isolated else seed % 2
    report = inspect(family, (broken.fault, layer), seed=seed, isolated=isolated, exact=seed != 1)
    named = broken.component if broken.component == "rotary_emb" else (
        f"layers.{layer}.{broken.component}")  # fmt: skip
    assert first_component(report).startswith(named)
    roots = [d.id for d in report.diagnoses if d.kind == "root-cause"]
    assert roots[0] == f"neuron.component.{broken.cause}"
    others = {"neuron.e2e.porting-bug-propagates", "neuron.component." + broken.cause}
    assert {d for d in roots if d.removeprefix("neuron.component.") in causes(report)} <= others


SOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("llama", {}),
    "dense, scaled rotary": ("llama-yarn", {}),
    "dense, biased projections": ("qwen2", {}),
    "dense, norms around one": ("gemma", {}),
    "mixture of experts": ("mixtral", {}),
    "quantized": ("llama-yarn", {"quantize": True}),
    "quantized experts": ("mixtral", {"quantize": True}),
    "two ranks": ("llama", {"ranks": 2, "tp_degree": 2}),
    "eight ranks": ("llama", {"ranks": 8, "tp_degree": 8}),
    "experts on four ranks": ("mixtral", {"ranks": 4, "tp_degree": 4}),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("isolated", [False, True], ids=["one-pass", "each-alone"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in (1, 2))])
def test_a_sound_port_is_silent(inspect, name, isolated, seed):
    family, options = SOUND[name]
    report = inspect(family, seed=seed, isolated=isolated, exact=seed != 1, **options)
    assert findings(report) == []
    lookup = [d for d in report.diagnoses if d.id == "neuron.component.denominator-zero"]
    assert bool(lookup) == (seed != 1), "with weights of BF16 the lookup has no denominator"


def test_of_several_faults_in_one_pass_the_first_is_named(inspect):
    report = inspect("llama", ("bias", 0), ("activation", 1), ("no-mask", 1))
    assert first_component(report) == "layers.0.self_attn.q_proj"
    assert causes(report)[0] == "bias-missing"


def test_of_several_faults_each_alone_all_are_named(inspect):
    report = inspect("llama", ("bias", 0), ("activation", 0), ("norm-offset", 1), isolated=True)
    assert set(causes(report)) == {"bias-missing", "activation-mismatch", "norm-weight-offset"}


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in (1, 2))])
def test_rounded_partial_sums_hide_no_fault(inspect, seed):
    report = inspect("llama", ("attention-scaling", 1), ranks=8, tp_degree=8, seed=seed)
    assert first_component(report) == "layers.1.self_attn[1]"
    assert causes(report)[0] == "attention-scaling-missing"


def test_an_excess_is_no_partial_sum_at_one_rank(inspect):
    report = inspect("llama", ranks=8, isolated=True)
    assert "neuron.component.ratio-fail" in findings(report)


DEVICE = ("embed_tokens", "rotary_emb", "input_layernorm", "q_proj", "k_proj", "v_proj", "o_proj",
          "self_attn", "post_attention_layernorm", "mlp", "norm", "lm_head")  # fmt: skip


SEEN = {"no-mask": "wrong-masking", "bias": "bias-missing", "norm-offset": "norm-weight-offset",
        "untransposed": "weights-untransposed", "rope-scaling": "rope-scaling-missing"}  # fmt: skip


@pytest.mark.parametrize(("fault", "cause"), SEEN.items())
def test_causes_without_attention_weights(inspect, fault, cause):
    """The captures of a device: no attention weights, and nothing inside the MLP."""
    report = inspect("llama", (fault, 0), only=DEVICE)
    assert causes(report)[0] == cause


def test_a_lost_factor_without_attention_weights_is_a_lead(inspect):
    report = inspect("llama", ("attention-scaling", 0), only=DEVICE)
    assert first_component(report).startswith("layers.0.self_attn")
    leads = {d.id for d in report.diagnoses if d.confidence == "possible"}
    assert "neuron.component.attention-scaling-missing" in leads


@pytest.mark.parametrize("fault", ["crossed-gate-up", "activation"])
def test_another_fault_of_experts_is_not_taken_for_routing(inspect, fault):
    report = inspect("mixtral", (fault, 0))
    assert first_component(report) == "layers.0.mlp.experts"
    assert "routing-ignored" not in causes(report)


def test_an_untransposed_projection_is_found_from_its_captured_input(inspect):
    report = inspect("llama", ("untransposed-o", 0), inputs=("o_proj",))
    assert first_component(report) == "layers.0.self_attn.o_proj"
    assert causes(report)[0] == "weights-untransposed"


def test_crossed_projections_show_at_the_activation(inspect):
    report = inspect("llama", ("crossed-gate-up", 0))
    assert first_component(report) == "layers.0.mlp.act_fn"
    assert causes(report)[0] == "weight-layout-mismatch"
