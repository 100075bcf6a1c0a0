"""Questions to people: the conditions that the questions of the vocabulary and of its attributes
can settle, alone or about a thing that is known already."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ...engine.compiler.build import Built
from ...engine.inference.operators import compile_check
from ...engine.inference.program import Test
from ...facts import Kind, Question

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SPOKEN = ("answer", "symptom")  # questions of trees, and what people complain of


class Asking(NamedTuple):
    """Whether answers can pass a condition, and which attributes of the same fact have no question:
    a probe has to give them."""

    possible: bool
    open: tuple[str, ...] = ()


class Asked:
    """The questions of a knowledge base."""

    def __init__(self, built: Built) -> None:
        self._questions = tuple(built.vocabulary.questions.values())

    def passing(self, kind: Kind, tests: Sequence[Test], joined: Collection[str]) -> Asking:
        """Whether answers can make a fact that passes ``tests``; ``joined`` are the attributes that
        stand for variables: those that say what it is about are known from other facts."""
        if kind.name in _SPOKEN:
            return Asking(True)
        fixed = {t.attribute: t.operand for t in tests if t.op == "eq"}
        said = self._said(kind, fixed)
        about = {*kind.key, *(a.name for a in kind.attributes.values() if a.required)}
        wanted = {t.attribute for t in tests if t.attribute} | {*joined}
        if not wanted & said:
            return Asking(False)
        left = {t.attribute for t in tests if t.attribute and not _by_default(kind, t)} | {*joined}
        places = {n for name in wanted & said for n in _PLACE.findall(kind.attributes[name].ask)}
        named = places & kind.attributes.keys()  # others are problems of their own
        required = {a.name for a in kind.attributes.values() if a.required and a.default is None}
        open_ = (required | named) - fixed.keys() - {*joined} | (left - about)
        return Asking(True, tuple(sorted(open_ - said)))

    def _said(self, kind: Kind, fixed: Mapping[str, Any]) -> set[str]:
        """The attributes that some question sets if ``fixed`` holds."""
        found = {a.name for a in kind.attributes.values() if a.ask}
        for question in self._questions:
            if question.kind == kind.name and _fits(question, fixed):
                found |= {question.attribute, *dict(question.where)}
        return found


def _fits(question: Question, fixed: Mapping[str, Any]) -> bool:
    return all(fixed.get(name, value) == value for name, value in question.where)


def _by_default(kind: Kind, test: Test) -> bool:
    default = kind.attributes[test.attribute].default
    return default is not None and compile_check(test.op, test.operand)(default) is True
