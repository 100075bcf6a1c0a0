"""The page of the documentation on surfaces: what is counted, and the figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...interfaces.reports.formats.markdown import escaped, table
from .measuring import percent
from .ranking import ORDER
from .recorded import Record

_TOP = """\
# The surface: what packages can say, and what answers it

```
diagnose kb surface tinker tinker-cookbook              # the packages of this interpreter
diagnose kb surface tinker --python .venv/bin/python    # those of another one
diagnose kb surface tinker --site DIR                   # those in a folder, or a folder of sources
diagnose kb surface tinker --silent --limit 50          # what to write rows for next
diagnose kb surface tinker torch --conflicts            # rows that answer too much
```

Every place that raises, warns, asserts, exits or logs a warning or an error is read from the
source; nothing is imported or run. Its message is filled in with plausible values, put into the
traceback, log line or warning in which it arrives, and decoded. Messages that differ only in what
is filled in are one message; it counts as answered if it is at all its places. Logs of lower
levels, output, and the tests of a package are left out. "By source" says that decode leads to the
statement: by the words of the message, or by the frames of its traceback where these do not.
"""
_RANKING = """\
## Which silent messages come first

`--silent` lists messages without a row by points, a rough measure of how likely a user meets them.
"""
_CONFLICTS = """\
## Rows that answer too much

`--conflicts` lists, and ends with 3 where there are any:
"""
_KINDS = (
    ("beyond", "a row with anchors answers a message that is unlike each of those they name",
     "a narrower pattern, or an anchor for the other message if the row means it too"),
    ("several", "a row without anchors in the package answers messages that are unlike each other",
     "a narrower pattern, or anchors for those that it means"),
    ("foreign", "a row answers a message of a package for which it does not speak, when nothing "
     "tells whose it is", "a narrower pattern, or `emitter: {wording: common}`"),
)  # fmt: skip
_END = """\
Two messages are alike if they share half of their words, if one has all words of the other, or if
the same test in the same function leads to both. An anchor names a message by a part of its text,
by `class NAME` or by `def NAME`.

## Keep it

`--recorded FILE` ends with 3 where a share is lower than the file says for that version;
`--record FILE` writes what was counted. `make surface` compares the packages above that the public
index has with `tests/kb_tools/surface_figures.json`, `make surface RECORD=1` writes that file and
this page.
"""


def page(records: Iterable[Record]) -> str:
    """The page with the figures of some packages."""
    return "\n".join(_lines(records))


def _lines(records: Iterable[Record]) -> Iterator[str]:
    yield from (_TOP, "## Figures", "")
    head = ["package", "version", "places", "messages", "by rows", "with cause and fix",
            "by rows or source"]  # fmt: skip
    yield from table(head, map(_row, records))
    yield from ("", _RANKING)
    yield from table(["what counts", "points"], ((escaped(what), how) for what, how in ORDER))
    yield from ("", _CONFLICTS)
    yield from table(["kind", "means", "mend it by"], _KINDS)
    yield from ("", _END)


def _row(record: Record) -> list[str]:
    sites, messages, rows, remedied, answered = record.figures
    shares = [f"{percent(part, messages):.1f} %" for part in (rows, remedied, answered)]
    return [escaped(record.package), record.version or "(sources)", str(sites), str(messages),
            *shares]  # fmt: skip
