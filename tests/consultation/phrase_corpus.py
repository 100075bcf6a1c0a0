"""Phrases, and what is meant by them, from the files in ``words``."""

import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from modelmedic.authoring.lint.lexicon import digest
from modelmedic.engine.diagnosis.words.understood import Understanding
from modelmedic.facts.strict_yaml import load

CORPUS = Path(__file__).with_name("words")
OF_TREES = ("corpus.yaml", "later.yaml")
"""Files that were written when only the symptoms of trees were told apart."""
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
_DRAWS = 4
ALL_APART = ("authors/d.yaml", "authors/e.yaml")
"""The files that nothing is learned from; the thresholds were set with the first in view."""
_APART = {"corpus.yaml": "02468ace", "others.yaml": "0369cf", "authors": "0148c"}
"""The last digits of phrases that are not learned from."""


class Phrase(NamedTuple):
    """The words of a user, and what they mean."""

    text: str
    symptoms: frozenset[str] = frozenset()
    diagnosis: str = ""
    denied: frozenset[str] = frozenset()
    drawn: bool = False  # from a written one with choices

    @property
    def blind(self) -> bool:
        """Whether it belongs to the half that is never used for tuning."""
        return set_apart("corpus.yaml", self.text)

    def led(self, leads: Mapping[str, str]) -> "Phrase":
        """The phrase, with the symptoms whose triages go on from what it means."""
        symptoms = frozenset(leads.get(name, name) for name in self.symptoms)
        denied = frozenset(leads.get(name, name) for name in self.denied)
        return self._replace(symptoms=symptoms, denied=denied)

    def verdict(self, found: Understanding) -> str:
        """right, wrong, near (the right one is offered) or nothing (it is not)."""
        if not found.symptoms:
            offered = bool(self.symptoms & set(found.near))
            return "right" if not self.symptoms else "near" if offered else "nothing"
        agrees = self.symptoms == set(found.symptoms)
        denies = not self.denied or self.denied == set(found.denied)
        if not agrees or not denies:
            return "wrong"
        return "right" if self.diagnosis in ("", *found.diagnoses) else "near"


def set_apart(name: str, text: str) -> bool:
    """Whether a phrase of a file is not learned from: half of the corpus, a third of what others
    wrote, and all of one author."""
    if name in ALL_APART:
        return True
    last = hashlib.sha256(text.encode()).hexdigest()[-1]
    return last in _APART.get(name.split("/", maxsplit=1)[0], "")


def training_files() -> list[str]:
    """All files, by their path in ``words``."""
    return sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.yaml"))


def phrases(name: str) -> list[Phrase]:
    data: dict[str, Any] = load((CORPUS / name).read_text(encoding="utf-8"), name).data
    said = data.get("symptoms", {}).items()
    found = [p._replace(symptoms=frozenset({s})) for s, texts in said for p in _all_drawn(texts)]
    for cause in data.get("causes", ()):
        named = (frozenset({cause["symptom"]}), cause["diagnosis"])
        found += [Phrase(text, *named) for text in cause["phrases"]]
    for each in data.get("several", ()):
        denied = frozenset(each.get("not", ()))
        found.append(Phrase(each["text"], frozenset(each["symptoms"]), "", denied))
    for name, texts in data.get("denied", {}).items():
        denied = frozenset({name})
        found += [p._replace(denied=denied) for p in _all_drawn(texts)]
    return found + list(_all_drawn(data.get("unknown", ())))


def learned_from(words: Mapping[str, Any]) -> str:
    """The digests of the topics and of the files that weights are learned from."""
    files = b"".join((CORPUS / name).read_bytes() for name in training_files())
    return f"{digest(words['topics'])} {hashlib.sha256(files).hexdigest()[:16]}"


def _all_drawn(written: Iterable[str]) -> Iterator[Phrase]:
    for each in written:
        texts = drawn(each)
        yield from (Phrase(text, drawn=texts != [each]) for text in texts)


def drawn(written: str) -> list[str]:
    """The phrases that a written one stands for: of each choice, ``(a|b)``, all are drawn at least
    once, and some of all the ways to put them together; always the same."""
    choices = [match[1].split("|") for match in _CHOICE.finditer(written)]
    if not choices:
        return [written]
    chance = random.Random(written)
    turns = [_turns(choice, chance) for choice in choices]
    many = max(_DRAWS, *map(len, choices))
    rest = _CHOICE.sub("{}", written.replace("{", "{{").replace("}", "}}"))
    found = {rest.format(*(next(each) for each in turns)) for _ in range(many)}
    return sorted({re.sub(r"\s+", " ", text).strip() for text in found})


def _turns(choice: list[str], chance: random.Random) -> Iterator[str]:
    while True:
        yield from chance.sample(choice, len(choice))
