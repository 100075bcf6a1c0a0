"""The commands that explain: why, how, why-not, whatif, facts, candidates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...engine.diagnosis.dialogue.dialogue import AskedQuestion, Dialogue, Offer
from ...facts import Fact, ModelMedicError, Problem
from ...facts.problems import did_you_mean
from ..reports.answers_text import what_if_lines, why_not_lines
from ..reports.formats.text import how_lines
from ..reports.layout import Line
from .answers import choose, consent, value_of
from .phrasing import Step
from .texts import Texts

_QUANTITY = re.compile(r"[+-]?[0-9]")


class Explanations:
    """Answers the explaining commands."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def of(self, command: str, rest: str, step: Step, dialogue: Dialogue) -> Iterable[Line]:
        """The answer of a command. Raises :class:`ModelMedicError` (MM303, MM304, MM318) for an
        argument that names nothing."""
        answers: dict[str, Callable[[], Iterable[Line]]] = {
            "why": lambda: self._texts.why(step),
            "how": lambda: self._how(rest, dialogue),
            "why-not": lambda: self._why_not(rest, dialogue),
            "whatif": lambda: self._whatif(rest, step, dialogue),
            "facts": lambda: self._texts.known(dialogue),
            "candidates": lambda: self._candidates(dialogue),
        }
        return list(answers[command]())

    def entry(self, number: str, dialogue: Dialogue) -> int:
        """The index of the entry with this number, or with this word in its question."""
        entries = dialogue.entries
        if number.rstrip(".").isdecimal() and 1 <= int(number.rstrip(".")) <= len(entries):
            return int(number.rstrip(".")) - 1
        named = [
            place
            for place, entry in enumerate(entries)
            if number and number.lower() in entry.question.lower()
        ]
        if len(named) == 1:
            return named[0]
        hint = f"`facts` numbers them, 1 to {len(entries)}" if entries else "nothing is known yet"
        what = f"there is no answer {number!r}" if number else "say which answer: `change N`"
        raise ModelMedicError(Problem("MM318", what, None, hint))

    def _how(self, rest: str, dialogue: Dialogue) -> Iterator[Line]:
        report = dialogue.report
        facts = {i: self._texts.phrasing.said(fact) for i, fact, _ in report.facts}
        found = {d.id: d for d in report.diagnoses}
        out = {r.id: r for r in report.ruled_out}
        if not rest:
            if not found:
                yield Line("Nothing is concluded yet.", 2)
            for d in found.values():
                yield Line(f"{d.title}  ({d.id}, {d.confidence})", 2, "heading")
                yield from how_lines(self._plain(d.explanation["how"]), facts, 4)
            return
        if rest in found or rest in out:
            title = (found.get(rest) or out[rest]).title
            yield Line(f"{title}  ({rest})", 2, "heading")
            if rest in found:
                yield from how_lines(self._plain(found[rest].explanation["how"]), facts, 4)
            if rest in out:
                yield Line("It is ruled out:", 4)
                yield from how_lines(self._plain(out[rest].because), facts, 4)
            return
        self._known(rest, dialogue)
        yield Line(f"{rest} is not concluded; `why-not {rest}` says why.", 2)

    def _why_not(self, rest: str, dialogue: Dialogue) -> Iterator[Line]:
        self._known(rest, dialogue)
        plain = dialogue.consultation.explain_absence(rest)
        facts = {i: self._texts.phrasing.said(fact) for i, fact, _ in dialogue.report.facts}
        for way in plain["ways"]:
            way["holds"] = [self._texts.phrasing.plainly(held) for held in way["holds"]]
            for gap in (*way["missing"], *way["contradicted"]):
                gap["condition"] = self._texts.phrasing.plainly(gap["condition"])
        return why_not_lines(plain, facts)

    def _whatif(self, rest: str, step: Step, dialogue: Dialogue) -> Iterator[Line]:
        doctor, facts = dialogue.doctor, dialogue.facts
        change = self._supposed(rest, step, dialogue)
        yield Line("; ".join(self._texts.phrasing.said(fact) for fact in change), 2, mark="If: ")
        yield from what_if_lines(doctor.what_if(facts, change), doctor.base)

    def _supposed(self, rest: str, step: Step, dialogue: Dialogue) -> tuple[Fact, ...]:
        """The hypothetical facts: an answer to this question or an earlier one, a symptom, or a
        fact."""
        from ..settings import parse_setting

        number, equals, answer = rest.partition("=")
        if equals and number.strip().isdecimal():
            place = self.entry(number.strip(), dialogue)
            entry = dialogue.entries[place]
            word = choose(answer, self._texts.phrasing.answers_of(entry.question)) or answer.strip()
            return dialogue.changed(place, word).entries[place].facts
        choices: Mapping[str, str] = self._texts.phrasing.choices(step)
        chosen = choose(rest, choices)
        if isinstance(step, AskedQuestion) and chosen:
            facts = dialogue.answered(step, chosen).entries[-1].facts
            if facts:
                return facts
        self._answers_something(rest, step)
        if isinstance(step, AskedQuestion) and not choices and _QUANTITY.match(rest):
            value = value_of(rest, self._texts.phrasing.attribute(step))
            return dialogue.answered(step, value).entries[-1].facts
        vocabulary = dialogue.doctor.base.vocabulary
        if rest in dialogue.symptoms():
            return (parse_setting(f"symptom name={rest}", vocabulary),)
        return (parse_setting(rest, vocabulary),)

    def _answers_something(self, said: str, step: Step) -> None:
        """Raises if it is a mere answer, and nothing is asked that has it."""
        choices = self._texts.phrasing.choices(step)
        mere = consent(said) is not None or said.isdecimal() or said in choices
        if not mere or (isinstance(step, AskedQuestion) and not choices):
            return
        hint = "suppose a fact, such as `whatif hang`, or an earlier answer, such as `whatif 3=no`"
        if isinstance(step, Offer):
            what = "a probe is offered; what it would find is not yes or no"
        elif choose(said, choices):
            what = "what there is to look at supposes nothing"
        elif choices:
            what = f"{said!r} is none of the answers to this question"
            hint = "such as " + ", ".join(f"`whatif {name}`" for name in list(choices)[:3])
        else:
            what = f"no question is open that {said!r} answers"
        raise ModelMedicError(Problem("MM310", what, None, hint))

    def _candidates(self, dialogue: Dialogue) -> Iterator[Line]:
        report = dialogue.report
        possible = dialogue.possible() if dialogue.facts else ()
        if not (report.diagnoses or possible or report.ruled_out):
            yield Line("Nothing is concluded and nothing stands out yet.", 2)
            return
        groups = (
            ("Concluded:", [(d.title, d.id, d.confidence) for d in report.diagnoses]),
            ("Still possible:", [(c.title, c.id, "") for c in possible]),
            ("Ruled out:", [(r.title, r.id, "") for r in report.ruled_out]),
        )
        for heading, found in groups:
            if found:
                yield Line(heading, 2, "heading")
            for title, name, confidence in found:
                note = f"{confidence}, {name}" if confidence else name
                yield Line(f"{title}  ({note})", 4, mark="- ")

    def _plain(self, how: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """A derivation with its conditions in plain language."""
        return [
            dict(step)
            | {
                "because": [
                    dict(premise)
                    | {
                        "condition": self._texts.phrasing.plainly(premise["condition"]),
                        "how": self._plain(premise.get("how", ())),
                    }
                    for premise in step["because"]
                ]
            }
            for step in how
        ]

    def _known(self, name: str, dialogue: Dialogue) -> None:
        """Raises unless ``name`` is a diagnosis."""
        ids = dialogue.doctor.base.catalogue["diagnoses"]
        if name not in ids:
            hint = did_you_mean(name, ids) or "Tab completes ids; `candidates` lists the likely"
            what = f"there is no diagnosis {name!r}" if name else "say which diagnosis"
            raise ModelMedicError(Problem("MM303", what, None, hint))
