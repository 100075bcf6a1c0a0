"""Signatures of the error of a failing tensor, from tensors that are made to have them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modelmedic.probes.tensors.probe import gather_tensors
from modelmedic.probes.tensors.recognition import looks_like_tensors

np = pytest.importorskip("numpy")
seeds = st.integers(0, 2**31)
few = settings(max_examples=20)


def rounded(values):
    """Numbers of BF16."""
    bits = np.asarray(values, np.float32).view(np.uint32) + np.uint32(0x8000)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def write(root, roles=("ref_fp32", "ref_bf16", "target"), **tensors):
    for at, role in enumerate(roles):
        (root / role).mkdir(exist_ok=True)
        for name, runs in tensors.items():
            np.save(root / role / f"{name}.npy", np.asarray(runs[at], np.float32))


def signature(root, vocabulary, component):
    outcome = gather_tensors(root, vocabulary)
    assert outcome.problems == ()
    found = [dict(f.values) for f in outcome.facts if f.kind == "error_signature"]
    (one,) = [values for values in found if values["component"] == component]
    return one


def exact(values):
    """A tensor on which the port does not differ but by rounding."""
    return values, rounded(values), rounded(values)


@few
@given(seeds, st.integers(2, 24), st.integers(8, 40), st.booleans())
def test_the_adjoint_identity_finds_an_untransposed_weight(
    tmp_path_factory, vocabulary, seed, width, rows, biased
):
    random = np.random.default_rng(seed)
    x, weight = random.normal(size=(rows, width)), random.normal(size=(width, width))
    bias = random.normal(size=width) if biased else 0
    right, wrong = x @ weight.T + bias, x @ weight + bias
    if np.linalg.norm(right - wrong) < 0.5 * np.linalg.norm(right):
        return  # as good as symmetric
    root = tmp_path_factory.mktemp("runs")
    write(root, **{"layers.0.input_layernorm": exact(x),
                   "layers.0.self_attn.q_proj": (right, rounded(right), wrong)})  # fmt: skip
    found = signature(root, vocabulary, "layers.0.self_attn.q_proj")
    if "transpose_residual" in found:  # the outputs differ enough to be asked
        assert found["transpose_residual"] < 0.05
        assert found["input_module"] == "layers.0.input_layernorm"


@few
@given(seeds, st.sampled_from([(8.0, 1.0), (4.0, 1.0), (1.0, 2.0)]), st.integers(16, 64))
def test_frequencies_are_read_back(tmp_path_factory, vocabulary, seed, factors, positions):
    theta = 100.0 ** (-np.arange(8) / 8)
    reference, target = (theta / factor for factor in factors)
    at = np.arange(positions)[:, None]
    runs = {}
    for name, function in (("output_0", np.cos), ("output_1", np.sin)):
        f, t = (np.tile(function(at * rate), 2) for rate in (reference, target))
        runs[f"captured_tensors_cte_step_0_module_rotary_emb_{name}"] = f, rounded(f), rounded(t)
    root = tmp_path_factory.mktemp("runs")
    write(root, **runs)
    found = signature(root, vocabulary, "rotary_emb")
    assert found["frequency_high"] == pytest.approx(factors[0] / factors[1], rel=0.05)
    assert found["reference_first"] == pytest.approx(reference[0], rel=0.02)
    assert found["target_first"] == pytest.approx(target[0], rel=0.02)
    assert found["target_bend"] < 0.1


@few
@given(seeds, st.floats(1.5, 12), st.integers(6, 20))
@example(seed=201, factor=3.0, positions=6)  # an exact fit that rounding takes past 1
def test_a_factor_of_the_logits(tmp_path_factory, vocabulary, seed, factor, positions):
    logits = np.random.default_rng(seed).normal(size=(3, positions, positions))
    logits[:, np.triu_indices(positions, 1)[0], np.triu_indices(positions, 1)[1]] = -np.inf
    soft = [np.exp(x - x.max(-1, keepdims=True)) for x in (logits, factor * logits)]
    f, t = (x / x.sum(-1, keepdims=True) for x in soft)
    root = tmp_path_factory.mktemp("runs")
    name = "captured_tensors_cte_step_0_module_layers.0.self_attn_output_1"
    write(root, **{name: (f, rounded(f), t)})
    found = signature(root, vocabulary, "layers.0.self_attn[1]")
    assert found["logit_scale"] == pytest.approx(factor, rel=0.02)
    assert found["logit_fit"] > 0.999
    assert found["mass_gained"] == found["mass_lost"] == 0


@pytest.mark.parametrize("groups", [2, 4, 16])
def test_channels_in_another_order(tmp_path, vocabulary, groups):
    x = np.random.default_rng(groups).normal(size=(12, 64))
    mixed = x.reshape(12, 64 // groups, groups).swapaxes(1, 2).reshape(12, 64)
    other = np.random.default_rng(1).normal(size=(12, 64))
    write(tmp_path, **{"layers.0.mlp.up_proj": (x, rounded(x), mixed),
                       "layers.0.mlp.gate_proj": exact(other)})  # fmt: skip
    found = signature(tmp_path, vocabulary, "layers.0.mlp.up_proj")
    assert found["channel_order"] == f"interleaved in {groups} groups"


def test_one_failing_component_alone_has_a_signature_of_the_first_rows(tmp_path, vocabulary):
    x = np.random.default_rng(0).normal(size=(2, 9, 32))
    write(tmp_path, **{"layers.0.mlp": exact(x), "layers.1.mlp": (x, rounded(x), x + 0.5)})
    found = signature(tmp_path, vocabulary, "layers.1.mlp")
    assert found["channel_shift_share"] == pytest.approx(1)
    assert found["difference_rms"] == pytest.approx(0.5, rel=1e-4)


def test_elements_of_a_tuple_are_tensors_of_their_own(tmp_path, vocabulary):
    x = np.random.default_rng(0).normal(size=(4, 8))
    name = "captured_tensors_cte_step_0_module_model.layers.0.self_attn_output"
    write(tmp_path, **{f"{name}_0": exact(x), f"{name}_1": exact(2 * x)})
    facts = gather_tensors(tmp_path, vocabulary).facts
    names = [
        f.values and dict(f.values)["component"] for f in facts if f.kind == "component_result"
    ]
    assert names == ["layers.0.self_attn[1]", "layers.0.self_attn"]


def test_without_fp32_the_perturbed_reference_gives_the_baseline(tmp_path, vocabulary):
    random = np.random.default_rng(0)
    x = random.normal(size=(6, 16)).astype(np.float32)
    moved, target = x + np.float32(2**-7), x + np.float32(2**-8)
    write(tmp_path, ("ref_bf16", "ref_perturbed", "target"), **{"layers.0.mlp": (x, moved, target)})
    assert looks_like_tensors(tmp_path)
    outcome = gather_tensors(tmp_path, vocabulary)
    facts = {f.kind: dict(f.values) for f in outcome.facts}
    assert facts["component_result"]["r_ratio"] == pytest.approx(0.5, rel=1e-3)
    assert facts["component_test"]["method"] == "2-tensor"
    assert facts["component_test"]["reference_fp32"] is False


def test_settings_beside_the_captures(tmp_path, vocabulary):
    x = np.random.default_rng(0).normal(size=(6, 16))
    write(tmp_path, **{"layers.0.mlp": exact(x)})
    place = tmp_path / "target" / "neuron_config.json"
    for text, expected in (('{"neuron_config": {"tp_degree": 8, "torch_dtype": "torch.bfloat16"}}',
                            {"tp_degree": 8, "dtype": "bfloat16"}),
                           ('{"tp_degree": "many"}', None), ("[" * 9_000, None),
                           ('{"tp_degree": 0}', None), ("", None)):  # fmt: skip
        place.write_text(text)
        facts = [dict(f.values) for f in gather_tensors(tmp_path, vocabulary).facts
                 if f.kind == "port_run"]  # fmt: skip
        assert facts == ([expected] if expected else [])


MODULES = ("layers.0.self_attn", "layers.0.mlp.gate", "rotary_emb", "layers.0.mlp.act_fn")


@few
@given(seeds, st.floats(1e-3, 10), st.sampled_from(MODULES))
def test_odd_numbers_never_raise(tmp_path_factory, vocabulary, seed, scale, name):
    random = np.random.default_rng(seed)
    x = random.choice([0.0, 1.0, -1.0, scale], size=(8, 8))
    other = random.choice([0.0, scale, 1e30], size=(8, 8))
    root = tmp_path_factory.mktemp("runs")
    runs = {f"captured_tensors_cte_step_0_module_{name}_output_{at}": (x, rounded(x * 1.001), other)
            for at in (0, 1)}  # fmt: skip
    write(root, **runs, **{"layers.0.mlp.experts": (x, rounded(x * 1.01), other)})
    assert gather_tensors(root, vocabulary).facts
