"""Components with another class (or computation) on the CPU than on the device."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...reading.python.nodes import FUNCTIONS, assignments, dotted, last_name
from ...reading.python.sources import Code
from .port_code import MAX_DEPTH, cpu_side, words

_FACTORY = re.compile(r"^_*(?:get|make|build|create|select|choose|resolve)_+", re.ASCII)
_FACTORY_END = re.compile(r"_+(?:cls|class|type|impl|module|fn)$", re.ASCII)


class Divergence(NamedTuple):
    """One component: both class names as written in the file, and their place. ``category`` is that
    of the workflow's report; ``conditional_call`` and ``kernel_call`` if functions differ, and not
    classes."""

    component: str
    category: str
    node: ast.AST
    cpu_class: str | None = None
    device_class: str | None = None
    factory: str | None = None
    detail: str | None = None


def find_divergences(code: Code) -> list[Divergence]:
    """The divergences of a file, one for each component, in the order of the text."""
    found: dict[str, Divergence] = {}
    for each in _all(code):
        known = found.get(each.component)
        classes = (each.cpu_class, each.device_class)
        if known is not None and classes == (known.cpu_class, known.device_class):
            continue
        name = each.component if known is None else _qualified(code, each)
        found.setdefault(name, each._replace(component=name))
    return list(found.values())


def _qualified(code: Code, each: Divergence) -> str:
    owner = code.class_of(each.node)
    return f"{owner.name}.{each.component}" if owner else f"{each.component}:{code.line(each.node)}"


def _all(code: Code) -> Iterator[Divergence]:
    for node in code.nodes:
        side = cpu_side(code, node.test) if isinstance(node, (ast.If, ast.IfExp)) else None
        if side is not None and isinstance(node, ast.If):
            yield from _of_statement(code, node, side)
        elif side is not None and isinstance(node, ast.IfExp):
            cpu, device = (node.body, node.orelse) if side else (node.orelse, node.body)
            names = _class_of(code, cpu), _class_of(code, device)
            if names[0] and names[1] and names[0] != names[1]:
                target = _target(code, node)
                yield _divergence(code, node, target, "conditional_assignment", names)


def _of_statement(code: Code, node: ast.If, side: bool) -> Iterator[Divergence]:
    outcomes = _outcomes(node.body), _outcomes(node.orelse)
    if not outcomes[1]:
        outcomes = outcomes[0], _otherwise(code, node, outcomes[0])
    cpu, device = outcomes if side else outcomes[::-1]
    seen = False
    for target, value in cpu.items():
        names = _class_of(code, value), _class_of(code, device.get(target))
        if names[0] and names[1] and names[0] != names[1]:
            seen = True
            yield _divergence(code, value, target, "conditional_block", names)
    if not seen:
        yield from _of_calls(code, node, side)


def _divergence(
    code: Code, node: ast.AST, target: str, category: str, names: tuple[str | None, str | None]
) -> Divergence:
    function = code.function_of(node)
    if target and not (function is not None and target in words("generic-names")):
        component, factory = component_name(target), None
    elif function is not None and function.name not in ("__init__", "__new__", "forward"):
        category, factory = ("factory_function" if not target else category), function.name
        component = component_name(function.name)
    else:
        owner = code.class_of(node)
        component, factory = (owner.name if owner else "module"), None
    return Divergence(component, category, node, *names, factory, _users(code, factory))


def component_name(name: str) -> str:
    """``get_rmsnorm_cls`` and ``self.rmsnorm`` are the component ``rmsnorm``."""
    last = name.rpartition(".")[2]
    short = _FACTORY_END.sub("", _FACTORY.sub("", last)).strip("_")
    return short or last


def _users(code: Code, factory: str | None) -> str | None:
    """The attributes that are built with a factory: these attributes need both tests."""
    if factory is None:
        return None
    found: dict[str, None] = {}
    for node in code.nodes:
        for target, value in assignments(node):
            if not isinstance(value, ast.Call):
                continue
            called = {last_name(each.func) for each in code.all(ast.Call, value)}
            if factory in called and (name := dotted(target)):
                owner = code.class_of(node)
                short = name.removeprefix("self.")
                found.setdefault(f"{owner.name}.{short}" if owner else short)
    return ", ".join(list(found)[:20]) or None


def _target(code: Code, node: ast.AST) -> str:
    """The name that a value ends up in: of an assignment or a keyword; empty for a return."""
    for count, each in enumerate(code.above(node)):
        for assigned, _ in assignments(each):
            return dotted(assigned)
        if isinstance(each, ast.keyword) and each.arg:
            return each.arg
        if isinstance(each, ast.stmt) or count > MAX_DEPTH:
            break
    return ""


def _outcomes(body: Sequence[ast.stmt], depth: int = 0) -> dict[str, ast.expr]:
    """Target -> value of what the statements assign; "" is the key of the returned value."""
    found: dict[str, ast.expr] = {}
    for each in body:
        if isinstance(each, ast.Return) and each.value is not None:
            found.setdefault("", each.value)
        elif isinstance(each, (ast.If, ast.With, ast.Try)) and depth < MAX_DEPTH:
            for target, value in _outcomes(each.body, depth + 1).items():
                found.setdefault(target, value)
        else:
            for assigned, given in assignments(each):
                if name := dotted(assigned):
                    found[name] = given
    return found


def _otherwise(code: Code, node: ast.If, body: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """The values if an ``if`` without ``else`` is not entered: the statements after an ``if`` that
    returns, or the last values that its targets were set to before."""
    parent = code.parents.get(id(node))
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and node in block:
            place = block.index(node)
            rest = block[place + 1 :] if "" in body else block[:place]
            return {target: value for target, value in _outcomes(rest).items() if target in body}
    return {}


def _class_of(code: Code, value: ast.expr | None) -> str | None:
    """The class that a value is, or is an object of."""
    called = False
    for _ in range(MAX_DEPTH):
        if not isinstance(value, ast.Call):
            break
        called = True
        is_partial = last_name(value.func) == "partial" and len(value.args) > 0
        value = value.args[0] if is_partial else value.func
    return code.class_name(value, called)


def _of_calls(code: Code, node: ast.If, side: bool) -> Iterator[Divergence]:
    """Within ``forward``, another function is called on the CPU than on the device."""
    owner, function = code.class_of(node), code.function_of(node)
    if owner is None or function is None or function not in code.forward_methods(owner):
        return
    parts = _calls(code, node.body), _calls(code, node.orelse)
    if not parts[1] and node.body and isinstance(node.body[-1], ast.Return):
        parts = parts[0], _calls(code, _behind(code, node))
    cpu, device = parts if side else parts[::-1]
    only = [[n for n in one if n not in other] for one, other in ((cpu, device), (device, cpu))]
    if only[0] and only[1]:
        detail = f"CPU: {', '.join(only[0][:5])}; device: {', '.join(only[1][:5])}"
        yield Divergence(owner.name, "conditional_call", node, detail=detail)


def _behind(code: Code, node: ast.If) -> list[ast.stmt]:
    block = getattr(code.parents.get(id(node)), "body", [])
    return block[block.index(node) + 1 :] if node in block else []


def _calls(code: Code, body: Sequence[ast.stmt]) -> list[str]:
    """The functions that statements call, without those that only change form or say something."""
    found: dict[str, None] = {}
    for each in body:
        if isinstance(each, (*FUNCTIONS, ast.Raise)):
            continue
        for call in code.all(ast.Call, each):
            name = dotted(call.func)
            if name and last_name(call.func) not in words("plain-calls"):
                found.setdefault(name)
    return list(found)
