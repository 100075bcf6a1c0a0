"""The consultation loop: show the question, read an answer or a command, repeat.

The dialogue itself is :class:`Dialogue`; this is its user interface.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...engine.diagnosis.dialogue.dialogue import UNKNOWN, AskedQuestion, Dialogue, Offer
from ...facts import ModelMedicError, Problem
from ..reports.layout import Line, problem_lines
from . import commands, export
from .answers import choose, is_unsure
from .commands import Completion
from .conclusion import Conclusion, news, status
from .drivers import Driver, Prompt
from .explanations import Explanations
from .input_handler import InputHandler, Sources
from .phrasing import Step
from .session import SessionFile
from .texts import Texts


class Leave(Exception):
    """The user wants to leave."""


class Consultation:
    """One consultation; its entries are saved to ``session`` after each turn."""

    def __init__(
        self,
        dialogue: Dialogue,
        driver: Driver,
        sources: Sources,
        session: SessionFile | None = None,
    ) -> None:
        self.dialogue = dialogue
        self._driver = driver
        self._sources = sources
        self._session = session
        base = dialogue.doctor.base
        self._texts = Texts(base)
        self._input = InputHandler(driver, self._texts, sources)
        self._conclusion = Conclusion(base, self._texts.phrasing)
        self._explanations = Explanations(self._texts)
        self._interrupted = False
        self._shown: tuple[object, ...] | None = None
        self._page = 0
        self._concluded: tuple[object, ...] | None = None

    def run(self, told: str = "") -> Dialogue:
        """Run until the user leaves, from what was ``told`` already; returns the last dialogue."""
        self._driver.show(self._texts.greeting())
        try:
            if told:
                self.dialogue = self._input.describe(told, self.dialogue)
                self._keep()
            while True:
                self._uninterrupted()
        except Leave:
            self._farewell()
        except EOFError:  # the script or pipe has no more to say
            if self._concluded != self.dialogue.entries:
                self._driver.show(self._conclusion.lines(self.dialogue))
        return self.dialogue

    def _uninterrupted(self) -> None:
        """One turn; Ctrl-C while it thinks or shows something is not an end either."""
        try:
            self._turn(self.dialogue.next())
        except KeyboardInterrupt:
            self._interrupt(None)

    def _turn(self, step: Step) -> None:
        """One question: read a line, an answer or a command."""
        self._present(step)
        before = self.dialogue
        try:
            self._take(step, self._read(step))
            self._interrupted = False
        except KeyboardInterrupt:
            self._interrupt(step)
        except ModelMedicError as error:
            self._driver.show(problem_lines(error.problems))
        if self.dialogue is not before:
            self._page = 0
            self._keep()
            self._driver.show(news(before, self.dialogue))
            self._driver.show(self._texts.patience(self.dialogue))

    def _present(self, step: Step) -> None:
        """Show the question, once, or the conclusion if there is none."""
        current = (step_id(step), self.dialogue.entries)
        if current == self._shown:
            return
        self._shown = current
        if step is not None:
            self._driver.show(self._texts.step(step, self.dialogue, self._page))
            return
        if self._concluded != self.dialogue.entries:
            self._concluded = self.dialogue.entries
            self._driver.show(self._conclusion.lines(self.dialogue))
        self._driver.show(self._texts.closing(self.dialogue))

    def _read(self, step: Step) -> str:
        completion = Completion(step, self.dialogue, self._texts.phrasing, export.REPORT_FORMATS)
        dialogue = self.dialogue
        prompt = Prompt(self._texts.prompt(step), completion, lambda width: status(dialogue, width))
        return self._driver.read(prompt)

    def _take(self, step: Step, text: str) -> None:
        choices = self._texts.phrasing.choices(step)
        command = None if choose(text, choices) == text.strip() else commands.parse(text)
        if command is not None:
            self._command(*command, step)
        elif not text.strip() or (step is None and is_unsure(text)):
            self._empty(step, text)
        elif isinstance(step, Offer):
            self.dialogue = self._input.to_offer(step, text, self.dialogue)
        elif isinstance(step, AskedQuestion):
            self.dialogue = self._input.to_question(step, text, self.dialogue)
        else:
            self.dialogue = self._input.describe(text, self.dialogue)

    def _empty(self, step: Step, text: str) -> None:
        """Enter alone: the default answer to an offer, the end after the conclusion, else the
        question again."""
        if step is None and self.dialogue.facts and not text.strip():
            raise Leave
        if isinstance(step, Offer) and self._texts.prompt(step).startswith("[Y"):
            self.dialogue = self._input.to_offer(step, "yes", self.dialogue)
        self._shown = None
        self._page += 1

    def _skip(self, step: Step) -> None:
        if isinstance(step, AskedQuestion):
            self.dialogue = self.dialogue.answered(step, UNKNOWN)
        elif isinstance(step, Offer):
            self.dialogue = self.dialogue.declined(step)

    def _interrupt(self, step: Step) -> None:
        """Ctrl-C skips the question; twice leaves. The opening question stays."""
        if self._interrupted:
            raise Leave
        self._interrupted = True
        aside = step is not None and self.dialogue.entries
        if aside:
            self._skip(step)
        what = "Question put aside; Ctrl-C" if aside else "Ctrl-C"
        self._driver.show([Line(), Line(f"{what} again leaves.", style="dim")])

    def _command(self, name: str, rest: str, step: Step) -> None:
        if name == "quit":
            raise Leave
        if name == "skip":
            self._skip(step)
        elif name == "more":
            self._more()
        elif name == "back":
            self._back()
        elif name == "change":
            self._change(rest)
        elif name == "paste":
            self._driver.show([Line("Paste; a line with a single dot ends it.", 2, "dim")])
            block = self._driver.read_block()
            self.dialogue = self._input.describe(block, self.dialogue)
        elif name in ("probe", "inspect", "load"):
            self.dialogue = self._gathered(name, rest)
        else:
            self._driver.show(self._shown_by(name, rest, step))

    def _gathered(self, name: str, rest: str) -> Dialogue:
        if name == "probe":
            return self._input.gather(rest, self.dialogue)
        take = self._sources.inspect if name == "inspect" else self._sources.load
        return self._input.inform(f"{name} {rest}", lambda: take(rest), self.dialogue)

    def _shown_by(self, name: str, rest: str, step: Step) -> Iterable[Line]:
        """The output of a command that changes nothing."""
        if name == "help":
            return commands.help_lines()
        if name == "conclude":
            return self._conclusion.lines(self.dialogue)
        if name == "save":
            return [export.save_facts(rest, self.dialogue.facts)]
        if name == "report":
            return export.report(rest, self.dialogue, self._conclusion)
        return self._explanations.of(name, rest, step, self.dialogue)

    def _more(self) -> None:
        if not self.dialogue.paused:
            what = "there is nothing more to ask" if self.dialogue.next() is None else "go on"
            self._driver.show([Line(f"{what.capitalize()}.", 2)])
            return
        self.dialogue = self.dialogue.more()

    def _back(self) -> None:
        if not self.dialogue.entries:
            raise ModelMedicError(Problem("MM317", "there is nothing to take back", None, ""))
        self.dialogue = self.dialogue.undone()

    def _change(self, rest: str) -> None:
        """Change an earlier answer; without a new answer, ask again."""
        number, _, answer = rest.partition(" ")
        place = self._explanations.entry(number, self.dialogue)
        entry = self.dialogue.entries[place]
        probes = self.dialogue.doctor.base.vocabulary.probes
        if entry.question in probes or not (entry.answer or entry.question == "symptom"):
            hint = f"`probe {entry.question}`" if entry.question in probes else "`back`"
            what = f"{number} was not an answer to a question"
            raise ModelMedicError(Problem("MM318", what, None, f"use {hint} instead"))
        answer = answer or self._asked_again(place)
        if answer.strip():
            chosen = choose(answer, self._texts.phrasing.answers_of(entry.question))
            wanted = UNKNOWN if is_unsure(answer) else chosen or answer.strip()
            self.dialogue = self.dialogue.changed(place, wanted)

    def _asked_again(self, place: int) -> str:
        dialogue = self.dialogue
        self._driver.show(self._texts.again(dialogue.entries[place]))
        complete = Completion(None, dialogue, self._texts.phrasing, ())
        prompt = Prompt(
            "[new answer] > ",
            lambda typed: complete(f"change {place + 1} {typed}"),
            lambda width: status(dialogue, width),
        )
        return self._driver.read(prompt)

    def _keep(self) -> None:
        if self._session is not None:
            self._session.save(self.dialogue.entries)

    def _farewell(self) -> None:
        if self._concluded != self.dialogue.entries:
            self._driver.show([Line(), *self._conclusion.short(self.dialogue)])
        kept = self._session is not None and self.dialogue.entries
        text = "Goodbye."
        if kept and self._session is not None:
            text = f"Kept as {self._session.path.stem}: `diagnose --resume` goes on."
        self._driver.show([Line(text, style="dim")])


def step_id(step: Step) -> str:
    """Identifies a step."""
    return "" if step is None else step.probe if isinstance(step, Offer) else step.id
