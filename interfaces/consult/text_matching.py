"""Matches free text, such as a description or a pasted error, against what the knowledge knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.diagnosis.report import Message, SimilarIssue
from ...facts import Fact, Provenance
from ...facts.records import cached_property

if TYPE_CHECKING:
    from ...engine.diagnosis.words.understanding import Understander
    from ...engine.diagnosis.words.understood import Understanding

ERROR_SYMPTOM = "opaque-error"


class Understood(NamedTuple):
    """The meaning of a text: ``facts`` (symptoms that it states or denies) and error ``messages``;
    ``causes`` are diagnoses that the text names. If nothing fits well, ``near`` lists similar
    symptoms, best first, at most four. ``similar`` are known issues that the text resembles; none
    if an error row knows it. ``onward`` gives, for a symptom without its own triage, the symptom
    whose triage continues; it is not a fact."""

    facts: tuple[Fact, ...] = ()
    messages: tuple[Message, ...] = ()
    near: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    similar: tuple[SimilarIssue, ...] = ()
    onward: Mapping[str, str] = {}


class TextMatcher:
    """Matches texts against the lexicon and the error tables. Both are loaded with the first
    text."""

    def __init__(self, doctor: Any, titles: Mapping[str, str]) -> None:
        """``titles``: the symptoms from which a triage starts, with their titles."""
        self._doctor = doctor
        named = doctor.base.vocabulary.kinds["symptom"].attributes["name"].values or ()
        self._known = frozenset(titles) | frozenset(named)
        self._trees = frozenset(titles)

    @cached_property
    def _lexicon(self) -> Understander:
        from ...engine.diagnosis.words.understanding import Understander

        return Understander(self._doctor.base.catalogue["words"])

    def read(self, text: str, facts: Sequence[Fact] = ()) -> Understood:
        """The symptoms, the errors and the likeness in a text; ``facts`` tell which versions are
        installed."""
        found = self._read(text)
        if found.messages:
            return found
        from ...engine.diagnosis.known_issues import like_complaint

        similar = like_complaint(text, self._doctor.base, facts)
        if similar and not found.causes and not self._lexicon.is_sure(text):
            found = _doubted(found)  # it may be about the issue, which the lexicon does not know
        return found._replace(similar=similar)

    def _read(self, text: str) -> Understood:
        errors, messages = self.errors(text)
        if messages:
            return Understood(errors, messages)
        if errors and "\n" in text.strip():  # a log or a traceback; its words are not the user's
            return Understood((*self._symptoms((ERROR_SYMPTOM,)), *errors))
        said = self._lexicon.understand(text)
        if found := self._symptoms(said.symptoms):
            denied = self._symptoms(said.denied, present=False)
            onward = self._onward(said)
            return Understood((*found, *denied, *errors), causes=said.diagnoses, onward=onward)
        if errors:  # an unknown error: its triage
            return Understood((*self._symptoms((ERROR_SYMPTOM,)), *errors))
        return Understood(near=tuple(name for name in said.near if name in self._known))

    def _onward(self, said: Understanding) -> dict[str, str]:
        """For each symptom without a triage of its own, the one whose triage goes on from it."""
        leads: Mapping[str, str] = self._doctor.base.catalogue["words"].get("leads_to", {})
        if any(name in self._trees for name in said.symptoms):
            return {}
        found = {name: leads[name] for name in said.symptoms if name in leads}
        return {n: t for n, t in found.items() if t in self._trees and t not in said.denied}

    def errors(self, text: str) -> tuple[tuple[Fact, ...], tuple[Message, ...]]:
        """The facts of a text that looks like an error, or that an error table knows."""
        from ...probes.messages.probe import read_messages

        facts = read_messages(text, self._doctor.base.vocabulary).facts
        messages: Sequence[Message] = self._doctor.diagnose(facts).messages if facts else ()
        looks = any(f.kind != "error_message" or f.get("exception") for f in facts)
        return (tuple(facts) if messages or looks else ()), tuple(messages)

    def _symptoms(self, names: Sequence[str], *, present: bool = True) -> tuple[Fact, ...]:
        source = (Provenance("answer", certainty="stated"),)
        fact = self._doctor.base.vocabulary.fact
        denial = {} if present else {"present": False}
        return tuple(
            fact("symptom", source, name=name, **denial) for name in names if name in self._known
        )


def _doubted(found: Understood) -> Understood:
    """The same, with its only complaint as what may be meant."""
    names = [str(fact.get("name")) for fact in found.facts if fact.kind == "symptom"]
    return Understood(near=tuple(names)) if len(names) == len(found.facts) == 1 else found
