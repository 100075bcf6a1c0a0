"""Checks the lexicon: every symptom has phrases, and every phrase is understood as its symptom."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from ...engine.compiler.catalogue import words
from ...engine.compiler.source.knowledge_source import Item
from ...engine.compiler.source.lexicon_file import LexiconFile
from ...engine.diagnosis.words.lexicon import clashes
from ...engine.diagnosis.words.understanding import Understander
from ...facts import Location, Problem
from ...facts.problems import did_you_mean
from ...facts.strict_yaml import Document
from .lint_context import Subject

FEWEST_PHRASES = 5


def lexicon_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of all lexicons, and symptoms that are in none of them. Knowledge without a lexicon
    need not have one."""
    if not subject.source.lexicons:
        return
    yield from _unknown_names(subject)
    yield from _clashing_words(subject)
    yield from _misunderstood(subject)
    yield from _speechless(subject)
    yield from _stale_weights(subject)


def digest(topics: Sequence[Sequence[object]]) -> str:
    """The digest of the topics that weights were learned from."""
    return hashlib.sha256(json.dumps(topics).encode()).hexdigest()[:16]


def _stale_weights(subject: Subject) -> Iterator[Problem]:
    """Weights learned from an earlier state of the topics. The topics of overlays are never learned
    from, so nothing is reported under overlays."""
    if subject.built.compiled.overlays:
        return
    topics = words(subject.source)["topics"]
    for document, file in subject.source.lexicons:
        learned = file.weights.learned_from.split() if file.weights else []
        if learned and learned[0] != digest(topics):
            message = "the learned weights are stale: the phrases have changed since"
            where = document.where(("weights", "learned_from"))
            yield Problem("MM228", message, where, "run `make words`")


def _symptoms(subject: Subject) -> set[str]:
    return set(subject.vocabulary.kinds["symptom"].attributes["name"].values or ())


def _unknown_names(subject: Subject) -> Iterator[Problem]:
    """Symptoms, diagnoses and concepts that do not exist."""
    diagnoses = {item.id for item in subject.source.of("diagnosis")}
    concepts = {name for _, file in subject.source.lexicons for name in file.concepts}
    for document, file in subject.source.lexicons:
        for name, concept in file.concepts.items():
            at = document.where(("concepts", name, "negated_is"))
            yield from _unless_known("concept", concept.negated_is, concepts, at)
        for name, tree in file.leads_to.items():
            at = document.where(("leads_to", name))
            yield from _unless_known("symptom", name, _symptoms(subject), at)
            yield from _unless_known("symptom", tree, _symptoms(subject), at)
        for number, topic in enumerate(file.topics):
            at = document.where(("topics", number, "symptom"))
            yield from _unless_known("symptom", topic.symptom, _symptoms(subject), at)
            at = document.where(("topics", number, "diagnosis"))
            yield from _unless_known("diagnosis", topic.diagnosis or "", diagnoses, at)


def _unless_known(what: str, name: str, known: set[str], where: Location) -> Iterator[Problem]:
    if name and name not in known:
        hint = did_you_mean(name, known) or "mend the spelling"
        yield Problem("MM224", f"there is no {what} {name!r}", where, hint)


def _clashing_words(subject: Subject) -> Iterator[Problem]:
    """Words that two concepts claim, once their endings are dropped."""
    places: dict[tuple[str, str], tuple[Document, int]] = {}
    said = []
    for document, file in subject.source.lexicons:
        for name, concept in file.concepts.items():
            for number, word in enumerate(concept.words):
                places.setdefault((name, word), (document, number))
                said.append((name, word))
    for word, first, second in clashes(said):
        document, number = places[second, word]
        message = f"{word!r} stands for the concept {first!r} already"
        where = document.where(("concepts", second, "words", number))
        yield Problem(
            "MM225", message, where, f"leave it to one of the two, or join {second!r} to it"
        )


def _misunderstood(subject: Subject) -> Iterator[Problem]:
    """Phrases that are not read as their symptom."""
    symptoms = _symptoms(subject)
    plain = words(subject.source)
    known = [topic for topic in plain["topics"] if topic[0] in symptoms]
    understander = Understander({**plain, "topics": known})
    for document, path, symptom, phrase in _phrases(subject):
        if symptom not in symptoms or not subject.wants(document):
            continue  # an unknown symptom is reported already
        found = understander.understand(phrase)
        if symptom in found.symptoms:
            continue
        taken = found.symptoms or found.near
        read = f"is read as {', '.join(taken)}" if taken else "is not understood"
        hint = "add its words to concepts, or say it in a way that tells it from the others"
        yield Problem("MM226", f"{phrase!r} {read}", document.where(path), hint)


def _phrases(subject: Subject) -> Iterator[tuple[Document, tuple[str | int, ...], str, str]]:
    """The phrases of lexicons and trees, with their places."""
    for document, file in subject.source.lexicons:
        for number, topic in enumerate(file.topics):
            for n, phrase in enumerate(topic.phrases):
                yield document, ("topics", number, "phrases", n), topic.symptom, phrase
    for item in _trees(subject, subject.source.of("tree")):
        for n, phrase in enumerate(item.entry.symptom.phrases):
            path = (*item.path, "symptom", "phrases", n)
            yield item.document, path, item.entry.symptom.name, phrase


def _trees(subject: Subject, items: Iterable[Item]) -> Iterator[Item]:
    """The trees of the domains that have words of their own; other trees are found by their
    phrases."""
    domains = {file.domain for _, file in subject.source.lexicons if file.topics}
    return (item for item in items if item.file.domain in domains)


def _speechless(subject: Subject) -> Iterator[Problem]:
    """Trees whose symptom has too few phrases."""
    files: list[LexiconFile] = [file for _, file in subject.source.lexicons]
    counts: dict[str, int] = {}
    for file in files:
        for topic in file.topics:
            counts[topic.symptom] = counts.get(topic.symptom, 0) + len(topic.phrases)
    for item in _trees(subject, subject.forms["tree"]):
        name = item.entry.symptom.name
        if name in _symptoms(subject) and counts.get(name, 0) < FEWEST_PHRASES:
            message = f"the lexicon has {counts.get(name, 0)} phrases for the symptom {name!r}"
            hint = f"add a topic with at least {FEWEST_PHRASES} phrases to a lexicon"
            yield Problem("MM227", message, item.where("symptom", "name"), hint)
