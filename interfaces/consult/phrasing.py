"""Questions, answers, facts and conditions in plain language."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from ...engine.diagnosis.dialogue.dialogue import (
    MORE,
    UNKNOWN,
    AskedQuestion,
    HistoryEntry,
    Offer,
)
from ...facts import Attribute, Fact
from ...facts.kinds import asked
from ..reports.layout import counted
from ..reports.safe_text import one_line

Step = AskedQuestion | Offer | None
_ANSWER = re.compile(r"answer with question = '([^']+)' and value = '([^']+)'")
_SYMPTOM = re.compile(r"symptom with name = '([^']+)'")
_CONCLUDED = re.compile(r"([a-z]\w*(?:\.[\w-]+)+) (concluded|ruled out)")
_REACHED = re.compile(r"triage reached (\S+)")
_ABOUT = re.compile(r"(\w+)\((.*)\)\.(\w+)")
_DOMAINS = {"tinker": "Fine-tuning with Tinker", "neuron": "Porting a model to Neuron"}
_MAX_VALUE = 80
_PAGE = 16  # lines of choices; 24 less the question, the prompt, its menu and its toolbar


class Phrasing:
    """Texts from one knowledge base."""

    def __init__(self, base: Any) -> None:
        self._base = base

    def choices(self, step: Step) -> Mapping[str, str]:
        """The choices in the order in which they are shown and numbered."""
        if not isinstance(step, AskedQuestion):
            return {}
        if step.id != "symptom":
            return step.choices
        ordered: dict[str, str] = {}
        for _, names in self.grouped(step.choices):
            ordered |= {name: step.choices[name] for name in names}
        return ordered

    def attribute(self, question: AskedQuestion) -> Attribute | None:
        """The attribute that a typed value is for."""
        kind = self._base.vocabulary.kinds.get(str(question.sets.get("kind")))
        found: Attribute | None = (
            kind.attributes.get(str(question.sets.get("attribute"))) if kind else None
        )
        return found

    def reason(self, question: AskedQuestion) -> str:
        """Why a question is asked: as its tree says, else the diagnoses it bears on."""
        if self._node(question.id) or question.id == "symptom":
            return question.why
        if not question.separates:
            return ""
        titles = [self._base.summary(name).title for name in question.separates]
        more = f" and {len(titles) - 2} more" if len(titles) > 2 else ""
        return "It bears on: " + "; ".join(titles[:2]) + more + "."

    def hint(self, question: AskedQuestion) -> str:
        """How to find the answer, or an empty text."""
        return self.hint_of(question.id) if self.tells(question) else self._meaning(question)

    def hint_of(self, question: str) -> str:
        """How to find the answer to a question of a tree or of the vocabulary."""
        node = self._node(question)
        known = self._base.vocabulary.questions.get(question)
        return str(node.get("help", "")) if node else known.help if known else ""

    def tells(self, question: AskedQuestion) -> bool:
        """Whether the hint says how to find out, rather than what a word means."""
        known = self._base.vocabulary.questions
        return self._node(question.id) is not None or question.id in known

    def _meaning(self, question: AskedQuestion) -> str:
        """The meanings of the names in a question about a fact."""
        kind = self._base.vocabulary.kinds.get(str(question.sets.get("kind")))
        found = []
        for name, value in question.sets.items():
            attribute = kind.attributes.get(name) if kind else None
            meaning = (attribute.values or {}).get(str(value)) if attribute else ""
            found += [f"{value} means: {meaning}"] if meaning else []
        return "; ".join(found)

    def answers_of(self, question: str) -> Mapping[str, str]:
        """The answers that an earlier question allows; empty if a value was typed."""
        if question == "symptom":
            return dict(self._base.vocabulary.kinds["symptom"].attributes["name"].values or {})
        node = self._node(question)
        branches = node["branches"] if node else {}
        return {name: str(b.get("answer", "")) for name, b in branches.items() if name != UNKNOWN}

    def question_text(self, question: str) -> str:
        """The text of a question by its id; the id where it has none."""
        if question == "symptom":
            return "What is wrong?"
        if question.startswith("artefact"):
            return "What can be looked at?"
        node = self._node(question)
        known = self._base.vocabulary.questions.get(question)
        return str(node["ask"]) if node else known.text if known else self._asked(question)

    def _asked(self, question: str) -> str:
        """The text of a question about an attribute, from an id such as
        ``timing_summary(operation=result-wait).share``."""
        found = _ABOUT.fullmatch(question)
        kind = self._base.vocabulary.kinds.get(found[1]) if found else None
        attribute = kind.attributes.get(found[3]) if found and kind else None
        if found is None or kind is None or attribute is None or not attribute.ask:
            return question
        about = dict(pair.split("=", 1) for pair in found[2].split(",") if "=" in pair)
        return asked(kind, attribute.ask, about) or question

    def entry(self, entry: HistoryEntry) -> str:
        """An entry as one line: the question or source, and what it gave."""
        if entry.question == MORE:
            return "You wanted more questions."
        text = self.question_text(entry.question)
        return f"{text if text.endswith('?') else text + ':'} {self.answer_text(entry)}"

    def answer_text(self, entry: HistoryEntry) -> str:
        if entry.answer == UNKNOWN:
            return "not run" if entry.question in self._base.vocabulary.probes else "not known"
        if not entry.answer and entry.question == "symptom":
            return "; ".join(self.said(fact) for fact in entry.facts[:3])
        if not entry.answer:
            return counted(len(entry.facts), "fact")
        names = [f.get("name") for f in entry.facts if f.kind == "symptom"]
        return (
            self.symptom(str(names[0])) if names else self.answer_of(entry.question, entry.answer)
        )

    def answer_of(self, question: str, answer: str) -> str:
        """The meaning of a choice; the answer itself where there is none."""
        node = self._node(question)
        branch = node["branches"].get(answer) if node else None
        return str(branch["answer"]) if branch and branch.get("answer") else answer

    def symptom(self, name: str) -> str:
        values = self._base.vocabulary.kinds["symptom"].attributes["name"].values or {}
        return str(values.get(name, name))

    def said(self, fact: Fact) -> str:
        """A fact in plain language: a question with its answer, or the fact."""
        if fact.kind == "answer":
            question, value = str(fact.get("question")), str(fact.get("value"))
            said = "not known" if value == UNKNOWN else self.answer_of(question, value)
            return f"{self.question_text(question)} {said}"
        if fact.kind == "symptom":
            title = self.symptom(str(fact.get("name")))
            return title if fact.get("present") is not False else f"not: {title}"
        if fact.kind == "error_message":
            raised = fact.get("exception")
            return _short(f"{raised}: {fact.get('text')}" if raised else str(fact.get("text")))
        return fact_text(fact)

    def plainly(self, condition: str) -> str:
        """A condition of a rule: answers by their question, symptoms by their title."""
        if found := _ANSWER.fullmatch(condition):
            return f"{self.question_text(found[1])} {self.answer_of(found[1], found[2])}"
        if found := _CONCLUDED.fullmatch(condition):
            return f"{self._base.summary(found[1]).title} - {found[2]}"
        if found := _SYMPTOM.fullmatch(condition):
            return self.symptom(found[1])
        if found := _REACHED.fullmatch(condition):
            text = self.question_text(found[1])
            return f"the triage comes to: {text}" if text != found[1] else condition
        return condition

    def grouped(self, choices: Mapping[str, str]) -> list[tuple[str, list[str]]]:
        """Symptoms grouped by domain, if known."""
        domain = {
            tree["symptom"]: name.partition(".")[0]
            for name, tree in self._base.catalogue["trees"].items()
        }
        rank = {name: place for place, name in enumerate(_DOMAINS)}
        found: dict[str, list[str]] = {}
        for name in choices:
            found.setdefault(domain.get(name, ""), []).append(name)
        ordered = sorted(found, key=lambda name: rank.get(name, len(rank)))
        return [(_DOMAINS.get(name, name.capitalize()), found[name]) for name in ordered]

    def pages(self, question: AskedQuestion) -> list[list[tuple[str, list[str]]]]:
        """The choices in pages of groups (heading, names), so that the question stays on a screen
        of 24 lines. The numbers run on over the pages."""
        if question.id != "symptom":
            return [[("", list(question.choices))]]
        chunks = [
            (heading, names[at : at + _PAGE - 1])
            for heading, names in self.grouped(question.choices)
            for at in range(0, len(names), _PAGE - 1)
        ]
        pages: list[list[tuple[str, list[str]]]] = []
        room = 0
        for heading, names in chunks:
            if len(names) >= room:
                pages.append([])
                room = _PAGE
            pages[-1].append((heading, names))
            room -= 1 + len(names)
        return pages

    def _node(self, question: str) -> Mapping[str, Any] | None:
        tree, _, name = question.rpartition("/")
        known = self._base.catalogue["trees"].get(tree)
        node: Mapping[str, Any] | None = known["nodes"].get(name) if known else None
        return node


def fact_text(fact: Fact) -> str:
    """A fact as it is typed: ``package name=pydantic version=2.14.3``."""
    pairs = (f"{name}={_quoted(value)}" for name, value in fact.values)
    return " ".join([fact.kind, *pairs])


def _quoted(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shlex.quote(_short(one_line(str(value))))


def _short(text: str) -> str:
    from ...facts.redaction.masking import cut

    return cut(text, _MAX_VALUE)
