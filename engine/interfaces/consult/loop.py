"""The consultation loop: shows the question, reads an answer or a command, goes on.

The dialogue itself is :class:`modelmedic.engine.dialogue.Dialogue`; here are only its words.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ....facts import ModelMedicError
from ...dialogue import UNKNOWN, Dialogue, Offer, Question
from ..layout import Line
from ..report_text import problem_lines, report_lines
from .drivers import Driver
from .words import Words


class Leave(Exception):
    """The person wants to leave."""


class Command(NamedTuple):
    """A command of the prompt: what follows it, and one line of help."""

    argument: str
    help: str


COMMANDS: dict[str, Command] = {
    "why": Command("", "why this is asked"),
    "how": Command("[ID]", "what a conclusion follows from"),
    "why-not": Command("ID", "what keeps a diagnosis away"),
    "whatif": Command("FACT", "what would change, such as: package name=pydantic version=2.14.3"),
    "back": Command("", "take the last answer back"),
    "change": Command("N ANSWER", "answer question N otherwise"),
    "skip": Command("", "leave this question unanswered"),
    "facts": Command("", "what is known so far"),
    "candidates": Command("", "what is still possible"),
    "probe": Command("NAME", "let a probe find out"),
    "inspect": Command("PATH", "read a run folder, log, script, data, weights ..."),
    "save": Command("FILE", "save the facts"),
    "load": Command("FILE", "take facts from a file"),
    "report": Command("[FILE]", "the report so far"),
    "help": Command("", "these commands"),
    "quit": Command("", "leave"),
}


class Consultation:
    """One run of the loop; the dialogue is saved to ``saved`` after each turn."""

    def __init__(
        self,
        dialogue: Dialogue,
        driver: Driver,
        words: Words,
        saved: Path | None = None,
    ) -> None:
        self.dialogue = dialogue
        self._driver = driver
        self._words = words
        self._saved = saved
        self._interrupted = False

    def run(self) -> Dialogue:
        """Until nothing is left to ask or the person leaves; returns the last dialogue."""
        self._driver.show(self._words.greeting())
        try:
            while (step := self.dialogue.next()) is not None:
                self._turn(step)
        except (EOFError, Leave):
            self._driver.show([Line("Leaving the consultation.", style="dim")])
        self._driver.show([Line(), *report_lines(self.dialogue.report)])
        return self.dialogue

    def _turn(self, step: Question | Offer) -> None:
        """One question: read until it is answered or a command has changed the dialogue."""
        self._driver.show(self._words.step(step, self.dialogue))
        try:
            text = self._driver.read("> ", lambda: self._completions(step), self._status())
            self._interrupted = False
        except KeyboardInterrupt:
            self._interrupt(step)
            return
        try:
            self._take(step, text)
        except ModelMedicError as error:
            self._driver.show(problem_lines(error.problems))
        self._autosave()

    def _interrupt(self, step: Question | Offer) -> None:
        """Ctrl-C once cancels the question, twice leaves."""
        if self._interrupted:
            raise Leave
        self._interrupted = True
        self._skip(step)
        self._driver.show([Line("Question skipped; Ctrl-C again leaves.", style="dim")])

    def _take(self, step: Question | Offer, text: str) -> None:
        word, _, rest = text.strip().partition(" ")
        if word in COMMANDS and not (isinstance(step, Question) and word in step.choices):
            self._command(word, rest.strip(), step)
        elif isinstance(step, Offer):
            self._offered(step, text)
        elif step.id == "symptom" and not self._words.is_choice(step, text):
            self._own_words(text)
        else:
            self.dialogue = self.dialogue.answered(step, text)

    def _offered(self, offer: Offer, text: str) -> None:
        if text.strip().lower() in ("", "y", "yes", "1"):
            self._gather(offer.probe)
        else:
            self.dialogue = self.dialogue.declined(offer)

    def _own_words(self, text: str) -> None:
        """A description or a pasted error: matched against symptoms and error tables."""
        facts = self._words.facts_of(text)
        if not facts:
            self._driver.show([Line("That matches no symptom and no known error; choose a number, "
                                    "or paste the error message.", style="warning")])  # fmt: skip
            return
        for fact in facts:
            self._driver.show([Line(str(fact), 2, "dim", mark="understood: ")])
        self.dialogue = self.dialogue.informed("symptom", facts)

    def _gather(self, probe: str) -> None:
        facts, problems = self._words.run_probe(probe)
        self._driver.show(problem_lines(problems))
        self._driver.show([Line(f"{probe}: {len(facts)} facts", 2, "dim")])
        self.dialogue = self.dialogue.informed(probe, facts)

    def _skip(self, step: Question | Offer) -> None:
        if isinstance(step, Question):
            self.dialogue = self.dialogue.answered(step, UNKNOWN)
        else:
            self.dialogue = self.dialogue.declined(step)

    def _command(self, name: str, rest: str, step: Question | Offer) -> None:
        if name == "quit":
            raise Leave
        if name == "skip":
            self._skip(step)
        elif name == "back":
            self.dialogue = self.dialogue.undone()
        elif name == "change":
            number, _, answer = rest.partition(" ")
            self.dialogue = self._changed(number, answer)
        elif name == "probe":
            self._gather(rest)
        elif name == "inspect":
            facts, lines = self._words.inspect(Path(rest))
            self._driver.show(lines)
            self.dialogue = self.dialogue.informed(f"inspect {rest}", facts)
        elif name == "load":
            self.dialogue = self.dialogue.informed(f"load {rest}", self._words.load(Path(rest)))
        else:
            self._driver.show(self._words.answer(name, rest, step, self.dialogue))

    def _changed(self, number: str, answer: str) -> Dialogue:
        if not number.isdecimal() or not 1 <= int(number) <= len(self.dialogue.entries):
            self._driver.show([Line("change N ANSWER: N is a number of `facts`", style="warning")])
            return self.dialogue
        return self.dialogue.changed(int(number) - 1, answer)

    def _completions(self, step: Question | Offer) -> list[tuple[str, str]]:
        choices = list(step.choices.items()) if isinstance(step, Question) else [("yes", "run it")]
        commands = [(name, command.help) for name, command in COMMANDS.items()]
        return [*choices, (UNKNOWN, "do not know"), *commands]

    def _status(self) -> str:
        report = self.dialogue.report
        leading = next(iter(report.diagnoses), None)
        shown = leading.title if leading else "nothing concluded yet"
        return f"{shown} | {len(report.unknown)} open | why  back  facts  help  quit"

    def _autosave(self) -> None:
        if self._saved is not None:
            self._words.save(self._saved, self.dialogue)
            self._saved.chmod(0o600)  # its folder lets nobody else in meanwhile


def help_lines() -> Iterator[Line]:
    """The table of commands."""
    for name, command in COMMANDS.items():
        yield Line(f"{command.help}", 2, mark=f"{name} {command.argument}".ljust(20))
