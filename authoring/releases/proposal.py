"""The changes to our knowledge that a comparison of releases proposes: YAML to review.

Nothing of it is in force: the loader of knowledge does not accept this form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from ..surface.ranking import likelihood
from .changes import ANSWERS_OLD
from .comparing import Comparison, Lost, Pair

SCHEMA = "modelmedic/releases-proposal/1"
LIKELY = 40
"""Points (as in `kb surface`) from which a new message deserves a row."""
MAX_ROWS = 60
Proposal = Mapping[str, Any]


def proposals(found: Comparison) -> list[Proposal]:
    """All proposals, those that fix an entry first."""
    return [
        *(each for pair in found.pairs for each in _anchors(pair)),
        *(each for pair in found.pairs for each in _patterns(pair)),
        *(each for pair in found.pairs for each in _names(pair)),
        *_ranges(found),
        *(each for pair in found.pairs for each in _rows(pair)),
    ]


def proposal_text(found: Comparison, proposed: Sequence[Proposal]) -> str:
    """The file."""
    labels = " ".join(each.label for each in found.releases)
    head = (
        f"# What `diagnose kb releases {found.package} {labels}` proposes: to be reviewed.\n"
        "# A version is the first of the compared releases; the change may have come before it.\n"
    )
    content = {"schema": SCHEMA, "package": found.package,
               "releases": [each.label for each in found.releases],
               "proposals": [dict(each) for each in proposed]}  # fmt: skip
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def _anchors(pair: Pair) -> Iterator[Proposal]:
    for each in pair.anchors:
        if each.known:
            continue
        anchor = each.new.anchored.anchor
        yield {
            "do": _WHAT[each.new.state],
            "entry": each.new.anchored.item.id,
            "where": str(each.new.anchored.where),
            "anchor": anchor.text,
            **({"versions": [_event(each, pair)]} if each.new.state != "moved" else {}),
            **({"place": each.new.place, "now": each.new.text} if each.new.place else {}),
        }


_WHAT = {
    "moved": "name the module where it stands now",
    "changed": "end the anchor, add one for the new text, let the pattern take both",
    "gone": "end the anchor; the row stays for those who have the old release",
    "found": "let the anchor begin",
    "not installed": "look at it",
}


def _event(each: Lost, pair: Pair) -> dict[str, str]:
    return {"introduced" if each.new.state == "found" else "fixed": pair.new.label}


def _patterns(pair: Pair) -> Iterator[Proposal]:
    for change in pair.changes:
        if change.kind in ("message-changed", "message-raised-otherwise"):
            for touch in change.touches:
                if touch.how == ANSWERS_OLD:
                    yield {"do": "let the pattern take both texts", "entry": touch.entry,
                           "where": touch.where, "was": change.old, "now": change.new}  # fmt: skip


def _names(pair: Pair) -> Iterator[Proposal]:
    for change in pair.changes:
        if change.unknown and change.touches:
            yield {"do": "see whether the new names belong here", "table": change.name,
                   "place": change.where, "names": list(change.unknown),
                   "entries": [touch.entry for touch in change.touches]}  # fmt: skip


def _ranges(found: Comparison) -> Iterator[Proposal]:
    for limit in found.limits:
        if limit.open and limit.decides:
            yield {"do": f"see whether {found.releases[-1].label} still belongs to it",
                   "entry": limit.entry, "where": limit.where, "versions": limit.said}  # fmt: skip


def _rows(pair: Pair) -> Iterator[Proposal]:
    for change in [c for c in pair.changes if c.kind == "message-added" and c.concerns][:MAX_ROWS]:
        site = max(change.after, key=likelihood)
        if likelihood(site) >= LIKELY:
            yield {
                "do": "write a row", "message": change.new, "place": change.where,
                "anchor": {"package": pair.new.package, "module": site.module,
                           "text": change.new.partition(": ")[2],
                           "versions": [{"introduced": pair.new.label}]},
            }  # fmt: skip
