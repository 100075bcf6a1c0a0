"""What the consultation says and understands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ....facts import Fact, Provenance
from ...dialogue import UNKNOWN, Dialogue, Offer, Question
from ..answers_text import what_if_lines, why_not_lines
from ..layout import Line
from ..report_text import how_lines, report_lines


class Words:
    """Texts of one consultation, and the ways in which facts come into it."""

    def __init__(self, doctor: Any, probes: Any) -> None:
        """``probes`` maps a probe's name to a function that returns (facts, problems)."""
        self._doctor = doctor
        self._probes = probes

    def greeting(self) -> Iterator[Line]:
        """The first lines."""
        yield Line("ModelMedic consultation. Answer with a number, a word or a value; 'unknown' is "
                   "always an answer; 'help' lists the commands.", style="heading")  # fmt: skip

    def step(self, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        """A question or an offer, with its reason."""
        yield Line()
        number = len(dialogue.entries) + 1
        if isinstance(step, Offer):
            yield Line(f"Shall I run this? {step.text} (about {step.seconds:g} s)  [yes/no]",
                       mark=f"{number}. ", style="heading")  # fmt: skip
            return
        unit = f"  (in {step.unit})" if step.unit else ""
        yield Line(step.text + unit, mark=f"{number}. ", style="heading")
        for place, (name, meaning) in enumerate(step.choices.items(), 1):
            yield Line(f"{name}: {meaning}" if meaning else name, 3, mark=f"{place}) ")
        yield Line("don't know", 3, mark="?) ")
        if step.why:
            yield Line(step.why, 3, "dim", mark="why: ")
        open_ = len(dialogue.report.unknown) if dialogue.facts else 0
        if open_:
            yield Line(f"{open_} diagnoses are still possible.", 3, "dim")

    def is_choice(self, question: Question, text: str) -> bool:
        """Whether a text is one of the choices, or 'unknown'."""
        word = text.strip()
        numbered = word.isdecimal() and 1 <= int(word) <= len(question.choices)
        return numbered or word in question.choices or word.lower() in (UNKNOWN, "?", "")

    def facts_of(self, text: str) -> list[Fact]:
        """Symptoms whose phrases fit, and what the message reader finds in error-like text."""
        from ....probes.messages import read_messages

        vocabulary = self._doctor.base.vocabulary
        source = (Provenance("answer", certainty="stated"),)
        found = [vocabulary.fact("symptom", source, name=name) for name in self._symptoms(text)]
        messages = list(read_messages(text, vocabulary, name="pasted").facts)
        known = self._doctor.diagnose(messages).messages if messages else ()
        return [*found, *(messages if known else [])]

    def run_probe(self, name: str) -> tuple[list[Fact], list[Any]]:
        """Run a probe by name."""
        run = self._probes.get(name)
        if run is None:
            from ....facts import ModelMedicError, Problem
            from ....facts.problems import did_you_mean

            hint = did_you_mean(name, self._probes) or f"there are: {', '.join(self._probes)}"
            raise ModelMedicError(
                Problem("MM311", f"no probe {name!r} can be run here", None, hint)
            )
        outcome = run()
        return list(outcome.facts), list(outcome.problems)

    def inspect(self, path: Path) -> tuple[list[Fact], list[Line]]:
        """The facts of whatever is at a path, and what was read."""
        from ..inspection import gather, read_lines
        from ..report_text import problem_lines

        facts, problems, read = gather([path], self._doctor.base.vocabulary)
        return facts, [*read_lines(read), *problem_lines(problems)]

    def load(self, path: Path) -> list[Fact]:
        """Facts from a file."""
        from ....facts.fact_file import read_facts

        return list(read_facts(path, self._doctor.base.vocabulary))

    def save(self, path: Path, dialogue: Dialogue) -> None:
        """The facts so far as a facts file."""
        import json

        from .. import output

        facts = [fact.plain() for fact in dialogue.facts]
        output.save(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}, indent=2) + "\n",
                    path)  # fmt: skip

    def answer(
        self, name: str, rest: str, step: Question | Offer, dialogue: Dialogue
    ) -> Iterable[Line]:
        """The answer of a command that only tells."""
        return getattr(self, f"_{name.replace('-', '_')}")(rest, step, dialogue)  # type: ignore[no-any-return]

    def _symptoms(self, text: str) -> list[str]:
        """Symptoms of which a phrase shares most of its words with the text, best first."""
        words = set(re.findall(r"[a-z0-9]+", text.lower())) - _SMALL
        scored = []
        for tree in self._doctor.base.catalogue["trees"].values():
            best = max((_overlap(words, phrase) for phrase in tree["phrases"]), default=0.0)
            if best >= 0.6:
                scored.append((-best, tree["symptom"]))
        return [name for _, name in sorted(scored)[:1]]

    def _why(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        yield Line((step.why if isinstance(step, Question) else step.text) or "", 2)
        for name in step.separates[:8]:
            yield Line(f"{self._doctor.base.summary(name).title}  ({name})", 4, mark="- ")

    def _how(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        facts = {i: str(f) for i, f, _ in dialogue.report.facts}
        wanted = [d for d in dialogue.report.diagnoses if rest in ("", d.id)]
        if not wanted:
            yield Line(f"{rest or 'nothing'} is not concluded", 2, "warning")
        for d in wanted:
            yield Line(f"{d.title}  ({d.id})", 2, "heading")
            yield from how_lines(d.explanation["how"], facts, 4)

    def _why_not(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        plain = dialogue.consultation.explain_absence(rest)
        facts = {i: str(f) for i, f, _ in dialogue.report.facts}
        return why_not_lines(plain, facts)

    def _whatif(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        from ..settings import parse_setting

        change = parse_setting(rest, self._doctor.base.vocabulary)
        return what_if_lines(self._doctor.what_if(dialogue.facts, [change]), self._doctor.base)

    def _facts(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        for number, entry in enumerate(dialogue.entries, 1):
            yield Line(f"{entry.question}: {entry.answer or 'gathered'}", 2, mark=f"{number}. ")
            yield from (Line(str(fact), 6, "dim") for fact in entry.facts[:20])

    def _candidates(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        for d in dialogue.report.diagnoses:
            yield Line(f"{d.title}  ({d.confidence}, {d.id})", 2, mark="- ")
        for candidate in dialogue.report.unknown:
            yield Line(f"{candidate.title}  (open, {candidate.id})", 2, mark="- ")

    def _save(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        self.save(Path(rest or "facts.json"), dialogue)
        yield Line(f"saved {rest or 'facts.json'}", 2, "dim")

    def _report(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        lines = list(report_lines(dialogue.report))
        if rest:
            from .. import output
            from ..layout import text_of

            output.save(text_of(lines), Path(rest))
            return iter([Line(f"saved {rest}", 2, "dim")])
        return iter(lines)

    def _help(self, rest: str, step: Question | Offer, dialogue: Dialogue) -> Iterator[Line]:
        from .loop import help_lines

        return help_lines()


_SMALL = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "be",
        "but",
        "by",
        "do",
        "does",
        "for",
        "from",
        "has",
        "i",
        "in",
        "is",
        "it",
        "its",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "so",
        "that",
        "the",
        "then",
        "there",
        "this",
        "to",
        "too",
        "was",
        "we",
        "what",
        "when",
        "with",
    ]
)


def _overlap(words: set[str], phrase: str) -> float:
    """Share of the phrase's words that the text has."""
    wanted = set(re.findall(r"[a-z0-9]+", phrase.lower())) - _SMALL
    return len(words & wanted) / len(wanted) if wanted else 0.0
