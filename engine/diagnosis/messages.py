"""The explanations of messages by the rows of the error tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...facts import Fact
from ...facts.owners import title_of
from ...facts.records import cached_property
from ..compiler.knowledge_base import KnowledgeBase
from ..inference.program import Rule
from .explain import Explanations, Step
from .next_step.evidence_sources import EvidenceSources
from .report import Decider, Message, NextStep
from .rule_constants import ERRORS, ROW_ALIASES
from .why_not import Gap, WhyNot

_PROBE = "probe:"
_SUBJECT_KIND = "text_subject"
_SUBJECT = "whose software the text is about"
_TELL = "Give more of the text: a frame, a command or a list of versions that names the package."


class Messages:
    """The messages of one set of facts that rows recognise."""

    def __init__(
        self,
        base: KnowledgeBase,
        explanations: Explanations,
        why_not: WhyNot,
        gathering: EvidenceSources,
    ) -> None:
        self._base = base
        self._explanations = explanations
        self._why_not = why_not
        self._gathering = gathering

    def all(self) -> tuple[Message, ...]:
        """Each row and text once, with the causes that are concluded or, where none is, with what
        decides."""
        fired: dict[tuple[str, str], list[Step]] = {}
        for step in self._explanations.all_steps("error"):
            for fact in _recognised(step):
                fired.setdefault((step.rule.entry, str(fact.get("text") or "")), []).append(step)
        # Where a message has its cause, the bare status of the answer adds no more.
        with_cause = any(text for _, text in fired)
        waiting = self._waiting(("error_message",) if with_cause else ERRORS)
        if self._why_not.out_of_time:
            waiting = {}
        found = sorted({*fired, *waiting})
        with_text = {row for row, text in found if text}
        return tuple(
            self._message(row, text, fired.get((row, text), ()), waiting.get((row, text), ()))
            for row, text in found
            # The bare HTTP status of a message that is listed already says nothing more.
            if text or row not in with_text
        )

    def _waiting(self, kinds: Collection[str]) -> Mapping[tuple[str, str], Sequence[Rule]]:
        """The rules of rows that recognise a message and may still fire. A row whose causes
        contradict known facts does not count."""
        found: dict[tuple[str, str], list[Rule]] = {}
        for rule, facts in self._why_not.recognising(kinds):
            if not self._open(rule):
                continue
            for text in dict.fromkeys(str(fact.get("text") or "") for fact in facts):
                found.setdefault((rule.entry, text), []).append(rule)
        return found

    def _message(
        self, row: str, text: str, steps: Iterable[Step], waiting: Sequence[Rule]
    ) -> Message:
        entry: Mapping[str, Any] = self._base.catalogue["entries"].get(row, {})
        causes = {name for step in steps for name in _causes(step.rule)}
        return Message(
            row,
            self._title(row, text, entry),
            text,
            entry.get("meaning", ""),
            entry.get("fix", ""),
            entry.get("retry", ""),
            tuple(sorted(causes)),
            None if causes else self._decider(waiting),
        )

    def _title(self, row: str, text: str, entry: Mapping[str, Any]) -> str:
        """The title of a row for a message. For common words without a sign of their owner it names
        the software that the row is about."""
        title, mine = str(entry.get("title", row)), entry.get("speaks_for") or ()
        if not text or not mine or self._owners.get(text, set()).intersection(mine):
            return title
        return f"If it comes from {title_of(self._base.vocabulary.owners, mine[0])}: {title}"

    @cached_property
    def _owners(self) -> Mapping[str, set[str]]:
        """The owner of each error message, if known."""
        found: dict[str, set[str]] = {}
        for fact in self._explanations.ids:
            if fact.kind == "error_message" and fact.get("owner"):
                found.setdefault(str(fact.get("text") or ""), set()).add(str(fact.get("owner")))
        return found

    def _decider(self, rules: Iterable[Rule]) -> Decider | None:
        """The one condition that decides most: it alone is missing, a step settles it, it bears on
        many causes, and the step costs little."""
        causes: dict[Gap, set[str]] = {}
        alone: set[Gap] = set()
        for rule in rules:
            gaps = self._open(rule)
            alone |= {*gaps} if len(gaps) == 1 else set()
            for gap in gaps:
                causes.setdefault(gap, set()).update(_causes(rule))
        if not causes:
            return None
        steps = {gap: self._step(gap) for gap in causes}

        def rank(gap: Gap) -> tuple[Any, ...]:
            step = steps[gap]
            cost = self._gathering.cost(step) if step else 0.0
            return step is None, gap not in alone, -len(causes[gap]), cost, gap.text

        best = min(causes, key=rank)
        then = tuple(sorted(causes[best]))
        if self._is_subject(best):
            more = NextStep("action", _SUBJECT_KIND, _TELL, "diagnose decode -", 5, then)
            return Decider(_SUBJECT, then, more)
        return Decider(best.text, then, steps[best])

    def _is_subject(self, gap: Gap) -> bool:
        """Whether a condition is about what the text as a whole is about: nothing but more of it
        tells, and a folder of something else does not."""
        return self._why_not.pattern(gap.literal).kind == _SUBJECT_KIND

    def _open(self, rule: Rule) -> tuple[Gap, ...]:
        """The conditions that a rule lacks and no fact contradicts."""
        gaps = self._why_not.bottom(self._why_not.best_way(rule))
        return () if any(gap.truth is False for gap in gaps) else gaps

    def _step(self, gap: Gap) -> NextStep | None:
        """The cheapest step that settles a condition, other than a probe that has been run."""
        known = self._gathering.of_literal(gap.literal)
        steps = (step for step in known if step.id not in self._run)
        return min(steps, key=lambda step: (self._gathering.cost(step), step.id), default=None)

    @cached_property
    def _run(self) -> set[str]:
        return {
            p.source.removeprefix(_PROBE)
            for fact in self._explanations.ids
            for p in fact.provenance
            if p.source.startswith(_PROBE)
        }


def of_beginnings(
    said: Sequence[Message], facts: Iterable[Fact], base: KnowledgeBase
) -> tuple[Message, ...]:
    """The explanations for truncated messages that no row recognises, if enough is left to find the
    row. Nothing is concluded from them."""
    recognised = {message.text for message in said}
    unknown = [f for f in facts if f.kind == "error_message" and f.get("text") not in recognised]
    known = {(row, str(f.get("text"))) for f in unknown if (row := _begun(f, base))}
    return tuple(_cut_off(row, text, base) for row, text in sorted(known))


def _begun(fact: Fact, base: KnowledgeBase) -> str:
    """The row of whose message the text of an error is the beginning; "" where none is known."""
    from ..compiler.beginnings import row_of_beginning

    text, owner, exception = (str(fact.get(n) or "") for n in ("text", "owner", "exception"))
    signs = base.vocabulary.owners.get(owner)
    tells = signs is None or not (signs.generic or signs.relays)
    return row_of_beginning(base.catalogue["beginnings"], text, owner if tells else "", exception)


def _cut_off(row: str, text: str, base: KnowledgeBase) -> Message:
    entry: Mapping[str, Any] = base.catalogue["entries"].get(row, {})
    causes = tuple(cause["diagnosis"] for cause in entry.get("causes", ()))
    step = NextStep("action", row, "Give the whole message.", "diagnose decode -", 5, causes)
    rest = Decider("the rest of the message, which seems to be cut off here", causes, step)
    said = entry.get("title", row), text, entry.get("meaning", ""), entry.get("fix", "")
    return Message(row, *said, entry.get("retry", ""), (), rest)


def _recognised(step: Step) -> list[Fact]:
    """The messages or responses that a firing of an error row recognised."""
    return [f for p in step.premises if p.literal.alias in ROW_ALIASES for f in p.facts]


def _causes(rule: Rule) -> list[str]:
    return [str(dict(c.values)["name"]) for c in rule.conclusions if c.kind == "diagnosis"]
