"""A folder of captures: its manifest, the module of each tensor, and the numbers.

Problems: MM517 ``capture.json`` cannot be used, MM518 files are not those that were captured.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...facts.regular_files import open_regular, read_regular
from ..text.values import parse_json
from . import np
from .stored import Stored, numbers

NAME = "capture.json"
SCHEMA = "modelmedic/capture/1"
MAX_BYTES = 32 << 20
MAX_HASHED = 8 << 30
"""Bytes that are hashed: some seconds."""
_WITHIN = re.compile(r"[A-Za-z0-9_]{1,64}/[A-Za-z0-9_.-]{1,128}\Z", re.ASCII)


class Manifest(NamedTuple):
    """The configuration of the reference, the place of its weights, and the position at which
    decoding begins (None: there is a prefill only); SHA-256 of files by their names in the
    folder."""

    config: Mapping[str, Any]
    weights: Path
    decode_from: int | None = None
    hashes: Mapping[str, str] = {}


def read_manifest(folder: Path, problems: list[Problem]) -> Manifest | None:
    """The manifest of a folder; None if there is none, or it is unusable. Never raises."""
    place = folder / NAME
    try:
        raw = read_regular(place, MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raw = b""
    found: Any = parse_json(raw) if len(raw) <= MAX_BYTES else None
    reason = _unusable(found)
    if reason:
        text = f"{NAME} {reason}; modules were not recomputed"
        hint = "capture again, or fetch the file again"
        problems.append(Problem("MM517", text, Location(str(place)), hint))
        return None
    start = found.get("decode_from")
    return Manifest(found["config"], folder / found["weights"],
                    start if type(start) is int and start > 0 else None,
                    _hashes(found.get("sha256")))  # fmt: skip


def _unusable(found: Any) -> str:
    if not isinstance(found, dict):
        return "is damaged, or no JSON object"
    if found.get("schema") != SCHEMA:
        return f"has no schema {SCHEMA}"
    if not isinstance(found.get("config"), dict):
        return "lacks the configuration of the reference"
    return "" if isinstance(found.get("weights"), str) else "does not say where the weights lie"


def _hashes(found: Any) -> Mapping[str, str]:
    """The hashes of files within the folder."""
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in sorted(found.items())
            if isinstance(value, str) and _WITHIN.match(name)}  # fmt: skip


def changed_files(
    folder: Path, manifest: Manifest, problems: list[Problem], progress: Progress = UNWATCHED
) -> None:
    """Report files that were exchanged or changed since the capture. Missing and damaged files are
    reported when they are read; files too large to be hashed within the bound are left alone."""
    places = [(name, folder / name) for name in manifest.hashes]
    sizes = {name: place.stat().st_size for name, place in places if place.is_file()}
    if sum(sizes.values()) > MAX_HASHED:
        return
    odd: list[str] = []
    with progress.part("hashes", sum(sizes.values())) as step:
        for name, place in places:
            if name in sizes and _hash(place) not in (None, manifest.hashes[name]):
                odd.append(name)
            step(sizes.get(name, 0))
    if odd:
        more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        text = f"{odd[0]}{more}: not the file that {NAME} has a hash of"
        hint = "capture all three runs again, into an empty folder, if runs were mixed"
        problems.append(Problem("MM518", text, Location(str(folder / odd[0])), hint))


def _hash(place: Path) -> str | None:
    try:
        found = hashlib.sha256()
        with open_regular(place) as opened:
            while part := opened.read(1 << 20):
                found.update(part)
        return found.hexdigest()
    except OSError:
        return None


MAX_NUMBERS = 1 << 26
"""Numbers of a run that are kept."""


class Run:
    """The captures of one run. Names of tensors are (module, side, element)."""

    def __init__(self, tensors: Mapping[Name, Stored]) -> None:
        self._steps: dict[tuple[str, str, int], list[tuple[Name, Stored]]] = {}
        for name in sorted(tensors, key=lambda each: (each.phase, each.step)):
            key = name.module, name.side, name.element
            self._steps.setdefault(key, []).append((name, tensors[name]))
        self._kept: dict[tuple[str, str, int], Any] = {}

    def modules(self) -> set[str]:
        """The names of all captured modules."""
        return {module for module, _, _ in self._steps}

    def has(self, module: str, side: str, element: int = 0) -> bool:
        return (module, side, element) in self._steps

    def prompt(self, module: str) -> int:
        """Positions of the prefill."""
        steps = self._steps[module, "out", 0]
        return int(steps[0][1].shape[1]) if len(steps[0][1].shape) > 1 else 0

    def get(self, module: str, side: str, element: int = 0) -> Any:
        """Return the numbers, in float32; None if they were not captured. Raises ``OSError`` or
        ``ValueError`` for damaged files."""
        key = module, side, element
        if key not in self._steps:
            return None
        if key not in self._kept:
            if sum(values.size for values in self._kept.values()) > MAX_NUMBERS:
                self._kept.clear()
            self._kept[key] = self._read(key)
        return self._kept[key]

    def _read(self, key: tuple[str, str, int]) -> Any:
        parts = [numbers(stored) for _, stored in self._steps[key]]
        first = parts[0]
        # Decoding adds positions behind those of the prompt: the axis on which it has only one.
        for axis in range(first.ndim):
            if all(part.ndim == first.ndim and part.shape[axis] == 1
                   and part.shape[:axis] == first.shape[:axis]
                   and part.shape[axis + 1 :] == first.shape[axis + 1 :]
                   for part in parts[1:]):  # fmt: skip
                return np.concatenate(parts, axis=axis) if len(parts) > 1 else first
        return first


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
    """A module of one forward pass; ``phase`` and ``step`` are empty and 0 if not given.
    ``element`` counts the tensors of a tuple; ``side`` is ``in`` for what goes into the module."""

    module: str
    phase: str = ""
    step: int = 0
    element: int = 0
    side: str = "out"

    @property
    def shown(self) -> str:
        """The module, with the element, the side and the step if they are not the usual."""
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
    """Give every tensor of one run its name: the name inside the file if it distinguishes tensors,
    or that of the file. The first of two of one name is kept."""
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
