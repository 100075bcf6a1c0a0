"""Modeling files -> facts. Each case is a port with what must be found, exactly, in its comments:
``# expect: divergence COMPONENT CATEGORY CPU_CLASS DEVICE_CLASS LINE`` and
``# expect: pattern PATTERN LINE`` (``absent`` for one that was looked for).
"""

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.probes import modeling
from modelmedic.probes.modeling.probe import gather_modeling
from modelmedic.probes.modeling.recognition import looks_like_modeling
from modelmedic.reading.text.values import json_table

CASES = sorted((Path(__file__).parents[1] / "data" / "modeling").glob("modeling_*.py"))
PORT = "from neuronx_distributed.utils import cpu_mode\n"


def of_kind(outcome, kind):
    return [fact for fact in outcome.facts if fact.kind == kind]


def shown(outcome):
    """The facts in the words of the comments."""
    found = set()
    for fact in outcome.facts:
        line = fact.provenance[0].location.rpartition(":")[2]
        if fact.kind == "class_divergence":
            names = [fact.get(name) or "-" for name in ("cpu_class", "device_class")]
            found.add(f"divergence {fact.get('component')} {fact.get('category')} "
                      f"{' '.join(names)} {line}")  # fmt: skip
        elif fact.kind == "code_pattern":
            found.add(f"pattern {fact.get('pattern')} {line if fact.get('present') else 'absent'}")
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_port_shows_exactly_what_is_in_it(case, vocabulary):
    text = case.read_text(encoding="utf-8")
    expected = {line[10:].strip() for line in text.splitlines() if line.startswith("# expect:")}
    outcome = gather_modeling(case, vocabulary)
    assert not outcome.problems
    assert shown(outcome) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_every_class_is_defined_or_imported(case, vocabulary):
    tree = ast.parse(case.read_text(encoding="utf-8"))
    known = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {alias.asname or alias.name for alias in node.names}
    for fact in of_kind(gather_modeling(case, vocabulary), "class_divergence"):
        for name in filter(None, (fact.get("cpu_class"), fact.get("device_class"))):
            assert name.partition(".")[0] in known


@pytest.mark.parametrize(
    ("test", "cpu"),
    [
        ("cpu_mode()", "A"),
        ("not cpu_mode()", "B"),
        ("config.on_cpu is True", "A"),
        ("config.on_cpu is False", "B"),
        ("not not config.neuron_config.on_cpu", "A"),
        ('os.environ["NXD_CPU_MODE"] != "1"', "B"),
        ('os.environ.get("NXD_CPU_MODE") == "0"', "B"),
        ('"1" == os.getenv("NXD_CPU_MODE")', "A"),
        ('os.environ.get("NXD_CPU_MODE") is None', "B"),
        ('x.device.type == "cpu"', "A"),
        ('x.device.type != "cpu"', "B"),
        ("cpu_mode() and wide", "A"),
        ("cpu_mode() or not on_device", "A"),
        ("(mode := cpu_mode())", "A"),
        ("cpu_mode() and on_device", None),
        ("cpu_mode() > 1", None),
        ("wide", None),
        ('wide == "on_cpu_or_not"', None),
    ],
)
def test_the_side_of_a_condition(test, cpu, tmp_path, vocabulary):
    path = tmp_path / "modeling_side.py"
    path.write_text(f"{PORT}class A: ...\nclass B: ...\nnorm = A if {test} else B\n")
    found = of_kind(gather_modeling(path, vocabulary), "class_divergence")
    assert [f.get("cpu_class") for f in found] == ([cpu] if cpu else [])


def test_every_pattern_of_the_table_is_a_value_of_the_vocabulary_and_shown_by_a_case(vocabulary):
    values = vocabulary.kinds["code_pattern"].attributes["pattern"].values
    everything = " ".join(case.read_text(encoding="utf-8") for case in CASES)
    for row in json_table(modeling.__file__, "port_code.json")["calls"]:
        assert row["pattern"] in values
        assert f"# expect: pattern {row['pattern']} " in everything


REFERENCE = """
import torch
from torch import nn


class ToyRMSNorm(nn.Module):
    def forward(self, x):
        x = x.to(torch.float32)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class ToyMLP(nn.Module):
    def __init__(self, config):
        self.size = config.intermediate_size
        self.act = config.hidden_act
        self.multiplier = getattr(config, "residual_multiplier", 1.0)
        self.scaling = config.rope_scaling
        self.dropout = config.attention_dropout
        self.window = config.sliding_window
        self.cap = config.logit_softcap

    def forward(self, x):
        return x * self.multiplier

    def _init_weights(self, module):
        self.std = self.config.initializer_cutoff
"""
TARGET = """
import torch
from torch import nn
from neuronx_distributed.parallel_layers.layers import ColumnParallelLinear


class ToyRMSNorm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class NeuronToyMLP(nn.Module):
    def __init__(self, config):
        self.size = config.intermediate_size
        self.act = config.hidden_act

    def forward(self, x):
        return x.float() * 2
"""
CONFIG = {"intermediate_size": 8, "hidden_act": "silu", "residual_multiplier": 0.22,
          "rope_scaling": {"rope_type": "yarn", "factor": 8.0}, "attention_dropout": 0.1,
          "sliding_window": None, "logit_softcap": 0.0}  # fmt: skip


@pytest.fixture
def pair(tmp_path):
    """Files of a reference, a port and a configuration."""
    (tmp_path / "modeling_toy.py").write_text(REFERENCE)
    (tmp_path / "modeling_port.py").write_text(TARGET)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def parameters(outcome):
    return {f.get("name"): f.get("in_target") for f in of_kind(outcome, "config_parameter")}


def test_values_that_the_port_lacks_are_named(pair, vocabulary):
    files = [pair / "modeling_port.py", pair / "modeling_toy.py"]
    outcome = gather_modeling(files, vocabulary, config=pair / "config.json")
    assert not outcome.problems
    assert parameters(outcome) == {
        "intermediate_size": True,
        "hidden_act": True,
        "residual_multiplier": False,
        "rope_scaling": False,
        "sliding_window": None,
        "logit_softcap": None,
    }
    places = [f.provenance[0].location for f in of_kind(outcome, "config_parameter")]
    assert all(place.startswith(str(pair / "modeling_toy.py:")) for place in places)


def test_the_configuration_beside_the_reference_counts(pair, vocabulary):
    files = [pair / "modeling_port.py", pair / "modeling_toy.py"]
    assert False not in parameters(gather_modeling(files, vocabulary)).values(), "of no model"
    (pair / "config.json").write_text(json.dumps({"model_type": "toy", **CONFIG}))
    assert parameters(gather_modeling(files, vocabulary))["rope_scaling"] is False
    (pair / "config.json").write_text("{")
    outcome = gather_modeling(files, vocabulary)
    assert not outcome.problems
    assert False not in parameters(outcome).values()


def test_without_the_configuration_nothing_is_said_to_be_missing(pair, vocabulary):
    outcome = gather_modeling([pair / "modeling_port.py", pair / "modeling_toy.py"], vocabulary)
    assert False not in parameters(outcome).values()


def test_a_factor_of_one_and_plain_rotary_are_not_missing(pair, vocabulary):
    neutral = {**CONFIG, "residual_multiplier": 1.0, "rope_scaling": {"rope_type": "default"}}
    (pair / "config.json").write_text(json.dumps(neutral))
    files = [pair / "modeling_port.py", pair / "modeling_toy.py"]
    found = parameters(gather_modeling(files, vocabulary, config=pair))
    assert found["residual_multiplier"] is None
    assert found["rope_scaling"] is True


def test_casts_that_only_one_side_has(pair, vocabulary):
    files = [pair / "modeling_port.py", pair / "modeling_toy.py"]
    found = {
        (f.get("component"), f.get("difference")): f.get("present")
        for f in of_kind(gather_modeling(files, vocabulary), "formula_difference")
    }
    assert found == {
        ("rmsnorm", "extra-upcast"): False,
        ("rmsnorm", "variance-bf16"): True,
        ("mlp", "extra-upcast"): True,
    }


def test_a_reference_alone_says_that_there_is_no_port(pair, vocabulary):
    outcome = gather_modeling(pair / "modeling_toy.py", vocabulary)
    assert [p.code for p in outcome.problems] == ["MM520"]
    assert not outcome.facts


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "MM440"), (b"\0\0", "MM440"), (PORT.encode() + b"def f(:\n", "MM466")],
)
def test_bad_files_are_problems(content, code, tmp_path, vocabulary):
    path = tmp_path / "modeling_bad.py"
    path.write_bytes(content)
    assert code in [p.code for p in gather_modeling(path, vocabulary).problems]


def test_missing_files_and_bad_configurations_are_problems(pair, vocabulary):
    (pair / "config.json").write_text("[1")
    outcome = gather_modeling(
        [pair / "no.py", pair / "modeling_port.py"], vocabulary, config=pair / "config.json"
    )
    assert [p.code for p in outcome.problems] == ["MM440", "MM521"]


def test_deep_nesting_is_survived(tmp_path, vocabulary):
    path = tmp_path / "modeling_deep.py"
    path.write_text(PORT + "x = " + "not " * 60 + "cpu_mode()\n" + "y = " + "(" * 150 + ")" * 150)
    gather_modeling(path, vocabulary)
    path.write_text(PORT + "def f():\n  return A if " + "not " * 3000 + "cpu_mode() else B\n")
    gather_modeling(path, vocabulary)


_PARTS = st.sampled_from([
    "if cpu_mode():", "    return A", "    return B()", "else:", "x = A if not cpu_mode() else B",
    "class A(nn.Module):", "    def forward(self, x, router_indices):",
    "        return self.p(x)[0]",
    "def get_a_cls():", "    pass", "self.p = ColumnParallelLinear(1, 2, **k)", "on_cpu = on_cpu",
    "lambda: (A if on_cpu else B)", "from .x import A, B as C", "mask[: a * 2] = 0", "@nki.jit",
    "import neuronxcc.nki as nki", "y: int", "cos = cos.to(x.dtype) * self.attention_scaling",
])  # fmt: skip


@given(st.lists(_PARTS, max_size=12))
def test_no_code_makes_it_raise(vocabulary, lines):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "modeling_any.py"
        path.write_text(PORT + "\n".join(lines))
        gather_modeling(path, vocabulary)


def test_modeling_files_are_recognised(tmp_path):
    assert all(looks_like_modeling(case, case.read_bytes()) for case in CASES)
    reference = REFERENCE.encode()
    assert looks_like_modeling(tmp_path / "modeling_toy.py", reference)
    assert not looks_like_modeling(tmp_path / "train.py", reference)
    assert not looks_like_modeling(tmp_path / "notes.txt", PORT.encode())
    tinker = b"import tinker\nimport torch_neuronx\n"
    assert not looks_like_modeling(tmp_path / "train.py", tinker)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("sound", {}),
        ("kernels", {"neuron.scaffold.class-divergence": "likely"}),
        ("device", {"neuron.config.on-device-sampling-missing": "likely"}),
        ("conditions", {
            "neuron.component.parallel-output-misindexed": "likely",
            "neuron.scaffold.class-divergence": "likely",
        }),
        # Code alone is a lead; a result that it would cause makes it strong.
        ("numerics", {
            "neuron.component.norm-variance-bf16": "possible",
            "neuron.component.precision-ordering": "possible",
            "neuron.component.rope-scaling-missing": "possible",
            "neuron.component.routing-ignored": "possible",
        }),
    ],
)  # fmt: skip
def test_what_a_port_is_told(case, expected, vocabulary, doctor):
    (path,) = (p for p in CASES if p.stem == f"modeling_{case}")
    report = doctor.diagnose(gather_modeling(path, vocabulary).facts)
    assert {d.id: d.confidence for d in report.diagnoses} == expected


def test_a_result_makes_a_lead_strong(vocabulary, doctor):
    (path,) = (p for p in CASES if p.stem == "modeling_numerics")
    facts = list(gather_modeling(path, vocabulary).facts)
    facts.append(vocabulary.fact("component_result", component="experts", family="experts",
                                 r_ratio=833.0, status="fail"))  # fmt: skip
    report = doctor.diagnose(facts)
    found = {d.id: d.confidence for d in report.diagnoses}
    assert found["neuron.component.routing-ignored"] == "likely"
