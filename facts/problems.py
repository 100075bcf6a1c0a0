"""Problems for people: what is wrong, where, why, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .records import NamedTuple

INTERRUPTED = "MM407"
"""The code of a problem: something is not known because Ctrl-C ended the reading."""

UNREAD_FIGURES = "MM449"
"""The code of a note: figures in a text were not understood."""

OUT_OF_TIME = "MM319"
"""The code of a problem: something is not known because the time limit was reached."""


class Location(NamedTuple):
    """A place in a source. ``line`` and ``column`` count from 1; 0 means not known."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


class Problem(NamedTuple):
    """One thing that is wrong with an input.

    ``code`` is stable (``MM1xx`` facts, ``MM2xx`` knowledge, ``MM3xx`` command, ``MM4xx`` probes);
    ``hint`` says what to do next and may be empty. A note (``is_note``) is worth knowing and leaves
    the verdict as it is.
    """

    code: str
    message: str
    where: Location | None = None
    hint: str = ""
    is_note: bool = False

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.code} {self.message}{advice}"


class ModelMedicError(Exception):
    """Base of all errors that are meant for people; carries one or more :class:`Problem`."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems: tuple[Problem, ...] = found
        super().__init__(found)  # the only argument, so that the error can be pickled

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the closest candidate, or an empty text."""
    import difflib

    close: Sequence[str] = difflib.get_close_matches(word, sorted(candidates), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else ""


def excerpt(text: object, limit: int = 60) -> str:
    """A short, printable rendering of a value from untrusted input. Credentials are masked first:
    once cut short, they could not be recognised."""
    from .redaction.masking import masked

    shown = masked(text if isinstance(text, str) else repr(text))
    shown = shown if len(shown) <= limit else shown[: limit - 3] + "..."
    return ascii(shown)


def out_of_time(left_out: str, where: Location | None = None) -> Problem:
    """The problem of parts left out because the time limit was reached (MM319)."""
    hint = "give it more time (--time-limit SECONDS), or less to do"
    return Problem(OUT_OF_TIME, f"the time limit was reached: {left_out}", where, hint)


def shortened(text: str, limit: int = 500) -> str:
    """A message that quotes untrusted input, with its middle left out if it is long."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} ... {text[-half:]}"
