"""Lines that follow a message and are not part of it: prompts, exit codes, fences, rules, talk."""

from __future__ import annotations

import re
from functools import cache

from . import data_tables

_LONGEST = 300
_PROMPT = re.compile(
    r"(?:\([\w.-]{1,60}\) )?(?:[\w.-]{1,60}@[\w.-]{1,100}[: ].{0,200}?|[~/][\w./~-]{0,200} ?)?"
    r"[$#%❯➜λ](?: |\Z)|PS [A-Z]:\\.{0,200}>|[A-Z]:\\[^<>|]{0,200}>"
)
_JOB = re.compile(r"\[\d{1,4}\][+-]? +(?:Exit|Done|Killed|Stopped|Terminated|Aborted|Segm|\d)")
_EXIT = re.compile(
    r"[\w./-]{1,100} (?:exited|terminated|failed|returned|finished) (?:with |non-zero )"
    r".{0,40}(?:code|status|signal)|\s*(?i:exit (?:code|status)):? *\d"
)
_RULE = re.compile(r"([=\-_*#~─━])\1{3,}(?: .{0,200} \1{3,}| ?\Z)")
_PLACE = re.compile(r"> ?\S{1,200}\(\d{1,9}\)\S{0,100}\Z")
_TOOL = re.compile(r"([A-Za-z][\w.-]{0,40})(\[\d{1,9}\])?: ")


def is_epilogue(text: str) -> bool:
    """Whether a line, though it stands right below a message, does not go on with it."""
    return is_surrounding(text) or _is_talk(text[:_LONGEST].rstrip())


def is_surrounding(text: str) -> bool:
    """The same, for what machines write."""
    text = text[:_LONGEST].rstrip()
    known = _known()
    if text.startswith(known.starts) or text in known.whole:
        return True
    tool = _TOOL.match(text)
    if tool and tool[1] not in known.heard and (tool[2] or tool[1] in known.tools):
        return not any(word in text for word in known.telling)
    return any(form.match(text) for form in (_PROMPT, _JOB, _EXIT, _RULE, _PLACE))


def is_notice(text: str) -> bool:
    """Whether a text, beside the error that it is about, says nothing: it announces an exception,
    or tells with which code a program ended."""
    first = text[:_LONGEST].partition("\n")[0].rstrip()
    known = _known()
    return (
        first.startswith(known.announcements) or any(word in first for word in known.exits)
        or _RULE.match(first) is not None
    )  # fmt: skip


def _is_talk(text: str) -> bool:
    known = _known()
    if text.startswith(known.talk):
        return True
    return text.endswith("?") and text.partition(" ")[0].lower() in known.questions


class _Table:
    """The words of the table."""

    def __init__(self) -> None:
        data = data_tables.table(__file__, "epilogues.json")
        self.tools = frozenset(data["tools"])
        self.heard = frozenset(data["heard"])
        self.telling = tuple(data["telling"])
        self.starts = tuple(data["starts"])
        self.announcements = tuple(data["announcements"])
        self.exits = tuple(data["exits"])
        self.whole = frozenset(data["whole"])
        self.talk = tuple(data["talk"])
        self.questions = frozenset(data["questions"])


@cache
def _known() -> _Table:
    return _Table()
