"""Replays all captured modules of a folder, and the failing ones under each hypothesis."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...reading.tensors import np
from ...reading.tensors.captures import Manifest, Name, Run
from ...reading.tensors.stored import Stored
from . import doubts, joints_tried
from .beside import LAYER, Beside, ending, others, siblings
from .checkpoint import Checkpoint
from .modules import (
    EXPLAINS,
    FLOOR,
    Module,
    Sides,
    Trial,
    computed,
    error,
    late_noise,
    sensitivity,
    size,
)
from .phases import failing_phase, prompt_phase
from .spec import Reading, head_width, readings, text_config
from .sums import joints
from .trials import choose, try_all
from .weight_orders import Around

FAILS = 3.0
"""R of a module alone from which on it is examined: other orders of rounding stay below, and so do
the rounded sums of eight ranks."""
MAX_TRIED = 6
HEADS = ("lm_head", "embed_out")
_PROJECTION = re.compile(r"([qkv]_proj|w[qkv])\Z", re.ASCII)
_COLUMNS = re.compile(r"[qkv]_proj|w[qkv]\Z|.*qkv|query_key_value", re.ASCII)
_WIDENS = re.compile(r"gate|up_|w1\Z|w3\Z|w13\Z|c_fc|fc1|dense_h_to_4h", re.ASCII)
"""Projections whose ranks each hold some of the outputs and use all of the input."""
_NO_WEIGHT_OF_OWN = re.compile(r"norm|act|experts", re.ASCII)
INPUT = " (input)"
"""Behind the name of a module, for what it is given."""


class Replayed(NamedTuple):
    """A module that was recomputed: R of it alone, and the trials, best first, if it fails."""

    name: str
    family: str
    r_ratio: float
    trials: tuple[Trial, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the module differs from the reference."""
        return not self.r_ratio < FAILS


class Replay:
    """The three runs of a folder, the configuration and the weights of the reference."""

    def __init__(
        self, runs: Sequence[Mapping[Name, Stored]], manifest: Manifest, checkpoint: Checkpoint
    ) -> None:
        self._runs = [Run(tensors) for tensors in runs]
        self._config, self._weights = manifest.config, checkpoint
        self._decode_from = manifest.decode_from
        self._fit = self._misfit = 0  # modules with weights, as far as they were recomputed
        self.wrong_table = ""  # the module whose cosines and sines are wrong
        self._vain: dict[str, set[Any]] = {}
        shared = self._runs[0].modules() & self._runs[1].modules() & self._runs[2].modules()
        self._head = next((name for name in HEADS if name in shared), HEADS[0])
        self.order = sorted(shared, key=lambda module: Name(module).order())

    def modules(self) -> Iterator[tuple[Module, Around]]:
        """The modules whose formula reproduces the reference."""
        for name in self.order:
            found = self._module(name)
            if found is not None:
                yield found, self._around(found)

    @property
    def fits(self) -> bool:
        """Whether any of the weights that were tried reproduces its module, if any was tried."""
        return self._fit > 0 or not self._misfit

    def _module(self, name: str) -> Module | None:
        layer = LAYER.search(name)
        try:
            raw = self._weights.read(name) if name != "logits" else {}
            if name == "lm_head" and not raw:  # it is tied to the embedding
                raw = {"weight": self._weights.find("embed_tokens.weight")}
            sides = [self._sides(run, name) for run in self._runs]
            if any(each is None for each in sides) or not _alike(sides):
                return None
            number = int(layer[1][:6]) if layer else None
            found = (self._logits() if name == "logits"
                     else readings(name, number, self._config, raw))  # fmt: skip
            known = [each for each in sides if each is not None]
            module = self._checked(name, found, known)
            self._fit += bool(raw) and module is not None
            self._misfit += bool(raw) and module is None
            return module
        except (OSError, ValueError, KeyError, TypeError, IndexError, ZeroDivisionError):
            return None  # of a configuration or a file without usable content

    def _checked(self, name: str, found: Iterator[Reading], sides: list[Sides]) -> Module | None:
        reading = choose(found, sides[0])
        if reading is None:
            return None
        spec = reading.spec | self._tags(name, reading)
        if self._decode_from:
            spec["decode_from"] = self._decode_from
        if reading.family in ("attention", "rotary"):
            spec["positions"] = sides[0].output.shape[-2]
            spec["prefill"] = self._decode_from or spec["positions"]
        if reading.family == "attention":
            spec["qk_normed"] = spec.get("qk_norm", "none") != "none"
            spec["table_seen"] = any("rotary" in each for each in self.order)
        reading = reading._replace(spec=spec)
        if self.wrong_table and reading.family == "attention":
            sides = [
                self._with_table(run, each) for run, each in zip(self._runs, sides, strict=True)
            ]
        noise = max(error(reading, sides[1]), FLOOR * size(sides[1]), 1e-20)
        pairs = [(computed(reading, each.given), each.output) for each in sides[1:]]
        phase = failing_phase(reading, pairs[0], pairs[1], FAILS)
        prompt = prompt_phase(reading, pairs[0], pairs[1], FAILS)
        late = phase.name == "decode" if phase else reading.family == "rotary"
        spec["decoding"] = late and bool(self._decode_from)
        beside = self._beside(name, sides[2], reading)
        target = sides[2]._replace(given={**sides[2].given, **beside})
        return Module(
            name, reading, target, noise, sensitivity(reading, sides[1].given), size(sides[1]),
            phase, late_noise(reading, sides[1]), prompt,
            pairs[0][0].reshape(pairs[0][1].shape) - pairs[0][1],
        )  # fmt: skip

    def _beside(self, name: str, own: Sides, reading: Reading) -> dict[str, Any]:
        """Data that hypotheses may ask for, as functions because most modules need none of it."""
        beside = Beside(self._runs[2], self._weights, self._config, self.order)
        return {"name": name, "vain": self._vain.setdefault(ending(name), set()),
                "inputs": lambda: beside.inputs(name, own.given["x"], self._decode_from),
                "alike": lambda fits: beside.alike(name, fits, reading.weights),
                "layer": lambda by, parts: beside.layer(name, by, parts),
                "siblings": lambda: beside.siblings(name),
                "gives": beside.gives, "gate": lambda: beside.gate(name),
                "vectors": lambda size: beside.vectors(name, size),
                "partial_sums": lambda: beside.partial_sums(name, own.given["x"]),
                "joined": lambda: beside.joined(name)}  # fmt: skip

    def _sides(self, run: Run, name: str) -> Sides | None:
        output = run.get(name, "out")
        if output is None:
            return None
        if re.search(r"rotary|rope", name):
            sine = run.get(name, "out", 1)
            if sine is None:
                return None
            both = np.concatenate((output, sine), axis=-1)
            return Sides({"positions": output.shape[-2]}, both)
        x = run.get(self._head, "out") if name == "logits" else run.get(name, "in")
        return None if x is None else Sides({"x": x}, output)

    def _tags(self, name: str, reading: Reading) -> dict[str, Any]:
        """Facts that the name of a module reveals about the order of its rows and columns."""
        last = name.rpartition(".")[2]
        fresh = text_config(self._config).get("initializer_range")
        found: dict[str, Any] = {"is_head": last in HEADS, "parts_seen": self._sees_parts(name)}
        found["gate_seen"] = found["parts_seen"] and reading.family == "mlp"
        found["fresh"] = fresh
        if reading.family == "norm":
            found["width"] = reading.weights["own.weight"].size
            found["is_qk"] = bool(re.match(r"[qk]_", last))
            found["head_dim"] = head_width(text_config(self._config)) if found["is_qk"] else None
        if reading.family != "linear":
            return found
        config = text_config(self._config)
        heads = config["num_attention_heads"]
        rows = len(reading.weights["own.weight"])
        found["is_router"] = last in ("gate", "router") and rows <= 1_024
        found |= {"heads": heads, "kv_heads": config.get("num_key_value_heads") or heads}
        attends = bool(re.search(r"attn|attention", name))
        found["is_fused"] = bool(re.search(r"qkv|query_key_value", last)) and attends
        found["is_plain"] = not (attends or found["is_router"] or found["is_head"])
        found["is_column"] = bool((_COLUMNS if attends else _WIDENS).match(last))
        found["is_gate_up"] = found["is_plain"] and bool(re.search(r"gate_up|up_gate", last))
        if attends and not found["is_fused"]:
            found["head_dim"] = head_width(config)
            found["is_out"] = not re.match(r"[qkv]_proj", last)
            found["is_value"] = last.startswith("v_proj")
            found["is_shared"] = bool(re.match(r"[kv]_proj", last))
        elif found["is_fused"]:
            found["fused_dim"] = head_width(config)
        return found

    def _sees_parts(self, name: str) -> bool:
        """Whether projections inside a module were captured, too: faults of their weights show
        there first, so they are not faults of the module itself."""
        inside = (each[len(name) + 1 :] for each in self.order if each.startswith(f"{name}."))
        return any(not _NO_WEIGHT_OF_OWN.search(each) for each in inside)

    def _with_table(self, run: Run, sides: Sides) -> Sides:
        table = self._sides(run, self.wrong_table)
        return (
            sides if table is None else Sides({**sides.given, "table": table.output}, sides.output)
        )

    def _logits(self) -> Iterator[Reading]:
        config = text_config(self._config)
        factors = [1.0]
        if isinstance(config.get("logit_scale"), float):
            factors.append(config["logit_scale"])
        if config.get("logits_scaling"):
            factors.append(1 / float(config["logits_scaling"]))
        for factor in factors:
            for cap in (config.get("final_logit_softcapping"), None):
                yield Reading("logits", {"of_x": factor, "logit_cap": cap}, {})

    def _around(self, module: Module) -> Around:
        there = others(self._weights, self._config, module.name, module.reading)
        return Around(module.reading.spec, there, self._named(module))

    def _named(self, module: Module) -> Callable[[str], Any]:
        def named(name: str) -> Any:
            name, _, kind = name.partition(".")
            if name == "embedding":
                found = [each for each in self._weights.like(".weight") if "embed" in each]
            else:
                found = siblings(self._weights, module.name)
            place = int(name.rpartition("-")[2]) if name != "embedding" else 0
            if place >= len(found):
                return None
            return self._weights.find(f"{found[place].removesuffix('.weight')}.{kind or 'weight'}")

        return named

    def differs_around(self, whole: Module, part: str, wrong: Set[str]) -> bool:
        """Whether attention differs even with the outputs of its own projections, if ``part`` is
        one of them and no other part of it is ``wrong``."""
        inside = {name for name in wrong if name.startswith(f"{whole.name}.")}
        if not all(_PROJECTION.search(name) for name in (part, *inside)):
            return False
        names = {name.rpartition(".")[0] for name in self._weights.names(whole.name)}
        return doubts.differs(whole, sorted(names), self._runs[2], FAILS)

    def joined(self) -> Iterator[Replayed]:
        """How modules are joined, and under which hypotheses if that fails."""
        every = [joints_tried.checked(joint, self._runs)
                 for joint in joints(self._runs[0], self.order)]  # fmt: skip
        known = [one for one in every if one is not None]
        for one in known:
            fails = not one.ratio < FAILS
            trials = self._of_joint(one, known) if fails else ()
            yield Replayed(one.joint.name, "sum", one.ratio, trials)

    def _of_joint(
        self, one: joints_tried.Checked, known: Sequence[joints_tried.Checked]
    ) -> tuple[Trial, ...]:
        trials = joints_tried.tried(one, known, self._runs, FAILS, self._decode_from)
        if not any(trial.r_ratio < EXPLAINS for trial in trials):
            trials = (*trials, *joints_tried.normed(one, self._runs[2], self._module))
        return tuple(sorted(trials, key=lambda trial: trial.r_ratio))


def _alike(sides: Sequence[Sides | None]) -> bool:
    shapes = {each.output.shape for each in sides if each is not None}
    return len(shapes) == 1 and all(np.isfinite(each.output).all() for each in sides if each)


def replay(
    runs: Sequence[Mapping[Name, Stored]], folder: Path, manifest: Manifest,
    problems: list[Problem], progress: Progress = UNWATCHED,
) -> list[Replayed]:  # fmt: skip
    """All modules that can be recomputed, in the order of the model; the first failing ones with
    their trials. Never raises over its input."""
    checkpoint = Checkpoint(manifest.weights, problems)
    if not len(checkpoint):
        text = "the weights of the reference are not there; modules were not recomputed"
        hint = "capture again, or put them where capture.json says"
        problems.append(Problem("MM516", text, Location(str(folder)), hint))
        return []
    given = Replay(runs, manifest, checkpoint)
    found: list[Replayed] = []
    failing: list[tuple[int, Module, Around]] = []
    wholes: dict[str, Module] = {}
    with progress.part("modules", len(given.order)) as step:
        for module, around in given.modules():
            alone = module.alone()
            inside = any(other.startswith(f"{module.name}.") for other in
                         (one.name for one in found if one.fails))  # fmt: skip
            found.append(Replayed(module.name, module.reading.family, alone))
            if found[-1].fails and not inside and len(failing) < MAX_TRIED:
                failing.append((len(found) - 1, module, around))
            if found[-1].fails and inside and module.reading.family == "attention":
                wholes[module.name] = module
            if found[-1].fails and module.reading.family == "rotary":
                given.wrong_table = module.name
            step(1)
    if not given.fits:
        text = "the weights reproduce no module of ref_fp32; those were not recomputed"
        hint = "are they the weights of the run that was captured?"
        problems.append(Problem("MM516", text, Location(str(manifest.weights)), hint))
    vain: set[str] = set()
    sound = doubts.usual(one.r_ratio for one in found if not one.fails)
    with progress.part("hypotheses", len(failing)) as step:
        for at, module, around in failing:
            first = at == failing[0][0]
            trials = tuple(try_all(module, around, first, ending(module.name) not in vain))
            if not any(trial.r_ratio < EXPLAINS for trial in trials):
                vain.add(ending(module.name))
            whole = wholes.get(module.name.rpartition(".")[0])
            wrong = {found[each].name for each, _, _ in failing}
            if whole is not None and given.differs_around(whole, module.name, wrong):
                trials = doubts.of_bias(trials)
            trials = doubts.with_doubt(trials, sound, found[at].r_ratio, module)
            found[at] = found[at]._replace(trials=trials)
            step(1)
    found.extend(given.joined())
    return _as_computed(sorted(found, key=lambda each: Name(each.name.removesuffix(INPUT)).order()))


def _as_computed(found: list[Replayed]) -> list[Replayed]:
    """Order modules as the target computes them. If a failing module uses the output of a later
    module whose input is wrong as well, the later one comes first."""
    names = [one.name for one in found]
    for one in list(found):
        best = one.trials[0] if one.trials else None
        if best is None or not best.source or not best.r_ratio < EXPLAINS:
            continue
        later = f"{best.source}{INPUT}"
        if later in names[names.index(one.name) + 1 :] and found[names.index(later)].fails:
            found.insert(names.index(one.name), found.pop(names.index(later)))
            names = [each.name for each in found]
    return found
