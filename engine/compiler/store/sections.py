"""Sections of a file: JSON lines that are decoded when they are first needed, few of them in a run.

The first line of a list holds where each of the others begins, in digits of one width, so that one
is found without reading all. An object is divided into small buckets by
name, since reading the table of thousands of names takes longer than a run needs them: the first
line holds the number of names and the sizes of the buckets, the first of a bucket its names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from mmap import mmap

from ....facts.json_text import loads
from ....facts.records import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")
    Items = Sequence[Any] | Mapping[str, Any] | bytes
else:
    T = object
_BUCKET, _WIDTH = 16, 8


class StoredSection:
    """The place of a section in the content of a file."""

    def __init__(self, content: bytes | mmap, start: int, size: int) -> None:
        self._content = content
        self._start = start
        self._end = start + size

    def whole(self) -> bytes:
        """The stored form."""
        return self._content[self._start : self._end]

    @cached_property
    def head(self) -> tuple[Any, int]:
        """The first line, and where the next one begins."""
        return self.first(self._start, self._end)

    def first(self, start: int, end: int) -> tuple[Any, int]:
        """The plain data of the first of some lines, and where the next one begins."""
        stop = self._content.find(b"\n", start, end)
        stop = end if stop < 0 else stop  # there are no others
        return _plain(self._content[start:stop]), stop + 1

    @cached_property
    def digits(self) -> int:
        """How many there are in the first line."""
        return self._content.find(b"\n", self._start, self._end) - self._start - 2  # quotes

    def number(self, at: int) -> int:
        """The place that some of those digits give."""
        at += self._start + 1
        return self._start + int(self._content[at : at + _WIDTH], 16)

    def rest(self) -> list[bytes]:
        """The lines after the first."""
        start = self._start + self.digits + 3  # quotes, line end
        return self._content[start : self._end].split(b"\n")

    def stored(self, start: int, end: int) -> bytes:
        """A line as it is stored."""
        return self._content[start : end - 1]

    def line(self, start: int, end: int) -> Any:
        """The plain data of a line."""
        return _plain(self._content[start : end - 1])


class StoredList(Sequence[T]):
    """The items of a section, each decoded once."""

    def __init__(self, section: StoredSection, decode: Callable[[Any], T]) -> None:
        self._section = section
        self._decode = decode

    @cached_property
    def _items(self) -> list[T | None]:
        return [None] * (self._section.digits // _WIDTH - 1)

    def __len__(self) -> int:
        return len(self._items)

    def lines(self) -> list[bytes]:
        """All items in their stored form."""
        return self._section.rest() if self._items else []

    def __getitem__(self, number: Any) -> Any:
        item = self._items[number]
        if item is None:
            at = number * _WIDTH
            place = self._section.number(at), self._section.number(at + _WIDTH)
            item = self._items[number] = self._decode(self._section.line(*place))
        return item


Place = tuple[int, int, int]
"""The number of an item in a map, and where its line begins and ends."""


class StoredMap(Mapping[str, T]):
    """The named items of a section, each decoded once."""

    def __init__(self, section: StoredSection, decode: Callable[[Any], T]) -> None:
        self._section = section
        self._decode = decode
        self._items: dict[str, T] = {}
        self._buckets: dict[int, dict[str, Place]] = {}

    @cached_property
    def _ends(self) -> list[int]:
        (_, *sizes), start = self._section.head
        return list(accumulate([size + 1 for size in sizes], initial=start))

    def _bucket(self, number: int) -> dict[str, Place]:
        """The names in a bucket."""
        found = self._buckets.get(number)
        if found is None:
            names, start = self._section.first(self._ends[number], self._ends[number + 1] - 1)
            found = {}
            for name, (place, length) in names.items():
                found[name] = place, start, start + length + 1
                start += length + 1
            self._buckets[number] = found
        return found

    def __getitem__(self, name: str) -> T:
        try:
            return self._items[name]
        except KeyError:
            _, start, end = self._bucket(_bucket_of(name, len(self._ends) - 1))[name]
            item = self._items[name] = self._decode(self._section.line(start, end))
            return item

    def lines(self) -> dict[str, bytes]:
        """All items in their stored form, in their order."""
        places = {
            name: place
            for number in range(len(self._ends) - 1)
            for name, place in self._bucket(number).items()
        }
        stored = self._section.stored
        return {name: stored(*places[name][1:]) for name in sorted(places, key=places.__getitem__)}

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._bucket(_bucket_of(name, len(self._ends) - 1))

    def __iter__(self) -> Iterator[str]:
        found: list[tuple[int, str]] = []
        for number in range(len(self._ends) - 1):
            found += ((place, name) for name, (place, _, _) in self._bucket(number).items())
        return (name for _, name in sorted(found))

    def __len__(self) -> int:
        return int(self._section.head[0][0])


def _plain(line: bytes) -> Any:
    return loads(line.decode("ascii"))


def _bucket_of(name: str, buckets: int) -> int:
    return sum(name.encode("utf-8", "surrogatepass")) % buckets


def pack(head: Mapping[str, Any], sections: Mapping[str, Items]) -> bytes:
    """A head and sections of plain data (named tuples count as lists) as lines of JSON. Bytes are a
    section, or an item, as it is stored."""
    texts = {
        name: items if isinstance(items, bytes) else _packed(items)
        for name, items in sections.items()
    }
    sizes = {name: len(text) for name, text in texts.items()}
    return b"\n".join([stored_line({"sizes": sizes, **head}), *texts.values()])


def unpack(content: bytes | mmap, start: int) -> tuple[dict[str, Any], dict[str, StoredSection]]:
    """The head and the sections. Raises ValueError or LookupError for content that :func:`pack` did
    not write."""
    end = content.find(b"\n", start)
    head: dict[str, Any] = loads(content[start:end].decode("ascii"))
    sizes: dict[str, int] = head["sizes"]
    *starts, after = accumulate((size + 1 for size in sizes.values()), initial=end + 1)
    if after != len(content) + 1:
        raise ValueError("sections of other sizes")
    places = zip(sizes.items(), starts, strict=True)
    return head, {name: StoredSection(content, at, size) for (name, size), at in places}


def _packed(items: Items) -> bytes:
    if isinstance(items, Mapping):
        buckets: list[dict[str, tuple[int, bytes]]] = [
            {} for _ in range(max(1, len(items) // _BUCKET))
        ]
        for number, (name, item) in enumerate(items.items()):
            buckets[_bucket_of(name, len(buckets))][name] = number, stored_line(item)
        texts = [
            b"\n".join(
                [
                    stored_line(
                        {name: (number, len(line)) for name, (number, line) in named.items()}
                    ),
                    *(line for _, line in named.values()),
                ]
            )
            for named in buckets
        ]
        return b"\n".join([stored_line([len(items), *map(len, texts)]), *texts])
    lines = [stored_line(item) for item in items]
    table = (len(lines) + 1) * _WIDTH + 3
    places = accumulate((len(line) + 1 for line in lines), initial=table)
    return b"\n".join([b'"%s"' % b"".join([b"%0*x" % (_WIDTH, p) for p in places]), *lines])


def stored_line(plain: Any) -> bytes:
    """Plain data as a line; bytes are one."""
    return plain if type(plain) is bytes else _encoder()(plain).encode()


@cache
def _encoder() -> Callable[[Any], str]:
    import json

    return json.JSONEncoder(separators=(",", ":")).encode
