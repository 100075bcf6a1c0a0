"""A LoRA adapter: its matrices by module, and their scale.

Reads adapters as Tinker writes them (three-dimensional expert matrices, ``unembed_tokens``) and as
PEFT does (one pair a projection). Codes: MM435 the adapter's description is unusable, MM436
modules are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem, excerpt
from ...reading.tensors import np
from ...reading.tensors.number_formats import as_float32
from ...reading.tensors.safetensors_files import Tensor, WeightFiles, open_weights
from .lora_scales import Scales, number
from .recognition import ADAPTER as CONFIG

PAIR = re.compile(r"(?P<module>.+)\.lora_(?P<side>[AB])(?:\.[A-Za-z0-9_-]{1,64})?(?:\.weight)?\Z")
_MAGNITUDE = re.compile(
    r"(?P<module>.+)\.lora_magnitude_vector(?:\.[A-Za-z0-9_-]{1,64})?(?:\.weight)?\Z"
)
# A matrix pair is held in memory whole: rank times the longest side of the model.
MAX_ELEMENTS = 2**27


class Lora(NamedTuple):
    """One module: ``a`` is (experts or 1, rank, in), ``b`` is (experts or 1, out, rank); matrices
    without experts have two dimensions. The update is ``scale * b @ a``; ``plain_scale`` is the
    scale of modules that no pattern names, ``kind`` tells rank-stabilised from ordinary ones.
    With a ``magnitude`` (DoRA) the rows of base and update together have its lengths."""

    module: str
    a: Tensor
    b: Tensor
    scale: float
    plain_scale: float = 0.0
    pattern: str = ""
    stabilised: bool = False
    magnitude: Tensor | None = None

    @property
    def is_3d(self) -> bool:
        """Whether it holds one update for each expert."""
        return len(self.a.shape) == 3

    @property
    def experts(self) -> int:
        """Number of experts; 1 for a plain matrix."""
        return max(self.a.matrices[0], self.b.matrices[0])

    @property
    def rank(self) -> int:
        """Rank of the update."""
        return self.a.matrices[1]

    @property
    def rows(self) -> int:
        """Outputs of the projection."""
        return self.b.matrices[1]

    @property
    def columns(self) -> int:
        """Inputs of the projection."""
        return self.a.matrices[2]

    def pair(self, expert: int) -> tuple[Any, Any]:
        """The matrices of one expert in float32; ``b`` is multiplied by the scale, as the
        cookbook does it."""
        a, b = (
            as_float32(each.rows(min(expert, each.matrices[0] - 1), 0, each.matrices[1]),
                       each.dtype)
            for each in (self.a, self.b)
        )  # fmt: skip
        return a, b * np.float32(self.scale)


class Adapter(NamedTuple):
    """An adapter: modules by name in name order; ``rank`` and ``alpha`` as its file says them
    (None if it does not); ``empty_experts`` counts expert tensors without elements, ``whole``
    are tensors that were trained whole (biases, modules_to_save) and take the place of the
    base's."""

    files: WeightFiles
    modules: Mapping[str, Lora]
    rank: int | None
    alpha: float | None
    base_name: str
    empty_experts: int
    problems: tuple[Problem, ...]
    whole: Mapping[str, Tensor]


def open_adapter(path: Path) -> Adapter:
    """Read the headers and the configuration of an adapter. Never raises."""
    alone = path.name == CONFIG  # named by itself: its matrices may be elsewhere
    files = open_weights(path.parent if alone else path, CONFIG)
    problems = list(files.problems) if files.tensors or not alone else []
    rank, alpha = number(files.config.get("r")), number(files.config.get("lora_alpha"))
    if rank is None or alpha is None:
        text = f"{CONFIG} gives no usable r and lora_alpha; a scale of 1 is assumed"
        problems.append(Problem("MM435", text, Location(str(path)), "give the whole folder"))
    parts = _parts(files)
    scales = Scales(files.config)
    modules: dict[str, Lora] = {}
    wrong: list[str] = []
    for name in sorted(parts.sides):
        pair = parts.sides[name]
        whole = len(pair) == 2 and _fits(pair["A"], pair["B"])
        if whole:
            size = parts.magnitudes.get(name)
            modules[name] = Lora(name, pair["A"], pair["B"], *scales.of(name, pair["A"].shape[-2]),
                                 scales.stabilised, size)  # fmt: skip
        else:
            wrong.append(name)
    unused = sorted(parts.magnitudes.keys() - modules.keys())
    others = [*parts.others, *(f"{name}.lora_magnitude_vector" for name in unused)]
    for names, what in ((wrong, "modules have no fitting pair of matrices"),
                        (others, "tensors are not plain LoRA matrices")):  # fmt: skip
        if names:
            text = f"{len(names):,} {what}, such as {excerpt(names[0])}"
            problems.append(Problem("MM436", text, Location(str(path))))
    base = files.config.get("base_model_name_or_path")
    return Adapter(
        files, modules, int(rank) if rank is not None else None, alpha,
        base if isinstance(base, str) else "", parts.empty, tuple(problems), parts.whole,
    )  # fmt: skip


class _Parts(NamedTuple):
    """The tensors of an adapter by what they are: matrices by module and side, lengths of rows
    (DoRA) by module, tensors that were trained whole, other names, and the number of empty expert
    tensors."""

    sides: dict[str, dict[str, Tensor]]
    magnitudes: dict[str, Tensor]
    whole: dict[str, Tensor]
    others: list[str]
    empty: int


def _parts(files: WeightFiles) -> _Parts:
    sides: dict[str, dict[str, Tensor]] = {}
    magnitudes: dict[str, Tensor] = {}
    whole: dict[str, Tensor] = {}
    others: list[str] = []
    empty = 0
    for name, tensor in files.tensors.items():
        match = PAIR.fullmatch(name)
        size = _MAGNITUDE.fullmatch(name)
        if match and tensor.size == 0 and len(tensor.shape) == 3:
            empty += 1  # the placeholder of a projection that the family does not have
        elif match:
            sides.setdefault(match["module"], {})[match["side"]] = tensor
        elif size and tensor.comparable:
            magnitudes[size["module"]] = tensor
        elif name.endswith((".bias", ".weight")) and tensor.comparable and "lora_" not in name:
            whole[name] = tensor
        else:
            others.append(name)
    return _Parts(sides, magnitudes, whole, others, empty)


def _fits(a: Tensor, b: Tensor) -> bool:
    if len(a.shape) != len(b.shape) or len(a.shape) not in (2, 3):
        return False
    if not a.comparable or not b.comparable or a.shape[-2] != b.shape[-1]:
        return False
    if max(math.prod(a.shape[-2:]), math.prod(b.shape[-2:])) > MAX_ELEMENTS:
        return False
    counts = {a.matrices[0], b.matrices[0]} - {1}
    return len(a.shape) == 2 or len(counts) <= 1
