"""Messages that were added, removed, changed, moved, or are raised with another class."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from ...reading.packages.release import Release
from ...reading.packages.sites import Site
from ...reading.python.parts import has_words
from ..surface.answers import plain_template
from ..surface.measuring import loud_sites
from .changes import Change
from .definitions import is_public

ALIKE = 0.6
"""Share of a message that must be alike for it to be the same one in other words."""
HOME = 0.15
"""Bonus on that share if both messages are in the same function."""
MAX_COMPARED = 600
_WORD = re.compile(r"[^\W\d_]{3,}")


class Message(NamedTuple):
    """An exception class (or the kind and level of another message), a template, and its sites."""

    said: str
    template: str
    sites: tuple[Site, ...]

    @property
    def shown(self) -> str:
        """The message as shown to people."""
        return f"{self.said}: {self.template}"

    @property
    def homes(self) -> frozenset[tuple[str, str]]:
        """The functions that write the message."""
        return frozenset((site.module, site.function) for site in self.sites)


Key = tuple[str, str]


def messages_of(release: Release) -> dict[Key, Message]:
    """Return the messages of a release that report a failure and contain constant text."""
    grouped: dict[Key, list[Site]] = defaultdict(list)
    for site in loud_sites(release.index.sites(release.package)):
        if has_words(site.parts):
            said = site.exception_name or f"{site.kind} {site.level}".strip()
            grouped[said, plain_template(site)].append(site)
    return {key: Message(*key, tuple(sites)) for key, sites in sorted(grouped.items())}


def by_function(messages: Mapping[Key, Message]) -> dict[str, list[Site]]:
    """The sites in each function, by its dotted name."""
    found: dict[str, list[Site]] = defaultdict(list)
    for message in messages.values():
        for site in message.sites:
            found[f"{site.module}.{site.function}"].append(site)
    return found


def message_changes(old: Mapping[Key, Message], new: Mapping[Key, Message]) -> Iterator[Change]:
    """The changes of messages."""
    gone = [message for key, message in old.items() if key not in new]
    come = [message for key, message in new.items() if key not in old]
    pairs = _paired(gone, come)
    for one in gone:
        now = pairs.get((one.said, one.template))
        if now is None:
            yield _change("message-removed", one, None)
        else:
            same = one.template == now.template
            yield _change("message-raised-otherwise" if same else "message-changed", one, now)
    taken = {(now.said, now.template) for now in pairs.values()}
    for one in come:
        if (one.said, one.template) not in taken:
            yield _change("message-added", None, one)
    for key, one in old.items():
        now = new.get(key)
        if now and not {site.module for site in one.sites} & {site.module for site in now.sites}:
            yield _change("message-moved", one, now)


def _change(kind: str, was: Message | None, now: Message | None) -> Change:
    site = min(
        (now or was or _NONE).sites, key=lambda s: (not is_public(s.function), s.file, s.line)
    )
    name = f"{site.module}.{site.function}".rstrip(".")
    return Change(kind, name, was.shown if was else "", now.shown if now else "",
                  f"{site.file}:{site.line}", is_public(name),
                  before=was.sites if was else (), after=now.sites if now else ())  # fmt: skip


_NONE = Message("", "", ())


def _paired(gone: Sequence[Message], come: Sequence[Message]) -> dict[Key, Message]:
    """Match new messages to old ones, best pairs first."""
    scored: list[tuple[float, int, int]] = []
    words = [_words(message) for message in come]
    for at, one in enumerate(gone):
        mine = _words(one)
        for to, other in enumerate(come):
            common = len(mine & words[to])
            if one.template == other.template:
                scored.append((2.0, at, to))
            elif common * 2 >= min(len(mine), len(words[to])) and common >= 2:
                score = _score(one, other)
                if score >= ALIKE:
                    scored.append((score, at, to))
    found: dict[Key, Message] = {}
    taken: set[int] = set()
    for _, at, to in sorted(scored, key=lambda each: (-each[0], each[1], each[2])):
        key = gone[at].said, gone[at].template
        if key not in found and to not in taken:
            found[key] = come[to]
            taken.add(to)
    return found


def _score(one: Message, other: Message) -> float:
    texts = one.template[:MAX_COMPARED], other.template[:MAX_COMPARED]
    share = SequenceMatcher(None, *texts, autojunk=False).ratio()
    return share + HOME * bool(one.homes & other.homes)


def _words(message: Message) -> set[str]:
    return set(_WORD.findall(message.template.lower()))


def sites_in(changes: Iterable[Change]) -> Iterator[Site]:
    """Yield all sites that changes mention."""
    for change in changes:
        yield from change.before
        yield from change.after
