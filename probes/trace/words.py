"""A difference in words, with the lines of both files and the configuration behind its numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .alignment import LAYOUT, Aligned
from .difference import scalars
from .placing import RANDOM, Difference, base
from .quantity import Frame, Quantity

VERBS = {"mul": "multiplies by", "div": "divides by", "add": "adds", "sub": "subtracts",
         "pow": "raises to the power of"}  # fmt: skip
WORDS = {"mul": "multiplies", "div": "divides", "add": "adds", "sub": "subtracts",
         "mm": "multiplies matrices", "bmm": "multiplies matrices",
         "addmm": "multiplies matrices", "embedding": "looks up rows"}  # fmt: skip
MAX_NAMED = 4
MAX_OPS = 6
LARGE = 1000  # whole numbers below equal a setting by chance
SIZE = re.compile(r"dim|hidden|scalar|rank|factor|scal|multiplier")


def place_of(found: Aligned, at: int) -> Frame | None:
    """The line that calls an operation: the innermost one in the folder of the port's file if
    there is one, else the innermost outside the framework. Of a weight that has kept its first
    random values the outermost, which should have loaded it."""
    one = found.quantity(at)
    frames = [found.trace.frames[each] for each in one.frames]
    folder = str(Path(found.trace.entry).parent) if found.trace.entry else ""
    own = [each for each in frames if folder and each.file.startswith(folder)]
    if at < found.trace.built and RANDOM.search(one.op):
        own.reverse()
    return next(iter(own or frames), None)


def meeting(found: Aligned, at: int, other: int) -> Frame | None:
    """The line of ``at`` in the innermost function that also leads to ``other``."""
    frames = found.trace.frames
    both = {frames[each][::2] for each in found.quantity(other).frames}
    shared = [frames[each] for each in found.quantity(at).frames if frames[each][::2] in both]
    return next(iter(shared), place_of(found, at))


def line_of(one: Difference, port: Aligned) -> Frame | None:
    """The line of the port to show."""
    if one.meets is not None:
        return meeting(port, one.port, one.meets[0])
    at = one.port if one.beside is None else one.beside
    if at < port.trace.built and port.known(at):  # the wrong one, rather than made wrongly
        frames = [port.trace.frames[each] for each in port.quantity(at).frames]
        return next((each for each in frames if "__init__" in each.function), place_of(port, at))
    return place_of(port, at)


def module_of(found: Aligned, at: int) -> str:
    """The module that computes a quantity; of a part of the building, the first one that uses
    it."""
    behind, built = {at}, found.trace.built
    for number in range(at, len(found.trace.quantities)):
        one = found.quantity(number)
        if number == at or behind & {*one.inputs}:
            behind.add(number)
            if number >= built and one.module:
                return one.module
    return ""


def operation(found: Aligned, at: int, config: Mapping[str, Any]) -> str:
    """An operation with its constants, and what these equal in the configuration."""
    one = found.quantity(at)
    if one.given:
        return f"uses {one.name or 'a tensor that no operation made'}"
    known = {key: value for key, value in one.constants.items() if key not in ("part", "dtype")}
    single = known.get("other", known.get("exponent"))
    values = scalars(found, at)
    if single is None and values and one.op in VERBS:
        single = float(f"{values[0]:.7g}")
    if single is not None and one.op in VERBS:
        return f"{VERBS[one.op]} {named(single, found, one, config)}"
    shown = ", ".join(
        f"{key}={named(value, found, one, config)}"
        for key, value in list(known.items())[:MAX_NAMED]
    )
    if one.op in WORDS and not shown:
        return WORDS[one.op]
    return f"computes {one.op.strip('_')}" + (f"({shown})" if shown else "")


def named(value: Any, found: Aligned, one: Quantity, config: Mapping[str, Any]) -> str:
    """A constant, with the attribute of the module or the setting that it equals."""
    if isinstance(value, float):
        value = float(f"{value:.7g}")
    if not isinstance(value, int | float) or isinstance(value, bool) or value in (0, 1, 2, -1):
        return str(value)
    attributes = [
        name for name, number in found.trace.settings.items()
        if telling(value) and number == value and name.rpartition(".")[0] == one.module
    ]  # fmt: skip
    said = [
        *(f"self.{name.rpartition('.')[2]}" for name in attributes[:1]),
        *equals(value, config),
    ][:2]
    return f"{value} ({' = '.join(said)})" if said else str(value)


def telling(value: float) -> bool:
    """Whether a number that equals a setting is likely to come from it."""
    return isinstance(value, int) or not value.is_integer() or value >= LARGE


def equals(value: float, config: Mapping[str, Any]) -> list[str]:
    """The first setting of a configuration that a number follows from."""
    known = sorted(settings(config), key=lambda each: "head_dim" not in each[0])
    for name, setting in known:
        if telling(value) and math.isclose(setting, value, rel_tol=2e-6):
            return [name]
    sizes = [(name, size) for name, size in known if SIZE.search(name) and size > 1]
    for form, power in (("1/sqrt({})", -0.5), ("sqrt({})", 0.5), ("1/{}", -1.0)):
        for name, size in sizes:
            if math.isclose(size**power, value, rel_tol=2e-6):
                return [form.format(name)]
    return []


def settings(config: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a configuration, and the width of a head."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from settings(value, f"{path}{key}.")
        elif type(value) in (int, float):
            yield f"{path}{key}", value
    width, heads = config.get("hidden_size"), config.get("num_attention_heads")
    if type(width) is int and type(heads) is int and heads > 0 and not config.get("head_dim"):
        yield f"{path}(hidden_size/num_attention_heads)", width / heads


def told(one: Difference, port: Aligned, reference: Aligned, config: Mapping[str, Any]) -> str:
    """The difference in one sentence, with both lines."""
    place, there = line_of(one, port), "the reference"
    here = place.shown if place else "no known line"
    mine = operation(port, one.port, config)
    theirs = "does not"
    if (shown := shown_of_reference(one, reference)) is not None:
        there = shown_line(one, reference)
        theirs = operation(reference, shown, config)
    if one.kind == "module-never-called":
        name = reference.quantity(one.lacking[0]).module
        without = f"without {name}, which the port never calls"
        return f"{here} goes on{_with(one, port)} {without}; {there} calls it"
    if one.kind == "other-mask":
        return (f"{here} makes a mask that leaves other positions than any mask of the reference; "
                f"{_line(port, one.port)} uses it, and {there} the other")  # fmt: skip
    if one.kind == "missing-operation":
        what = several(reference, one.lacking, config)
        return f"{here} goes on{_with(one, port)} without what {there} does: {what}"
    if one.kind == "extra-operation":
        return f"{here} does what {there} does not: {several(port, one.added, config)}"
    if one.kind == "fewer-digits" and one.reference is not None:
        formats = port.trace.low[one.port], reference.trace.low[one.reference]
        return f"{here} {mine} in {formats[0]}; {there} does so in {formats[1]}"
    if one.kind == "other-order":
        first = several(reference, one.lacking, config)
        return f"{here} {mine}; {there} first does what the port does later: {first}"
    return _of_same_place(one, port, reference, (here, mine), (there, theirs))


def _with(one: Difference, port: Aligned) -> str:
    """The operand that the port takes instead, unless it is made at the same line."""
    if not one.operands:
        return ""
    what = made(port, one.operands[0])
    return "" if _line(port, one.port) in what else f" with {what}"


def _of_same_place(
    one: Difference, port: Aligned, reference: Aligned, mine: tuple[str, str],
    theirs: tuple[str, str],
) -> str:  # fmt: skip
    if one.kind == "other-weight" and (name := port.quantity(one.port).name):
        return f"{mine[0]} uses {name}, whose values the reference ({theirs[0]}) does not have"
    if one.beside is not None and one.across is not None:
        inputs = [port.quantity(each) for each in port.quantity(one.beside).inputs]
        name = next((each.name for each in inputs if each.given and each.name), "")
        does, use = operation(port, one.beside, {}), _line(port, one.port)
        does = f"takes {name}" if name else does
        return f"{mine[0]} {does}, which is not what {theirs[0]} makes; {use} works on it"
    pairs = (mine, theirs)
    if one.operands:
        of = made(port, one.operands[0]), made(reference, one.operands[1])
        if of[0] != of[1]:
            return "; ".join(
                f"{at} {does}, with {what}" for (at, does), what in zip(pairs, of, strict=True)
            )
    both = "; ".join(f"{at} {does}" for at, does in pairs)
    other = one.kind in ("other-layout", "other-operand")
    return f"{both}, on values in another order or part" if other else both


def shown_of_reference(one: Difference, reference: Aligned) -> int | None:
    """The operation of the reference to show."""
    if one.across is not None:
        return one.across
    several = {reference.quantity(each).module for each in one.lacking}
    return one.lacking[-1 if len(several) > 1 else 0] if one.lacking else one.reference


def shown_line(one: Difference, reference: Aligned) -> str:
    """Its line; if a whole module is left out, the one that calls it."""
    at = shown_of_reference(one, reference)
    if at is None:
        return ""
    if one.meets is not None:
        start = one.lacking[0] if one.lacking else at
        frame = meeting(reference, start, one.meets[1])
        return frame.shown if frame else ""
    modules = {reference.quantity(each).module for each in one.lacking}
    frames = [reference.trace.frames[each] for each in reference.quantity(at).frames]
    if len(one.lacking) > 2 and len(modules) == 1:
        own = frames[0].function.rpartition(".")[0]
        outside = (each for each in frames if each.function.rpartition(".")[0] != own)
        caller = next(outside, frames[0])
        return caller.shown if caller.file == frames[0].file else frames[0].shown
    return _line(reference, at)


def _short(one: Quantity) -> str:
    return "(" + ", ".join(f"{key}={value}" for key, value in one.constants.items()) + ")"


def _line(found: Aligned, at: int) -> str:
    frame = place_of(found, at)
    return frame.shown if frame else "no known line"


def made(found: Aligned, at: int) -> str:
    """A quantity by what computes it, or takes a part of what was computed."""
    one = found.quantity(at := base(found, at))
    if one.given:
        return one.name or "a given tensor"
    told = _short(one) if one.op in LAYOUT and one.constants else ""
    where = f"{one.module or 'the model'} ({_line(found, at)})"
    return f"the result of {one.op.strip('_')}{told} in {where}"


def several(found: Aligned, at: Sequence[int], config: Mapping[str, Any]) -> str:
    """Some operations: by their module if they are all of it, else one by one."""
    modules = {found.quantity(each).module for each in at}
    if len(at) == 1:
        return f"it {operation(found, at[0], config)}"
    ops = list(dict.fromkeys(found.quantity(each).op.strip("_") for each in at))
    shown = ", ".join(ops[:MAX_OPS]) + (" ..." if len(ops) > MAX_OPS else "")
    module = next(iter(modules))
    return f"{module} ({shown})" if len(modules) == 1 and module else shown
