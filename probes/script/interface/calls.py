"""Whether a call fits a signature of the table."""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

from ....reading.python.nodes import constant
from .types import PLAIN_FUTURE, Class, Known, class_at, fields_call, runs

_PLAIN = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)


class Parameter(NamedTuple):
    """``kind``: any, positional, keyword, ``*`` or ``**``; ``told`` is the text of its
    annotation."""

    name: str
    kind: str
    optional: bool = False
    told: str = ""


class Misfit(NamedTuple):
    """A part of a call that does not fit: ``what`` is keyword, missing, many or literal; ``name``
    is the parameter, ``node`` the wrong argument."""

    what: str
    name: str
    node: ast.AST | None = None


@cache
def parameters(said: str) -> tuple[Parameter, ...] | None:
    """The parameters of a signature; None if unknown."""
    found: list[Parameter] = []
    kind = "any"
    for word in said.split(" "):
        if word == "->":
            break
        if word.startswith("?"):
            return None
        if word == "/":
            found = [each._replace(kind="positional") for each in found]
        elif word.startswith("**"):
            found.append(Parameter(word[2:], "**"))
        elif word.startswith("*"):
            kind = "keyword"
            if len(word) > 1:
                found.append(Parameter(word[1:], "*"))
        elif word:
            name, _, told = word.partition(":")
            found.append(Parameter(name.rstrip("="), kind, name.endswith("="), told))
    return tuple(found)


def signatures(known: Known) -> dict[int, str]:
    """The signatures of a call in each release."""
    if known.path == PLAIN_FUTURE:
        return {}
    if known.form == "method":
        found = runs("classes", known.path, known.name)
        return {at: run.said.lstrip("&")[1:-1] if "(" in run.said[:2] else "?"
                for run in found for at in run.releases}  # fmt: skip
    if known.form == "function":
        return {at: run.said for run in runs("functions", known.path) for at in run.releases}
    if known.form != "class":
        return {}
    calls = {}
    for run in runs("classes", known.path):
        made: Class = class_at(run)
        for at in run.releases:
            call = fields_call(known.path, at) if made.call == "+" else made.call
            calls[at] = "?" if made.open and made.kind != "model" else call
    return calls


def misfits(call: ast.Call, said: str, ignores: bool = False) -> tuple[Misfit, ...] | None:
    """The parts of a call that do not fit a signature; None if unknown. A model that ``ignores``
    unknown fields accepts them silently."""
    known = parameters(said)
    if known is None:
        return None
    named = {k.arg: k for k in call.keywords if k.arg is not None}
    hidden = len(named) < len(call.keywords)
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    by_name = {p.name: p for p in known if p.kind in ("any", "keyword")}
    places = [p for p in known if p.kind in ("any", "positional")]
    kinds = {p.kind for p in known}
    found = []
    if "**" not in kinds:
        what = "ignored" if ignores else "keyword"
        found += [Misfit(what, name, k) for name, k in named.items() if name not in by_name]
    if not starred and len(call.args) > len(places) and "*" not in kinds:
        found.append(Misfit("many", str(len(places)), call.args[len(places)]))
    if not (starred or hidden):
        given = {p.name for p in places[: len(call.args)]} | named.keys()
        found += [Misfit("missing", p.name) for p in known
                  if p.kind in ("any", "keyword", "positional")
                  and not p.optional and p.name not in given]  # fmt: skip
    pairs = [(p, a) for p, a in zip(places, call.args, strict=False)] if not starred else []
    pairs += [(by_name[n], k.value) for n, k in named.items() if n in by_name]
    found += [Misfit("literal", p.name, a) for p, a in pairs if _is_wrong(p, a)]
    return tuple(found)


def _is_wrong(parameter: Parameter, given: ast.AST) -> bool:
    """Whether a literal is not among the declared ones, or plain if an object of a class of the
    package is expected."""
    if not parameter.told or not isinstance(given, _PLAIN):
        return False
    if not isinstance(given, (ast.Constant, ast.JoinedStr)):
        return _is_wrong_display(parameter.told.split("|"), given)
    value = given.value if isinstance(given, ast.Constant) else ""
    declared = parameter.told.split("|")
    if value is None or value is ...:
        return False
    if all(each[:1] == "'" for each in declared):
        return (
            isinstance(given, ast.Constant)
            and isinstance(value, str)
            and f"'{value}'" not in declared
        )
    if all(runs("classes", each) for each in declared):
        return not any(_is_enum(each) for each in declared)
    return False


def _is_wrong_display(declared: list[str], given: ast.AST) -> bool:
    """Whether a list is given for one object, or a dict has keys that the object of a strict model
    lacks."""
    if not all(runs("classes", each) for each in declared):
        return False
    if not isinstance(given, ast.Dict):
        return not any(class_at(r).open for each in declared for r in runs("classes", each))
    keys = [constant(key) for key in given.keys]
    made = [class_at(run) for each in declared for run in runs("classes", each)]
    strict = all(c.kind == "model" and c.extra == "forbid" and c.call == "+" for c in made)
    return strict and any(
        isinstance(key, str) and not any(runs("classes", each, key) for each in declared)
        for key in keys
    )


def _is_enum(path: str) -> bool:
    return any(class_at(run).kind == "enum" for run in runs("classes", path))


def ignores_unknown(known: Known, release: int) -> bool:
    """Whether a class drops fields that it does not have."""
    found = [class_at(r) for r in runs("classes", known.path) if release in r.releases]
    return known.form == "class" and any(c.kind == "model" and c.extra == "ignore" for c in found)
