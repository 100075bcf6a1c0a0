"""Masks on request: addresses, accounts, host names, homes. None of these is a secret, and a reader
may need them, but a report for outsiders may have to hide them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .detectors import Span, compiled, searchable
from .places import ACCOUNT, ADDRESS, HOST, USER

MASKS = ("addresses", "accounts", "hosts", "homes")

_NAME = r"[A-Za-z_][A-Za-z0-9._-]{1,63}"
_DOMAIN = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_PATTERNS: dict[str, tuple[tuple[str, str], ...]] = {
    "addresses": (
        (ADDRESS, rf"(?:^|[^0-9A-Za-z.])((?:{_OCTET}\.){{3}}{_OCTET})"
                  r"(?:$|[^0-9A-Za-z.]|\.(?:$|\s))"),
        (ADDRESS, r"(?i)(?:^|[^0-9a-z:.])((?:[0-9a-f]{1,4}:){3,7}:?[0-9a-f]{1,4})(?:$|[^0-9a-z:])"),
        (ADDRESS, r"(?i)(?:^|[^0-9a-z:.])([0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,5}::[0-9a-f:]{0,30})"),
        (ADDRESS, r"(?i)(?:^|[^0-9a-z:-])((?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2})(?:$|[^0-9a-z:-])"),
    ),
    "accounts": (
        (ACCOUNT, r"arn:aws[a-z-]{0,10}:[a-z0-9-]{0,40}:[a-z0-9-]{0,40}:([0-9]{12})\b"),
        (ACCOUNT, r"(?i)\baccount(?:[ _-]?(?:id|number))?"
                  r"[\"']{0,2}\s{0,3}[:=]?\s{0,3}[\"']{0,2}([0-9]{12})\b"),
        (ACCOUNT, r"\b([0-9]{12})\.dkr\.ecr\."),
        (ACCOUNT, r"(?i)/?\b(?:subscriptions|tenants?|tenant_?id|subscription_?id)[/\"'=: ]{1,4}"
                  r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"),
        (ACCOUNT, r"\bprojects/([a-z][a-z0-9-]{4,28}[a-z0-9])(?:/|\b)"),
        (ACCOUNT, r"(?i)\b(?:user|username|user_name|login|account|owner|uid)"
                  rf"[\"']{{0,2}}\s?[=:]\s{{0,2}}[\"']{{0,2}}({_NAME})"),
        (ACCOUNT, rf"(?:^|[\s\"'(/])({_NAME})@[A-Za-z0-9.-]{{1,100}}:"),
    ),
    "hosts": (
        (HOST, rf"(?i)(?:^|[^a-z0-9_./@-])({_DOMAIN}(?:com|org|net|edu|gov|io|ai|dev|cloud|co|app|"
               r"tech|info|eu|us|uk|de|fr|nl|ch|cn|jp|in))(?:$|[^a-z0-9_(-])"),
        (HOST, r"(?i)(?://|@)([a-z0-9][a-z0-9.-]{2,200}[a-z0-9])(?:[:/?#\"'\s]|$)"),
        (HOST, r"(?i)\b(?:host|hostname|node|server)[\"']{0,2}\s?[=:]\s{0,2}[\"']{0,2}"
               r"([a-z0-9][a-z0-9.-]{2,200})"),
    ),
    "homes": (
        (USER, r"/(?:home|users|people|Users|u)/([^/\\\s'\":,;<>()]{1,64})"),
        (USER, r"(?i)\\(?:users|documents and settings)\\{1,2}([^/\\\s'\":,;<>()]{1,64})"),
        (USER, rf"(?:^|[\s\"'=:])~({_NAME})/"),
        (USER, r"(?:^|[\s\"'=:(])/(root)(?:/|\b)"),
    ),
}  # fmt: skip
_OPEN = frozenset(("127.0.0.1", "0.0.0.0", "255.255.255.255", "::1"))
_MARKED = re.compile(r"<secret:")


def chosen_masks(text: str) -> tuple[str, ...]:
    """The masks that a list with commas names, in order. Raises ValueError for an unknown one."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in (*MASKS, "all")]:
        raise ValueError(repr(unknown[0][:40]))
    return tuple(mask for mask in MASKS if mask in names or "all" in names)


def mask_spans(text: str, masks: Collection[str]) -> Iterator[Span]:
    """The parts to mask."""
    data = searchable(text) if masks else b""
    for mask in masks:
        for kind, pattern in _PATTERNS[mask]:
            for found in compiled(pattern).finditer(data):
                start, end = found.span(1)
                shown = text[start:end]
                if shown not in _OPEN and not _MARKED.search(shown):
                    yield Span(start, end, kind, shown)
