"""Captured modules are recomputed under hypotheses: causes with their values, ambiguous pairs, and
silence where a module is as exact as the reference."""

import json

import pytest

from modelmedic.authoring.port_hypotheses import FILE, RELATIONS, shape_problems
from modelmedic.engine.compiler.source.relations_file import RelationsFile
from modelmedic.interfaces.inspection import gather
from modelmedic.probes.replay.arithmetic import NoValueError, value_of
from modelmedic.probes.replay.finding.registry import FINDERS
from modelmedic.probes.replay.formula.formulas import FORMULAS
from modelmedic.probes.replay.hypotheses import all_hypotheses
from modelmedic.probes.replay.weight_changes import CHANGES
from modelmedic.probes.tensors.probe import gather_tensors

np = pytest.importorskip("numpy")
save_file = pytest.importorskip("safetensors.numpy").save_file

CONFIG = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
          "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1e6,
          "max_position_embeddings": 64, "sliding_window": None}  # fmt: skip
SPEC = {"heads": 4, "kv_heads": 2, "head_dim": 8, "scale": 8**-0.5, "rope": True, "theta": 1e6,
        "rotary_dim": 8, "mask": "causal"}  # fmt: skip
SHAPES = {"q": (32, 32), "k": (16, 32), "v": (16, 32), "o": (32, 32)}


def rounded(x):
    """Round to BF16."""
    bits = (np.asarray(x, np.float32).view(np.uint32) + 0x8000) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32)


@pytest.fixture
def write(tmp_path):
    """A folder of captures: attention and a norm, computed by the formulas."""

    def run(attention=(), norm=(), **manifest):
        random = np.random.default_rng(3)
        weights = {f"{part}.weight": rounded(random.normal(size=shape).astype(np.float32) / 5)
                   for part, shape in SHAPES.items()}  # fmt: skip
        scale = {"own.weight": rounded(1 + random.normal(size=32).astype(np.float32) / 3)}
        x = random.normal(size=(2, 20, 32)).astype(np.float32)
        specs = {"fp32": (SPEC, {"norm_kind": "rms", "norm_eps": 1e-6})}
        specs["bf16"] = specs["fp32"]
        specs["target"] = (SPEC | dict(attention), specs["fp32"][1] | dict(norm))
        for role, (spec, of_norm) in specs.items():
            given = x if role == "fp32" else rounded(x)
            normal = FORMULAS["norm"](of_norm, scale, {"x": given})
            normal = normal if role == "fp32" else rounded(normal)
            mixed = FORMULAS["attention"](spec, weights, {"x": normal})
            if role == "target":  # of another order of rounding
                mixed = mixed * (1 + np.float32(0.002) * random.normal(size=mixed.shape))
            mixed = mixed.astype(np.float32) if role == "fp32" else rounded(mixed)
            folder = tmp_path / {"target": "target"}.get(role, f"ref_{role}")
            folder.mkdir(exist_ok=True)
            names = {"input_layernorm_input": given, "input_layernorm_output": normal,
                     "self_attn_input": normal, "self_attn_output": mixed}  # fmt: skip
            flat = {f"captured_tensors_cte_step_0_module_layers.0.{name}": values
                    for name, values in names.items()}  # fmt: skip
            save_file(flat, str(folder / "captures.safetensors"))
        (tmp_path / "reference").mkdir(exist_ok=True)
        stored = {f"model.layers.0.self_attn.{part}_proj.weight": weights[f"{part}.weight"]
                  for part in SHAPES}  # fmt: skip
        stored["model.layers.0.input_layernorm.weight"] = scale["own.weight"]
        save_file(stored, str(tmp_path / "reference" / "weights.safetensors"))
        document = {"schema": "modelmedic/capture/1", "config": CONFIG, "weights": "reference"}
        (tmp_path / "capture.json").write_text(json.dumps(document | manifest))
        return tmp_path

    return run


def diagnose(doctor, folder):
    facts, problems, read = gather([folder], doctor.base.vocabulary)
    assert problems == []
    assert len(read) == 1, "the weights of the reference are no artefact of their own"
    return facts, doctor.diagnose(facts, problems)


def firm(report):
    return {d.id.removeprefix("neuron.component.") for d in report.diagnoses
            if d.kind == "root-cause" and d.confidence != "possible"}  # fmt: skip


def hypotheses(facts):
    found = [fact for fact in facts if fact.kind == "replay_hypothesis"]
    return sorted(found, key=lambda fact: fact.get("rank"))


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("attention", "norm", "component", "cause", "says"),
    [
        ({"theta": 1e4}, {}, "self_attn", "rope-theta-wrong", "rope theta 10000 instead of 1e+06"),
        ({"scale": 1.0}, {}, "self_attn", "attention-scale-wrong", "softmax factor 1 instead of"),
        ({"window": 5}, {}, "self_attn", "attention-window-wrong", "a window of 5"),
        ({"softcap": 30.0, "scale": 20.0}, {}, "self_attn", None, None),
        ({"gqa": "tile"}, {}, "self_attn", "gqa-grouping-wrong", "shared by tile"),
        ({"rope_layout": "interleaved"}, {}, "self_attn", "rope-layout-wrong", "interleaved"),
        ({}, {"norm_offset": 1}, "input_layernorm", "norm-weight-offset", "plus 1"),
        ({}, {"norm_kind": "layer"}, "input_layernorm", "norm-kind-wrong", "layer instead of rms"),
    ],
)
def test_a_cause_is_named_with_its_values(doctor, write, attention, norm, component, cause, says):
    facts, report = diagnose(doctor, write(attention, norm))
    first = next(f for f in facts if f.kind == "replayed_module" and f.get("first"))
    assert first.get("component") == f"layers.0.{component}"
    if cause is None:  # two things at once, which no hypothesis has
        assert firm(report) == set()
        unexplained = "neuron.component.replay-unexplained"
        assert unexplained in {d.id for d in report.diagnoses}
        return
    assert firm(report) == {cause}
    best = hypotheses(facts)[0]
    assert best.get("cause") == cause
    assert says in str(best.get("says"))
    assert float(str(best.get("r_ratio"))) < 1.8 < 3 < float(str(best.get("plain_ratio")))


def test_a_sound_port_is_silent(doctor, write):
    facts, report = diagnose(doctor, write())
    assert [d.id for d in report.diagnoses if d.kind != "benign"] == []
    assert hypotheses(facts) == []
    assert [f.get("fails") for f in facts if f.kind == "replayed_module"] == [False, False]


def test_what_fails_behind_a_failing_module_is_sound_by_itself(doctor, write):
    facts, report = diagnose(doctor, write({}, {"norm_offset": 1}))
    behind = next(f for f in facts if f.kind == "replayed_module"
                  and f.get("component") == "layers.0.self_attn")  # fmt: skip
    assert behind.get("fails") is False
    assert firm(report) == {"norm-weight-offset"}


def test_without_weights_captures_are_compared_as_they_are(doctor, write):
    folder = write({"theta": 1e4})
    (folder / "reference" / "weights.safetensors").unlink()
    outcome = gather_tensors(folder, doctor.base.vocabulary)
    assert [problem.code for problem in outcome.problems] == ["MM516"]
    assert any(fact.kind == "component_result" for fact in outcome.facts)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other"}',
                                  '{"schema": "modelmedic/capture/1", "config": 3}'])  # fmt: skip
def test_a_manifest_that_says_nothing_is_none(doctor, write, text):
    folder = write({"theta": 1e4})
    (folder / "capture.json").write_text(text)
    outcome = gather_tensors(folder, doctor.base.vocabulary)
    assert not any(fact.kind == "replayed_module" for fact in outcome.facts)
    assert any(fact.kind == "component_result" for fact in outcome.facts)


@pytest.mark.parametrize("change", [{"num_attention_heads": 0}, {"hidden_size": "wide"},
                                    {"num_attention_heads": None}, {"rope_theta": -1}])  # fmt: skip
def test_a_configuration_that_makes_no_sense_breaks_nothing(doctor, write, change):
    folder = write({"theta": 1e4}, config={**CONFIG, **change})
    outcome = gather_tensors(folder, doctor.base.vocabulary)
    assert any(fact.kind == "component_result" for fact in outcome.facts)


def test_every_hypothesis_is_about_a_formula_and_changes_that_there_are():
    known = {*FORMULAS}
    for hypothesis in all_hypotheses():
        assert set(hypothesis.families) <= known, hypothesis.id
        assert hypothesis.settings or hypothesis.weights or hypothesis.free, hypothesis.id
        assert not hypothesis.find or hypothesis.find in FINDERS, hypothesis.id
        for steps in hypothesis.weights:
            assert all(step.split()[0] in CHANGES for step in steps.split(";")), hypothesis.id
    ids = [hypothesis.id for hypothesis in all_hypotheses()]
    assert len(set(ids)) == len(ids)


def test_every_cause_has_a_diagnosis_and_a_rule(doctor):
    known = set(doctor.base.catalogue["diagnoses"])
    entries = set(doctor.base.catalogue["entries"])
    for cause in {hypothesis.cause for hypothesis in all_hypotheses()}:
        assert f"neuron.component.{cause}" in known
        assert f"neuron.rule.replay-{cause}" in entries


def test_expressions_are_numbers_over_settings():
    assert value_of("=head_dim ** -0.5", {"head_dim": 16}) == 0.25
    assert value_of("=max(top_k // 2, 1)", {"top_k": 1}) == 1
    assert value_of("tile", {}) == "tile"
    for text in (
        "=missing",
        "=().__class__",
        "=open(1)",
        "=1 / 0",
        "=9 ** 9 ** 9",
        "=" + "1+" * 200,
    ):
        with pytest.raises(NoValueError):
            value_of(text, {"head_dim": 16})


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("cause: attention-scale-wrong", "because: attention-scale-wrong", "because"),
        ("of: [attention]", "of: [atention]", "atention"),
        ("fit: {scale: [0.0001, 10000]}", "fit: {scale: [0.0001]}", "scale"),
    ],
)
def test_a_hypothesis_of_another_shape_is_named_with_its_place(tmp_path, old, new, says):
    text = FILE.read_text(encoding="utf-8")
    broken = tmp_path / "hypotheses.yaml"
    broken.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert shape_problems(FILE) == ()
    problems = shape_problems(broken)
    assert problems
    line = text[: text.index(old)].count("\n") + 1
    assert any(says in str(problem) for problem in problems)
    assert all(p.where and abs((p.where.line or 0) - line) <= 2 for p in problems)


def test_a_relation_of_another_shape_is_named_with_its_place(tmp_path):
    text = RELATIONS.read_text(encoding="utf-8")
    broken = tmp_path / "relations.yaml"
    broken.write_text(text.replace("of: [attention]", "of: [atention]", 1), encoding="utf-8")
    assert shape_problems(RELATIONS, RelationsFile) == ()
    (problem,) = shape_problems(broken, RelationsFile)
    line = text[: text.index("of: [attention]")].count("\n") + 1
    assert "atention" in str(problem) and problem.where and problem.where.line == line
