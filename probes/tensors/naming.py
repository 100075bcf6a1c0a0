"""Names of captured tensors -> modules, and the order in which a model computes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .stored import Stored

_CAPTURE = re.compile(
    r"captured_tensors_(?P<phase>cte|tg)_step_(?P<step>\d+)_module_(?P<module>.+?)"
    r"_output(?:_\d+)?\Z",
    re.ASCII,
)
_GENERIC = re.compile(r"(arr_\d+|tensor|output|data|value|x|hidden_states)\Z", re.ASCII)
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)(?:\.(.*))?\Z", re.ASCII)
_LOGITS = re.compile(r"lm_head|logits?\b|logits?_", re.ASCII)
# Parts of a layer in the order of the forward pass; a layer's own output comes last.
_PARTS = (
    r"input_layernorm|ln_1|attention_norm|norm1", r"self_attn|attn|attention",
    r"post_attention_layernorm|ln_2|ffn_norm|norm2", r"router|gate\b",
    r"mlp|ffn|feed_forward|experts|moe",
)  # fmt: skip


class Name(NamedTuple):
    """A module of one forward pass; ``phase`` and ``step`` are empty and 0 where not given."""

    module: str
    phase: str = ""
    step: int = 0

    @property
    def shown(self) -> str:
        """The module, with the step where there are several."""
        first = self.phase != "tg" and not self.step
        return self.module if first else f"{self.module}@{self.phase or 'step'}{self.step}"

    def order(self) -> tuple[object, ...]:
        """Sorts names as the model computes them."""
        return (self.phase, self.step, *_place(self.module), self.module)


def is_logits(module: str) -> bool:
    """Whether the tensor holds logits."""
    return bool(_LOGITS.search(module.lower()))


def name_all(tensors: Sequence[Stored]) -> dict[Name, Stored]:
    """Give every tensor of one run its name: the name inside the file where it tells tensors
    apart, or that of the file. The first of two of one name is kept."""
    keys = [tensor.key for tensor in tensors]
    found: dict[Name, Stored] = {}
    for tensor in tensors:
        stem = tensor.file.stem
        telling = keys.count(tensor.key) == 1 if len(keys) < 2_000 else True
        use_key = telling and not _GENERIC.match(tensor.key) and not _CAPTURE.match(stem)
        found.setdefault(_name(tensor.key if use_key else stem), tensor)
    return found


def _name(text: str) -> Name:
    match = _CAPTURE.match(text)
    module = match["module"] if match else text
    while module.startswith("model."):
        module = module[6:]
    return Name(module, match["phase"], int(match["step"][:9])) if match else Name(module)


def _place(module: str) -> tuple[int, int, int]:
    lowered = module.lower()
    layer = _LAYER.search(lowered)
    if layer is not None:
        rest = layer[2]
        number = int(layer[1][:9])
        if not rest:
            return 1, number, len(_PARTS) + 1
        places = (at for at, part in enumerate(_PARTS) if re.match(part, rest))
        return 1, number, next(places, len(_PARTS))
    if "embed" in lowered:
        return 0, 0, 0
    if is_logits(lowered):
        return 3, 0, 0
    if "norm" in lowered:
        return 2, 0, 0
    return 1, 0, 0  # of no known place: in the middle, by name
