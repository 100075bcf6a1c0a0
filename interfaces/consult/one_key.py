"""One question behind a verdict, answered with one key: the one that decides most among those whose
answers fit on single keys."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.compiler.knowledge_base import KnowledgeBase
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.diagnosis.dialogue.dialogue import UNKNOWN, AskedQuestion, Dialogue
from ...engine.diagnosis.next_step.plan import Option
from ...engine.diagnosis.report import NextStep
from ...facts import Attribute, Fact, Vocabulary
from ..reports.layout import Line, write
from ..reports.safe_text import one_line
from .phrasing import Phrasing
from .typed_or_pasted import waits

Answers = Mapping[str, tuple[str, str]]
"""By its key, an answer as the dialogue takes it and what it means."""

_GIVEN = "given"
_MOST = 9
_BURST = 65_536


def next_question(
    doctor: Diagnoser, facts: Sequence[Fact]
) -> tuple[Dialogue, AskedQuestion] | None:
    """The best question, and the dialogue that takes its answer; None if none would help."""
    vocabulary = doctor.base.vocabulary
    readable = _readable(facts, vocabulary)

    def in_order(options: Sequence[Option]) -> list[Option]:
        """Those with keys; of a fact that a file could tell only what has a question of its own."""
        fit = [option for option in options if _has_keys(option.step, vocabulary)]
        kinds = doctor.gathering.kinds
        return [o for o in fit if _is_triage(o.step) or o.step.id in vocabulary.questions
                or not kinds(o.step) <= readable]  # fmt: skip

    dialogue = Dialogue(doctor, order=in_order).informed(_GIVEN, facts)
    found = dialogue.next() if facts else None
    return (dialogue, found) if isinstance(found, AskedQuestion) else None


def _readable(facts: Sequence[Fact], vocabulary: Vocabulary) -> frozenset[str]:
    """The kinds that probes could gather from files that were not given; there is no question about
    these."""
    sources = {p.source.removeprefix("probe:") for fact in facts for p in fact.provenance}
    probes = vocabulary.probes.values()
    return frozenset(kind for p in probes if p.name not in sources for kind in p.gathers) - {
        kind for p in probes if p.name in sources for kind in p.gathers
    }


def _is_triage(step: NextStep) -> bool:
    return (step.sets or {}).get("kind") == "answer"


def _has_keys(step: NextStep, vocabulary: Vocabulary) -> bool:
    """Whether each answer to a question has a key of its own."""
    if step.type != "question":
        return False
    choices = [choice for choice in step.choices if choice != UNKNOWN]
    if choices or _is_triage(step):
        return len(choices) <= _MOST
    attribute = _attribute(step.sets or {}, vocabulary)
    return attribute.type == "boolean" or 0 < len(_values(attribute)) <= _MOST


def _attribute(sets: Mapping[str, Any], vocabulary: Vocabulary) -> Attribute:
    return vocabulary.kinds[str(sets["kind"])].attributes[str(sets["attribute"])]


def _values(attribute: Attribute) -> Mapping[str, str]:
    """The values of an attribute with their meanings; a digit stands for itself."""
    low, high = attribute.minimum, attribute.maximum
    if (
        attribute.type == "integer"
        and low is not None
        and high is not None
        and 0 <= low <= high <= 9
    ):
        return {str(n): str(n) for n in range(int(low), int(high) + 1)}
    return attribute.values or {}


def answers(question: AskedQuestion, vocabulary: Vocabulary) -> Answers:
    """Yes, no and digits are keys by themselves; other answers have numbers."""
    choices = question.choices or _values(_attribute(question.sets, vocabulary))
    meaning = {name: choices[name] or name for name in choices}
    if set(choices) == {"yes", "no"}:
        return {"y": ("yes", meaning["yes"]), "n": ("no", meaning["no"])}
    if all(name.isdecimal() and len(name) == 1 for name in choices):
        return {name: (name, "") for name in choices}
    return {str(n): (name, meaning[name]) for n, name in enumerate(choices, 1)}


def lines(question: AskedQuestion, known: Answers, phrasing: Phrasing) -> list[Line]:
    """The question, why it is asked, how to find out, and what each key means."""
    more = [text for text in (phrasing.reason(question), phrasing.hint(question)) if text]
    keys = [Line(said[:1].upper() + said[1:], 2, mark=f"{key}  ")
            for key, (_, said) in known.items() if said]  # fmt: skip
    return [Line(), Line(question.text, mark="Question: "),
            *(Line(text, 2, "dim") for text in more), *keys]  # fmt: skip


def ask(question: AskedQuestion, base: KnowledgeBase) -> str | None:
    """The answer of a key; None for "not known" or if the user does not want to answer."""
    known = answers(question, base.vocabulary)
    write(lines(question, known, Phrasing(base)), sys.stdout)
    sys.stdout.write(f"One key ({', '.join(known)}; Enter: not known) ")
    sys.stdout.flush()
    try:
        typed = _key()
    except KeyboardInterrupt:
        typed = ""
    said = typed.strip().lower()
    sys.stdout.write(f"{one_line(said)}\n")
    sys.stdout.flush()
    return known[said][0] if said in known else None


def _key() -> str:
    """One key of the terminal; what arrived with it, such as the rest of a paste, is taken off too
    and is not a key. A whole line where the terminal cannot give keys."""
    try:
        import termios

        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError):
        return sys.stdin.readline()
    single = termios.tcgetattr(descriptor)
    single[3] &= ~(termios.ICANON | termios.ECHO)
    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, single)
        typed = os.read(descriptor, 1)
        while typed and waits(descriptor, 0.0) and (more := os.read(descriptor, _BURST)):
            typed += more
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
    return typed.decode("utf-8", "replace")
