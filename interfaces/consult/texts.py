"""The texts of a consultation: questions, offers, known facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...engine.diagnosis.dialogue.dialogue import (
    UNKNOWN,
    AskedQuestion,
    Dialogue,
    HistoryEntry,
    Offer,
)
from ..intake import Taken
from ..reports.layout import Line
from ..stated import is_stated, read_line
from .phrasing import Phrasing, Step, fact_text

_OPENING = "What is wrong? Say it in your own words, paste the error, or choose:"
_MAX_FACTS = 12
_MANY_UNKNOWN = 5


class Texts:
    """Texts of one consultation."""

    def __init__(self, base: Any) -> None:
        self._base = base
        self.phrasing = Phrasing(base)

    def greeting(self) -> Iterator[Line]:
        yield Line("ModelMedic consultation.", style="heading")
        yield Line(
            "'?' means \"I do not know\", `help` lists the commands, and an error message "
            "can be pasted at any time.",
            style="dim",
        )

    def step(self, step: Step, dialogue: Dialogue, page: int = 0) -> Iterator[Line]:
        """A question or an offer, with its reason. ``page`` is that of a long menu."""
        yield Line()
        number = len(dialogue.entries) + 1
        if isinstance(step, Offer):
            yield from self._offer(step, number)
        elif step is not None:
            text = _OPENING if step.id == "symptom" else step.text + self._form(step)
            yield Line(text, mark=f"{number}. ", style="heading")
            yield from self._options(step, page)
            if step.id != "symptom":
                yield from self._reasons(step, dialogue)

    def prompt(self, step: Step) -> str:
        if step is None:
            return "> "
        if isinstance(step, Offer):
            if step.reads:
                return "[path, n or none] > "
            if self._in_environment(step):
                return "[path, y or n] > "
            return "[y/N] > " if self.uses_network(step) else "[Y/n] > "
        if step.id == "symptom":
            return f"[1-{len(step.choices)}, your words, or ?] > "
        return f"[1-{len(step.choices)} or ?] > " if step.choices else "[value or ?] > "

    def uses_network(self, offer: Offer) -> bool:
        """Whether the probe uses the network; then it is only run after an explicit yes."""
        probe = self._base.vocabulary.probes.get(offer.probe)
        return bool(probe and probe.network)

    def _in_environment(self, offer: Offer) -> bool:
        """Whether the probe looks at a Python environment, which need not be the one we run in."""
        probe = self._base.vocabulary.probes.get(offer.probe)
        return bool(probe and probe.alone and not probe.network)

    def patience(self, dialogue: Dialogue) -> Iterator[Line]:
        """After every fifth unknown answer in a row: how to stop or give evidence instead."""
        unknown = 0
        for entry in reversed(dialogue.entries):
            if entry.answer != UNKNOWN:
                break
            unknown += 1
        if unknown and unknown % _MANY_UNKNOWN == 0:
            yield Line(
                "`conclude` says what follows so far; `inspect PATH` may spare you questions.",
                2,
                "dim",
            )

    def closing(self, dialogue: Dialogue) -> Iterator[Line]:
        """Advice when there is nothing left to ask."""
        yield Line()
        if not dialogue.facts:
            yield Line(
                "Give me something to go by: `inspect PATH` reads a run folder, a log, a script, "
                "data or weights; `probe environment` looks at the installed packages; or describe "
                "the problem in other words. `quit` leaves."
            )
            return
        if dialogue.paused:
            yield Line("`more` asks on, or tell me anything that you find out.")
        packet = any(d.packet for d in dialogue.report.diagnoses)
        hand_over = "`report packet` writes what to hand over. " if packet else ""
        yield Line(
            f"{hand_over}`save` keeps the facts, `report report.md` writes the report, `how` and "
            "`why-not ID` explain, `back` and `change N` correct an answer, `inspect PATH` adds "
            "evidence. Enter leaves.",
            style="dim",
        )

    def understood(self, found: Taken) -> Iterator[Line]:
        """The symptoms in a text, those that it denies, and the causes that it names."""
        plain = [fact for fact in found.facts if not is_stated(fact)]
        heard = [f for f in plain if f.kind in ("symptom", "error_message")] or plain
        for fact in heard[:_MAX_FACTS]:
            mark = "" if fact.get("present") is False else "understood: "
            yield Line(self.phrasing.said(fact), 2, "dim", mark=mark)
        if len(heard) > _MAX_FACTS:
            yield Line(f"and {len(heard) - _MAX_FACTS} more", 2, "dim")
        if stated := read_line(found.facts, self._base.vocabulary):
            yield Line(stated, 2, "dim")
        for tree in dict.fromkeys(found.onward.values()):
            told = f"no triage of its own; if this is so as well, type {tree}: "
            yield Line(told + self.phrasing.symptom(tree), 2, "dim")
        for name in found.causes:
            yield Line(f"{self._base.summary(name).title}  ({name})", 2, "dim", mark="you name: ")
        if any(fact.kind == "symptom" for fact in heard):
            yield Line("If that is not what you mean, `back` takes it back.", 2, "dim")

    def not_understood(self, near: Sequence[str], step: Step) -> Iterator[Line]:
        """A text that matches nothing, with similar symptoms."""
        if isinstance(step, Offer):
            yes = "" if step.reads else "y to run it, "
            path = "a path, " if step.reads or self._in_environment(step) else ""
            yield Line(f"Type {yes}{path}or n to go on without.", style="warning")
            return
        if step is None:
            text = "That is not a command, a symptom or a known error; `help` lists the commands."
            yield Line(text, style="warning")
            return
        if step.id != "symptom":
            yield Line(
                "No error table knows that text; the question is still open.", style="warning"
            )
            return
        told = (
            "I am not sure what that means. If it is one of these, type its number; else say it "
            "in other words, or paste the exact message."
            if near
            else "No symptom and no known error fits that well. Paste the exact message if there "
            "is one, or choose."
        )
        yield Line(told, style="warning")
        numbers = {name: n for n, name in enumerate(self.phrasing.choices(step), 1)}
        for name in near:
            number = f"{numbers[name]}) " if name in numbers else "- "
            yield Line(self.phrasing.symptom(name), 2, mark=f"near: {number}")

    def again(self, entry: HistoryEntry) -> Iterator[Line]:
        yield Line(self.phrasing.question_text(entry.question), 2, "heading")
        for number, (name, text) in enumerate(self.phrasing.answers_of(entry.question).items(), 1):
            yield Line(text or name, 5, mark=f"{number}) ")
        yield Line(self.phrasing.answer_text(entry), 5, "dim", mark="so far: ")

    def why(self, step: Step) -> Iterator[Line]:
        """Why this is asked, how to find out, and what it bears on."""
        if step is None:
            yield Line("Nothing is asked: no answer would change the outcome.", 2)
            return
        if isinstance(step, AskedQuestion):
            reason = self.phrasing.reason(step) or "It could settle something that is still open."
            yield Line(reason, 2)
            if hint := self.phrasing.hint(step):
                yield Line(hint, 2, mark="How to tell: " if self.phrasing.tells(step) else "")
        else:
            yield Line("It finds out without asking you.", 2)
            yield Line(step.command, 2, "command", mark="$ ", keep=True)
        if step.separates:
            yield Line("It bears on:", 2)
        for name in step.separates[:8]:
            yield Line(f"{self._base.summary(name).title}  ({name})", 4, mark="- ")

    def known(self, dialogue: Dialogue) -> Iterator[Line]:
        """All answers and gathered facts, with the numbers that `change` takes."""
        if not dialogue.entries:
            yield Line("Nothing is known yet.", 2)
        for number, entry in enumerate(dialogue.entries, 1):
            yield Line(self.phrasing.entry(entry), 2, mark=f"{number}. ")
            if entry.answer or entry.question == "symptom":
                continue
            for fact in entry.facts[:_MAX_FACTS]:
                yield Line(fact_text(fact), 6, "dim", mark="- ")
            if len(entry.facts) > _MAX_FACTS:
                yield Line(f"and {len(entry.facts) - _MAX_FACTS} more", 6, "dim")

    def _offer(self, offer: Offer, number: int) -> Iterator[Line]:
        if offer.reads:
            wanted = self._base.vocabulary.probes[offer.probe].prompt or "this"
            yield Line(f"Do you have {wanted}? Type its path.", mark=f"{number}. ", style="heading")
            yield Line(offer.text, 3, "dim", mark="It shows: ")
            yield Line("n goes on without it, none stops asking for files.", 3, "dim")
            return
        network = ", over the network" if self.uses_network(offer) else ""
        yield Line("Shall I find this out?", mark=f"{number}. ", style="heading")
        yield Line(f"{offer.text} (about {offer.seconds:g} s{network})", 3)
        if self._in_environment(offer):
            text = (
                "Type the path of the environment that the training runs in, such as .venv; "
                "or y for the one that runs ModelMedic."
            )
            yield Line(text, 3)

    def _form(self, question: AskedQuestion) -> str:
        """The kind of value to type."""
        known = self.phrasing.attribute(question)
        if question.choices or known is None:
            return ""
        unit = f" in {question.unit}" if question.unit else ""
        low, high = known.minimum, known.maximum
        limits = f", {low:g} to {high:g}" if low is not None and high is not None else ""
        if known.maximum == 1 and known.type == "number" and not unit:
            return "  (such as 3 of 12, 25 %, or 0.25)"
        kinds = {"integer": "a whole number", "number": "a number", "version": "a version"}
        return f"  ({kinds[known.type]}{unit}{limits})" if known.type in kinds else ""

    def _options(self, question: AskedQuestion, page: int) -> Iterator[Line]:
        numbers = {name: n for n, name in enumerate(self.phrasing.choices(question), 1)}
        width = len(str(len(numbers)))
        pages = self.phrasing.pages(question)
        for heading, names in pages[page % len(pages)] if pages else ():
            if heading:
                yield Line(heading, 3, "dim")
            for name in names:
                text = question.choices[name] or name
                if question.id.startswith("artefact"):
                    text = self._base.vocabulary.probes[name].prompt or text
                yield Line(text, 5 if heading else 3, mark=f"{numbers[name]:>{width}}) ")
        indent = 5 if question.id == "symptom" else 3
        yield Line("I do not know", indent, mark=f"{'?':>{width}}) ")
        if len(pages) > 1:
            after = pages[(page + 1) % len(pages)]
            names = [name for _, found in after for name in found]
            about = ", ".join(dict.fromkeys(heading for heading, _ in after))
            text = f"Enter shows {numbers[names[0]]} to {numbers[names[-1]]}: {about}"
            yield Line(text, 3, "dim")

    def _reasons(self, question: AskedQuestion, dialogue: Dialogue) -> Iterator[Line]:
        open_ = len(dialogue.possible())
        possible = f"({open_} diagnoses are still possible)" if open_ > 1 else ""
        why = self.phrasing.reason(question)
        if why or possible:
            yield Line(f"{why} {possible}".strip(), 3, "dim", mark="Why: " if why else "")
        if hint := self.phrasing.hint(question):
            mark = "How to tell: " if self.phrasing.tells(question) else ""
            yield Line(hint, 3, "dim", mark=mark)
