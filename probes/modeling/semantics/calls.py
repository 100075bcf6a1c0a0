"""Calls of code outside of the file: torch, methods of tensors, texts, lists and dicts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..port_code import words
from .values import (
    UNKNOWN,
    UNRESOLVED,
    Bound,
    Config,
    Foreign,
    Instance,
    Term,
    Value,
    concrete,
    folded,
)  # fmt: skip

if TYPE_CHECKING:
    from .evaluator import Evaluator

_SYNONYMS = {
    "multiply": "mul", "divide": "div", "true_divide": "div", "subtract": "sub", "clip": "clamp",
    "bmm": "matmul", "square": "square", "concat": "cat", "concatenate": "cat", "t": "transpose",
    "swapaxes": "transpose", "tensor_split": "chunk", "split_with_sizes": "split",
}  # fmt: skip
_CLASS = re.compile(r"_*[A-Z][A-Za-z0-9_]*\Z", re.ASCII)
_TEXT = frozenset({"replace", "startswith", "endswith", "removeprefix", "removesuffix", "split",
                   "partition", "rpartition", "rsplit", "strip", "lstrip", "rstrip", "lower",
                   "upper", "format", "isdigit", "find", "count"})  # fmt: skip
MAX_TEXT = 10_000


def call_builtin(ev: Evaluator, name: str, args: list[Value], node: ast.AST) -> Value:
    """``getattr``, ``hasattr`` and ``isinstance``."""
    key = concrete(args[1], ev.settings) if len(args) > 1 else UNRESOLVED
    if not isinstance(key, str) or name == "isinstance":
        return UNKNOWN
    owner = args[0]
    is_config = isinstance(owner, Config) or owner is ev.config_class
    if name == "hasattr":
        has = isinstance(owner, Instance) and key in owner.attrs
        has = has or (is_config and ev.settings.lookup(key) is not UNRESOLVED)
        return True if has else UNKNOWN
    if is_config:
        value = ev.attribute(owner, key, node)
        if len(args) < 3 or not (isinstance(value, Term) and value.op == "config"):
            return value
        if ev.settings.lookup(key) is not UNRESOLVED:
            return value
        return Term("default", (value, args[2]), key, node, ev.code)
    if isinstance(owner, Instance):
        return ev.attribute(owner, key, node)
    if isinstance(owner, Term) and owner.op == "neuron":
        return Term("neuron", (), key, node)
    return UNKNOWN


def call_foreign(
    ev: Evaluator, func: Foreign, args: list[Value], given: dict[str, Value], node: ast.AST
) -> Value:
    """A call of a class or function by its name."""
    name = func.short
    if func.name in ev.code.classes or (_CLASS.match(name) and name not in ("ACT2FN",)):
        return _new(ev, func, args, given, node)
    if "." not in func.name and name in _BUILTINS:
        return _BUILTINS[name](ev, args)
    if func.name in ("re.sub", "re.match", "re.search", "re.fullmatch"):
        return UNKNOWN  # a pattern of the user may take for ever
    if name in ("OrderedDict", "deepcopy", "copy") and args:
        return _copied(ev, args[0])
    return operation(ev, name, args, given, node)


def _new(
    ev: Evaluator, func: Foreign, args: list[Value], given: dict[str, Value], node: ast.AST
) -> Value:
    name = func.short
    if name in ("OrderedDict",):
        return _copied(ev, args[0]) if args else {}
    if name == "Parameter":
        return Term("parameter", tuple(args[:1]), "", node, ev.code)
    if name in ("ModuleList", "Sequential"):
        return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return ev.build(name, args, given, node)


def _copied(ev: Evaluator, value: Value) -> Value:
    if not isinstance(value, dict):
        return value
    made = dict(value)
    if ev.is_doubted(value):
        ev.doubt(made)
    return made


def operation(
    ev: Evaluator, name: str, args: list[Value], given: dict[str, Value], node: ast.AST
) -> Value:
    """An operation on tensors, by the name of its function or method."""
    short = _SYNONYMS.get(name.rstrip("_"), name.rstrip("_"))
    if short in words("transparent-calls"):
        return args[0] if args else UNKNOWN
    if short in words("pairwise-calls") and len(args) > 1:
        return tuple(args[:2])
    plain = [concrete(each, ev.settings) for each in args]
    if args and not any(isinstance(each, Term) for each in args) and UNRESOLVED not in plain:
        found = folded(short, plain)
        if found is not UNRESOLVED:
            return found
    values = [*args, *_kept(given)]
    if short in ("split", "chunk", "unbind"):
        return Term("split", (args[0] if args else UNKNOWN,), "", node, ev.code)
    if short == "add" and "alpha" in given and len(args) == 2:
        scaled = ev.operate("mul", args[1], given["alpha"], node)
        return ev.operate("add", args[0], scaled, node)
    if short in ("transpose", "permute"):
        return Term("transpose", tuple(args), "", node, ev.code)
    if short in words("tensor-calls"):
        return Term(short, tuple(values), _approximate(given), node, ev.code)
    return ev.opaque(args, given, node)


def _kept(given: dict[str, Value]) -> list[Value]:
    return [value for key, value in given.items() if key not in ("dtype", "device", "dim")]


def _approximate(given: dict[str, Value]) -> str:
    value = given.get("approximate")
    return value if isinstance(value, str) else ""


def call_method(
    ev: Evaluator, func: Bound, args: list[Value], given: dict[str, Value], node: ast.AST
) -> Value:
    """A method of a text, a list, a dict or a tensor."""
    owner, name = func.receiver, func.name
    if isinstance(owner, str) and name in _TEXT:
        return _text(ev, owner, name, args)
    if isinstance(owner, dict):
        return _of_dict(ev, owner, name, args)
    if isinstance(owner, list):
        return _of_list(ev, owner, name, args)
    if isinstance(owner, Config):
        return Config() if name == "get_text_config" else UNKNOWN
    if isinstance(owner, Instance):
        if name in ("register_buffer", "register_parameter") and len(args) > 1:
            owner.attrs[str(args[0])] = args[1]
        return UNKNOWN
    if isinstance(owner, Term):
        return operation(ev, name, [owner, *args], given, node)
    return UNKNOWN


def _text(ev: Evaluator, owner: str, name: str, args: list[Value]) -> Value:
    known = [_plain(ev, each) for each in args]
    if UNRESOLVED in known or len(owner) > MAX_TEXT or name == "format":
        return UNKNOWN
    try:
        found = getattr(owner, name)(*known)
    except (TypeError, ValueError):
        return UNKNOWN
    return UNKNOWN if isinstance(found, str) and len(found) > MAX_TEXT else found


def _plain(ev: Evaluator, value: Value) -> Any:
    if isinstance(value, (tuple, list)):
        inner = [concrete(each, ev.settings) for each in value]
        return UNRESOLVED if UNRESOLVED in inner else tuple(inner)
    return concrete(value, ev.settings)


_VIEWS: dict[str, Callable[[dict[Any, Value]], Value]] = {
    "keys": list, "values": lambda d: list(d.values()), "copy": dict,
    "items": lambda d: [tuple(each) for each in d.items()],
}  # fmt: skip


def _of_dict(ev: Evaluator, owner: dict[Any, Value], name: str, args: list[Value]) -> Value:
    if name in _VIEWS:
        found = _VIEWS[name](owner)
        if ev.is_doubted(owner):
            ev.doubt(found)
        return found
    if name == "update":
        _update(ev, owner, args)
        return None
    key = concrete(args[0], ev.settings) if args else UNRESOLVED
    if name not in ("get", "pop", "setdefault") or key is UNRESOLVED:
        if name not in ("get",):
            ev.doubt(owner)
        return UNKNOWN
    missing = args[1] if len(args) > 1 else (None if name == "get" else UNKNOWN)
    value = owner.get(key, missing)
    if name == "pop":
        ev.take(owner, key)
    elif name == "setdefault" and key not in owner:
        ev.put(owner, key, missing)
    return value


def _update(ev: Evaluator, owner: dict[Any, Value], args: list[Value]) -> None:
    other = args[0] if args else UNKNOWN
    if not isinstance(other, dict) or ev.unsure or ev.is_doubted(other):
        ev.doubt(owner)
    if isinstance(other, dict):
        owner.update(other)


def _of_list(ev: Evaluator, owner: list[Value], name: str, args: list[Value]) -> Value:
    if name in ("append", "extend", "insert"):
        if ev.unsure:
            ev.doubt(owner)
        more = args[0] if name == "extend" and isinstance(args[0], (list, tuple)) else args[-1:]
        owner.extend(more)
        return None
    ev.doubt(owner)
    return UNKNOWN


def _range(ev: Evaluator, args: list[Value]) -> Value:
    known = [concrete(each, ev.settings) for each in args]
    if not all(isinstance(each, int) for each in known) or not known:
        return UNKNOWN
    return list(range(*known)[:5000])


def _zip(ev: Evaluator, args: list[Value]) -> Value:
    parts = [ev.elements(each) for each in args]
    if any(part is None for part in parts):
        return UNKNOWN
    return [tuple(each) for each in zip(*(part or [] for part in parts), strict=False)]


def _enumerate(ev: Evaluator, args: list[Value]) -> Value:
    items = ev.elements(args[0]) if args else None
    return UNKNOWN if items is None else [(n, each) for n, each in enumerate(items)]


def _list(ev: Evaluator, args: list[Value]) -> Value:
    if not args:
        return []
    items = ev.elements(args[0])
    return (args[0] if isinstance(args[0], Term) else UNKNOWN) if items is None else items


def _dict(ev: Evaluator, args: list[Value]) -> Value:
    return _copied(ev, args[0]) if args else {}


def _len(ev: Evaluator, args: list[Value]) -> Value:
    items = ev.elements(args[0]) if args else None
    return UNKNOWN if items is None else len(items)


def _number(name: str) -> Callable[[Evaluator, list[Value]], Value]:
    def make(ev: Evaluator, args: list[Value]) -> Value:
        known = [concrete(each, ev.settings) for each in args]
        found = UNRESOLVED if UNRESOLVED in known else folded(name, known)
        return Term(name, tuple(args)) if found is UNRESOLVED else found

    return make


def _str(ev: Evaluator, args: list[Value]) -> Value:
    known = concrete(args[0], ev.settings) if args else ""
    return UNKNOWN if known is UNRESOLVED else str(known)


def _sorted(ev: Evaluator, args: list[Value]) -> Value:
    return _list(ev, args)


def _nothing(ev: Evaluator, args: list[Value]) -> Value:
    return None


_BUILTINS: dict[str, Callable[[Evaluator, list[Value]], Value]] = {
    "range": _range, "zip": _zip, "enumerate": _enumerate, "list": _list, "tuple": _list,
    "dict": _dict, "len": _len, "int": _number("int"), "float": _number("float"),
    "max": _number("max"), "min": _number("min"), "str": _str, "sorted": _sorted, "set": _list,
    "reversed": _list, "print": _nothing, "tqdm": _list,
}  # fmt: skip
