"""Captures of a reference from transformers and of a port of it, as the probe reads them."""

import importlib.util
from pathlib import Path
from typing import NamedTuple

import pytest

ROLES = ("ref_fp32", "ref_bf16", "target")
SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 160,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
         "pad_token_id": 0, "tie_word_embeddings": False, "use_cache": False}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64, "rope_theta": 10_000.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32,
        "rope_theta": 10_000.0}  # fmt: skip
LINEAR = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}
FAMILIES = {
    "llama": ("LlamaConfig", {"attention_bias": True, "rope_parameters": LLAMA3}),
    "llama-yarn": ("LlamaConfig", {"attention_bias": True, "rope_parameters": YARN,
                                   "hidden_size": 96, "num_attention_heads": 8}),
    "qwen2": ("Qwen2Config", {"rope_parameters": LINEAR, "hidden_size": 96,
                              "num_attention_heads": 6, "num_key_value_heads": 6}),
    "gemma": ("GemmaConfig", {"head_dim": 16, "attention_bias": True, "rope_parameters": LINEAR}),
    "mixtral": ("MixtralConfig", {"num_local_experts": 8, "num_experts_per_tok": 2,
                                  "hidden_size": 128, "num_attention_heads": 8,
                                  "sliding_window": 8, "rope_parameters": LINEAR}),
}  # fmt: skip


class Case(NamedTuple):
    """A port to capture. ``exact`` weights are BF16 numbers, as in a checkpoint; ``tokens`` are
    given in two batches; ``quantize`` rounds the weights of all three runs to 8 bits; ``only``
    names the modules whose first outputs are captured, ``inputs`` those whose inputs are too."""

    family: str
    faults: tuple[tuple[str, int], ...] = ()
    seed: int = 0
    isolated: bool = False
    exact: bool = True
    ranks: int = 1
    quantize: bool = False
    tokens: int = 24
    only: tuple[str, ...] | None = None
    inputs: tuple[str, ...] = ()


def _port_class():
    path = Path(__file__).parent / "models" / "port.py"
    spec = importlib.util.spec_from_file_location("port_under_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Port


def _reference(case):
    import torch
    import transformers

    name, options = FAMILIES[case.family]
    config = getattr(transformers, name)(**SIZES | options)
    torch.manual_seed(case.seed)
    kind = transformers.AutoModelForCausalLM
    model = kind.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        for path, weight in model.named_parameters():
            _fill(case, path, weight)
    return model


def _fill(case, path, weight):
    """Weights of the size that trained models have; a norm's are near one, or near zero."""
    import torch

    noise = torch.randn_like(weight)
    if "norm" in path:
        weight.copy_(0.3 * noise + (0 if case.family == "gemma" else 1))
    elif weight.ndim == 1:
        weight.copy_(0.5 * noise)
    else:
        weight.copy_(noise / weight.shape[-1] ** 0.5 * (1.5 if "proj" in path else 1.0))
        if "embed" in path and case.family == "gemma":
            weight.mul_(0.2)
    if case.quantize and weight.ndim > 1 and "embed" not in path:
        step = weight.abs().amax(-1, keepdim=True) / 127
        weight.copy_((weight / step).round() * step)
    if case.exact:
        weight.copy_(weight.bfloat16().float())


def _modules(model):
    """Modules whose outputs are captured, under the names of the reference."""
    kept = {}
    for path, module in model.named_modules():
        name = path.removeprefix("model.")
        if name and name not in ("model", "layers") and "experts." not in name:
            kept[name] = module
    return kept


def _tensors(output):
    import torch

    parts = output if isinstance(output, tuple) else (output,)
    return [part for part in parts if torch.is_tensor(part) and part.is_floating_point()]


def _save(folder, case, role, captures, inputs):
    from safetensors.torch import save_file

    flat = {}

    def keep(name, end, tensor):
        key = f"captured_tensors_cte_step_0_module_{name}_{end}"
        flat[key] = tensor.detach().float().contiguous().clone()

    for name, parts in captures.items():
        last = name.rpartition(".")[2]
        if case.only and last not in case.only and not last.isdigit():
            continue
        if last in case.inputs:
            keep(name, "input", inputs[name][0][0])
        for at, part in enumerate(parts):
            if not (case.only and at and "attn" in name):
                keep(name, f"output_{at}" if len(parts) > 1 else "output", part)
    (folder / role).mkdir(parents=True, exist_ok=True)
    save_file(flat, str(folder / role / "captures.safetensors"))


def _run(model, ids):
    """Outputs and inputs of every module in one forward pass."""
    import torch

    outputs, inputs, handles = {}, {}, []
    for name, module in _modules(model).items():

        def keep(_, args, kwargs, output, name=name):
            outputs[name], inputs[name] = _tensors(output), (args, kwargs)

        handles.append(module.register_forward_hook(keep, with_kwargs=True))
    with torch.no_grad():
        model(ids)
    for handle in handles:
        handle.remove()
    return outputs, inputs


def _cast(value):
    import torch

    if torch.is_tensor(value) and value.is_floating_point():
        return value.bfloat16()
    if isinstance(value, tuple):
        return tuple(_cast(each) for each in value)
    return value


def _alone(model, inputs):
    """Outputs of every module, each run on the reference's inputs rounded to BF16."""
    import torch

    found = {}
    for name, module in _modules(model).items():
        args, kwargs = inputs[name]
        with torch.no_grad():
            output = module(*map(_cast, args), **{k: _cast(v) for k, v in kwargs.items()})
        found[name] = _tensors(output)
    return found


@pytest.fixture(scope="session")
def capture():
    """Write the three runs of a :class:`Case` into a folder."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("safetensors")
    port_class = _port_class()

    def run(folder, family, faults=(), **options):
        case = Case(family, tuple(faults), **options)
        reference = _reference(case)
        weights = {k: v.detach().bfloat16() for k, v in reference.state_dict().items()}
        rotary = reference.model.rotary_emb
        weights["rotary"] = rotary.inv_freq, rotary.attention_scaling
        port = port_class(reference.config, weights, faults=case.faults, ranks=case.ranks)
        torch.manual_seed(case.seed + 1)
        ids = torch.randint(0, SIZES["vocab_size"], (2, case.tokens))
        outputs, inputs = _run(reference, ids)
        low = _reference(case).bfloat16()
        low.model.rotary_emb.inv_freq.data = rotary.inv_freq.clone()
        _save(folder, case, "ref_fp32", outputs, inputs)
        for role, model in (("ref_bf16", low), ("target", port.eval())):
            run = (_alone(model, inputs), inputs) if case.isolated else _run(model, ids)
            _save(folder, case, role, *run)

    return run
