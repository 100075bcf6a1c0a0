"""Checks questions: the names in them exist, an answer makes a fact, and each condition can be
settled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...engine.compiler.build import Built
from ...engine.compiler.source import entries as e
from ...facts import Problem
from ...facts.declarations import SCHEMA
from ...facts.problems import did_you_mean
from ...facts.strict_yaml import Document
from ..reach.reach import reached
from .lint_context import Subject

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")


def question_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of all questions, and conditions that no question or probe can settle."""
    for document in _vocabularies(subject):
        yield from _ask_problems(subject, document)
        yield from _text_problems(subject, document)
    for item in subject.forms["tree"]:
        tree: e.Tree = item.entry
        for name, node in tree.nodes.items():
            for place in _PLACE.findall(node.ask):
                message = f"the question is shown verbatim, but has the placeholder {{{place}}}"
                where = item.where("nodes", name, "ask")
                yield Problem("MM262", message, where, "write the question without braces")
    yield from _unreached(subject)


def _vocabularies(subject: Subject) -> Iterator[Document]:
    for document in subject.built.documents:
        if isinstance(document.data, dict) and document.data.get("schema") == SCHEMA:
            yield document


def unasked(built: Built) -> set[str]:
    """The kinds that declare why there is no question about them: facts files bring them."""
    found = set()
    for document in built.documents:
        if isinstance(document.data, dict) and document.data.get("schema") == SCHEMA:
            kinds = document.data.get("kinds") or {}
            found |= {name for name, declared in kinds.items() if declared.get("unasked")}
    return found


def _ask_problems(subject: Subject, document: Document) -> Iterator[Problem]:
    """Questions of attributes, in which {name} stands for another attribute of the kind."""
    for section in ("kinds", "extend"):
        for name, declared in (document.data.get(section) or {}).items():
            known = subject.vocabulary.kinds[name].attributes
            for attribute, about in (declared.get("attributes") or {}).items():
                for place in _PLACE.findall(about.get("ask", "")):
                    if place not in known:
                        message = f"{{{place}}} in the question is not an attribute of {name}"
                        where = document.where((section, name, "attributes", attribute, "ask"))
                        hint = did_you_mean(place, known) or f"it has: {', '.join(known)}"
                        yield Problem("MM262", message, where, hint)


def _text_problems(subject: Subject, document: Document) -> Iterator[Problem]:
    """Questions of the vocabulary: shown verbatim, about one fact."""
    for name in document.data.get("questions") or {}:
        question = subject.vocabulary.questions[name]
        for place in _PLACE.findall(question.text):
            message = f"the question is shown verbatim, but has the placeholder {{{place}}}"
            where = document.where(("questions", name, "text"))
            hint = f"write what it is about, or 'ask' at the attribute {question.attribute!r}"
            yield Problem("MM262", message, where, hint)
        kind = subject.vocabulary.kinds[question.kind]
        said = {question.attribute, *dict(question.where)}
        open_ = [a.name for a in kind.attributes.values() if a.required and a.name not in said]
        if open_:
            message = f"the question {name!r} does not say which {kind.name} it asks about"
            hint = f"say it under 'where': {{{': ..., '.join(open_)}: ...}}"
            yield Problem("MM258", message, document.where(("questions", name)), hint)


def _unreached(subject: Subject) -> Iterator[Problem]:
    """Rules that no probe, question or other rule can make fire, at the conditions that none of
    them can settle."""
    seen: set[str] = set()
    for rule in reached(subject.built, unasked(subject.built)):
        for kind, text, at in () if rule.ways else rule.lacks:
            if text in seen or subject.vocabulary.kinds[kind].derived or not at:
                continue  # each condition is reported once, a derived kind where it is derived
            seen.add(text)
            message = f"{rule.entry} waits for {text}, which no probe and no question gives"
            hint = "write 'ask' at the attribute, or a question of the vocabulary; or say why: "
            yield Problem("MM258", message, subject.items[rule.entry].where(*at),
                          hint + "'unasked' of the kind")  # fmt: skip
