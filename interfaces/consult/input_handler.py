"""Facts for a consultation: from a line that is not a command (an answer, a path, a description of
the problem), and from probes, paths and files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.diagnosis.dialogue.dialogue import UNKNOWN, AskedQuestion, Dialogue, Offer
from ...facts import Fact, ModelMedicError, Problem, Provenance
from ...facts.problems import did_you_mean, excerpt
from ..intake import ERROR_SYMPTOM, Intake, Taken
from ..reports.formats.text import message_lines, read_lines
from ..reports.layout import Line, counted, problem_lines
from ..reports.similar import similar_lines
from ..stated import read_line
from .answers import choose, consent, is_unsure, value_of
from .drivers import Driver
from .texts import Texts


class Gathered(NamedTuple):
    """Facts, and what to show about them."""

    facts: tuple[Fact, ...]
    lines: tuple[Line, ...]


class Sources:
    """Reads facts for one diagnoser, texts by its ``intake``. ``runnable`` probes need no path,
    except optionally that of another environment (a virtual environment or an interpreter). For
    ``readable`` probes, the user may be asked for a path."""

    def __init__(self, doctor: Diagnoser) -> None:
        self.intake = Intake(doctor)
        self._vocabulary = vocabulary = doctor.base.vocabulary
        probes = vocabulary.probes.values()
        self.runnable = tuple(probe.name for probe in probes if probe.alone)
        self.readable = tuple(probe.name for probe in probes if probe.prompt)

    def probe(self, words: str) -> Gathered:
        """Run a probe: ``environment``, ``environment .venv``, ``logs job.log``. Raises
        :class:`ModelMedicError` (MM311)."""
        from ...probes import load_probe
        from ..waiting import Gauge, shown

        name, _, rest = words.partition(" ")
        path = _path(rest) if rest else None
        if name in self.runnable:
            if path is not None and not _exists(path):
                hint = "name a virtual environment or a Python interpreter"
                raise _error("MM311", f"there is no {str(path)!r}", hint)
            with shown(gauge := Gauge()), gauge.part(name):
                outcome = load_probe(name)(self._vocabulary, python=path)
            facts = tuple(outcome.facts)
            return Gathered(facts, (*problem_lines(outcome.problems), _gathered(name, facts)))
        known = self._vocabulary.probes
        if name not in known:
            hint = did_you_mean(name, known) or f"there are: {', '.join(sorted(known))}"
            raise _error("MM311", f"there is no probe {name!r}", hint)
        if path is None:
            hint = f"use `inspect PATH`, or in another terminal: {known[name].command}"
            raise _error("MM311", f"the probe {name!r} needs a path", hint)
        return self.inspect(rest)

    def is_place(self, words: str) -> bool:
        return _exists(_path(words))

    def inspect(self, words: str) -> Gathered:
        """The facts of whatever is at one or more paths, and what was read."""
        from ..inspection import gather

        whole = _path(words)
        paths = [whole] if _exists(whole) else [_path(word) for word in _split(words)]
        if not words:
            raise _error("MM314", "inspect needs a path", "such as `inspect ./run`")
        facts, problems, read = gather(paths, self._vocabulary, intake=self.intake)
        return Gathered(tuple(facts), (*read_lines(read), *problem_lines(problems)))

    def load(self, words: str) -> Gathered:
        from ...facts.fact_file import read_facts

        if not words:
            raise _error("MM314", "load needs a file", "such as `load facts.json`")
        facts = read_facts(_path(words), self._vocabulary)
        return Gathered(facts, (_gathered(words, facts),))


class InputHandler:
    """Handles the lines that are not commands. Every method takes a dialogue, shows what it
    understood, and returns the dialogue that follows."""

    def __init__(self, driver: Driver, texts: Texts, sources: Sources) -> None:
        self._driver = driver
        self._texts = texts
        self._intake = sources.intake
        self._sources = sources

    def to_offer(self, offer: Offer, text: str, dialogue: Dialogue) -> Dialogue:
        """Yes, no, a path, or free text."""
        wanted = consent(text)
        if wanted is False or is_unsure(text):
            return dialogue.declined(offer)
        if text.strip().lower() == "none":
            entries = dialogue.declined(offer).entries
            return Dialogue(dialogue.doctor, entries, self._sources.runnable)
        if wanted and offer.reads:
            self._driver.show([Line("Type the path of it.", 2)])
            return dialogue
        if wanted:
            return self.gather(offer.probe, dialogue)
        if self._sources.is_place(text):
            return self.gather(f"{offer.probe} {text.strip()}", dialogue)
        return self.describe(text, dialogue)

    def to_question(self, question: AskedQuestion, text: str, dialogue: Dialogue) -> Dialogue:
        """A choice, a value, "I do not know", a path, or free text."""
        chosen = choose(text, self._texts.phrasing.choices(question))
        nothing = question.id.startswith("artefact") and _says_nothing(text)
        if is_unsure(text) or nothing or chosen is not None:
            if chosen == ERROR_SYMPTOM:
                hint = "If you have the message or the traceback, paste it now: it tells most."
                self._driver.show([Line(hint, 2)])
            return dialogue.answered(question, chosen or UNKNOWN)
        if question.id != "symptom" and text.strip() in dialogue.symptoms():
            return self._complain(text.strip(), dialogue)
        if question.choices and self._sources.is_place(text):
            path = text.strip()
            return self.inform(f"inspect {path}", lambda: self._sources.inspect(path), dialogue)
        if "\n" in text or question.id == "symptom" or self._is_described(question, text, dialogue):
            return self.describe(text, dialogue)
        if question.choices:
            hint = f"type a number from 1 to {len(question.choices)}, or ? if you do not know"
            raise _error("MM310", f"{excerpt(text)} is none of the choices", hint)
        return self._value(question, text, dialogue)

    def _complain(self, symptom: str, dialogue: Dialogue) -> Dialogue:
        """The name of a symptom, at whatever question."""
        source = (Provenance("answer", certainty="stated"),)
        fact = dialogue.doctor.base.vocabulary.fact("symptom", source, name=symptom)
        self._driver.show(self._texts.understood(Taken(facts=(fact,))))
        return dialogue.informed("symptom", [fact])

    def _value(self, question: AskedQuestion, text: str, dialogue: Dialogue) -> Dialogue:
        attribute = self._texts.phrasing.attribute(question)
        try:
            return dialogue.answered(question, value_of(text, attribute))
        except ModelMedicError as error:
            problem = error.problems[0]
            if problem.code != "MM115" or attribute is None:
                raise
            what = "it " + problem.message.partition(f"{attribute.name!r} ")[2]
            raise _error("MM310", what, "type another value, or ? if you do not know") from None

    def _is_described(self, question: AskedQuestion, text: str, dialogue: Dialogue) -> bool:
        """Whether free text is a known error, or a first complaint, rather than an invalid
        choice."""
        if not question.choices and question.sets.get("kind") != "error_message":
            return False
        complained = any(fact.kind == "symptom" for fact in dialogue.facts)
        found = self._intake.read(text)
        return found.is_error if complained else bool(found.facts)

    def describe(self, text: str, dialogue: Dialogue) -> Dialogue:
        """A description or a pasted error: matched against symptoms and error tables."""
        if text.strip() in dialogue.symptoms():
            return self._complain(text.strip(), dialogue)
        found = self._intake.read(text, known=dialogue.facts)
        if not found.facts:
            self._driver.show(self._texts.not_understood(found.near, dialogue.next()))
            self._driver.show(similar_lines(found.similar))
            return dialogue
        known = found.messages
        said = message_lines(known, len(known)) if known else self._texts.understood(found)
        self._driver.show(said)
        self._driver.show(similar_lines(found.similar))
        facts = found.facts
        if known and (stated := read_line(facts, dialogue.doctor.base.vocabulary)):
            self._driver.show([Line(stated, 2, "dim")])
        if found.is_error and not known:  # an unknown error: its triage
            source = (Provenance("answer", certainty="stated"),)
            fact = dialogue.doctor.base.vocabulary.fact
            facts = (fact("symptom", source, name=ERROR_SYMPTOM), *facts)
        return dialogue.informed("symptom", facts)

    def gather(self, words: str, dialogue: Dialogue) -> Dialogue:
        name = words.partition(" ")[0]
        self._driver.show([Line(f"Running {name} ...", 2, "dim")])
        return self.inform(name, lambda: self._sources.probe(words), dialogue)

    def inform(self, source: str, take: Callable[[], Gathered], dialogue: Dialogue) -> Dialogue:
        """Take facts from elsewhere. Ctrl-C ends that."""
        try:
            taken = take()
        except KeyboardInterrupt:
            self._driver.show([Line("Stopped; nothing was taken from it.", 2, "warning")])
            return dialogue
        self._driver.show(taken.lines)
        return dialogue.informed(source, taken.facts)


def _says_nothing(text: str) -> bool:
    """Whether the user says that there is nothing to look at."""
    return consent(text) is False or text.strip().lower() in ("none", "nothing")


def _gathered(what: str, facts: Sequence[Fact]) -> Line:
    return Line(f"{what}: {counted(len(facts), 'fact')}", 2, "dim")


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:
        return [words]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # not a valid file name
        return False


def _path(words: str) -> Path:
    text = words.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    path = Path(text[1:-1] if quoted else text)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _error(code: str, message: str, hint: str) -> ModelMedicError:
    return ModelMedicError(Problem(code, message, None, hint))
