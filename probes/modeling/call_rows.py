"""Code patterns that show in a single call, by the table ``calls`` of ``port_code.json``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from ...reading.python.nodes import constant, dotted, is_open, keywords, last_name
from ...reading.python.sources import Code
from ...reading.text.values import json_table
from .port_code import Finding, cpu_side

_WORD = re.compile(r"\w+")


def find_calls(code: Code) -> Iterator[Finding]:
    """The calls that fit a row of the table."""
    table = json_table(__file__, "port_code.json")["calls"]
    names = {name for row in table for name in row.get("call", ())}
    ends = {name.rpartition(".")[2] for row in table for name in row.get("dotted", ())}
    inside = {id(node) for method in code.forwards for node in code.below(method)}
    for call in code.all(ast.Call):
        short = last_name(call.func)
        if short in names or short in ends:
            for row in table:
                if _fits(code, call, row, id(call) in inside):
                    yield Finding(row["pattern"], call)


def _fits(code: Code, call: ast.Call, row: dict[str, Any], in_forward: bool) -> bool:
    if row.get("within") == "forward" and not in_forward:
        return False
    if last_name(call.func) not in row.get("call", ()) and dotted(call.func) not in row.get(
        "dotted", ()
    ):
        return False
    given = keywords(call)
    if "keywords" in row and not any(name in given for name in row["keywords"]):
        return False
    if "without" in row and (is_open(call) or any(name in given for name in row["without"])):
        return False
    if not all(constant(given.get(name)) is True for name in row.get("true", ())):
        return False
    if "text" in row and not _words(code, [*call.args, *given.values()]) & set(row["text"]):
        return False
    if row.get("not_on_cpu") and on_cpu(code, call):
        return False
    if "unless" in row:
        names = _words(code, [code.class_of(call) or code.tree])
        return not any(word in name for word in row["unless"] for name in names)
    return True


def on_cpu(code: Code, node: ast.AST) -> bool:
    """Whether a node is in a branch that runs on the CPU alone."""
    inner = node
    for each in code.above(node):
        if isinstance(each, (ast.If, ast.IfExp)) and inner is not each.test:
            side = cpu_side(code, each.test)
            body = each.body if isinstance(each.body, list) else [each.body]
            if side is not None and side == (inner in body):
                return True
        inner = each
    return False


def _words(code: Code, nodes: list[Any]) -> set[str]:
    """All names, attributes, keywords and imported names below nodes."""
    found: set[str] = set()
    for node in nodes:
        for each in code.below(node):
            for field in ("id", "attr", "arg", "name"):
                value = getattr(each, field, None)
                if isinstance(value, str):
                    found.update(_WORD.findall(value))
    return found
