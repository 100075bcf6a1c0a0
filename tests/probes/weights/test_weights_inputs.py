"""Folders and files that are damaged, odd or hostile: they cost what they hold, nothing more."""

import json
import os
import struct
import subprocess
import sys
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modelmedic.probes.weights.probe import WeightFolders, gather_weights, sort_weight_folders
from modelmedic.probes.weights.recognition import looks_like_weights, role_of_weights

needs_numpy = pytest.mark.skipif(find_spec("numpy") is None, reason="needs numpy")


def codes(outcome):
    return [problem.code for problem in outcome.problems]


def test_nothing_given(vocabulary):
    outcome = gather_weights(WeightFolders(), vocabulary)
    assert codes(outcome) == ["MM439"] and not outcome.facts


def test_importing_is_light():
    code = "import sys, modelmedic.probes.weights; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "torch", "safetensors", "pydantic", "yaml"} & set(done.stdout.split())


def test_a_missing_numpy_is_an_outcome(vocabulary, monkeypatch):
    monkeypatch.setattr("modelmedic.probes.weights.probe.find_spec", lambda name: None)
    assert codes(gather_weights(WeightFolders("a", "b", "c"), vocabulary)) == ["MM403"]


@needs_numpy
class TestFiles:
    @pytest.mark.parametrize(
        ("content", "code"),
        [
            (b"", "MM431"),
            (b"\x00" * 7, "MM431"),
            (b"\x80\x04\x95 pickle", "MM433"),
            (struct.pack("<Q", 2**63) + b"{}", "MM431"),
            (struct.pack("<Q", 4) + b"[1]" + b" ", "MM431"),
            (struct.pack("<Q", 5) + b'{"a":' + b"xxxx", "MM431"),
            (struct.pack("<Q", 8) + b'{"a": 1}', "MM431"),
            (struct.pack("<Q", 60_000) + b"[" * 60_000, "MM431"),
        ],
    )
    def test_damaged_files(self, vocabulary, tmp_path, content, code):
        (tmp_path / "model.safetensors").write_bytes(content)
        outcome = gather_weights(WeightFolders(tmp_path), vocabulary)
        assert codes(outcome) == [code]
        assert "model.safetensors" in str(outcome.problems[0].where)

    def test_a_cut_file_loses_its_end_only(self, zoo, compare):
        each = zoo("qwen3")
        merged = each.merge("m")
        file = next(merged.glob("*.safetensors"))
        file.write_bytes(file.read_bytes()[:-200])
        outcome = compare(merged)
        assert "MM431" in codes(outcome)
        found = {fact.get("signature") for fact in outcome.facts if fact.get("tensor")}
        assert found == {"correct", "missing"}

    def test_a_file_that_shrinks_while_it_is_read(self, zoo, compare, monkeypatch):
        from modelmedic.probes.weights import comparing_models

        each = zoo("qwen3")
        merged = each.merge("m")
        file = next(merged.glob("*.safetensors"))
        assert file.stat().st_size > 5000
        monkeypatch.setattr(comparing_models, "open_weights", _open_then_cut)
        assert "MM438" in codes(compare(merged))

    def test_pickles_are_never_loaded(self, vocabulary, tmp_path):
        (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")
        outcome = gather_weights(WeightFolders(tmp_path), vocabulary)
        assert codes(outcome) == ["MM433"]

    def test_a_missing_shard_is_named(self, zoo, compare):
        each = zoo("qwen3-moe")
        merged = each.merge("m", shards=2)
        (merged / "model-00002-of-00002.safetensors").unlink()
        outcome = compare(merged)
        assert "MM432" in codes(outcome)
        assert "correct" in {fact.get("signature") for fact in outcome.facts}

    def test_no_folder_no_permission_no_file(self, vocabulary, tmp_path):
        assert codes(gather_weights(WeightFolders(tmp_path / "none"), vocabulary)) == ["MM430"]
        assert codes(gather_weights(WeightFolders(tmp_path), vocabulary)) == ["MM430"]
        os.mkfifo(tmp_path / "pipe")
        assert codes(gather_weights(WeightFolders(tmp_path / "pipe"), vocabulary)) == ["MM430"]
        if os.geteuid() != 0:
            (tmp_path / "model.safetensors").write_bytes(b"x")
            (tmp_path / "model.safetensors").chmod(0)
            assert codes(gather_weights(WeightFolders(tmp_path), vocabulary)) == ["MM430"]

    @pytest.mark.parametrize("config", ["", "[]", "{", '{"r": 0, "lora_alpha": true}', "[" * 9999])
    def test_bad_adapter_configuration(self, zoo, compare, config):
        each = zoo("qwen3")
        merged = each.merge("m")
        (each.root / "adapter" / "adapter_config.json").write_text(config)
        outcome = compare(merged)
        assert "MM435" in codes(outcome)
        assert {f.get("signature") for f in outcome.facts if f.get("tensor")} == {"scaled"}

    def test_odd_tensors_in_the_adapter(self, zoo, compare, safetensors_file):
        import numpy as np

        each = zoo("qwen3")
        each.lora["layers.0.mlp.lonely"] = (np.ones((4, 40), "f4"), np.ones((24, 3), "f4"))
        each.lora["layers.9.mlp.up_proj"] = (np.ones((4, 40), "f4"), np.ones((24, 4), "f4"))
        folder = each.write_adapter("adapter", each.lora)
        safetensors_file(folder / "more.safetensors", {
            "x.lora_A.weight": np.ones((4, 4), "f4"),
            "x.lora_magnitude_vector": np.ones(3, "f4"),
            "y.lora_A.weight": np.zeros((1, 0, 4), "f4"),
            "y.lora_B.weight": np.zeros((1, 4, 0), "f4"),
        })  # fmt: skip
        outcome = compare(each.merge("m"))
        assert codes(outcome) == ["MM436", "MM436", "MM437"]
        assert {f.get("signature") for f in outcome.facts if f.get("tensor")} == {"correct"}
        merge = next(fact for fact in outcome.facts if fact.kind == "merge")
        assert merge.get("empty_expert_tensors") == 2

    def test_numbers_that_are_none(self, zoo, compare):
        import numpy as np

        each = zoo("qwen3")

        def change(merged):
            for name in merged:
                merged[name] = merged[name].copy()
                merged[name].reshape(-1)[::3] = 0x7FC0 if "mlp" in name else 0x7F80

        outcome = compare(each.merge("m", change=change))
        assert {f.get("signature") for f in outcome.facts if f.get("tensor")} <= {
            "other", "wrong-base"}  # fmt: skip
        each.lora = {k: (a * np.nan, b) for k, (a, b) in each.lora.items()}
        each.write_adapter("adapter", each.lora)
        compare(each.merge("n", {}))

    def test_many_classes_of_tensors_are_capped(self, zoo, compare):
        each = zoo("qwen3")

        def change(merged):
            for number in range(150):
                merged[f"odd{number}.weight"] = merged["lm_head.weight"]

        outcome = compare(each.merge("m", change=change))
        assert len(outcome.facts) == 101
        assert codes(outcome) == ["MM438"]


def _open_then_cut(path):
    """open_weights, but the merged file loses its end after its header was read."""
    from modelmedic.reading.tensors.safetensors_files import open_weights

    files = open_weights(path)
    if path.name == "m":
        for file in path.glob("*.safetensors"):
            file.write_bytes(file.read_bytes()[:5000])
    return files


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["BF16", "F32", "U8", "F8_E4M3", "X"]) | JSON,
        "shape": st.lists(st.integers(0, 8), max_size=4) | JSON,
        "data_offsets": st.lists(st.integers(0, 300), min_size=2, max_size=2) | JSON,
    }
)
NAMES = st.sampled_from(
    [
        "lm_head.weight", "model.layers.0.mlp.experts.gate_up_proj",
        "base_model.model.model.layers.0.mlp.experts.w1.lora_A.weight",
        "base_model.model.model.layers.0.mlp.experts.w1.lora_B.weight",
        "base_model.model.lm_head.lora_A.weight", "base_model.model.lm_head.lora_B.weight",
        "model.layers.0.mlp.experts.0.up_proj.weight", "__metadata__",
    ]
)  # fmt: skip


@needs_numpy
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    headers=st.lists(st.dictionaries(NAMES, ENTRY | JSON), min_size=3, max_size=3),
    config=JSON,
    body=st.binary(max_size=300),
)
def test_it_never_raises(vocabulary, tmp_path_factory, headers, config, body):
    root = tmp_path_factory.mktemp("fuzz")
    for name, header in zip(("base", "adapter", "merged"), headers, strict=True):
        folder = root / name
        folder.mkdir()
        text = json.dumps(header).encode()
        file = struct.pack("<Q", len(text)) + text + body
        (folder / "model.safetensors").write_bytes(file)
        (folder / "adapter_config.json").write_text(json.dumps(config))
        (folder / "config.json").write_text(json.dumps(config))
        looks_like_weights(folder)
        looks_like_weights(folder / "model.safetensors", file)
        role_of_weights(folder / "model.safetensors")
    sort_weight_folders(sorted(root.iterdir()))
    outcome = gather_weights(
        WeightFolders(root / "base", root / "adapter", root / "merged"), vocabulary
    )
    assert all(problem.code != "MM402" for problem in outcome.problems)


@given(head=st.binary(max_size=200))
def test_recognition_never_raises(tmp_path_factory, head):
    assert looks_like_weights(tmp_path_factory.getbasetemp(), head) in (True, False)


@pytest.mark.parametrize("steps", [1, 5, 9])
def test_a_comparison_that_was_ended_early(zoo, vocabulary, stops_after, steps):
    """Nothing is concluded about a merge that was compared in part: neither that tensors are right
    nor that the others were not updated."""
    each = zoo("qwen3")
    folders = WeightFolders(each.root / "base", each.root / "adapter", each.merge("merged"))
    cut = gather_weights(folders, vocabulary, progress=stops_after(steps))
    assert [problem.code for problem in cut.problems] == ["MM407"]
    assert [fact.kind for fact in cut.facts] == ["merge"]
    assert cut.facts[0].get("applied_share") is None
    assert cut.facts[0].get("rank") == 4
    whole = gather_weights(folders, vocabulary)
    assert gather_weights(folders, vocabulary, progress=stops_after(999)) == whole
