"""A real message, and the table of the forms in which it may reach a person who asks about it.

A function takes a :class:`Sent` and gives the text that a user would paste. Forms that need a class
name are marked with :func:`of_exceptions`, those that lose it with :func:`loses_class`; the others
take log lines and messages of commands as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Sent(NamedTuple):
    """A real message; ``exception`` is "" for log lines and what commands print."""

    id: str
    package: str
    exception: str
    text: str

    @property
    def line(self) -> str:
        """The last line of a traceback, as Python prints it."""
        if not self.exception:
            return self.text
        return f"{self.exception}: {self.text}" if self.text else self.exception

    @property
    def traceback(self) -> str:
        """With a traceback above, or alone if it is not an exception."""
        return f"{HEADER}\n{self.frames}\n{self.line}" if self.exception else self.line

    @property
    def frames(self) -> str:
        site = f"/home/user/venv/lib/python3.12/site-packages/{self.package}"
        return (f'  File "/home/user/run/train.py", line 42, in <module>\n    main()\n'
                f'  File "{site}/work.py", line 310, in submit\n'
                f'    return self._send(batch)\n'
                f'           ^^^^^^^^^^^^^^^^^')  # fmt: skip


Wrapping = Callable[[Sent], str]
WRAPPINGS: dict[str, Wrapping] = {}
NEED_EXCEPTION: set[str] = set()
LOSE_CLASS: set[str] = set()
HEADER = "Traceback (most recent call last):"
STAMP = "2026-01-02T03:04:{:02d}.{:07d}Z "


def form(function: Wrapping) -> Wrapping:
    WRAPPINGS[function.__name__] = function
    return function


def of_exceptions(function: Wrapping) -> Wrapping:
    NEED_EXCEPTION.add(function.__name__)
    return form(function)


def loses_class(function: Wrapping) -> Wrapping:
    LOSE_CLASS.add(function.__name__)
    return of_exceptions(function)


def each_line(text: str, before: Callable[[int], str] | str) -> str:
    """A prefix before each line: the same one, or one that depends on the number of the line."""
    prefix = before if callable(before) else lambda _: before
    return "\n".join(prefix(n) + line for n, line in enumerate(text.splitlines()))
