"""Known issues that a text looks like, with what differs. Never a diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from ...facts import Fact
from ..compiler.issue_index import ALL, terms
from ..inference.operators import compile_check
from .report import SimilarIssue, Unexplained

if TYPE_CHECKING:
    from ...facts.owners import Owner
    from ..compiler.knowledge_base import KnowledgeBase

_LIKE = 0.5
"""The share of what a text tells that an issue must say too, to be shown unasked."""
_ENOUGH = 2.1
"""Least information of a text, in words that no issue has: "KeyError" alone has too little."""
_MOST_TERMS = 300


def similar_issues(
    text: str,
    base: KnowledgeBase,
    facts: Iterable[Fact] = (),
    most: int = 3,
    least: float = 0.0,
    enough: float = 0.0,
) -> tuple[SimilarIssue, ...]:
    """The issues that a text is most like, best first; those that share less than ``least`` of what
    it tells, or less than ``enough``, are left out. The ``facts`` tell which versions are
    installed."""
    index: Mapping[str, Sequence[Any]] = base.catalogue["issue_terms"]
    unheard, *ids = index[ALL]
    scores: Counter[int] = Counter()
    shared: Counter[int] = Counter()
    told = 0
    for term in list(dict.fromkeys(terms(text)))[:_MOST_TERMS]:
        telling, *holders = index.get(term, (unheard,)) if term != ALL else (unheard,)
        told += telling
        for number, weight in zip(holders[::2], holders[1::2], strict=True):
            scores[number] += weight
            shared[number] += telling
    ranked = sorted(scores, key=lambda number: (-scores[number], ids[number]))[:most]
    versions = {str(f.get("name")): f.get("version") for f in facts if f.kind == "package"}
    return tuple(
        _similar(ids[number], shared[number] / told, base, versions)
        for number in ranked
        if shared[number] >= max(least * told, enough * unheard)
    )


def with_similar(
    errors: Iterable[Unexplained], base: KnowledgeBase, facts: Sequence[Fact]
) -> tuple[Unexplained, ...]:
    """Errors with the known issues that they resemble, usually none. An error with a row has advice
    already."""
    owners = base.vocabulary.owners
    about = {_family(owners, str(f.get("owner"))) for f in facts if f.kind == "text_subject"}
    return tuple(
        error if error.row
        else error._replace(similar=_about(
            similar_issues(error.text, base, facts, 2, _LIKE, _ENOUGH), about, owners))
        for error in errors
    )  # fmt: skip


def _about(
    issues: Sequence[SimilarIssue], about: Set[str], owners: Mapping[str, Owner]
) -> tuple[SimilarIssue, ...]:
    """Without issues of another family of packages than the text is ``about``, where that is known;
    a library that is of no family may turn up in any."""
    if not about:
        return tuple(issues)
    families = [
        owners[n].family if (n := each.package.replace("-", "_")) in owners else ""
        for each in issues
    ]
    return tuple(
        i for i, family in zip(issues, families, strict=True) if not family or family in about
    )


def _family(owners: Mapping[str, Owner], name: str) -> str:
    known = owners.get(name)
    return (known.family if known else "") or name


def like_complaint(
    text: str, base: KnowledgeBase, facts: Sequence[Fact] = ()
) -> tuple[SimilarIssue, ...]:
    """The issues that a sentence of a user looks like."""
    return similar_issues(text, base, facts, 2, _LIKE, _ENOUGH)


def _similar(
    name: str, share: float, base: KnowledgeBase, versions: Mapping[str, Any]
) -> SimilarIssue:
    shown = base.catalogue["issues"][name]
    title, package = base.summary(name).title, shown["package"]
    differs = tuple(_differs(shown, versions))
    return SimilarIssue(name, title, package, shown["link"], round(share, 2), differs)


def _differs(shown: Mapping[str, Any], versions: Mapping[str, Any]) -> Iterator[str]:
    package, known = shown["package"], said_versions(shown["affected"])
    version = versions.get(package)
    if not known:
        yield f"which versions of {package} have it is not known"
    elif package not in versions:
        yield f"the version of {package} is not known; it is known of {known}"
    elif version is None or not compile_check("affected", shown["affected"])(version):
        yield f"{package} {version or '(no version)'} is installed; it is known of {known}"


def said_versions(events: Iterable[Mapping[str, str]]) -> str:
    """Ranges of versions in words."""
    return ", ".join(map(_said, events))


def _said(event: Mapping[str, str]) -> str:
    first, last, fixed = event["introduced"], event.get("last_affected"), event.get("fixed")
    if last == first:
        return first
    end = f"before {fixed}" if fixed else f"up to {last}" if last else ""
    if first == "0":
        return f"versions {end}" if end else "all versions"
    return f"{first} and later" + (f", {end}" if end else "")
