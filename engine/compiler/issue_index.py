"""An index of known issues for lookup by free text: BM25, computed when the knowledge is compiled.

A lookup then only adds up numbers, the same everywhere. Identifiers count as wholes and in parts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .source.issues import Issue

Index = dict[str, dict[str, Any]]
ALL = "*"
"""The key under which the index has the ids in the order of their numbers, and the weight of a term
that no issue has."""

_SATURATION = 1.2
_LENGTH_COUNTS = 0.6
_TITLE, _SEEN, _PACKAGE, _REST = 3, 2, 2, 1
_SCALE = 1000
_MOST_CHARACTERS = 4_000
_WORD = re.compile(r"[a-z0-9]+(?:[._/-][a-z0-9]+)*")
_PART = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)*")
_PACKAGES = ("site-packages/", "dist-packages/", "/lib/python", "/lib64/python")
"""The location of a package is not evidence of an issue."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMMON = frozenset(
    re.findall(
        "[a-z]+",
        """
        a about after all also an and any are as at be because been before being but by can cannot
        could did do does don done doesn for from get gets getting got had has have how i if in into
        is isn it its just me my no not now of off on once one only or our out over s same should
        since so some such t than that the their them then there these they this those to too up us
        use used using very was we were what when where which while who why will with would you your
        file line
        """,
    )
)
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "edly", "ed", "es", "s", "ly", "y", "e")
_SHORTEST = 3


def terms(text: str) -> Iterator[str]:
    """The significant words of a text, without their endings."""
    words = text[:_MOST_CHARACTERS].split()
    told = " ".join(word for word in words if not any(place in word for place in _PACKAGES))
    spaced = _CAMEL.sub(" ", told).lower()
    for word in _WORD.findall(spaced):
        parts = _PART.findall(word)
        if len(parts) > 1 and len(word) <= 60:
            yield word
        for part in parts:
            if part not in _COMMON and (len(part) > 1 or part.isdigit()):
                yield stem(part)


def index_of(issues: Iterable[Issue]) -> Index:
    """``issues``: the fields that a lookup shows, by id; ``issue_terms``: for each term its
    greatest weight, then the numbers of the issues with it, each with its weight there."""
    known = sorted(
        (issue for issue in issues if issue.status != "deprecated"), key=lambda issue: issue.id
    )
    counts = [_counted(issue) for issue in known]
    lengths = [sum(counted.values()) for counted in counts]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    holders: Counter[str] = Counter(term for counted in counts for term in counted)
    found: dict[str, list[Any]] = {
        ALL: [_telling(0, len(known)), *(issue.id for issue in known)],
    }
    for term in sorted(holders):
        found[term] = [_telling(holders[term], len(known))]
    for number, counted in enumerate(counts):
        long = 1 - _LENGTH_COUNTS + _LENGTH_COUNTS * lengths[number] / mean
        for term, count in sorted(counted.items()):
            often = count * (_SATURATION + 1) / (count + _SATURATION * long)
            found[term] += [number, round(found[term][0] * often)]
    return {"issues": {issue.id: _shown(issue) for issue in known}, "issue_terms": found}


def _telling(holders: int, of: int) -> int:
    return round(_SCALE * math.log(1 + (of - holders + 0.5) / (holders + 0.5)))


def _counted(issue: Issue) -> Counter[str]:
    found: Counter[str] = Counter()
    for text, weight in _texts(issue):
        for term in terms(text):
            found[term] += weight
    return found


def _texts(issue: Issue) -> Iterator[tuple[str, int]]:
    yield issue.title, _TITLE
    yield issue.package, _PACKAGE
    for text in issue.seen:
        yield text, _SEEN
    yield issue.summary, _REST
    yield issue.details, _REST
    for message in issue.messages:
        for text in message.samples:
            yield text, _REST


def _shown(issue: Issue) -> Mapping[str, Any]:
    return {
        "package": issue.package,
        "affected": [event.model_dump(exclude_none=True) for event in issue.affected],
        "bounded": bool(issue.versions),
        "link": issue.link,
        "confirmed": issue.confirmed,
        "verified": issue.verified,
    }


def stem(word: str) -> str:
    """The word without its endings, in a form that its inflections share: a key for comparison, not
    always a word."""
    if not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word[: -len(ending)]
            break
    doubled = len(word) > _SHORTEST and word[-1] == word[-2]
    return word[:-1] if doubled or (len(word) > _SHORTEST and word[-1] == "e") else word
