"""The one way in for text: whatever brings it, the same text gives the same facts.

Its content decides how a text is taken: as a form that a probe reads (a log, metrics, a script), as
messages of software, or as a description in words. The figures that it states come along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.diagnosis.report import Message, SimilarIssue
from ..facts import Fact, Problem, Provenance
from ..facts.progress import UNWATCHED, Progress
from ..facts.records import cached_property
from ..reading.text.plain_text import is_document, is_note

if TYPE_CHECKING:
    from ..engine.diagnosis.diagnoser import Diagnoser
    from ..engine.diagnosis.words.understanding import Understander
    from ..engine.diagnosis.words.understood import Understanding

PASTED = "pasted"
ERROR = "error message"
DESCRIPTION = "description"
STATEMENTS = "statements"
ERROR_SYMPTOM = "opaque-error"
MOST_LINES = 12
"""A text of more lines is not a description."""


class Taken(NamedTuple):
    """The kind of a text (``title``, empty for nothing known; ``form`` where a probe knows it), and
    its facts. ``messages`` are those that error rows know; ``unknown`` holds the facts of a text
    that is none of these, for callers who know that it is an error. Of a description, ``causes``
    are the diagnoses that it names, and ``onward`` gives, for a symptom without its own triage, the
    one whose triage continues (it is not a fact). If nothing fits well, ``near`` lists similar
    symptoms, best first. ``similar`` are known issues that a text without known message
    resembles."""

    title: str = ""
    form: str = ""
    facts: tuple[Fact, ...] = ()
    problems: tuple[Problem, ...] = ()
    messages: tuple[Message, ...] = ()
    unknown: tuple[Fact, ...] = ()
    near: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    similar: tuple[SimilarIssue, ...] = ()
    onward: Mapping[str, str] = {}

    @property
    def is_error(self) -> bool:
        """Whether it holds messages of software."""
        return self.title == ERROR or any(fact.kind == "error_message" for fact in self.facts)

    @property
    def as_error(self) -> tuple[Fact, ...]:
        """Its facts for callers who know that it is an error."""
        return self.facts if self.form or self.is_error else (*self.facts, *self.unknown)


class Intake:
    """Reads texts for one diagnoser. The lexicon is loaded with the first description."""

    def __init__(self, doctor: Diagnoser) -> None:
        from ..engine.diagnosis.dialogue.dialogue import Dialogue

        self._doctor = doctor
        self._vocabulary = doctor.base.vocabulary
        self._trees = frozenset(Dialogue(doctor).symptoms())
        named = self._vocabulary.kinds["symptom"].attributes["name"].values or ()
        self._symptoms = self._trees | frozenset(named)

    def read(
        self,
        text: str,
        name: str = PASTED,
        *,
        form: str = "",
        known: Sequence[Fact] = (),
        progress: Progress = UNWATCHED,
        tried: bool = False,
    ) -> Taken:
        """Read a text, in the ``form`` that is declared, else in the one that is recognised.
        ``name`` is used for its places; the facts ``known`` tell which versions are installed.
        Of a file, the probes that do not go by its name have been ``tried``. Raises
        :class:`ModelMedicError` (MM347) for an unknown form."""
        tried = tried and not text.lstrip().startswith(("{", "["))
        if form or ("\n" in text.strip() and not tried):
            found = self._recognised(text, name, form)
            if found is not None:
                return found
        return self._with_statements(text, name, self._plain(text, name, known, progress))

    def _plain(self, text: str, name: str, known: Sequence[Fact], progress: Progress) -> Taken:
        """A text in no form: messages of software, or a description."""
        from ..probes.messages.probe import read_messages

        outcome = read_messages(text, self._vocabulary, name=name, progress=progress)
        facts, problems = outcome.facts, outcome.problems
        report = self._doctor.diagnose(facts) if facts else None
        if report and report.messages:
            return Taken(ERROR, "", facts, problems, tuple(report.messages))
        of_program = any(_is_said(fact, text) for fact in facts)
        if of_program or (report and report.diagnoses):
            said = Taken(ERROR, "", facts, problems)  # its words are not the user's
        elif self._is_no_complaint(text, facts):
            return Taken(problems=problems, unknown=facts)
        else:
            said = self._described(text)._replace(problems=problems, unknown=facts)
        return self._compared(text, said, known)

    def _is_no_complaint(self, text: str, facts: Sequence[Fact]) -> bool:
        """Whether a text is long, a note, or lines of software that report no failure."""
        lines = text.strip().split("\n")
        printed = len(lines) > 1 and any(fact.kind == "text_subject" for fact in facts)
        return len(lines) > MOST_LINES or printed or is_note(lines)

    def _with_statements(self, text: str, name: str, found: Taken) -> Taken:
        """With the figures that a text states; it may say nothing else."""
        stated, notes = self.figures(text, name)
        if notes and not found.is_error:
            found = found._replace(problems=(*found.problems, *notes))
        if not stated:
            return found
        if found.title == ERROR and not found.messages and all(map(_is_told, found.facts)):
            about = tuple(fact for fact in found.facts if fact.kind != "error_message")
            return Taken(STATEMENTS, facts=(*about, *stated), problems=(*found.problems, *notes))
        about = tuple(f for f in found.unknown if f.kind == "text_subject" and not found.facts)
        title = found.title or STATEMENTS
        return found._replace(title=title, facts=(*about, *found.facts, *stated), near=())

    def again(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts, with the text read again of each message that has nothing but its text."""
        return [each for fact in facts for each in self._read_again(fact)]

    def _read_again(self, fact: Fact) -> Iterator[Fact]:
        given = {name for name, _ in fact.values}
        if fact.kind != "error_message" or not given <= {"text", "exception", "module"}:
            yield fact
            return
        named = ".".join(str(fact.get(each)) for each in ("module", "exception") if fact.get(each))
        text = f"{named}: {fact.get('text')}" if named else str(fact.get("text"))
        where = fact.provenance[0].location if fact.provenance else None
        found = self.read(text, str(where or PASTED))
        if not (found.form or found.is_error):
            yield fact  # it stays an error, whatever its words mean
        yield from found.facts

    def _recognised(self, text: str, name: str, form: str) -> Taken | None:
        from ..probes.pasted import gather_pasted

        raw = text.encode("utf-8", "surrogateescape")
        found = gather_pasted(raw, self._vocabulary, name, form)
        if found is None or not (form or found.outcome.facts):
            return None
        artefact, facts = found.artefact, found.outcome.facts
        problems, messages = found.outcome.problems, self._messages(facts)
        if artefact.stated:
            stated, notes = self.figures(text, name)
            facts, problems = (*facts, *stated), (*problems, *notes)
        return Taken(artefact.title, artefact.name, facts, problems, messages)

    def figures(self, text: str, name: str) -> tuple[tuple[Fact, ...], tuple[Problem, ...]]:
        """The figures that a text states and nothing else of it, and notes on others."""
        from ..probes.statements.probe import read_statements

        outcome = read_statements(text, self._vocabulary, name=name)
        return outcome.facts, outcome.problems

    def _messages(self, facts: Sequence[Fact]) -> tuple[Message, ...]:
        if not any(fact.kind == "error_message" for fact in facts):
            return ()
        return tuple(self._doctor.diagnose(facts).messages)

    def _described(self, text: str) -> Taken:
        """The symptoms that a text states or denies."""
        said = self._lexicon.understand(text)
        stated = self._facts(said.symptoms)
        if not stated:
            return Taken(near=tuple(n for n in said.near if n in self._symptoms))
        facts = (*stated, *self._facts(said.denied, present=False))
        onward = self._onward(said)
        return Taken(DESCRIPTION, facts=facts, causes=said.diagnoses, onward=onward)

    def _compared(self, text: str, said: Taken, known: Sequence[Fact]) -> Taken:
        """With the known issues that the text resembles. It may be about one of them, which the
        lexicon does not know: then its only symptom is doubted."""
        from ..engine.diagnosis.known_issues import like_complaint

        similar = like_complaint(text, self._doctor.base, known)
        symptoms = [str(fact.get("name")) for fact in said.facts if fact.kind == "symptom"]
        sure = said.causes or not similar or self._lexicon.is_sure(text)
        if not sure and len(symptoms) == len(said.facts) == 1:
            said = said._replace(title="", facts=(), near=tuple(symptoms), onward={})
        return said._replace(similar=similar)

    @cached_property
    def _lexicon(self) -> Understander:
        from ..engine.diagnosis.words.understanding import Understander

        return Understander(self._doctor.base.catalogue["words"])

    def _onward(self, said: Understanding) -> dict[str, str]:
        """For each symptom without a triage of its own, the one whose triage goes on from it."""
        leads: Mapping[str, str] = self._doctor.base.catalogue["words"].get("leads_to", {})
        if any(name in self._trees for name in said.symptoms):
            return {}
        found = {name: leads[name] for name in said.symptoms if name in leads}
        return {n: t for n, t in found.items() if t in self._trees and t not in said.denied}

    def _facts(self, names: Sequence[str], *, present: bool = True) -> tuple[Fact, ...]:
        source = (Provenance("answer", certainty="stated"),)
        denial: dict[str, Any] = {} if present else {"present": False}
        return tuple(
            self._vocabulary.fact("symptom", source, name=name, **denial)
            for name in names
            if name in self._symptoms
        )


def _is_said(fact: Fact, text: str) -> bool:
    """Whether a program reports a failure in a fact, or in a text about its software."""
    if fact.kind == "text_subject":
        from ..probes.messages.events import has_signal

        return has_signal(text) and not is_document(text.split("\n"))
    return fact.kind != "error_message" or bool(fact.get("exception"))


def _is_told(fact: Fact) -> bool:
    """Whether nothing but the words of a user is behind a fact, and no program."""
    if fact.kind != "error_message":
        return fact.kind == "text_subject"
    said = any(fact.get(name) for name in ("exception", "level", "said_by", "owner"))
    return fact.get("source") == "pasted" and not said
