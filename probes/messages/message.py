"""A message of a text, and how messages are weighed against each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...reading.text.traceback_lines import Frame
from .http_statuses import Response

# The weights, the heaviest first: the error that ended a program, a line that names an exception,
# causes of others, logged errors and warnings, lines with a word of trouble, the rest.
FINAL, NAMED, CAUSE, ERROR, WARNING, LOOSE, QUIET = range(7)
_BEFORE, _BEHIND = "Kernel validation exception: ", " - Please check the validation message"
"""What stands around the own words of a check of the NKI library."""
LEVEL_RANKS = {"CRITICAL": ERROR, "ERROR": ERROR, "WARNING": WARNING, "": LOOSE}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the text.

    ``rank`` orders by weight, 0 first; ``keep`` is False for a line that only carries HTTP answers
    or events; messages of one ``group`` report the same event. ``count`` is the number of equal
    messages that were merged, ``longest_s`` the longest duration that they name. ``frames`` are
    those of a traceback, outermost first; ``file`` and ``line`` are those of the innermost one.
    """

    text: str
    number: int
    source: str
    rank: int
    exception: str = ""
    module: str = ""
    chain: str = ""
    logger: str = ""
    level: str = ""
    file: str = ""
    line: int = 0
    frames: tuple[Frame, ...] = ()
    keep: bool = True
    may_be_event: bool = True
    group: int = 0
    responses: tuple[Response, ...] = field(default=())
    count: int = 1
    longest_s: float = 0.0

    def identity(self) -> tuple[str, ...]:
        """The values that two equal messages share, the text first; their positions may differ."""
        return (self.text, self.exception, self.module, self.chain, self.logger, self.level,
                self.source)  # fmt: skip


def unwrapped(text: str) -> str:
    """The specific words of a message, without those that all messages of its library share."""
    words, found, _ = text.partition(_BEFORE)[2].partition(_BEHIND)
    return words if found and words else text
