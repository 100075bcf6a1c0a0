"""Names of captured tensors -> modules, and the order in which a model computes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...reading.tensors.stored import Stored

_CAPTURE = re.compile(
    r"captured_tensors_(?P<phase>cte|tg)_step_(?P<step>\d+)_module_(?P<module>.+?)"
    r"_(?P<side>out|in)puts?(?:_(?P<element>\d+))?\Z",
    re.ASCII,
)
_GENERIC = re.compile(r"(arr_\d+|tensor|output|data|value|x|hidden_states)\Z", re.ASCII)
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)(?:\.(.*))?\Z", re.ASCII)
_LOGITS = re.compile(r"lm_head|embed_out|logits?\b|logits?_", re.ASCII)
# Parts of a layer in the order of the forward pass; a layer's own output comes last.
_PARTS = (
    r"input_layernorm|ln_1|attention_norm|norm1", r"self_attn|attn|attention",
    r"post_attention_layernorm|ln_2|ffn_norm|norm2", r"pre_feedforward_layernorm", r"router|gate\b",
    r"mlp|ffn|feed_forward|experts|moe|block_sparse", r"post_feedforward_layernorm",
)  # fmt: skip
# Modules inside attention and MLP, the same way; what they are part of comes last.
_INNER = (
    r"router|gate\b", r"(qkv|c_attn|q_proj|query_key_value|wqkv)", r"k_proj", r"v_proj",
    r"[qk]_norm|[qk]_layernorm", r"rotary", r"(gate_up|gate)_proj|c_fc|fc1|w1\b", r"up_proj|w3\b",
    r"act", r"o_proj|down_proj|c_proj|out_proj|dense|fc2|w2\b", r"experts|shared_expert",
)  # fmt: skip
_WEIGHTS, _LAST_INNER = 8, len(_INNER)


class Name(NamedTuple):
    """A module of one forward pass; ``phase`` and ``step`` are empty and 0 where not given.
    ``element`` counts the tensors of a tuple; ``side`` is ``in`` for what goes into the module."""

    module: str
    phase: str = ""
    step: int = 0
    element: int = 0
    side: str = "out"

    @property
    def shown(self) -> str:
        """The module, with the element, the side and the step where they are not the usual."""
        first = self.phase != "tg" and not self.step
        part = f"[{self.element}]" if self.element else ""
        side = " (input)" if self.side == "in" else ""
        step = "" if first else f"@{self.phase or 'step'}{self.step}"
        return f"{self.module}{part}{side}{step}"

    def order(self) -> tuple[object, ...]:
        """Sorts names as the model computes them."""
        place = _place(self.module, bool(self.element))
        return (self.phase, self.step, *place, self.side, self.module, self.element)

    def inside(self, other: Name) -> bool:
        """Whether the module is part of another one of the same pass, or is its input or one of its
        outputs that is there before (attention weights)."""
        if (self.phase, self.step) != (other.phase, other.step) or other.side == "in":
            return False
        if self.module == other.module:
            return not other.element and self.order() < other.order()
        return not other.element and self.module.startswith(f"{other.module}.")

    @property
    def layer(self) -> int | None:
        """Number of the layer."""
        found = _LAYER.search(self.module.lower())
        return int(found[1][:9]) if found else None


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
    if not match:
        return Name(module)
    element = int((match["element"] or "0")[:6])
    return Name(module, match["phase"], int(match["step"][:9]), element, match["side"])


def _place(module: str, element: bool) -> tuple[int, int, int, int]:
    lowered = module.lower()
    layer = _LAYER.search(lowered)
    if layer is not None:
        rest = layer[2]
        number = int(layer[1][:9])
        if not rest:
            return 1, number, len(_PARTS) + 1, 0
        places = (at for at, part in enumerate(_PARTS) if re.match(part, rest))
        return 1, number, next(places, len(_PARTS)), _inner(rest, element)
    if "embed" in lowered and "embed_out" not in lowered:
        return 0, 0, 0, 0
    if "rotary" in lowered or "rope" in lowered:
        return 0, 1, 0, 0
    if is_logits(lowered):
        return 3, 0, 0, 0
    if "norm" in lowered:
        return 2, 0, 0, 0
    return 1, 0, 0, 0  # of no known place: in the middle, by name


def _inner(rest: str, element: bool) -> int:
    """Place among the modules of an attention or an MLP. Its further outputs, such as attention
    weights, are there before the projection that ends it."""
    part = rest.partition(".")[2]
    if not part:
        return _WEIGHTS if element else _LAST_INNER
    return next((at for at, name in enumerate(_INNER) if re.search(name, part)), 5)
