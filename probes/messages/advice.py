"""Advice that a message itself gives its reader."""

from __future__ import annotations

import re

__all__ = ["advice_of"]

MAX_ADVICE = 300
_LONGEST = 20_000
_MOST_SENTENCES = 2
# A full stop inside a name (`model.eval()`, `1.15`) ends no sentence.
_ENDS = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)\s|\n|;\s|\s-\s")
# A sentence after the first one that begins with an action: "[...] is not allowed - Use an X".
_IMPERATIVE = re.compile(
    r"\A(?:[Uu]se (?!of\b)|[Ss]et (?!of\b|up\b|to\b)|[Pp]ass |[Pp]ick |[Cc]hoose |[Rr]educe "
    r"|[Ii]ncrease |[Dd]ecrease |[Rr]eplace |[Rr]emove |[Ss]pecify |[Pp]rovide |[Aa]void "
    r"|[Ee]nsure |[Ii]nstall |[Uu]pgrade |[Ee]nable |[Dd]isable |[Rr]ecompile "
    r"|[Ss]plit |[Tt]ry |[Cc]onsider )"
    r"\S{1,60} \S"
)
_TELLS = re.compile(
    r"\b(?:please|try (?:to|with|using|setting|running|passing|adding|again with)"
    r"|make sure|consider (?:using|setting|passing|adding)"
    r"|you (?:can|must|should|need to|have to|may need to|might need to) "
    r"(?:install|set|use|upgrade|update|run|call|pass|specify|add|remove|disable|enable|reinstall))\b",
    re.IGNORECASE,
)
# Advice for those who maintain the software rather than those who have the error.
_ELSEWHERE = re.compile(
    r"\b(?:(?:open|file|create|submit|raise) (?:an? )?(?:new )?(?:\w+ )?(?:issue|ticket|bug|report)"
    r"|report (?:this|it|the|an?)\b|contact"
    r"|check the\s(?:\w+\s)?(?:message|log|error|validation)s?\b"
    r"|please (?:see|refer|visit|read|wait|note|ignore|consult)"
    r"|for more (?:information|details))\b",
    re.IGNORECASE,
)


def advice_of(text: str) -> str:
    """The sentences of a message that advise its reader; "" if there are none."""
    found: list[str] = []
    for number, sentence in enumerate(_ENDS.split(text[:_LONGEST])):
        said = sentence.strip(" \t'\"").removeprefix("- ")
        if len(said) <= MAX_ADVICE and said not in found and _tells(said, first=not number):
            found.append(said)
        if len(found) == _MOST_SENTENCES:
            break
    return " ".join(found)[:MAX_ADVICE]


def _tells(said: str, *, first: bool) -> bool:
    told = _TELLS.search(said) or (not first and _IMPERATIVE.search(said))
    return bool(told) and not _ELSEWHERE.search(said)
