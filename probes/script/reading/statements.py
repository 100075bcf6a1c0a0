"""Following the statements of a script in the order in which they would run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from ....reading.python.nodes import FUNCTIONS, FunctionNode, Tree, last_name
from .definitions import annotated, define_class, import_star, make_object
from .expressions import assign, element, evaluate, imported
from .guards import absent_arm, without
from .machine import MAX_CALLS, BudgetError, Finder, Frame, Machine, guessed
from .terms import augmented, rejoined, returned
from .values import PLAIN, UNKNOWN, Value, either, joined, mentions_sdk

_PENDING = frozenset({"future", "client-future", "coroutine"})
_DECORATED = "that its decorator hands on what the function gives"
_NO_IMPORT = frozenset({"ImportError", "ModuleNotFoundError"})
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def follow(
    tree: ast.Module, key: str, find: Finder, nodes_of: Callable[[str, ast.Module], Tree]
) -> tuple[Machine, bool]:
    """Read a program: the module that is run, under its ``key``, and the modules of its project
    that it imports. The second value is false if that was too large to follow."""
    machine = Machine(key, find)
    machine.run_function = run_function
    machine.make_object = make_object
    machine.run_block = block
    machine.trees.append((key, tree))
    try:
        block(machine, tree.body)
        for module, function, owner in _uncalled(machine, nodes_of):
            with machine.within(module=module, frame=module):
                _run_alone(machine, function, owner)
    except (BudgetError, RecursionError):
        machine.stopped = True
        return machine, False
    return machine, True


def block(machine: Machine, statements: Sequence[ast.stmt]) -> bool:
    """Follow statements; true if they end the surrounding code (return, raise, continue)."""
    for index, statement in enumerate(statements):
        machine.visit()
        if isinstance(statement, ast.If):
            ended, followed = _branch(machine, statement, statements[index + 1 :])
            if ended or followed:
                return ended
        elif isinstance(statement, _ENDS):
            _end(machine, statement)
            return True
        else:
            _statement(machine, statement)
    return False


def _branch(machine: Machine, node: ast.If, rest: Sequence[ast.stmt]) -> tuple[bool, bool]:
    """Follow both arms of an ``if``; if one of them leaves, the following code belongs to the
    other.

    The first value is true if the surrounding code ends, the second if ``rest`` was followed.
    """
    if _is_main_guard(node.test) and machine.module is not machine.entry:
        return block(machine, node.orelse), False
    evaluate(machine, node.test)
    number = machine.fresh()
    lengths = any(isinstance(n, ast.Name) and n.id == "len" for n in ast.walk(node.test))
    frame, before = machine.frame, dict(machine.frame.names)
    with machine.uncertain(lengths):
        with machine.arm(number, 0):
            start = len(machine.events)
            frame.names = without(before, node.test, 0)
            first = block(machine, node.body)
            middle = len(machine.events)
        one, frame.names = frame.names, without(before, node.test, 1)
        with machine.arm(number, 1):
            second = block(machine, node.orelse)
    without_sdk = absent_arm(node.test)
    if without_sdk == 1 or (second and _is_gone(node.orelse)):
        frame.names = one
    elif without_sdk is None and not (first and _is_gone(node.body)):
        other, frame.names = frame.names, joined(before, one, frame.names)
        rejoined(machine, one, other)
    if first == second:
        return first, False
    left, begin, end = (node.body, start, middle) if first else (
        node.orelse, middle, len(machine.events))  # fmt: skip
    if _leaves_the_loop(machine, left):
        machine.forget_order(begin, end)
    with machine.arm(number, 1 if first else 0):
        return block(machine, rest), True


def _is_gone(statements: Sequence[ast.stmt]) -> bool:
    """Whether an arm that ends leaves the function: the names that it sets no longer count."""
    return isinstance(statements[-1], (ast.Return, ast.Raise))


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and last_name(test.left) == "__name__"


def _leaves_the_loop(machine: Machine, statements: Sequence[ast.stmt]) -> bool:
    """Whether an arm ends the loop around it, so that no further pass follows."""
    last = statements[-1] if statements else None
    return isinstance(last, (ast.Break, ast.Raise)) or (
        isinstance(last, ast.Return) and machine.frame.looping > 0
    )


def _end(machine: Machine, node: Any) -> None:
    value = getattr(node, "value", None)
    if value is not None:
        machine.frame.returned.append(evaluate(machine, value))
    if isinstance(node, ast.Raise) and node.exc is not None:
        evaluate(machine, node.exc)


def _statement(machine: Machine, node: ast.stmt) -> None:
    handler = _STATEMENTS.get(type(node))
    if handler is not None:
        handler(machine, node)
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(machine, child)


def _define(machine: Machine, node: Any) -> None:
    machine.frame.names[node.name] = Value("function", node.name, node=node)
    machine.homes[id(node)] = machine.frame
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is not None:
            evaluate(machine, default)
    for decorator in node.decorator_list:
        machine.note(decorator, evaluate(machine, decorator))
    if machine.frame is machine.module and any(map(_is_cell, node.decorator_list)):
        machine.visited_functions.add(id(node))
        block(machine, node.body)


def _is_cell(decorator: ast.expr) -> bool:
    """Whether a function is a cell of a marimo notebook: it runs once, in its place, and its names
    are those of the notebook."""
    return last_name(getattr(decorator, "func", decorator)) == "cell"


def _assign(machine: Machine, node: Any) -> None:
    value = evaluate(machine, node.value)
    for target in node.targets:
        assign(machine, target, value)


def _for(machine: Machine, node: Any) -> None:
    items = evaluate(machine, node.iter)
    with machine.looping(node):
        for last in (False, True):
            assign(machine, node.target, element(machine, items, last))
            block(machine, node.body)
    block(machine, node.orelse)


def _while(machine: Machine, node: Any) -> None:
    with machine.looping(node):
        for _ in range(2):
            evaluate(machine, node.test)
            block(machine, node.body)
    block(machine, node.orelse)


def _with(machine: Machine, node: Any) -> None:
    for item in node.items:
        value = evaluate(machine, item.context_expr)
        if item.optional_vars is not None:
            assign(machine, item.optional_vars, value)
    block(machine, node.body)


def _annotated(machine: Machine, node: Any) -> None:
    value = evaluate(machine, node.value) if node.value is not None else UNKNOWN
    if isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            old = machine.frame.get(node.target.id)
            if old.kind == value.kind == "list":
                value = Value("list", parts=(*old.parts, *value.parts)[-16:])
        assign(machine, node.target, augmented(machine, node, value))
        return
    assign(machine, node.target,
           annotated(machine, node.annotation) if value == UNKNOWN else value)  # fmt: skip


def _import(machine: Machine, node: Any) -> None:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            if alias.name == "*":
                import_star(machine, node)
                continue
            value = imported(machine, node.module or "", node.level, alias.name)
            machine.frame.names[alias.asname or alias.name] = value
        else:
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            own = machine.linked(alias.name) is not None
            kind = "module" if own and machine.linked(whole) is not None else "import"
            machine.frame.names[alias.asname or whole] = Value(kind, whole)


def _try(machine: Machine, node: Any) -> None:
    block(machine, node.body)
    branch = machine.fresh()
    for number, handler in enumerate(node.handlers):
        before = dict(machine.frame.names)
        with machine.arm(branch, number), machine.uncertain():
            block(machine, handler.body)
        if any(last_name(n) in _NO_IMPORT for n in ast.walk(handler.type or ast.Pass())):
            machine.frame.names.update(before)  # ``tinker = None`` is for environments without it
    block(machine, node.orelse)
    block(machine, node.finalbody)


def _match(machine: Machine, node: Any) -> None:
    evaluate(machine, node.subject)
    branch = machine.fresh()
    for number, case in enumerate(node.cases):
        with machine.arm(branch, number):
            block(machine, case.body)


def run_function(
    machine: Machine, function: Value, args: list[Value], named: dict[str, Value]
) -> Value:
    """Follow a call of a function of the script; return its result."""
    node = function.node
    if not isinstance(node, FUNCTIONS) or node in machine.stack or len(machine.stack) >= MAX_CALLS:
        return UNKNOWN
    if machine.is_spent(node, (*args, *named.values())):
        return UNKNOWN
    visits, events = machine.visits, len(machine.events)
    bound = [function.parts[0], *args] if function.kind == "method" and function.parts else args
    if any(getattr(d, "id", "") == "staticmethod" for d in node.decorator_list):
        bound = args
    home = machine.homes.get(id(node), machine.module)
    module = machine.loaded.get(home.key, machine.module)
    frame = Frame(home, node)
    alone = machine.alone is node
    machine.visited_functions.add(id(node))
    with machine.within(frame=frame, module=module):
        frame.names.update(_parameters(machine, node, bound, named, alone))
    machine.called_in.setdefault(node, set()).update(machine.loops)
    # A generator runs in turns with its caller: its own order means nothing.
    generator = machine.generators.get(node)
    if generator is None:
        generator = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own_nodes(node))
        machine.generators[node] = generator
    with (
        machine.within(frame=frame, module=module, stack=(*machine.stack, node)),
        machine.uncertain(generator),
    ):
        block(machine, node.body)
    machine.was_read(node, visits, events)
    known = [value for value in frame.returned if value.kind != "unknown"]
    if known and known[-1].kind in _PENDING and len(known) < len(frame.returned):
        machine.unresolved_waits.append(node)  # it waits by a way of its own, if it can
        known = []
    if any(machine.kind(getattr(d, "func", d)) == "function" for d in node.decorator_list):
        known = [replace(v, assumed=v.assumed or _DECORATED) for v in known]
    several = len({(v.kind, str(v.const)) for v in frame.returned}) > 1
    if several and known and all(v.kind in PLAIN for v in frame.returned):
        return returned(machine, frame.returned, reduce(either, frame.returned))
    return returned(machine, frame.returned, known[-1] if known else UNKNOWN)


def _parameters(
    machine: Machine, node: FunctionNode, args: list[Value], named: dict[str, Value], alone: bool
) -> dict[str, Value]:
    """The values of the parameters. No call of a function that is read ``alone`` was seen, so its
    defaults may be replaced."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    values: dict[str, Value] = {}
    defaults = _defaults(machine, node)
    for index, parameter in enumerate((*parameters, *node.args.kwonlyargs)):
        value = named.get(parameter.arg, UNKNOWN)
        if value.kind == "unknown" and index < min(len(args), len(parameters)):
            value = args[index]
        term = value.term
        if value.kind == "unknown":
            value = annotated(machine, parameter.annotation)
        if value.kind == "unknown" and parameter.arg not in named and parameter.arg in defaults:
            value = defaults[parameter.arg]
            if alone:
                value = replace(value, assumed=f"that {parameter.arg} keeps its default")
        if value.kind == "unknown":
            value = guessed(parameter.arg)
        values[parameter.arg] = value if value.term is not None else replace(value, term=term)
    return values


def _defaults(machine: Machine, node: FunctionNode) -> dict[str, Value]:
    """The constants that parameters have if no argument is given."""
    plain = [*node.args.posonlyargs, *node.args.args]
    pairs = [
        *zip(reversed(plain), reversed(node.args.defaults), strict=False),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    known = ((p.arg, machine.value(given)) for p, given in pairs if given is not None)
    return {name: value for name, value in known if value.const is not None}


def own_nodes(function: ast.AST) -> list[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    found: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _uncalled(
    machine: Machine, nodes_of: Callable[[str, ast.Module], Tree]
) -> list[tuple[Frame, FunctionNode, str]]:
    """Functions and methods, with their modules and the keys of their classes, ``__init__`` first.
    Those that the program itself calls come last: they are read where they are called, if possible.
    In modules without names of the SDK, only called functions are read."""
    found: list[tuple[Frame, FunctionNode, str]] = []
    called: set[str] = set()
    keys = {id(made.node): key for key, made in machine.classes.items()}
    for where, tree in machine.trees:
        module, nodes = machine.loaded[where], nodes_of(where, tree)
        called.update(nodes.called)
        if module is not machine.entry and not nodes.kept(mentions_sdk):
            continue
        for node in nodes.definitions:
            if isinstance(node, ast.ClassDef):
                methods = [n for n in node.body if isinstance(n, FUNCTIONS)]
                methods.sort(key=lambda n: n.name != "__init__")
                owner = keys.get(id(node), node.name)
                found.extend((module, method, owner) for method in methods)
            elif isinstance(node, (ast.Module, *FUNCTIONS)):
                found.extend((module, n, "") for n in node.body if isinstance(n, FUNCTIONS))
    found.sort(key=lambda each: each[1].name in called)
    return found


def _run_alone(machine: Machine, node: FunctionNode, owner: str) -> None:
    if id(node) in machine.visited_functions:
        return
    machine.events_break()
    self_ = (Value("object", owner),)
    value = (Value("method", node.name, parts=self_, node=node) if owner
             else Value("function", node.name, node=node))  # fmt: skip
    detached = id(node) in machine.detached_functions
    with machine.within(detached=machine.detached + detached, alone=node):
        run_function(machine, value, [], {})


_STATEMENTS: dict[type[ast.stmt], Callable[[Machine, Any], None]] = {
    ast.FunctionDef: _define, ast.AsyncFunctionDef: _define, ast.ClassDef: define_class,
    ast.Import: _import, ast.ImportFrom: _import, ast.Assign: _assign, ast.AnnAssign: _annotated,
    ast.AugAssign: _annotated, ast.For: _for, ast.AsyncFor: _for, ast.While: _while,
    ast.With: _with, ast.AsyncWith: _with, ast.Try: _try, ast.TryStar: _try, ast.Match: _match,
}  # fmt: skip
