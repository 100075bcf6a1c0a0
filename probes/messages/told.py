"""Decides whether a line is worth keeping, and finds the exception that it reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...reading.text.exceptions import Embedded, embedded_exception, exception_line
from .events import find_events, has_signal
from .message import LOOSE, Message

# `Error type: ValueError`, `Generation error type: ValueError`
_TYPE = re.compile(
    r"(?i:(?:[\w-]{1,30} ){0,3}(?:error|exception)[ _-](?:type|class)) ?[:=] ?"
    r"((?:[a-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Warning))\s*\Z"
)
_LONGEST_TYPE = 400
_REQUESTS = ("HTTP Request:", "HTTP Response:", "Sending HTTP Request:")


def logged(message: Message) -> Iterator[Message]:
    """Yield a log line and the exception that it reports. Quiet levels are kept if they report an
    event; lines that report an HTTP request are not messages."""
    text = message.text
    if not text:
        return
    if message.level == "DEBUG":
        yield replace(message, keep=_is_event(text))
        return
    if message.level == "INFO" or message.rank == LOOSE:
        request = text.startswith(_REQUESTS)
        if request or not has_signal(text):
            yield replace(message, keep=not request and _is_event(text))
            return
    yield from with_told(message)


def loose(message: Message) -> Iterator[Message]:
    """Yield the messages of a line in no known format, if it contains a signal word or a known
    event."""
    if has_signal(message.text):
        yield from with_told(message)
    elif _is_event(message.text):
        yield message


def with_told(message: Message) -> Iterator[Message]:
    """A message with the module of the exception that it names, and that exception."""
    whole = exception_line(message.text.partition("\n")[0]) if not message.exception else None
    if whole:
        text = "\n".join([whole.message, *message.text.split("\n")[1:]]).strip()
        yield replace(message, text=text, exception=whole.exception, module=whole.module)
        return
    named = embedded_exception(message.text)
    if named is None:
        yield message
        return
    # Text around a quotation in a message of a person is talk.
    keep = message.keep and not (named.quoted and message.source == "pasted")
    yield replace(message, module=message.module or named.module, keep=keep)
    yield _of(message, named)


def typed(messages: Sequence[Message]) -> list[Message]:
    """Join a message with the class of its error if a program prints the class on a line of its own
    below the text."""
    found: list[Message] = []
    for message in messages:
        named = _TYPE.match(message.text[:_LONGEST_TYPE])
        above = found[-1] if found else None
        if named is None or above is None or not _is_of(message, above):
            found.append(message)
            continue
        module, _, exception = named[1].rpartition(".")
        found[-1] = replace(above, exception=exception, module=module)
    return found


def _is_of(message: Message, above: Message) -> bool:
    """Whether two lines directly follow each other and come from one logger."""
    following = 0 < message.number - above.number <= 1 + above.text.count("\n")
    same = (message.logger, message.level, message.source) == (
        above.logger,
        above.level,
        above.source,
    )
    return following and same and not above.exception and above.keep


def _of(message: Message, named: Embedded) -> Message:
    chain = "cause" if message.source == "log" else ""
    return replace(message, text=named.message, exception=named.exception, module=named.module,
                   chain=chain, may_be_event=False)  # fmt: skip


def _is_event(text: str) -> bool:
    return any(True for _ in find_events(text))
