"""Whether code between two calls uses the result of the first: then the second has to wait."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from ....reading.python.nodes import LOOPS, dotted, last_name
from ..findings import Script

_CLOCKS = frozenset({"time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns"})
_LEAVES = (ast.Raise, ast.Return, ast.Assert)
_EXITS = frozenset({"exit", "_exit", "quit", "abort"})
_TELLS = re.compile(
    r"_{0,2}(?:print|log|info|debug|warn|write|report|track|record|postfix|set_postfix|emit|echo"
    r"|metric|progress|update_progress|add_scalar|len|float|int|str|sum|mean|min|max|abs|item|get"
    r"|result|tolist|items|keys|values|dump|exp|isinstance|hasattr|getattr|range|zip|enumerate"
    r"|list|tuple|dict|sorted|format|round|join|strip|to_torch|numpy|collect|put|observe|end"
    r"|step_end|flush|time)(?:_?\w{0,30})",
    re.IGNORECASE,
)  # fmt: skip
UNSEEN = "that the next call needs nothing of the result"


def relies(script: Script, wait: ast.AST, step: ast.AST, sent: ast.AST) -> bool | None:
    """Whether the awaited result decides if, or how, a step is done: a condition on the loss, a
    learning rate or data that depend on it. None if the path of code between the two is unknown."""
    for call in script.machine.trace.calls:
        if call.node is step and _is_made_of(script, call, sent):
            return True
    places = _together(script, wait, step)
    return None if places is None else _uses(script, *places)


def is_timed(script: Script, wait: ast.AST, step: ast.AST) -> bool:
    """Whether a clock is read between two calls: then the code measures their times."""
    if script.function_of(wait) is not script.function_of(step):
        return False
    calls = (node for node in _between(script, wait, step) if isinstance(node, ast.Call))
    return any(last_name(call.func) in _CLOCKS for call in calls)


def _is_made_of(script: Script, call: object, sent: ast.AST) -> bool:
    """Whether an argument of a call is computed from the result of another call."""
    given = (*getattr(call, "args", ()), *getattr(call, "named", {}).values())
    terms = (value.term for value in given if value.term is not None)
    return any(
        part.op == "call" and part.node is sent
        for term in terms for part in script.machine.trace.walk(term, fed=True)
    )  # fmt: skip


def _together(script: Script, wait: ast.AST, step: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """The two calls, or calls of the functions that make them, in one function."""
    for one in _standing_for(script, wait):
        for other in _standing_for(script, step):
            if one is not other and script.function_of(one) is script.function_of(other):
                return one, other
    return None


def _standing_for(script: Script, node: ast.AST) -> Iterator[ast.AST]:
    """A call, and calls of the function around it, two levels up."""
    waiting, seen = [node], set[int]()
    for _ in range(3):
        yield from waiting
        functions = {id(script.function_of(each)) for each in waiting} - seen - {id(None)}
        seen |= functions
        waiting = [
            call for call in script.calls()
            if functions and id(script.machine.value(call.func).node) in functions
        ]  # fmt: skip


def _uses(script: Script, wait: ast.AST, step: ast.AST) -> bool:
    around = [*script.above(step)]
    known: set[str] = set()
    told: set[str] = set()  # objects that may know the result without being part of the step
    nodes = list(_between(script, wait, step))

    def uses(node: ast.AST) -> bool:
        return _holds(node, known) or any(each is wait for each in script.below(node))

    if any(_is_left_out(script, each, around) for each in script.above(wait)):
        return True
    for node in (*nodes, *nodes):
        asked = _asked(node)
        if any(uses(each) or _holds(each, told) for each in asked):
            if any(node is each for each in around) or _may_leave(script, node, around):
                return True
            told |= _set_below(script, node)
        told |= _told(script, node, uses)
        known |= _learnt(script, node, uses, step)
    given = [*step.args, *(k.value for k in step.keywords)] if isinstance(step, ast.Call) else []
    own = isinstance(step, ast.Call) and dotted(getattr(step.func, "value", None)) == "self"
    inside = own and script.machine.value(getattr(step, "func", None)).node is not None
    return any(map(uses, given)) or (inside and any(n.startswith("self") for n in known))


def _learnt(
    script: Script, node: ast.AST, uses: Callable[[ast.AST], bool], step: ast.AST
) -> set[str]:
    """The names that hold something of the result after a piece of code."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        made = node.value is not None and uses(node.value)
        return {name for each in targets for name in _bound(each)} if made else set()
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return {*_bound(node.target)} if uses(node.iter) else set()
    if not isinstance(node, ast.Call) or node is step or _TELLS.fullmatch(last_name(node.func)):
        return set()
    given = [*node.args, *(k.value for k in node.keywords)]
    if not any(map(uses, given)):
        return set()
    changed = {dotted(each) for each in given if isinstance(each, (ast.Name, ast.Attribute))}
    if isinstance(node.func, ast.Attribute):
        changed.add(dotted(node.func.value))
    return changed - {""}


def _bound(target: ast.AST) -> Iterator[str]:
    """The names that an assignment changes: with ``a.b[0] = c`` that is ``a.b``."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _bound(each)
    elif isinstance(target, (ast.Subscript, ast.Starred)):
        yield from _bound(target.value)
    elif name := dotted(target):
        yield name


def _holds(node: ast.AST, known: set[str]) -> bool:
    """Whether an expression uses one of several names, or a part of it."""
    for each in ast.walk(node):
        name = dotted(each)
        if name and any(name == k or name.startswith(f"{k}.") for k in known):
            return True
    return False


def _asked(node: ast.AST) -> list[ast.expr]:
    """The expressions that a piece of code decides by."""
    if isinstance(node, (ast.If, ast.Assert, ast.While, ast.IfExp)):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return node.values[:-1]
    return [node.subject] if isinstance(node, ast.Match) else []


def _may_leave(script: Script, node: ast.AST, around: list[ast.AST]) -> bool:
    """Whether an arm of a decision ends the code ``around`` the next call."""
    if not isinstance(node, (ast.If, ast.Match)):
        return isinstance(node, ast.Assert)
    return any(_leaves(script, part, around) for part in script.below(node))


def _leaves(script: Script, part: ast.AST, around: list[ast.AST]) -> bool:
    if isinstance(part, (ast.Break, ast.Continue)):
        loop = next((each for each in script.above(part) if isinstance(each, LOOPS)), None)
        return any(loop is each for each in around)
    if isinstance(part, ast.Call):
        return last_name(part.func) in _EXITS
    return isinstance(part, _LEAVES)


def _is_left_out(script: Script, node: ast.AST, around: list[ast.AST]) -> bool:
    """Whether a ``try`` continues without the next call if its awaited call fails."""
    if not isinstance(node, ast.Try) or any(node is each for each in around):
        return False
    ends = (part for each in node.handlers for part in script.below(each))
    return any(not isinstance(e, ast.Raise) and _leaves(script, e, around) for e in ends)


def _set_below(script: Script, node: ast.AST) -> set[str]:
    """The names that a decision sets in its arms: flags such as ``sound = False``."""
    if not isinstance(node, (ast.If, ast.Match)):
        return set()
    made = (part for part in script.below(node) if isinstance(part, ast.Assign))
    return {name for each in made for target in each.targets for name in _bound(target)}


def _told(script: Script, node: ast.AST, uses: Callable[[ast.AST], bool]) -> set[str]:
    """The object of the program that a call passes the result to: ``watch.record(loss)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return set()
    owner = dotted(node.func.value)
    if owner in ("", "self") or script.machine.value(node.func.value).kind == "import":
        return set()
    return {owner} if any(map(uses, [*node.args, *(k.value for k in node.keywords)])) else set()


def _between(script: Script, wait: ast.AST, step: ast.AST) -> Iterator[ast.AST]:
    """The code of the function from the statement of one call to that of another; if the other call
    comes first, through the next pass of the loop around both."""
    scope = script.function_of(wait)
    first, last = getattr(wait, "lineno", 0), getattr(step, "lineno", 0)
    if last >= first:
        for node in script.below(scope or script.module_of(wait).tree):
            line = getattr(node, "lineno", 0)
            if first <= getattr(node, "end_lineno", 0) and line <= last:
                yield node
        return
    around = [each for each in script.above(wait) if isinstance(each, LOOPS)]
    shared = [each for each in script.above(step) if each in around]
    for node in script.below(shared[0]) if shared else ():
        line = getattr(node, "lineno", 0)
        if getattr(node, "end_lineno", 0) >= first or line <= last:
            yield node
