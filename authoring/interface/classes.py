"""The attributes of the instances of a class, and the parameters that create them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from ...reading.packages.modules import Meant, Modules
from ...reading.python.nodes import FUNCTIONS, FunctionNode
from .annotations import Canon, Namer, told
from .signatures import READ, SAME, decorators, merged, signature, word

_NO_MEMBERS = frozenset({"object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol",
                         "typing.Protocol", "typing_extensions.Protocol",
                         "typing_extensions.Generic", "TelemetryProvider"})  # fmt: skip
_MODELS = frozenset({"pydantic.BaseModel", "BaseModel"})
_ENUMS = frozenset({"enum.Enum", "enum.StrEnum", "enum.IntEnum", "StrEnum", "Enum"})
_KEPT = frozenset({"final", "runtime_checkable", "with_sdk_method_telemetry", "dataclass", "chz",
                   "deprecated", "total_ordering"})  # fmt: skip
# Their __getattr__ reads what the class that they stand for has; their heirs extend that class.
_FORWARDING = frozenset({"BackcompatClientFuture"})
_FACTORIES = frozenset({"field", "Field"})


@dataclass
class Made:
    """A class with all that it inherits.

    ``kind``: plain, model (pydantic), dataclass, chz, enum. ``extra``: what a model does with
    unknown fields. ``open``: instances may have other attributes. ``call``: how it is called,
    ``+`` by the names of its fields. ``members``: signature of a method as ``(...)``, with ``&``
    before it where the class has it, too, or ``:`` and the annotation of an attribute; ``!`` before
    it where a field must be given, ``=`` where it may."""

    kind: str = "plain"
    extra: str = "ignore"
    open: bool = False
    of: str = ""
    call: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)


class Classes:
    """The classes of a release."""

    def __init__(self, release: Modules, canon: Canon) -> None:
        self._release, self._canon = release, canon
        self._known: dict[str, Made] = {}

    def made(self, meant: Meant) -> Made:
        """A class, read once."""
        key = f"{meant.module}:{meant.path}"
        if key not in self._known:
            self._known[key] = Made(open=True, call="?")  # for what inherits from itself
            self._known[key] = self._read(meant)
        return self._known[key]

    def _read(self, meant: Meant) -> Made:
        node = meant.node
        assert isinstance(node, ast.ClassDef)
        name = partial(self._release.named, meant.module)
        own = self._canon(meant)
        made = Made()
        for base in reversed(node.bases):
            self._inherit(made, base, name)
        marks = decorators(node)
        made.open |= bool(set(marks) - _KEPT) or bool(
            {k.arg for k in node.keywords} - {"extra", "frozen", "allow_inf_nan", "total"}
        )
        if "chz" in marks:
            made.kind = "chz"
        elif "dataclass" in marks:
            made.kind = "dataclass"
        for key in node.keywords:
            if key.arg == "extra":
                made.extra = str(getattr(key.value, "value", "?"))
        self._add_members(made, node, name, own)
        self._add_call(made, node, name, own)
        return made

    def _inherit(self, made: Made, base: ast.expr, name: Namer) -> None:
        inner = base.value if isinstance(base, ast.Subscript) else base
        meant = name(inner)
        if meant.form == "class":
            above = self.made(meant)
            made.kind = above.kind if above.kind != "plain" else made.kind
            made.extra, made.open = above.extra, made.open or above.open
            made.of = above.of or made.of
            made.call = above.call if above.call is not None else made.call
            made.fields |= above.fields
            made.members |= above.members
            if isinstance(base, ast.Subscript):
                made.of = told(base.slice, name, self._canon) or made.of
        elif meant.path in _MODELS:
            made.kind = "model"
        elif meant.path in _ENUMS:
            made.kind = "enum"
        elif meant.path.removeprefix("typing.") not in _NO_MEMBERS:
            made.open, made.call = True, "?"

    def _add_members(self, made: Made, node: ast.ClassDef, name: Namer, own: str) -> None:
        methods: dict[str, list[str]] = {}
        for each in _statements(node.body):
            if isinstance(each, FUNCTIONS):
                methods.setdefault(each.name, []).append(_member(each, name, self._canon, own))
                for stored in _stored_on_self(each):
                    made.members.setdefault(stored, ":")
            elif isinstance(each, ast.ClassDef):
                made.members[each.name] = ":"
            elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                self._add_field(made, each, name, own)
            elif isinstance(each, ast.Assign):
                _add_constants(made, each)
        for method, written in methods.items():
            if made.of and method in made.members:
                written = [_forwarded(made.members[method], each) for each in written]
            made.members[method] = merged([w for w in written if w != "overload"] or ["?"])
        if "__getattr__" in methods and node.name not in _FORWARDING:
            made.open = True
        if "__setattr__" in methods or "__new__" in methods:
            made.open = made.open or "__setattr__" in methods
            made.call = "?" if "__new__" in methods else made.call

    def _add_field(self, made: Made, each: ast.AnnAssign, name: Namer, own: str) -> None:
        target = each.target
        assert isinstance(target, ast.Name)
        kind = told(each.annotation, name, self._canon, own)
        made.members[target.id] = f":{kind}"
        text = ast.unparse(each.annotation)
        if text.startswith(("ClassVar", "typing.ClassVar")) or target.id.startswith("__"):
            return
        given = each.value
        optional = given is not None
        if isinstance(given, ast.Call):
            called = getattr(given.func, "attr", "") or getattr(given.func, "id", "")
            if called in _FACTORIES:
                named = {k.arg: k.value for k in given.keywords}
                if getattr(named.get("init"), "value", True) is False:
                    return
                if {"alias", "validation_alias"} & named.keys():
                    made.call = "?"
                optional = bool({"default", "default_factory"} & named.keys()) or bool(
                    given.args and getattr(given.args[0], "value", None) is not ...
                )
        made.fields.pop(target.id, None) if made.kind == "plain" else None
        made.fields[target.id] = word(target.id, optional, kind)

    def _add_call(self, made: Made, node: ast.ClassDef, name: Namer, own: str) -> None:
        written = {
            each.name: each for each in _statements(node.body) if isinstance(each, FUNCTIONS)
        }
        if "__init__" in written:
            made.call = signature(written["__init__"], name, self._canon, own, bound=True)
            made.call = made.call.partition(" ->")[0] if made.call != "->" else ""
            return
        if made.kind == "enum" or made.call == "?":
            made.call = "?"
        elif made.kind == "model":
            before = any(_converts(each) for each in written.values())
            self._by_name(made) if not before else None
            made.call = "?" if before else "+"
        elif made.kind == "chz":
            self._by_name(made)
            made.call = "+"
        elif made.kind == "dataclass" and "dataclass" in decorators(node):
            made.call = " ".join(_dataclass(node, made.fields))

    @staticmethod
    def _by_name(made: Made) -> None:
        """Mark the fields that are given by name: ``!`` if it is required."""
        for name, text in made.fields.items():
            plain = made.members[name].lstrip("!=")
            made.members[name] = f"{'=' if text.startswith(f'{name}=') else '!'}{plain}"


def _forwarded(above: str, own: str) -> str:
    """The signature of a method that passes all its arguments on to the same method of a base
    class."""
    if not own.startswith("(*args **kwargs") or not above.startswith("("):
        return own
    taken = above[1:-1].partition("->")[0].strip()
    return f"({taken}{own.removeprefix('(*args **kwargs')}"


def _add_constants(made: Made, node: ast.Assign) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            made.members[target.id] = ":"
            if target.id == "model_config":
                made.extra = _extra(node.value) or made.extra


def _dataclass(node: ast.ClassDef, fields: dict[str, str]) -> Iterator[str]:
    calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    named = {k.arg: getattr(k.value, "value", None) for call in calls for k in call.keywords}
    if named.get("init") is False:
        yield "?"
        return
    if named.get("kw_only"):
        yield "*"
    yield from ("*" if text.startswith("_:") or name == "_" else text
                for name, text in fields.items())  # fmt: skip


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for each in body:
        if isinstance(each, (ast.If, ast.Try)):
            yield from _statements([*each.body, *each.orelse])
        else:
            yield each


def _member(node: FunctionNode, name: Namer, canon: Canon, own: str) -> str:
    marks = set(decorators(node))
    if "overload" in marks:
        return "overload"
    if marks & READ:
        return f":{told(node.returns, name, canon, own)}"
    if any(mark in ("setter", "deleter") for mark in marks):
        return "overload"
    if marks and not marks <= SAME:
        return "(?)"
    of_class = "&" if marks & {"classmethod", "staticmethod"} else ""
    return f"{of_class}({signature(node, name, canon, own, bound=True)})"


def _stored_on_self(node: FunctionNode) -> Iterator[str]:
    first = node.args.args[0].arg if node.args.args else ""
    for each in ast.walk(node):
        if not isinstance(each, ast.Attribute) or not isinstance(each.ctx, ast.Store):
            continue
        if isinstance(each.value, ast.Name) and each.value.id == first:
            yield each.attr


def _extra(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return next(
            (str(getattr(k.value, "value", "?")) for k in node.keywords if k.arg == "extra"), ""
        )
    return ""


def _converts(node: ast.AST) -> bool:
    """Whether a method sees the arguments of a model before its fields do."""
    for each in getattr(node, "decorator_list", ()):
        called = getattr(each, "func", None)
        last = getattr(called, "attr", getattr(called, "id", ""))
        if isinstance(each, ast.Call) and last in ("model_validator", "root_validator"):
            return any(
                getattr(k.value, "value", "") in ("before", "wrap", True) for k in each.keywords
            )
    return False
