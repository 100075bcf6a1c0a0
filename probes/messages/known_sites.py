"""Messages of the public sources of the Neuron stack, recognised by runs of their words.

``known_sites.txt`` holds for each message template numbers made of the words that do not change,
and the place and condition of the message. It is read when a message is first looked up.
"""

from __future__ import annotations

from array import array
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .shingles import numbers_of

OWNERS = frozenset({
    "neuronx_distributed", "nxd_inference", "nki", "torch_neuronx", "vllm_neuron", "optimum_neuron",
    "neuron_driver", "torch", "torch_xla",
})  # fmt: skip
"""Owners of the messages in the file; kept here so that the file need not be read."""
FILE = Path(__file__).with_name("known_sites.txt")
PLACES = 24
"""Bits of the number of a record, next to those of a run, in the index."""
_KINDS = ("raise", "assert", "warn", "said")
_GOING_ON = "said"
MAX_CALLS = 3
MOST = 0.5
Call = tuple[str, str]


class KnownSite(NamedTuple):
    """A place that gives a message. ``place`` is the function and its module, ``guard`` the test
    that held ("" if unknown, or if several places give the message), ``set_by`` the methods that
    set the tested values, ``made`` how that function makes its variables; ``packages`` are all that
    give the message; ``goes_on`` is true if the call continues afterwards."""

    owner: str
    place: str
    guard: str
    packages: tuple[str, ...]
    set_by: str = ""
    made: str = ""
    goes_on: bool = False

    @property
    def evidence(self) -> str:
        """The evidence that a package owns the message."""
        shared = "" if len(self.packages) == 1 else f", as {' and '.join(self.packages[1:])}"
        place = f", in {self.place}" if self.place else ""
        return f"{self.packages[0]} has this message{shared}{place}"


class KnownSites:
    """The index of a file."""

    def __init__(self, file: Path) -> None:
        head, index, *self._records = file.read_bytes().split(b"\n")
        self._head: dict[str, Any] = _plain(head)
        self._index = array("Q")
        self._index.frombytes(b64decode(index))

    def __len__(self) -> int:
        return len(self._records) - 1

    @property
    def owners(self) -> frozenset[str]:
        """The packages whose messages the index holds."""
        return frozenset(self._head["owners"].values())

    def find(self, text: str, exception: str = "", calls: Sequence[Call] = ()) -> KnownSite | None:
        """The place of a message; None if it is unknown, or if several unrelated packages have the
        same words. ``calls`` are module and function of the calls that led to it, innermost first.
        They decide between several places with the same words, and the innermost call identifies a
        place whose words are common."""
        told = numbers_of(text)
        best: list[list[Any]] = []
        most = 0
        for number in sorted({each for run in told for each in self._with(run)}):
            record = _plain(self._records[number])
            share = self._share(record, told, exception)
            if share >= most and share:
                best = [*best, record] if share == most else [record]
                most = share
        if best:
            there = (self._at(best, call) for call in calls[:MAX_CALLS])
            return next(filter(None, there), None) or self._site(best)
        return self._by_place(told, exception, calls[0]) if calls else None

    def _at(self, records: Iterable[list[Any]], call: Call) -> KnownSite | None:
        """The one place of the records at which a call stood."""
        found = [(record, place) for record in records for place in self._places_of(record)
                 if self._is_at(place, call)]  # fmt: skip
        if len(found) != 1:
            return None
        record, place = found[0]
        return self._site([[*record[:5], *place]])

    def _by_place(self, told: set[int], exception: str, call: Call) -> KnownSite | None:
        """The place of a call in the traceback, if it has most of the words of the message."""
        if call[0].partition(".")[0] not in self._head["owners"]:
            return None
        name = f'{call[1]}"'.encode()
        records = (_plain(line) for line in self._records if name in line)
        told_there = (each for each in records
                      if each[4] == exception and _shared(each, told) > MOST)  # fmt: skip
        return self._at(told_there, call)

    def _places_of(self, record: list[Any]) -> list[list[Any]]:
        return record[10] if len(record) > 10 else [record[5:10]]

    def _is_at(self, place: list[Any], call: Call) -> bool:
        number, name = place[:2]
        module = self._head["modules"][number] if number >= 0 else ""
        return (module, name.rpartition(".")[2]) == call

    def _with(self, run: int) -> Iterator[int]:
        """The records that contain a run of words."""
        at = bisect_left(self._index, run << PLACES)
        while at < len(self._index) and self._index[at] >> PLACES == run:
            yield self._index[at] & ((1 << PLACES) - 1)
            at += 1

    def _share(self, record: list[Any], told: set[int], exception: str) -> int:
        """The number of a template's words that are in the message; 0 if too many are missing."""
        _, words, _, kind, raised = record[:5]
        if exception and raised and kind in _KINDS and raised != exception:
            return 0
        wanted = _runs_of(record)
        found = sum(run in told for run in wanted)
        return int(words) if found >= len(wanted) - len(wanted) // 4 else 0

    def _site(self, records: list[list[Any]]) -> KnownSite | None:
        """The one place of records that are alike, without their differences."""
        packages = tuple(dict.fromkeys(
            self._head["packages"][number] for record in records for number in record[2]
        ))  # fmt: skip
        owner = self._head["owners"][packages[0]]
        if len(records) > 1 and len({self._head["owners"][each] for each in packages}) > 1:
            return None
        places = {(record[5], record[6]) for record in records}
        guard, set_by, made = (_one(record[at] for record in records) for at in (7, 8, 9))
        modules = {place[0] for place in places}
        number = modules.pop() if len(modules) == 1 else -1
        module = self._head["modules"][number] if number >= 0 else ""
        function = places.pop()[1] if len(places) == 1 else ""
        place = " of ".join(filter(None, (function, module)))
        goes_on = all(record[3] == _GOING_ON for record in records)
        return KnownSite(owner, place, guard, packages, set_by, made, goes_on)


def _one(values: Iterable[str]) -> str:
    """The value that all of them share, or ""."""
    each = set(values)
    return each.pop() if len(each) == 1 else ""


def _runs_of(record: list[Any]) -> list[int]:
    packed = b64decode(record[0])
    return [int.from_bytes(packed[at : at + 5], "big") for at in range(0, len(packed), 5)]


def _shared(record: list[Any], told: set[int]) -> float:
    """Share of the runs of a template that are in a message."""
    wanted = _runs_of(record)
    return sum(run in told for run in wanted) / len(wanted) if wanted else 0.0


@cache
def known_sites() -> KnownSites:
    """The index that comes with the probe, read once."""
    return KnownSites(FILE)


def _plain(line: bytes) -> Any:
    import json  # needed only for a message without a known owner

    return json.loads(line)
