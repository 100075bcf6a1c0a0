"""Stage 2: the result of each component test, in the order of the file.

Which component contains which follows from the paths of the mapping, or, for a decoder layer, from
what every decoder layer contains.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from .mapping import PathMapping
from .reading import Folder, cosine, entries, share, size, text_of
from .trees import pattern

NAME = "results/stage2.json"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9.]+")
_EDGE_DIGITS = re.compile(r"^(?:test_)?\d+_|_\d+$")

# The first that fits a normalised name wins.
_FAMILIES = tuple(
    (family, re.compile(expression))
    for family, expression in (
        ("rotary", r"rotary|rope|position_?emb"), ("norm", r"norm"),
        ("lm-head", r"lm_?head|output_head"), ("router", r"router|routing|gating|(^|\.)gate$"),
        ("linear", r"(^|[_.])(q|k|v|o|qkv|gate|up|down|gate_up|out)_proj"),
        ("experts", r"expert|moe"), ("embedding", r"embed|wte"),
        ("layer", r"decoder_?layer|layers?(\.n)?$|block$|^(full_)?model$|causal_?lm"),
        ("attention", r"attn|attention|qkv"), ("mlp", r"mlp|ffn|feed_?forward|swiglu|geglu"),
        ("linear", r"linear|proj|dense|fc\d?$"),
    )
)  # fmt: skip
_IN_A_LAYER = frozenset({"norm", "attention", "mlp", "experts", "router", "rotary"})
# Names that tests give to modules -> ends of module paths.
_ALIASES = {
    "attention": ("self_attn", "attn", "attention"), "mlp": ("mlp", "feed_forward"),
    "embedding": ("embed_tokens", "wte"), "lm-head": ("lm_head",), "rotary": ("rotary_emb",),
    "norm": ("input_layernorm", "post_attention_layernorm", "norm"),
    "layer": ("layers.N",), "experts": ("experts", "mlp"), "router": ("router", "gate"),
}  # fmt: skip


class Component(NamedTuple):
    """One row of stage2.json; ``place`` counts from 0. A row with the status ``error`` has no
    R-ratio and says nothing about the port."""

    name: str
    family: str
    place: int
    status: str | None
    r_ratio: float | None
    state: str | None
    row: dict[str, Any]
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def failed(self, limit: float) -> bool:
        """Whether it fails: by its test, or because R reaches ``limit`` (tau_R of the script)."""
        if self.status == "fail" or self.state == "nan":
            return True
        return self.r_ratio is not None and self.r_ratio >= limit


def normal_name(name: str) -> str:
    """A component name in lower case with underscores, without its number and ``test_``."""
    text = _OTHER.sub("_", _CAMEL.sub("_", name).lower()).strip("_")
    return _EDGE_DIGITS.sub("", text) or text


def family_of(name: str) -> str:
    """The family of a component by its (normalised) name."""
    last = pattern(name).lower()
    ends = ".".join(last.split(".")[-2:])
    for text in (last.rpartition(".")[2], ends):
        for family, expression in _FAMILIES:
            if expression.search(text):
                return family
    return "other"


def read_components(folder: Folder, mapping: PathMapping | None) -> list[Component]:
    """The rows of stage2.json. A row without a name is left out (MM502)."""
    found = folder.json(NAME)
    if found is None:
        return []
    if not isinstance(found.get("results"), list):
        folder.form(NAME, "results should be a list", found.get("results"))
    rows: list[Component] = []
    counts: dict[str, int] = {}
    for index, row in enumerate(entries(found, "results")):
        name = text_of(row.get("component")) if isinstance(row, dict) else None
        if name is None:
            folder.form(NAME, f"results[{index}] should name its component")
            continue
        counts[name] = counts.get(name, 0) + 1
        shown = name if counts[name] == 1 else f"{name} ({counts[name]})"
        rows.append(_component(shown, name, index, row, mapping))
    return rows


def _component(
    shown: str, name: str, index: int, row: dict[str, Any], mapping: PathMapping | None
) -> Component:
    family = family_of(normal_name(name))
    ratio, state = ratio_and_state(row)
    passed = row.get("passed")
    status = "error" if row.get("error") else None
    if status is None and isinstance(passed, bool):
        status = "pass" if passed else "fail"
    source, target = _paths(normal_name(name), family, mapping)
    return Component(shown, family, index, status, ratio, state, row, source, target)


def ratio_and_state(row: dict[str, Any]) -> tuple[float | None, str | None]:
    """The R-ratio of a row, or the reason why it is missing; a row with BC needs none."""
    value = row.get("r_ratio")
    if isinstance(value, float) and not math.isfinite(value):
        return None, "nan" if math.isnan(value) else "infinite"
    ratio = size(value)
    return ratio, "missing" if ratio is None and row.get("bc") is None else None


def _paths(
    name: str, family: str, mapping: PathMapping | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Source and target paths of a tested component, from the entries of the mapping."""
    if mapping is None:
        return (), ()
    written = [(plain_pattern(path), entry) for entry in mapping.entries
               for path in (*entry.source, *entry.target)]  # fmt: skip
    for ends in ((pattern(name),), _ALIASES.get(family, ())):
        hits = [entry for folded, entry in written
                if any(f".{folded}".endswith(f".{end}") for end in ends)]  # fmt: skip
        if hits:
            source = dict.fromkeys(p for entry in hits for p in entry.source)
            target = dict.fromkeys(p for entry in hits for p in entry.target)
            return tuple(source), tuple(target)
    return (), ()


def plain_pattern(path: str) -> str:
    """The pattern of a path of the mapping, whose variables stand for numbers."""
    return pattern(re.sub(r"\{[^{}]*\}", "0", path))


def contains(outer: Component, inner: Component) -> bool:
    """Whether one tested component contains another."""
    if outer.place == inner.place:
        return False
    if outer.family == "layer" and inner.family in _IN_A_LAYER:
        return True
    sides = ((outer.source, inner.source), (outer.target, inner.target))
    return any(above and below and all(path.startswith(tuple(f"{each}." for each in above))
                                       for path in below) for above, below in sides)  # fmt: skip


def add_components(folder: Folder, rows: Sequence[Component], limit: float) -> None:
    """Add one ``component_result`` fact for each row."""
    for each in rows:
        inside = [other for other in rows if contains(each, other)]
        leaves = None
        if inside:
            leaves = "fail" if any(other.failed(limit) for other in inside) else "pass"
        elif each.family == "layer":
            leaves = "untested"
        row = each.row
        folder.collector.add(
            "component_result", f"{folder.place(NAME)}#results[{each.place}]", component=each.name,
            family=each.family, index=each.place, r_ratio=each.r_ratio, state=each.state,
            status=each.status, cosine=cosine(row.get("cosine")), bc=share(row.get("bc")),
            sigma=size(row.get("sigma_ratio")), l_inf=size(row.get("linf_ratio")),
            l2=size(row.get("l2_ratio")), error=text_of(row.get("error")),
            composite=bool(inside) if leaves != "untested" else None, leaves=leaves,
        )  # fmt: skip
