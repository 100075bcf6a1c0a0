"""The names in our knowledge: the words of its entries and of the data of probes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource

HOUSE = Path(__file__).parents[2]
_DATA = ("probes/**/*.json", "facts/vocabulary/*.yaml")
MAX_DATA = 4_000_000
COMMON = 8
"""A word that more entries have says nothing, unless they are about the package."""
_WORD = re.compile(r"[A-Za-z0-9_][\w./-]*")
_PART = re.compile(r"[A-Za-z_]\w*")


class Touch(NamedTuple):
    """An entry (or a file of data) that a change touches, its place, and how it is touched."""

    entry: str
    where: str
    how: str


class Mention(NamedTuple):
    """An entry or file that has a word."""

    entry: str
    where: str


class Names:
    """All words of the entries in force, and the entries that have them."""

    def __init__(self, source: KnowledgeSource, house: Path = HOUSE) -> None:
        self._items = [item for item in source.items if item.entry.status != "deprecated"]
        self._house = house
        self._about: dict[str, frozenset[Mention]] = {}

    @cached_property
    def texts(self) -> list[tuple[Mention, str]]:
        """Each entry and file with its whole text."""
        found = [(Mention(item.id, str(item.where())), "\n".join(_texts(_plain(item))))
                 for item in self._items]  # fmt: skip
        for pattern in _DATA:
            for path in sorted(self._house.glob(pattern)):
                if path.stat().st_size <= MAX_DATA:
                    name = path.relative_to(self._house).as_posix()
                    found.append((Mention(name, name), path.read_text("utf-8", "replace")))
        return found

    @cached_property
    def _places(self) -> dict[str, str]:
        return {item.id: str(item.where()) for item in self._items}

    @cached_property
    def _by_word(self) -> dict[str, list[Mention]]:
        found: dict[str, list[Mention]] = defaultdict(list)
        for mention, text in self.texts:
            for word in set(_words(text)):
                found[word].append(mention)
        return found

    def place(self, entry: str) -> str:
        """The place of an entry."""
        return self._places.get(entry, "")

    def has(self, word: str) -> bool:
        """Whether any entry or file has the word."""
        return word in self._by_word

    def naming(self, group: Sequence[str], package: str, *, closely: bool = False) -> list[Mention]:
        """The entries and files that contain all words of ``group``: those that name ``package``,
        else (unless ``closely``) all of them, if there are at most ``COMMON``."""
        found = [self._by_word.get(word, []) for word in group]
        if not found or not all(found):
            return []
        least, *others = sorted(found, key=len)
        both = [mention for mention in least if all(mention in other for other in others)]
        about = self.about(package)
        near = [mention for mention in both if mention in about]
        return near or ([] if closely or len(both) > COMMON else both)

    def about(self, package: str) -> frozenset[Mention]:
        """The mentions that name a package or a module imported from it."""
        if package not in self._about:
            words = package, package.replace("-", "_")
            self._about[package] = frozenset(m for w in words for m in self._by_word.get(w, []))
        return self._about[package]

    def naming_most(
        self, words: Iterable[str], package: str, least: int, most: int
    ) -> list[tuple[Mention, int]]:
        """The mentions that have at least ``least`` of the words, with their number; those that are
        not about the package need more."""
        counts: Counter[Mention] = Counter()
        for word in words:
            counts.update(self._by_word.get(word, []))
        about = self.about(package)
        found = [(mention, number) for mention, number in counts.items()
                 if number >= (least if mention in about else 2 * least + 1)]  # fmt: skip
        return sorted(found, key=lambda each: (-each[1], each[0]))[:most]

    def of_versions(self, package: str) -> Iterator[Mention]:
        """The mentions that say which versions of a package to install or avoid."""
        named = re.escape(package).replace(r"\-", "[-_]")
        told = re.compile(rf"(?i)\b{named}\s*[=<>!~]")
        for mention, text in self.texts:
            if told.search(text):
                yield mention


def _plain(item: Item) -> Any:
    left_out = dict.fromkeys(("id", "covers", "near_misses", "samples"), True)
    return item.entry.model_dump(exclude={**left_out, "emitter": {"package"}})


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _texts(value)


def _words(text: str) -> Iterator[str]:
    for found in _WORD.findall(text.replace("\\", "")):
        word = found.rstrip("./-")
        yield word
        yield word.rpartition("/")[2]
        yield from _PART.findall(word)
