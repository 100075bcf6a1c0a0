"""Where a consultation meets a person: a terminal with prompt-toolkit, plain lines, or a script.

All drivers carry the same dialogue; they differ in how a line is read and how text is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from ..layout import Line, write

Completions = Callable[[], Sequence[tuple[str, str]]]


class Driver(Protocol):
    """Reads one answer at a time and shows lines."""

    def show(self, lines: Iterable[Line]) -> None:
        """Show text."""

    def read(self, prompt: str, completions: Completions, status: str) -> str:
        """One answer. Raises EOFError at the end of the input, KeyboardInterrupt on Ctrl-C."""
        ...


class LineDriver:
    """Plain lines: no redraw, no colour needed; for pipes, screen readers and dumb terminals."""

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = source or sys.stdin
        self._target = target or sys.stdout

    def show(self, lines: Iterable[Line]) -> None:
        """Write the lines."""
        write(lines, self._target)

    def read(self, prompt: str, completions: Completions, status: str) -> str:
        """One line of the input; it is echoed where nobody typed it."""
        self._target.write(prompt)
        self._target.flush()
        line = self._source.readline()
        if not line:
            self._target.write("\n")
            raise EOFError
        if not self._source.isatty():
            self._target.write(line.rstrip("\n") + "\n")
        return line.rstrip("\n")


class ScriptDriver(LineDriver):
    """Answers from a file, one a line; '#' starts a comment line."""

    def __init__(self, answers: Iterable[str], target: TextIO | None = None) -> None:
        super().__init__(target=target)
        self._answers: Iterator[str] = (
            line for line in (a.rstrip("\n") for a in answers) if not line.startswith("#")
        )

    def read(self, prompt: str, completions: Completions, status: str) -> str:
        """The next answer, echoed."""
        answer = next(self._answers, None)
        if answer is None:
            raise EOFError
        self._target.write(f"{prompt}{answer}\n")
        return answer


class TerminalDriver:
    """prompt-toolkit: completion, history, toolbar, several lines by bracketed paste."""

    def __init__(self, history: Path | None = None) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        kept = FileHistory(str(history)) if history else InMemoryHistory()
        self._session: PromptSession[str] = PromptSession(
            history=kept, complete_while_typing=False, mouse_support=False
        )

    def show(self, lines: Iterable[Line]) -> None:
        """Write the lines above the prompt."""
        write(lines, sys.stdout)

    def read(self, prompt: str, completions: Completions, status: str) -> str:
        """One answer, with completion and a toolbar."""
        from prompt_toolkit.formatted_text import FormattedText

        text = self._session.prompt(
            prompt,
            completer=_completer(completions),
            bottom_toolbar=FormattedText([("", f" {status} ")]),
        )
        return str(text)


def _completer(completions: Completions) -> Any:
    from prompt_toolkit.completion import FuzzyWordCompleter

    found = completions()
    return FuzzyWordCompleter([name for name, _ in found], meta_dict=dict(found))
