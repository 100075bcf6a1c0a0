"""Writes experiment folders as the scripts of the workflow do: a sound port, and parts of it."""

import json
from pathlib import Path
from typing import Any

import pytest

LAYERS = 3
RESULTS = ("rmsnorm", "rotary", "mlp", "attention_qkv", "lm_head", "decoder_layer")


def node(name: str, kind: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "type": kind, "children": list(children)}


def source_tree(layers: int = LAYERS) -> dict[str, Any]:
    attention = [node(f"{x}_proj", "Linear") for x in "qkvo"]
    rows = [
        node(str(i), "ToyLayer", node("self_attn", "ToyAttention", *attention),
             node("mlp", "ToyMLP", node("gate_up_proj", "Linear"), node("down_proj", "Linear"),
                  node("act_fn", "SiLU")),
             node("input_layernorm", "ToyRMSNorm"), node("post_attention_layernorm", "ToyRMSNorm"))
        for i in range(layers)
    ]  # fmt: skip
    inner = node("model", "ToyModel", node("embed_tokens", "Embedding"),
                 node("layers", "ModuleList", *rows), node("norm", "ToyRMSNorm"),
                 node("rotary_emb", "ToyRotaryEmbedding"))  # fmt: skip
    return node("model", "ToyForCausalLM", inner, node("lm_head", "Linear"))


def target_tree(layers: int = LAYERS) -> dict[str, Any]:
    qkv = node("qkv_proj", "GroupQueryAttention_QKV",
               *(node(f"{x}_proj", "ColumnParallelLinear") for x in "qkv"))  # fmt: skip
    out = node("o_proj", "GroupQueryAttention_O", node("o_proj", "RowParallelLinear"))
    rows = [
        node(str(i), "NeuronToyLayer",
             node("self_attn", "NeuronToyAttention", qkv, out,
                  node("rotary_emb", "RotaryEmbedding")),
             node("mlp", "NeuronToyMLP", node("gate_proj", "ColumnParallelLinear"),
                  node("up_proj", "ColumnParallelLinear"), node("down_proj", "RowParallelLinear"),
                  node("act_fn", "SiLU")),
             node("input_layernorm", "CustomRMSNorm"),
             node("post_attention_layernorm", "CustomRMSNorm"))
        for i in range(layers)
    ]  # fmt: skip
    return node("model", "NeuronToyModel", node("embed_tokens", "ParallelEmbedding"),
                node("layers", "ModuleList", *rows), node("norm", "CustomRMSNorm"),
                node("lm_head", "ColumnParallelLinear"), node("kv_mgr", "KVCacheManager"),
                node("rank_util", "SPMDRank"))  # fmt: skip


def paths(tree: dict[str, Any], parent: str = "") -> list[str]:
    path = f"{parent}.{tree['name']}" if parent else tree["name"]
    return [path, *(p for child in tree["children"] for p in paths(child, path))]


def compressed(tree: dict[str, Any]) -> dict[str, Any]:
    """Siblings of equal structure share a node."""

    def form(n: dict[str, Any]) -> str:
        return json.dumps([n["type"], [form(c) for c in n["children"]]])

    groups: dict[str, list[dict[str, Any]]] = {}
    for child in tree["children"]:
        groups.setdefault(form(child), []).append(child)
    children = [compressed(g[0]) | {"names": [c["name"] for c in g]} for g in groups.values()]
    return {"type": tree["type"], "names": [tree["name"]], "children": children}


def mapping(layers: int = LAYERS) -> dict[str, Any]:
    layer, own = "model.model.layers.{i}", "model.layers.{i}"
    attention = f"{layer}.self_attn"
    pairs = [
        [["model.model.embed_tokens"], ["model.embed_tokens"]],
        [[layer], [own]],
        [[f"{layer}.self_attn"], [f"{own}.self_attn"]],
        [[f"{attention}.{x}_proj" for x in "qkv"], [f"{own}.self_attn.qkv_proj"]],
        [[f"{attention}.o_proj"], [f"{own}.self_attn.o_proj"]],
        [[f"{layer}.mlp"], [f"{own}.mlp"]],
        [[f"{layer}.mlp.gate_up_proj"], [f"{own}.mlp.gate_proj", f"{own}.mlp.up_proj"]],
        [[f"{layer}.mlp.down_proj"], [f"{own}.mlp.down_proj"]],
        [[f"{layer}.input_layernorm"], [f"{own}.input_layernorm"]],
        [[f"{layer}.post_attention_layernorm"], [f"{own}.post_attention_layernorm"]],
        [["model.model.norm"], ["model.norm"]],
        [["model.lm_head"], ["model.lm_head"]],
    ]
    reasons = {
        "HF": {"model.model.rotary_emb": "one per layer in the port"},
        "port": {"model.kv_mgr": "cache of the framework", "model.rank_util": "rank helper"},
    }
    return {"mapping_size": len(pairs), "component_mapping": pairs,
            "variables": {"i": [str(i) for i in range(layers)]}, "reasoning": reasons}  # fmt: skip


class Experiment:
    """An experiment folder; each method writes what one stage writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)

    def write(self, name: str, value: Any) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")

    def stage0(self, source: Any = None, target: Any = None, pairs: Any = None) -> "Experiment":
        for side, tree in (
            ("source", source or source_tree()), ("target", target or target_tree()),
        ):  # fmt: skip
            base = f"model_tree/model_tree_{side}"
            self.write(f"{base}_full.json", tree)
            self.write(f"{base}.json", compressed(tree))
            self.write(f"{base}_flat_paths.txt", "\n".join(paths(tree)) + "\n")
            self.write(f"{base}_pretty.txt", "model\n`-- layers[0..2] (N=3): ToyLayer\n")
        self.write("component_mapping.json", pairs or mapping())
        divergence = {
            "component": "rmsnorm", "cpu_class": "ToyRMSNorm", "device_class": "CustomRMSNorm",
            "source_location": "modeling_toy.py:41", "pattern": "factory_function",
            "recommendation": "test both", "factory_function": "get_rmsnorm_cls",
        }  # fmt: skip
        report = {"file": "modeling_toy.py", "divergence_count": 1, "divergences": [divergence]}
        self.write("class_divergence_report.json", report)
        return self

    def stage1(self, rate: float = 0.97) -> "Experiment":
        prompts = [{"prompt": f"Prompt {i}", "match_rate": 1.0} for i in range(9)]
        prompts.append({"prompt": "Water freezes at", "match_rate": round(10 * rate - 9, 6)})
        tokens = {"match_rate": rate, "per_prompt_results": prompts}
        self.write("results/stage1.json", {"token_matching": tokens, "passed": rate > 0.3})
        return self

    def tests(self) -> "Experiment":
        body = "import torch\n\n\ndef test_component():\n    assert torch\n"
        for number, name in enumerate(RESULTS):
            self.write(f"tests/test_{number:02}_{name}.py", body)
        self.write("tests/test_00_rmsnorm_device_algo.py", body)
        self.write("tests/test_07_embedding.py", body)
        self.write("tests/test_08_linear.py", body)
        self.write("tests/conftest.py", "HIDDEN_SIZE = 64\nNUM_LAYERS = 3\nRANK = 0\n")
        self.write("tests/tensor_compare.py", "# comparator\n")
        return self

    def stage2(self, **ratios: Any) -> "Experiment":
        rows = []
        for name in (*RESULTS, "embedding", "linear"):
            ratio = ratios.get(name, 1.04)
            row = {"component": name, "r_ratio": ratio, "bc": None, "sigma_ratio": None,
                   "passed": isinstance(ratio, float) and ratio < 1.2}  # fmt: skip
            rows.append(row if ratio is not None else row | {"error": "No module named 'x'"})
        passed = sum(row["passed"] is True for row in rows)
        counts = {"passed": passed, "failed": len(rows) - passed, "total": len(rows)}
        self.write("results/stage2.json", {"results": rows, **counts})
        return self

    def stage3(self, *faults: tuple[str, float, str, str]) -> "Experiment":
        keys = ("component", "r_ratio", "pattern", "root_cause")
        rows = [dict(zip(keys, fault, strict=True)) for fault in faults]
        found: dict[str, Any] = {"faults": rows, "num_faults": len(rows)}
        self.write("results/stage3.json", found | ({"primary_fault": rows[0]} if rows else {}))
        return self

    def stage56(self, r_p95: float = 1.089, cosine_p5: float = 0.9982) -> "Experiment":
        prompt = {
            "prompt": "Water freezes at", "num_positions": 3, "top1_agreement": 1.0,
            "per_position_cosine": [0.9999, cosine_p5, 0.9999],
            "per_position_kl": [0.0, 0.006, 0.001], "per_position_r_ratio": [0.98, 1.1, 0.99],
        }  # fmt: skip
        total = {
            "condition_b_passed": True, "cosine": {"mean": 0.999, "min": 0.99, "p5": cosine_p5},
            "kl": {"mean": 0.0023, "p95": 0.0055, "max": 0.006},
            "r_ratio": {"mean": 1.023, "p95": r_p95, "max": r_p95}, "num_positions": 3,
        }  # fmt: skip
        self.write("results/teacher_forced.json", {"per_prompt": [prompt], "aggregate": total})
        return self

    def stage7(self, score: float = 0.615) -> "Experiment":
        self.write("results/stage7/stage7_summary.json", {
            "lm_eval_hf": {"accuracy": {"gsm8k_cot": {"exact_match": 0.62},
                                        "mmlu_pro": {"exact_match": 0.44}}},
            "lm_eval": {"accuracy": {"gsm8k_cot": {"exact_match": score},
                                     "mmlu_pro": {"exact_match": 0.44}}},
            "comparison": {"overall_pass": score >= 0.6},
        })  # fmt: skip
        self.write("bench_config.yaml", (
            "model: {model_class: 'modeling_toy.py:NeuronToyForCausalLM', model_path: toy_hf}\n"
            "benchmarks:\n  lm_eval:\n    accuracy: {tasks: [gsm8k_cot, mmlu_pro], limit: 200}\n"
            "run_hf_baseline: true\n"
        ))  # fmt: skip
        return self


@pytest.fixture
def experiment(tmp_path):
    return Experiment(tmp_path / "exp")


@pytest.fixture
def whole(experiment):
    """A sound port with all stages behind it."""
    experiment.stage0().stage1().tests().stage2().stage3().stage56().stage7()
    return experiment
