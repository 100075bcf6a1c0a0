"""The check that refused a call: the test that held when an error was raised, its kind, and its
subject. The test is that of the ``assert`` that a traceback shows, or the one before the message in
the public sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple

from ...reading.python.parsing import Unreadable, parse

_MAX_CONDITION = 400
_MAX_NAME = 80
_DTYPE = re.compile(r"dtype")
_SHAPE = re.compile(r"\.(?:shape|sizes)\b|\bshapes?\Z|\.size\(|_shape\b")
_RANK = re.compile(
    r"\Alen\([\w.\[\]]{1,80}(?:\.shape|\.size\(\)|\.sizes|_shape|\bshape)\)\Z|\.ndim\Z|\.dim\(\)\Z"
)
_CONSTANT = re.compile(r"\A(?:\w+\.)*[A-Z][A-Z0-9_]+\Z")
_LISTED = "what the message names"
_FOUND = re.compile(r"(?:\A|[._])(?:missing|absent)(?:_|\Z)")
_FOUND_WRONG = re.compile(
    r"(?:\A|[._])(?:invalid|unexpected|unknown|duplicates?|extra|errors?|failures?|bad|wrong)(?:_|\Z)"
)
"""Names of lists of results."""
_LITERAL = re.compile(r"\A[\[({]|\A(?:\w+\.)*[A-Z][A-Z0-9_]+\Z")
_GOES_ON = re.compile(r",(?: [rf]?[\"'(][^\n]{0,300})?\Z")
"""A message that continues on the next line."""
_WHOLE = re.compile(r"\Alen\(([\w.\[\]]{1,80})\)\Z")
_EMPTY = frozenset({("==", "0"), ("<=", "0"), ("<", "1")})
_NOT_EMPTY = frozenset({("!=", "0"), (">", "0"), (">=", "1")})
_COUNT = re.compile(r"\Alen\(")
_REFUSED = re.compile(
    r"(?i)unsupported|forbid|disallow|deprecat|reserved|invalid|conflict|ignore|exclu|not_"
)
_ABLE = re.compile(
    r"(?:\A|[._])(?:supports?|supported|can|able|allows?|capable|compatible)(?:_|\Z)"
)
"""Names of the abilities of a model, kernel or release."""
_LOOKED_UP = re.compile(r"(?:\A|\.)(?:get|getattr)\(")
_WENT_WELL = re.compile(
    r"(?:\A|[._])(?:pass(?:ed)?|success(?:ful)?|ok|equal|match(?:es|ed)?|close)\Z"
)
"""Names of the outcomes of a comparison."""
_HARDWARE = re.compile(r"(?i)platform(?!_config)|hardware|instance_type|\btarget\b")
_OF_TYPE = re.compile(
    r"(?:\A|\.)_?is_(?:\w{0,40}_)?(?:tensors?|lists?|tuples?|dicts?|ints?|floats?|str|module|instance|type|class|sequence)"
    r"\w{0,40}\("
)
_ON_FROM = frozenset({"at most 0", "at most 1", "less than 1", "less than 2"})
"""Bounds of a number that only show whether something is on."""
_LEFT = re.compile(r"(?:\A|[._(])(?:num_)?(?:free|available|remaining|unused|idle)(?:_|\b)")
"""Names of resources that are handed out until none is left."""
_GIVEN_TO = re.compile(r"\A(?:kwargs|(?:\w+\.)*\w*(?:config|cfg|args|kwargs))\Z")
_FILE = re.compile(r"\b(?:exists|isfile|isdir|is_dir|is_file)\(")
_TYPE = re.compile(r"\A(?:isinstance|issubclass|callable)\(|__class__|\Atype\(")
_OF_MANY = re.compile(r"(?:\A|\.)(?:all|any|len)\(")
_OF_TEXT = re.compile(r"\.(?:startswith|endswith|match|search|issubset|isdigit)\(")
_OPS = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="), ast.GtE: (">=", "<"), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
"""The symbol of a comparison, and its opposite."""
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_WANTED = {"<": "at least", ">": "at most", "<=": "more than", ">=": "less than"}


class FailedCheck(NamedTuple):
    """``condition`` held; ``kind`` of it: multiple, range, count, fixed, excluded, choice, agree,
    rank, shape, dtype, type, missing, given, off, on, file, state, already, not-among, used-up,
    hardware, unable; ``subject`` is the value that it checks, ``limit`` the value that it is
    compared with ("" if there is none)."""

    condition: str
    kind: str
    subject: str
    limit: str


def of_assertion(code: str) -> FailedCheck | None:
    """The check of a line of code that asserts something; None for other lines, and for an
    assertion that continues on further lines."""
    test = _test_of(code) or _test_of(_GOES_ON.sub("", code))
    return _read(test, False) if test else None


def of_condition(text: str) -> FailedCheck | None:
    """The check of a condition that held."""
    test = _test_of(f"assert ({text})")
    found = _read(test, True) if test else None
    if found and found.kind == "agree" and _CONSTANT.search(found.limit):
        return found._replace(kind="choice")
    return found


def _test_of(code: str) -> ast.expr | None:
    """The test of a single assertion; None for other code."""
    if len(code) > _MAX_CONDITION:
        return None
    try:
        body = parse(code.encode("utf-8", "replace"))[0].body
    except Unreadable:
        return None
    return body[0].test if len(body) == 1 and isinstance(body[0], ast.Assert) else None


def _read(test: ast.expr, held: bool) -> FailedCheck | None:
    try:
        found = _kind(test, held)
        condition = _written(test, held)
    except RecursionError:
        return None
    return FailedCheck(condition, *found) if found else FailedCheck(condition, "", "", "")


_Found = tuple[str, str, str]


def _kind(test: ast.expr, held: bool) -> _Found | None:
    """Kind, subject and limit of a test; ``held`` is its outcome."""
    found = _plain_kind(test, held)
    if (
        found
        and found[0] in ("fixed", "choice", "excluded", "agree")
        and _HARDWARE.search(found[1])
    ):
        return "hardware", found[1], found[2]
    if found and found[0] in ("off", "range", "count", "missing") and _LEFT.search(found[1]):
        return "used-up", found[1], ""
    return found


def _plain_kind(test: ast.expr, held: bool) -> _Found | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _plain_kind(test.operand, not held)
    if isinstance(test, ast.BoolOp):
        return _of_several(test, held)
    if isinstance(test, ast.Compare):
        return _of_chain(test, held) if len(test.ops) > 1 else _of_comparison(test, held)
    text = _text(test)
    if isinstance(test, ast.Call):
        return _of_call(test, text, held)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod) and held:
        return "multiple", _text(test.left), _text(test.right)
    if isinstance(test, ast.Name | ast.Attribute | ast.Subscript):
        return _of_name(text, held)
    return None


def _of_name(text: str, held: bool) -> _Found | None:
    if held and _FOUND.search(text):
        return "missing", _LISTED, ""
    if _FOUND_WRONG.search(text) or _WENT_WELL.search(text):
        return None
    if not held and _ABLE.search(text):
        return "unable", text, ""
    return ("on" if held else "off"), text, ""


def _of_several(test: ast.BoolOp, held: bool) -> _Found | None:
    """If all tests held, return the kind of the last one that is not a mere switch, because the
    earlier ones only guard it. If just one of them held, return only their common parts."""
    found = [_kind(each, held) for each in test.values]
    if isinstance(test.op, ast.And) is held:
        telling = [each for each in found if each and not _is_switch(each)]
        if telling and len({each[:2] for each in telling}) == 1:
            return *telling[0][:2], _joined(each[2] for each in telling)
        if telling or None in found:
            return telling[-1] if telling else None
        switches = [each for each in found if each]
        off = [each for each in switches if each[0] == "off"]
        return (off or switches)[-1]
    kinds = {each[0] if each else "" for each in found}
    if len(kinds) != 1 or None in found:
        return None
    parts = [each for each in found if each]
    kind = kinds.pop()
    limits = " and " if kind == "range" else " or "
    return kind, _joined(each[1] for each in parts), _joined((each[2] for each in parts), limits)


def _is_switch(found: _Found) -> bool:
    return found[0] in ("on", "off", "given") or (found[0] == "range" and found[2] in _ON_FROM)


def _joined(names: Iterable[str], between: str = " or ") -> str:
    return between.join(filter(None, dict.fromkeys(names)))[:_MAX_NAME]


def _of_chain(test: ast.Compare, held: bool) -> _Found | None:
    orders = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    if held or not all(isinstance(op, orders) for op in test.ops):
        return None
    middle = _text(test.comparators[0])
    return "range", middle, _text(test).replace(middle, "...", 1)


def _of_comparison(test: ast.Compare, held: bool) -> _Found | None:
    left, right = test.left, test.comparators[0]
    op = _OPS[type(test.ops[0])][not held]
    if isinstance(left, ast.Constant) and op in _MIRRORED:
        left, right, op = right, left, _MIRRORED[op]
    one, other = _text(left), _text(right)
    if one == other:  # of two objects, whose names are unknown
        return None
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
        return ("multiple", _text(left.left), _text(left.right)) if op in ("!=", ">") else None
    if isinstance(right, ast.Constant) and right.value is None:
        return ("missing" if op in ("is", "==") else "given"), one, ""
    if op in ("in", "not in"):
        if isinstance(left, ast.Constant) or _GIVEN_TO.match(other):
            return ("missing", one, other) if op == "not in" else ("given", one, "")
        if op == "not in":
            return ("choice" if _LITERAL.match(other) else "not-among"), one, other
        if _LITERAL.match(other) or _REFUSED.search(other):
            return "excluded", one, other
        return "already", one, other
    if _TYPE.search(one):
        return ("type", one, other) if op in ("!=", "is not") else None
    if isinstance(right, ast.Constant) and isinstance(right.value, bool):
        on = right.value is (op in ("==", "is"))
        return ("on" if on else "off"), one, ""
    return _of_values(one, op, other, isinstance(right, ast.Constant | ast.UnaryOp))


def _is_shape(text: str) -> bool:
    return bool(_SHAPE.search(text)) and "group" not in text  # a group of processes has a size, too


def _of_values(one: str, op: str, other: str, constant: bool) -> _Found:
    whole = _WHOLE.match(one)
    if whole and (op, other) in _EMPTY:
        return "missing", whole[1], ""
    if whole and (op, other) in _NOT_EMPTY:
        listed = _FOUND.search(whole[1])
        return ("missing", _LISTED, "") if listed else ("given", whole[1], "")
    if op in ("==", "is"):
        return "excluded", one, other
    if _DTYPE.search(one) or _DTYPE.search(other):
        return "dtype", one, other
    if _RANK.search(one):
        return "rank", one, other
    if op not in _WANTED and any(map(_is_shape, (one, other))):
        return "shape", one, other
    if op in _WANTED and (".keys()" in one or "set(" in one):
        return "choice", one, other
    if op in _WANTED:
        return "range", one, f"{_WANTED[op]} {other}"
    if _COUNT.match(one) and constant:
        return "count", one, other
    return ("fixed" if constant else "agree"), one, other


def _of_call(test: ast.Call, text: str, held: bool) -> _Found | None:
    if _FILE.search(text):
        return None if held else ("file", text, "")
    if text.startswith("hasattr(") and len(test.args) == 2:
        name, owner = _text(test.args[1]), _text(test.args[0])
        if held:
            return None
        return (
            ("not-among", name, "its attributes") if owner == "self" else ("missing", name, owner)
        )
    if _TYPE.match(text):
        limit = _text(test.args[1]) if len(test.args) > 1 else ""
        return None if held else ("type", _text(test.args[0]) if test.args else text, limit)
    if _OF_TYPE.search(text) and test.args:
        return None if held else ("type", _text(test.args[0]), text.partition("(")[0])
    if _OF_MANY.search(text) or _OF_TEXT.search(text):
        return None
    return _of_name(text, held) if held or _LOOKED_UP.search(text) else _of_call_before(text)


def _of_call_before(text: str) -> _Found:
    return ("unable" if _ABLE.search(text.partition("(")[0]) else "state"), text, ""


def _written(test: ast.expr, held: bool) -> str:
    """The test as it held, on one line."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _written(test.operand, not held)
    if held:
        return _text(test)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        op = _OPS[type(test.ops[0])][1]
        return f"{_text(test.left)} {op} {_text(test.comparators[0])}"
    simple = isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"not {_text(test)}" if simple else f"not ({_text(test)})"


def _text(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).replace("self.", "").split())
    return text if len(text) <= _MAX_NAME * 2 else f"{text[: _MAX_NAME * 2 - 4]} ..."
