"""Names of people and machines: e-mail addresses, home folders, internal host names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from .detectors import Span
from .look import Look

EMAIL, HOST, HOME, USER = "EMAIL", "HOST", "HOME", "USER"
ADDRESS, ACCOUNT = "ADDRESS", "ACCOUNT"  # only where it is asked for
PLACES = (EMAIL, HOST, HOME, USER, ADDRESS, ACCOUNT)

# Top-level domains of addresses people have; `x@w.T` in code is not an address.
_DOMAINS = frozenset((
    "com", "org", "net", "edu", "gov", "mil", "int", "io", "ai", "dev", "app", "cloud",
    "tech", "co", "info", "biz", "me", "xyz", "online", "site", "page", "invalid", "test",
    "example", "internal", "local", "corp", "lan", "uk", "us", "de", "fr", "nl", "be", "ch",
    "at", "it", "es", "pt", "pl", "se", "no", "fi", "dk", "ie", "cz", "eu", "ru", "ua", "tr",
    "il", "in", "cn", "jp", "kr", "tw", "hk", "sg", "au", "nz", "ca", "mx", "br", "ar", "cl",
    "za", "ng", "ke",
))  # fmt: skip
_SUFFIXES = frozenset((
    "bak", "bz2", "csv", "err", "gz", "html", "json", "jsonl", "log", "md", "npz", "out", "parquet",
    "tar", "tgz", "txt", "xz", "yaml", "yml", "zip", "zst",
))  # fmt: skip
_INTERNAL = r"internal|local|localdomain|lan|corp|intra|intranet|private|home\.arpa|cluster\.local"
_PLAIN = ("internal", "local", "private")
_NAME = r"""[^/\\\s'":,;<>()]{1,64}"""
_PATTERNS = {
    EMAIL: r"([A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})",
    HOST: rf"(?i)\b([a-z0-9](?:[a-z0-9-]{{0,62}}\.){{1,10}}(?:{_INTERNAL}))\b",
    "ec2": r"(?i)\b((?:ip|ec2)-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[a-z0-9-]{1,63}){0,6})\b",
    # A path from the root; the group is the home folder itself.
    HOME: rf"(?:^|[^A-Za-z0-9_.~/\\-])((?:/home/|/Users/|[A-Za-z]:\\{{1,2}}Users\\{{1,2}}){_NAME})",
    USER: rf"[A-Za-z0-9_.~/\\-](?:/home/|/[Uu]sers/)({_NAME})",
    "file": rf"file://((?:/home/|/Users/){_NAME})",
}
_HOST_SIGNS = ("://", "@", "host=", "host='", "hostname=", "hostname='", "host ", "hostname: ")
_NEAR = max(map(len, _HOST_SIGNS))
_KINDS = {"ec2": HOST, "file": HOME}
_SIGNS = {EMAIL: "mail", HOST: "hosts", "ec2": "hosts"}  # the others are homes


@cache
def _compiled() -> dict[str, Any]:
    import re2

    return {name: re2.compile(pattern) for name, pattern in _PATTERNS.items()}


def place_spans(look: Look) -> Iterator[Span]:
    """Addresses, home folders and internal host names."""
    text = look.text
    for name, pattern in _compiled().items():
        if _SIGNS.get(name, "homes") not in look.code:
            continue
        for found in pattern.finditer(text):
            start, end = found.span(1)
            if name == EMAIL:
                end = start + len(_without_suffix(found[1]))
                if not _is_address(text[start:end], text[end : end + 1]):
                    continue
            if name == HOST and not _is_host(found[1], *_around(text, start, end)):
                continue
            yield Span(start, end, _KINDS.get(name, name), text[start:end])


def home_spans(text: str, homes: Sequence[str], borders: Iterable[int] = ()) -> Iterator[Span]:
    """Known home folders, wherever they are. Other spans end at ``borders``; a home folder may
    begin there."""
    ends = set(borders)
    for at, home in _occurrences(text, homes):
        before = text[at - 1 : at] if at and at not in ends else ""
        after = text[at + len(home) : at + len(home) + 1]
        inside = before.isalnum() or before in tuple("_-./~") or after.isalnum() or after in "_-."
        if not inside or (after == "" and not before.isalnum()):
            ends.add(at + len(home))
            yield Span(at, at + len(home), HOME, home)


def host_spans(text: str, hosts: Sequence[str]) -> Iterator[Span]:
    """Names of this machine. One that could be an ordinary word counts only where hosts stand."""
    for at, host in _occurrences(text, hosts):
        before, after = _around(text, at, at + len(host))
        if before[-1:].isalnum() or after[:1].isalnum():
            continue
        if not host.isalpha() or before.endswith(_HOST_SIGNS) or after[1:2].isdigit():
            yield Span(at, at + len(host), HOST, host)


def _occurrences(text: str, names: Sequence[str]) -> Iterator[tuple[int, str]]:
    for name in names:
        at = text.find(name)
        while at >= 0:
            yield at, name
            at = text.find(name, at + len(name))


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """A few characters before and after."""
    return text[max(0, start - _NEAR) : start], text[end : end + _NEAR]


def _without_suffix(text: str) -> str:
    """``mail@example.org`` of ``mail@example.org.tar.gz``: a file named after an address."""
    while (at := text.rfind(".")) > 0 and text[at + 1 :].lower() in _SUFFIXES:
        text = text[:at]
    return text


def _is_address(text: str, following: str) -> bool:
    user, _, host = text.partition("@")
    return host.rpartition(".")[2].lower() in _DOMAINS and user != "git" and following != "("


def _is_host(name: str, before: str, after: str) -> bool:
    """``threading.local`` and ``google.protobuf.internal`` are not hosts; machines have a number or
    a hyphen in their name, or are part of a URL or precede a port. Before another dot only a name
    with both is one: ``gpu-7.corp.log``."""
    if after[:1] in ("(", "_") or name == "localhost.localdomain":
        return False
    if after[:1] == "." and after[1:2].isalpha():
        return any("-" in label and any(map(str.isdigit, label)) for label in name.split("."))
    if name.rpartition(".")[2].lower() not in _PLAIN:
        return True
    machine = any(c.isdigit() or c == "-" for c in name)
    placed = before.endswith(_HOST_SIGNS) or after[:2].strip(":").isdigit()
    return machine or placed
