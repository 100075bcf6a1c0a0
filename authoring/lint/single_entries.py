"""Checks single entries: sources, actions, and words with a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...engine.compiler.normal_form import Lowering
from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.issues import Issue
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Location, Problem
from ...facts.problems import did_you_mean, excerpt
from ...facts.strict_yaml import Document
from ..references import Path, all_parts, concluded_by, conditions
from .lint_context import Subject

UNFINISHED = "<fill in"
_REDIRECTS = re.compile(r"(?<![<\w\"'])<[a-z][\w -]{0,60}>")
_ALONE = re.compile(r"[A-Z_]{2,40}=(?:\"[^\"]{0,300}\"|'[^']{0,300}'|[^\s\"'$;]{1,200})")
_SHELL_GAP = re.compile(r"(?:python3?|pip|diagnose|tinker|export|env|sudo|curl|git|cp|mv|rm|ls)\s"
                        r"(?:.*\s)?\S*\.\.\.(?:\s|$)")  # fmt: skip
_NAMED = re.compile(
    r"[0-9`\"=$_/]|--\w|\w[.(]\w|\w\(\)|\b[A-Z]{3,}\b|\w[a-z][A-Z]|'\w+'"
    r"|\b(?:message|warning|line|packet|list)\b.{0,80}\b(?:names|says|lists|prints|below)\b"
)
"""Words for things to type, open or look at."""
_COUNTED = re.compile(
    r"\b(?:no|none|nothing|one|both|each|every|all|any|same|equals?|differs?|once|twice|first|last|prints|"
    r"lists|shows|names)\b",
    re.IGNORECASE,
)
"""Words for observations: how many, alike or not, the output of a program."""
_CAPITALS = re.compile(r"(?<![\w${])[A-Z][A-Z_]{2,}(?![\w=])")


def entry_problems(subject: Subject) -> Iterator[Problem]:
    """Problems that one entry has by itself."""
    subjects = {i.id: bool(i.entry.subject) for i in subject.forms["classification"]}
    for item in subject.source.items:
        yield from _source_problems(item)
        if item.form == "diagnosis":
            yield from _advice_problems(item)
            yield from _action_problems(item, subject)
            yield from _step_problems(item)
            yield from _form_problems(item, subject)
            yield from _verification_problems(item, subject, subjects)
    yield from _conclusion_problems(subject)
    yield from _answer_problems(subject)
    for document in subject.built.documents:
        yield from _unfinished(document, document.data, ())


def _unfinished(document: Document, value: Any, path: Path) -> Iterator[Problem]:
    """Places that `diagnose kb new` has marked and that are not filled in."""
    if isinstance(value, str) and UNFINISHED in value:
        message = f"not filled in yet: {excerpt(value)}"
        yield Problem("MM289", message, document.where(path), "write what the text asks for")
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _unfinished(document, part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _unfinished(document, part, (*path, index))


def _source_problems(item: Item) -> Iterator[Problem]:
    if not any(source.ref.strip() for source in item.sources()):
        message = f"{item.id} names no source"
        yield Problem("MM260", message, item.where(), "add sources to the entry or to its file")


def _advice_problems(item: Item) -> Iterator[Problem]:
    entry: e.Diagnosis = item.entry
    if entry.kind != "benign" and entry.status != "deprecated" and not entry.actions:
        yield Problem("MM261", f"{item.id} has no actions", item.where(), "add what to do")
    if entry.kind == "escalation" and not entry.packet:
        message = f"{item.id} is an escalation but has no 'packet'"
        yield Problem("MM261", message, item.where(), "list what to hand over")


def _action_problems(item: Item, subject: Subject) -> Iterator[Problem]:
    """Commands that cannot be pasted unchanged."""
    entry: e.Diagnosis = item.entry
    kinds = subject.vocabulary.kinds.values()
    known = {probe.placeholder for probe in subject.vocabulary.probes.values()}
    known |= {a.placeholder for kind in kinds for a in kind.attributes.values()}
    for number, action in enumerate(entry.actions):
        where = ("actions", number, "command")
        if _SHELL_GAP.match(action.command):
            message = f"a command of {item.id} is left open with '...'"
            hint = "write a word in capitals for what people fill in, or the options alone"
            yield Problem("MM214", message, item.where(*where), hint)
        if gap := _REDIRECTS.search(action.command):
            message = f"a shell takes {gap[0]} in a command of {item.id} as a redirection"
            hint = "write a word in capitals for what people fill in"
            yield Problem("MM214", message, item.where(*where), hint)
        if _ALONE.fullmatch(action.command.strip()):
            message = f"a command of {item.id} sets a variable that no program gets to see"
            hint = "write 'export NAME=...', or the program behind it"
            yield Problem("MM214", message, item.where(*where), hint)
        for word in _CAPITALS.findall(action.command):
            near = sorted(name for name in known - {word} if name and _plain(name) == _plain(word))
            if near:
                message = f"{word!r} in a command of {item.id} is not a known placeholder"
                yield Problem("MM214", message, item.where(*where), f"write {near[0]!r}")


def _step_problems(item: Item) -> Iterator[Problem]:
    """Actions that do not say what to type or edit, and checks that do not say what to look at. A
    verdict shows the first action of a fault, which needs both."""
    entry: e.Diagnosis = item.entry
    if entry.kind == "benign" or entry.status == "deprecated" or isinstance(entry, Issue):
        return
    for number, action in enumerate(entry.actions):
        first = number == 0
        if first and not action.command and not _NAMED.search(action.do):
            message = f"the first action of {item.id} names nothing to type, open or edit"
            hint = "add the command, or name the file, option or call and its value"
            yield Problem("MM215", message, item.where("actions", number, "do"), hint)
        if first and not action.verify:
            message = f"nothing tells whether the first action of {item.id} worked"
            hint = "add 'verify' with what is seen then, and its number"
            yield Problem("MM216", message, item.where("actions", number), hint)
        if action.verify and not (_NAMED.search(action.verify) or _COUNTED.search(action.verify)):
            message = f"'verify' of {item.id} names no number and nothing to look at"
            hint = "say which output, file or number shows it, such as '0 lines with this message'"
            yield Problem("MM216", message, item.where("actions", number, "verify"), hint)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _form_problems(item: Item, subject: Subject) -> Iterator[Problem]:
    """Facts that a packet or an action names must be possible."""
    for path, found in _fact_forms(item.entry):
        yield from _form_problem(found, item.where(*path), subject)


def _fact_forms(entry: e.Diagnosis) -> Iterator[tuple[Path, e.FactForm]]:
    for place, wanted in enumerate(entry.packet):
        for number, found in enumerate([] if isinstance(wanted, str) else wanted.found_in):
            yield ("packet", place, "found_in", number), found
    for place, action in enumerate(entry.actions):
        for number, found in enumerate(action.done_by):
            yield ("actions", place, "done_by", number), found


def _form_problem(found: e.FactForm, where: Location, subject: Subject) -> Iterator[Problem]:
    kinds = subject.vocabulary.kinds
    if found.fact not in kinds:
        hint = did_you_mean(found.fact, kinds) or "`diagnose facts` lists the kinds"
        yield Problem("MM230", f"unknown fact kind {excerpt(found.fact)}", where, hint)
        return
    known = kinds[found.fact].attributes
    for name in sorted(found.where.keys() - known.keys()):
        message = f"{found.fact} has no attribute {excerpt(name)}"
        hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
        yield Problem("MM231", message, where, hint)


def _verification_problems(
    item: Item, subject: Subject, subjects: Mapping[str, bool]
) -> Iterator[Problem]:
    """Conditions that show that an action worked are not compiled into rules; they are checked
    here."""
    for path, condition in conditions(item):
        lowering = Lowering(subject.vocabulary, item, subjects)
        lowering.condition(condition, path)
        yield from lowering.problems


def _conclusion_problems(subject: Subject) -> Iterator[Problem]:
    """Diagnoses that nothing concludes. An issue may exist for look-up only."""
    concluded = {name for item in subject.source.items for name in concluded_by(item)}
    for item in subject.forms["diagnosis"]:
        if item.id not in concluded and not isinstance(item.entry, Issue):
            message = f"nothing concludes {item.id}"
            hint = "add a rule, a branch or an error row"
            yield Problem("MM269", message, item.where(), hint)


def _answer_problems(subject: Subject) -> Iterator[Problem]:
    """Conditions on facts that no probe gathers, no question asks for and no rule derives."""
    vocabulary = subject.vocabulary
    told = {kind for probe in vocabulary.probes.values() for kind in probe.gathers}
    told |= {question.kind for question in vocabulary.questions.values()}
    told |= {c.kind for rule in subject.built.rules for c in rule.conclusions}
    told |= {"symptom", "answer"}  # a person says these of their own accord
    for kind in vocabulary.kinds.values():
        if kind.probes or kind.derived or any(a.ask for a in kind.attributes.values()):
            told.add(kind.name)
    for item in subject.source.items:
        shown: set[str] = set()
        for path, node in all_parts(item):
            fact = node.series.fact if isinstance(node, c.Series) else getattr(node, "fact", None)
            if isinstance(fact, str) and fact in vocabulary.kinds and fact not in told | shown:
                shown.add(fact)
                yield Problem(
                    "MM258",
                    f"{item.id} waits for {fact}, which no probe gathers and no question asks for",
                    item.where(*path),
                    "add a question or 'ask' to the vocabulary, or name the probe of the kind",
                )
