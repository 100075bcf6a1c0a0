"""Texts that are written in another way: base64, base32, hex, percent signs, escapes, UTF-16.

Text that does not decode to printable characters is left alone, so that hashes and pictures cost
little and are never mistaken for secrets.
"""

from __future__ import annotations

import binascii
import re
from base64 import b32decode
from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

from .credentials import PLAIN
from .detectors import Span, compiled
from .flattening import without_breaks
from .look import ITSELF, Look, Seen, Variant, rewritten

DEPTH = 3  # base64 in base64 of JSON
ESCAPES = (
    r"%[2-7][0-9A-Fa-f]|\\u00[2-7]|\\x[2-7]|\\[01][0-7][0-7]|&#x?[0-9A-Fa-f]{2,3};"
    r"|\\\\\\[\"']|\\[nt]"
)
_BREAK = r"[ \t]{0,8}(?:\\n|\\?\r?\n)[ \t>|#*]{0,8}"
_CHARS = "[A-Za-z0-9+/_-]"
# A continuation fills most of the next line; only the last line may be short.
_RUN = (
    rf"({_CHARS}{{20,}}(?:{_BREAK}{_CHARS}{{16,}})+(?:{_BREAK}{_CHARS}{{2,}})?"
    rf"|{_CHARS}{{40,}}{_BREAK}{_CHARS}{{2,}}|{_CHARS}{{20,}})"
)
_ESCAPED_LINE = rf"([^\n]*(?:{ESCAPES})[^\n]*)"
_SPACED_HEX = r"((?:[0-9A-Fa-f]{2}[ :,-]){11,}[0-9A-Fa-f]{2})"
# Both are linear: no more than ten characters are read twice. RE2 takes longer to begin.
_PRINTABLE = re.compile(rb"[\t\n\r -~]{10,}")
_WIDE = re.compile(rb"(?:[\t\n\r -~]\x00){8,}")
_WORDS = re.compile(rb"[A-Za-z]{3}|[A-Za-z0-9]{6}")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_HEX = re.compile(r"[0-9A-Fa-f]{24,}\Z")
_BASE32 = re.compile(r"[A-Z2-7]{24,}\Z")


class _Code(NamedTuple):
    """A way of writing bytes: so many characters hold so many bytes."""

    characters: int
    size: int


_CODE64, _CODE32, _CODE16 = _Code(4, 3), _Code(8, 5), _Code(2, 1)


def decoded_spans(look: Look, seen: Seen, depth: int = DEPTH) -> Iterator[Span]:
    """Secrets in what the text hides."""
    for variant in variants(look, seen):
        inner = seen.look(variant.text)
        if inner.plainly:
            for find in PLAIN:
                yield from map(variant.placed, find(inner))
        if depth > 1:
            yield from map(variant.placed, decoded_spans(inner, seen, depth - 1))


def hides_a_secret(look: Look, seen: Seen, depth: int = DEPTH) -> bool:
    """Whether something in the text may decode to a secret."""
    for variant in variants(look, seen):
        inner = seen.look(variant.text)
        if inner.plainly or (depth > 1 and hides_a_secret(inner, seen, depth - 1)):
            return True
    return False


def variants(look: Look, seen: Seen) -> Iterator[Variant]:
    """The possible plain texts of an encoded text."""
    if "escapes" in look.code:
        for found in compiled(_ESCAPED_LINE).finditer(look.data):
            start, end = found.span(1)
            for variant in seen.hidden(_of_line, look.text[start:end]):
                yield variant.after(start)
    if "runs" in look.code:
        for found in compiled(_RUN).finditer(look.data):
            start, end = found.span(1)
            for variant in seen.hidden(_of_run, look.text[start:end]):
                yield variant.after(start)
        for found in compiled(_SPACED_HEX).finditer(look.data):
            start, end = found.span(1)
            data = binascii.unhexlify(re.sub("[ :,-]", "", look.text[start:end]))
            for variant in _printable(ITSELF, data, _Code(3, 1), 0):
                yield variant.after(start)


def _of_line(line: str) -> Iterator[Variant]:
    """A line without its escapes."""
    yield rewritten(line, _escapes(), _unescaped)


def _of_run(run: str) -> Iterator[Variant]:
    """The decodings of a long run of letters and digits, wherever its groups begin."""
    base = ITSELF
    if not _HEX.match(run) and (run.islower() or run.isdigit()):
        return
    if "\n" in run or "\\" in run:
        base = without_breaks(run)
        run = base.text
    if _HEX.match(run):
        for shift in (0, 1):
            even = run[shift : shift + (len(run) - shift) // 2 * 2]
            yield from _printable(base, binascii.unhexlify(even), _CODE16, shift)
    if _BASE32.match(run):
        whole = run[: len(run) // 8 * 8]
        rest = run[len(whole) :]
        padded = whole + (rest + "=" * (8 - len(rest)) if len(rest) in (2, 4, 5, 7) else "")
        yield from _printable(base, b32decode(padded), _CODE32, 0)
    if not (run.islower() or run.isupper() or run.isdigit()):
        data = run.encode("ascii").translate(_URL_SAFE)
        for shift in range(4):
            yield from _printable(base, _from_base64(data[shift:]), _CODE64, shift)


def _from_base64(data: bytes) -> bytes:
    rest = len(data) % 4
    if rest == 1:
        data, rest = data[:-1], 0
    return binascii.a2b_base64(data + b"=" * (-rest % 4))


def _printable(base: Variant, data: bytes, code: _Code, shift: int) -> Iterator[Variant]:
    """The parts of decoded bytes that are texts."""
    for pattern, width in ((_PRINTABLE, 1), (_WIDE, 2)):
        if width == 2 and b"\0" not in data:
            return
        for found in pattern.finditer(data):
            part = found[0][::width]
            if _WORDS.search(part):
                start, end = _places(base, code, shift)
                whole = Variant("", start, end)
                yield whole.part(part.decode("ascii"), found.start(), width)


def _places(base: Variant, code: _Code, shift: int) -> tuple[partial[int], partial[int]]:
    return partial(_first, base, code, shift), partial(_behind, base, code, shift)


def _first(base: Variant, code: _Code, shift: int, number: int) -> int:
    return base.start(shift + number * code.characters // code.size)


def _behind(base: Variant, code: _Code, shift: int, number: int) -> int:
    return base.end(shift - (-number * code.characters // code.size))


@cache
def _escapes() -> re.Pattern[str]:
    return re.compile(
        r"%(?P<percent>[0-7][0-9A-Fa-f])|\\{1,8}u00(?P<u>[0-7][0-9A-Fa-f])"
        r"|\\{1,8}x(?P<x>[0-7][0-9A-Fa-f])|\\{1,8}(?P<octal>[01][0-7]{2})"
        r"|&#(?P<entity>[0-9]{1,3});|&#[xX](?P<hex>[0-7]?[0-9A-Fa-f]);|\\{1,8}(?P<itself>[nt\"'/])"
    )


def _unescaped(found: re.Match[str]) -> str:
    name = found.lastgroup or ""
    digits = found[name]
    if name == "itself":
        return {"n": "\n", "t": "\t"}.get(digits, digits)
    number = int(digits, {"octal": 8, "entity": 10}.get(name, 16))
    return chr(number) if 0x20 <= number <= 0x7E or number in (9, 10, 13) else found[0]
