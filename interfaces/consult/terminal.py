"""The driver for terminals, with prompt-toolkit: completion, history, toolbar, keys, pasting."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    FuzzyCompleter,
    FuzzyWordCompleter,
    PathCompleter,
)
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

from ..reports.layout import Line, rendered
from ..reports.output_guard import UnsafeOutputError, redacted
from ..reports.safe_text import one_line, safe
from .commands import COMMANDS, Options
from .drivers import Prompt
from .typed_or_pasted import plain_paste

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent

MAX_HISTORY_LINE = 300
_LAST_PART = r"^[^/]*"


class TerminalDriver:
    """prompt-toolkit around the same dialogue."""

    def __init__(
        self, history: Path | None = None, *, vi: bool = False, keyboard: Input | None = None
    ) -> None:
        """``keyboard`` is where keys come from, by default standard input."""
        self._pasted: str | None = None
        self._prompt: Prompt | None = None
        self._session: PromptSession[str] = PromptSession(
            input=keyboard or _keyboard(),
            history=_PrivateHistory(history) if history else InMemoryHistory(),
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            complete_while_typing=False,
            enable_suspend=True,
            enable_history_search=True,
            reserve_space_for_menu=4,
            mouse_support=False,
            key_bindings=self._keys(),
            bottom_toolbar=self._toolbar,
        )
        keys = self._session.app.key_processor
        keys.process_keys = _surviving(keys.process_keys)  # type: ignore[method-assign]

    def show(self, lines: Iterable[Line]) -> None:
        sys.stdout.write(rendered(lines, sys.stdout))
        sys.stdout.flush()

    def read(self, prompt: Prompt) -> str:
        """One answer. Ctrl-D leaves."""
        self._prompt = prompt
        try:
            text = self._ask(prompt.text, _Fuzzy(prompt.options))
        except EOFError:
            return "quit"
        pasted, self._pasted = self._pasted, None
        if pasted is None:
            return text
        count = pasted.count("\n") + 1
        self.show([Line(f"({count} lines pasted)", style="dim")])
        return pasted

    def read_block(self) -> str:
        """Lines up to one with a single dot; a paste of several lines is a block by itself."""
        lines: list[str] = []
        while True:
            try:
                line = self._ask("... ")
            except EOFError:
                break
            pasted, self._pasted = self._pasted, None
            if pasted is not None:
                lines.append(pasted)
                break
            if line.strip() == ".":
                break
            lines.append(line)
        return "\n".join(lines)

    def _ask(self, text: str, completer: Completer | None = None) -> str:
        """One line. Ctrl-C is a key here; a signal would break into the line editor as it starts or
        ends, so that it waits."""
        caught: list[int] = []
        before = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
        try:
            line = self._session.prompt(
                text, completer=completer, handle_sigint=False, pre_run=self._focus
            )
        finally:
            signal.signal(signal.SIGINT, before)
        if caught:
            self._pasted = None
            raise KeyboardInterrupt
        return line

    def _focus(self) -> None:
        """Begin at the line itself: a paste into a search ends the prompt with the search open."""
        get_app().layout.focus(self._session.default_buffer)

    def _toolbar(self) -> str:
        if self._prompt is None:
            return ""
        columns = get_app().output.get_size().columns
        mode = "" if get_app().editing_mode == EditingMode.EMACS else " vi"
        return one_line(self._prompt.status(columns - 1 - len(mode))) + mode

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        for name, command in COMMANDS.items():
            if command.key:
                keys.add(command.key)(_typing(name))
        keys.add("f4")(_switch_mode)
        keys.add("c-c", filter=Condition(lambda: bool(get_app().current_buffer.text)))(_clear)
        keys.add(Keys.BracketedPaste)(self._paste)
        keys.add(Keys.Vt100MouseEvent)(_ignore)  # a colour code reads like one
        for ending in ("enter", "c-c", "c-d"):  # of keys taken in one go, one has ended the line
            keys.add(ending, filter=Condition(lambda: get_app().is_done))(_ignore)
        return keys

    def _paste(self, event: KeyPressEvent) -> None:
        """Submit several pasted lines at once, with what was typed before them; insert a single
        one at the cursor."""
        text = plain_paste(event.data)
        if "\n" in text:
            more = "" if self._pasted is None else f"{self._pasted}\n"
            self._pasted = more + event.current_buffer.text + text
            event.current_buffer.reset()
            if not event.app.is_done:
                event.app.exit(result="")
        else:
            event.current_buffer.insert_text(safe(text))


def _keyboard() -> Input | None:
    """None if the line editor has to choose."""
    if sys.platform == "win32":
        return None
    from .keyboard import Keyboard

    return Keyboard(sys.stdin)


def _surviving(process_keys: Callable[[], None]) -> Callable[[], None]:
    """Keys that the line editor itself fails at (some commands of vi do on an empty line) are lost:
    better than the session."""

    def process() -> None:
        try:
            process_keys()
        except Exception:  # noqa: BLE001 - whatever key it was
            get_app().vi_state.reset()
            get_app().output.bell()

    return process


def _typing(command: str) -> Any:
    """A key binding that types a command."""

    def press(event: KeyPressEvent) -> None:
        if event.app.is_done:
            return
        event.current_buffer.text = command
        event.current_buffer.validate_and_handle()

    return press


def _ignore(event: KeyPressEvent) -> None:
    """Do nothing."""


def _switch_mode(event: KeyPressEvent) -> None:
    vi = event.app.editing_mode == EditingMode.VI
    event.app.editing_mode = EditingMode.EMACS if vi else EditingMode.VI


def _clear(event: KeyPressEvent) -> None:
    event.current_buffer.reset()


class _PrivateHistory(FileHistory):
    """A history that only its owner can read, without credentials and long texts."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._last = ""

    def store_string(self, string: str) -> None:
        if len(string) > MAX_HISTORY_LINE or "\n" in string or string == self._last:
            return
        self._last = string
        try:
            os.close(os.open(self.filename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            super().store_string(redacted(string).value)
        except (OSError, UnsafeOutputError):
            return  # losing the history, on a full disk for example, must not end the consultation


class _Fuzzy(Completer):
    """Fuzzy completion over the options of the moment."""

    def __init__(self, options: Callable[[str], Options]) -> None:
        self._options = options
        self._paths = FuzzyCompleter(PathCompleter(expanduser=True), pattern=_LAST_PART)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        found = self._options(document.text_before_cursor)
        typed = Document(found.typed, len(found.typed))
        if found.paths:
            return self._paths.get_completions(typed, complete_event)
        meanings = {name: one_line(text) for name, text in found.words.items()}
        words = FuzzyWordCompleter(list(meanings), meta_dict=dict(meanings), WORD=True)
        return words.get_completions(typed, complete_event)
