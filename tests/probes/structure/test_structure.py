"""Trees of reference and port -> facts -> diagnoses. The source trees are those of transformers
models (two layers), the target trees have the shape that the framework gives a port of them."""

import copy
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.engine import Diagnoser
from modelmedic.facts.fact import Fact
from modelmedic.probes.modeling.probe import gather_modeling
from modelmedic.probes.structure.config_tree import build_tree, read_config
from modelmedic.probes.structure.probe import gather_found, gather_structure
from modelmedic.probes.structure.recognition import looks_like_structure

DATA = Path(__file__).parents[1] / "data" / "structure"
MODELS = sorted(path.name for path in DATA.iterdir())
EXPECTED = "neuron.scaffold.expected-difference"


def tree(model, side):
    path = DATA / model / f"model_tree_{side}_full.json"
    return json.loads(path.read_text(encoding="utf-8"))


def node(root, path):
    for name in path.split("."):
        root = next(child for child in root["children"] if child["name"] == name)
    return root


def drop(root, path):
    parent, _, name = path.rpartition(".")
    owner = node(root, parent) if parent else root
    found = node(owner, name)
    owner["children"].remove(found)
    return found


def compared(doctor, folder, source, target, extra=()):
    """The diagnoses of two trees, most important first."""
    for side, root in (("source", source), ("target", target)):
        (folder / f"{side}.json").write_text(json.dumps(root))
    outcome = gather_structure(
        doctor.base.vocabulary, source=folder / "source.json", target=folder / "target.json"
    )
    assert not outcome.problems
    return [d.id for d in doctor.diagnose([*outcome.facts, *extra]).diagnoses]


@pytest.mark.parametrize("model", MODELS)
def test_a_sound_port_differs_as_expected_and_in_nothing_else(model, doctor, tmp_path):
    found = compared(doctor, tmp_path, tree(model, "source"), tree(model, "target"))
    assert found == [EXPECTED]


def test_a_tree_does_not_differ_from_itself(doctor, tmp_path):
    root = tree("llama", "source")
    assert compared(doctor, tmp_path, root, root) == []


def without_norm(root):
    drop(root, "layers.1.post_attention_layernorm")


def with_module(root):
    child = {"name": "adapter", "type": "ToyAdapter", "children": []}
    node(root, "layers.0.mlp")["children"].append(child)


def with_moved_mlp(root):
    for layer in ("layers.0", "layers.1"):
        node(root, f"{layer}.self_attn")["children"].append(drop(root, f"{layer}.mlp"))


def without_layer(root):
    drop(root, "layers.1")


def with_other_norm(root):
    node(root, "norm")["type"] = "LayerNorm"


def with_other_activation(root):
    node(root, "layers.0.mlp.act_fn")["type"] = "GELUActivation"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (without_norm, "neuron.scaffold.missing-module"),
        (with_module, "neuron.scaffold.unexplained-extra-module"),
        (with_moved_mlp, "neuron.scaffold.wrong-nesting"),
        (without_layer, "neuron.scaffold.layer-count-mismatch"),
        (with_other_norm, "neuron.component.norm-type-mismatch"),
        (with_other_activation, "neuron.component.activation-mismatch"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.parametrize("model", ["llama", "qwen3", "granite"])
def test_a_broken_port_is_told_from_a_sound_one(model, broken, expected, doctor, tmp_path):
    target = tree(model, "target")
    broken(target)
    found = compared(doctor, tmp_path, tree(model, "source"), target)
    assert found[0] == expected
    if broken is not without_layer:  # the modules of the layer are missing as well
        assert set(found) == {expected, EXPECTED}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return F.silu(x)", [EXPECTED]),
        ("return x", ["neuron.scaffold.missing-activation", EXPECTED]),
        (None, [EXPECTED]),
    ],
)
def test_a_missing_activation_is_settled_by_the_modeling_file(code, expected, doctor, tmp_path):
    target = tree("llama", "target")
    for layer in ("layers.0", "layers.1"):
        drop(target, f"{layer}.mlp.act_fn")
    extra: Sequence[Fact] = ()
    if code is not None:
        file = tmp_path / "modeling_toy.py"
        file.write_text(
            "import torch.nn.functional as F\n"
            "from neuronx_distributed.parallel_layers.layers import ColumnParallelLinear\n\n\n"
            f"class ToyMLP:\n    def forward(self, x):\n        {code}\n"
        )
        extra = gather_modeling(file, doctor.base.vocabulary).facts
    assert compared(doctor, tmp_path, tree("llama", "source"), target, extra) == expected


OVERLAY = """
schema: modelmedic/rules/1
domain: neuron
sources: [{ref: measured, note: house rule}]
rules:
  - id: neuron.rule.structure-house-adapter
    title: Our ports carry an adapter
    when:
      fact: structure_difference
      as: d
      where: {difference: extra-in-target, module: $m, target_type: ToyAdapter}
    conclude:
      - {diagnosis: neuron.scaffold.expected-difference, strength: strong}
      - {fact: structure_expected, set: {module: $m, difference: extra-in-target}}
    message: "{d.module}: ours."
"""


def test_an_expected_difference_is_added_in_yaml(tmp_path):
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "house.yaml").write_text(OVERLAY)
    target = tree("llama", "target")
    with_module(target)
    taught = Diagnoser.load([tmp_path / "kb"])
    assert compared(taught, tmp_path, tree("llama", "source"), target) == [EXPECTED]


def test_a_wrapper_around_the_decoder_is_no_difference(doctor, tmp_path):
    source = tree("llama", "source")
    inner = node(source, "model")
    inner["name"] = "language_model"
    source["children"][0] = {"name": "model", "type": "ToyModel", "children": [inner]}
    found = compared(doctor, tmp_path, source, tree("llama", "target"))
    assert found == [EXPECTED]


def layer_counts(outcome):
    return {f.get("side"): f.get("count") for f in outcome.facts if f.kind == "layer_count"}


def test_the_mapping_is_checked(vocabulary, tmp_path):
    mapping = tmp_path / "mapping.json"
    mapping.write_text(json.dumps({
        "mapping_size": 2,
        "component_mapping": [[["model.norm"], ["norm"]], [["model.{i}.x"], ["x"]],
                              [["model.norm"], ["norm"]]],
    }))  # fmt: skip
    folder = DATA / "llama"
    outcome = gather_structure(
        vocabulary,
        source=folder / "model_tree_source_full.json",
        target=folder / "model_tree_target_full.json",
        mapping=mapping,
    )
    checks = {f.get("problem"): f.get("present") for f in outcome.facts
              if f.kind == "mapping_check"}  # fmt: skip
    assert checks["undefined-variable"]
    assert checks["size-mismatch"]
    assert checks["duplicate"]
    assert checks["unmapped-source"]
    assert not checks["entry-shape"]
    assert layer_counts(outcome) == {"source": 2, "target": 2}


def test_sides_follow_from_names_or_classes(vocabulary, tmp_path):
    folder = DATA / "llama"
    paths = [folder / "model_tree_target_full.json", folder / "model_tree_source_full.json"]
    named = gather_found(paths, vocabulary)
    for number, path in enumerate(paths):
        (tmp_path / f"{number}.json").write_bytes(path.read_bytes())
    unnamed = gather_found([tmp_path / "0.json", tmp_path / "1.json"], vocabulary)
    assert len(named.facts) > 10
    assert [f.values for f in named.facts] == [f.values for f in unnamed.facts]
    more = gather_found([*paths, tmp_path / "1.json"], vocabulary)
    assert [p.code for p in more.problems] == ["MM523"]


def test_one_tree_alone_gives_its_layers(vocabulary):
    outcome = gather_found([DATA / "llama" / "model_tree_source_full.json"], vocabulary)
    assert layer_counts(outcome) == {"source": 2}
    assert len(outcome.facts) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\0\xff", b'{"name": "model"}'])
def test_bad_trees_are_problems(content, vocabulary, tmp_path):
    path = tmp_path / "tree.json"
    path.write_bytes(content)
    outcome = gather_structure(vocabulary, source=path, target=tmp_path / "no.json")
    assert len(outcome.problems) == 2
    assert not outcome.facts


def test_trees_are_recognised():
    for path in DATA.glob("*/model_tree_*.json"):
        assert looks_like_structure(path, path.read_bytes())
    assert not looks_like_structure(Path("a.json"), b'{"name": "x", "version": 1}')
    assert not looks_like_structure(
        Path("config.json"), (DATA / "llama" / "config.json").read_bytes()
    )


_NODES = st.recursive(
    st.fixed_dictionaries({"name": st.sampled_from("abc01"), "type": st.sampled_from(
        ["Linear", "ToyNorm", "RMSNorm", "SiLU", "ModuleList", ""])}),
    lambda inner: st.fixed_dictionaries({
        "name": st.sampled_from(["layers", "mlp", "0", "1", "model"]),
        "type": st.just("Toy"), "children": st.lists(inner, max_size=3)}),
    max_leaves=12,
)  # fmt: skip


@given(_NODES, _NODES)
def test_no_trees_make_it_raise(vocabulary, tmp_path_factory, one, other):
    folder = tmp_path_factory.getbasetemp()
    for name, root in (("one", one), ("other", other)):
        (folder / f"{name}.json").write_text(json.dumps(root))
    gather_structure(vocabulary, source=folder / "one.json", target=folder / "other.json")


def test_unreasonable_configurations_are_refused(vocabulary, tmp_path):
    config = json.loads((DATA / "llama" / "config.json").read_text())
    for change in ({"num_hidden_layers": 10**9}, {"model_type": None}):
        path = tmp_path / "config.json"
        path.write_text(json.dumps({**copy.deepcopy(config), **change}))
        outcome = gather_structure(vocabulary, source=tmp_path)
        assert [p.code for p in outcome.problems] == ["MM524"]
    assert read_config(DATA / "llama")["model_type"] == "llama"


def interpreter(folder, script):
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_an_interpreter_that_hangs_or_talks_nonsense_is_a_problem(vocabulary, tmp_path):
    source = DATA / "llama"
    slow = interpreter(tmp_path, "sleep 600")
    outcome = gather_structure(vocabulary, source=source, python=slow, timeout_s=0.2)
    assert [p.code for p in outcome.problems] == ["MM525"]
    for script in ("echo hello", "echo 'modelmedic-tree:[1'", "exit 3"):
        odd = interpreter(tmp_path, script)
        outcome = gather_structure(vocabulary, source=source, python=odd)
        assert [p.code for p in outcome.problems] == ["MM526"]


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.slow
def test_a_tree_is_built_from_a_configuration(vocabulary, tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    built = build_tree(DATA / "llama")
    assert built.layers == 2
    assert built.root == tree("llama", "source")
    outcome = gather_structure(
        vocabulary, source=DATA / "llama", target=DATA / "llama" / "model_tree_target_full.json"
    )
    assert layer_counts(outcome) == {"source-config": 2, "source": 2, "target": 2}


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.slow
def test_code_beside_a_configuration_is_never_run(vocabulary, tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    config = json.loads((DATA / "llama" / "config.json").read_text())
    config["auto_map"] = {"AutoModelForCausalLM": "modeling_evil.Evil"}
    (tmp_path / "modeling_evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "config.json").write_text(json.dumps(config))
    build_tree(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "evil"}))
    outcome = gather_structure(vocabulary, source=tmp_path)
    assert [p.code for p in outcome.problems] == ["MM526"]
    assert not (tmp_path / "ran").exists()


SIZES: dict[str, object] = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4,
         "num_hidden_layers": 2}  # fmt: skip
UNNAMED: dict[str, dict[str, object]] = {
    "llava": {
        "text_config": {**SIZES, "model_type": "llama", "num_key_value_heads": 2},
        "vision_config": {**SIZES, "model_type": "clip_vision_model", "image_size": 28},
    },
    "t5": {"d_model": 32, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    "llama": SIZES,
}
CLASSES = {"llava": "LlavaForConditionalGeneration", "t5": "T5ForConditionalGeneration",
           "llama": "LlamaForCausalLM"}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("kind", UNNAMED)
def test_a_configuration_need_not_name_its_architecture(tmp_path, kind):
    """Composite ones have no causal model of their own."""
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind, **UNNAMED[kind]}))
    built = build_tree(tmp_path)
    assert built.layers == 2
    assert built.root["type"] == CLASSES[kind]
