"""Captures of a reference and of a port that is broken, or sound, in one folder."""

import re
from pathlib import Path

import torch

from modelmedic.probes.capture import Plan, capture_run, lowered, write_reference

from .architectures import build, config_of, reference
from .port import Port

TOKENS, DECODED, BATCH = 24, 4, 2
COMPOSITES = (
    r"embed|layernorm|(?<![qk]_)norm$|self_attn$|attention$|(^|\.)mlp$|lm_head$|layers\.\d+$"
)
"""The modules that a device gives back at the least."""


UNSEEN = {"positions-start-at-one"}
"""Attention depends on differences of positions: only the rotary table itself shows them."""


def modules_of(seed):
    """All modules, or in one of three seeds composites only."""
    return COMPOSITES if seed % 3 == 1 else "all"


def write_references(folder: Path, name, seed):
    """FP32 and BF16 reference of an architecture; the model, and what was run."""
    config = config_of(name)
    model = reference(config, seed)
    torch.manual_seed(seed + 1_000)
    ids = torch.randint(3, config.vocab_size, (BATCH, TOKENS))
    plan = Plan(ids, decode=DECODED, modules=modules_of(seed))
    runs = {"ref_fp32": capture_run(model, plan, folder, "ref_fp32")}
    low = lowered(build(config, model.state_dict()), torch.bfloat16)
    runs["ref_bf16"] = capture_run(low, plan, folder, "ref_bf16")
    write_reference(model, folder, runs, seed=seed, decode_from=plan.prompt)
    return model, plan


def write_target(folder: Path, references: Path, model, plan, fault, layer):
    """The run of a broken port, beside links to its references. False if the architecture has
    nothing that the fault could break."""
    port = Port(model, layer)
    if fault.break_it(port) is False or (fault.name in UNSEEN and plan.modules != "all"):
        return False
    folder.mkdir(parents=True)
    for each in ("ref_fp32", "ref_bf16", "reference", "capture.json"):
        (folder / each).symlink_to((references / each).resolve())
    with port.running():
        capture_run(port.built(), plan, folder, "target")
    return True


def fits(component, fault, layer, plan):
    """Whether a report names the component at which a fault shows first."""
    component = re.sub(r"(layers\.\d+)\.attention\b", r"\1.self_attn", component)  # of gpt-neox
    if fault.part == "sum":
        right = re.search(r"\(input\)|layers\.\d+(\W|$)|norm$", component)
    elif plan.modules == "all":
        right = re.search(rf"(^|\.){fault.part}", component)
    else:
        part = (
            "self_attn|attention"
            if fault.part == "rotary_emb"
            else re.split(r"[.(]", fault.part)[0]
        )
        right = re.search(rf"(^|\.)({part})", component)
    here = fault.everywhere or f"layers.{layer}." in f"{component}." or fault.part == "sum"
    return bool(right) and here
