"""A real terminal around the command: a pseudo-terminal, and a screen that shows what a person
would see."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest

RUN = "from modelmedic.interfaces.cli.main import main; main()"
PATIENCE_S = 90
BRACKETED_PASTE = 2004 << 5
CTRL_C, PASTE, END_OF_PASTE = "\x03", "\x1b[200~", "\x1b[201~"


class _Screen(pyte.HistoryScreen):
    """Counts the prompts: each line editor switches bracketed paste on when it is ready. What the
    program asks of the terminal, such as where the cursor is, goes to ``answer``."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], object]) -> None:
        self.prompts = 0
        self._answer = answer
        super().__init__(columns, rows, history=5_000)

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        super().set_mode(*modes, **kwargs)
        self.prompts += 2004 in modes

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Terminal:
    """``diagnose`` in a terminal. Nothing sleeps: every wait is for something to be seen."""

    def __init__(
        self, environment: dict[str, str], *options: str, columns: int, rows: int, program: str
    ) -> None:
        self.raw = ""
        self._child = pexpect.spawn(
            sys.executable, ["-c", program, *options], env=environment, dimensions=(rows, columns),
            encoding="utf-8", codec_errors="replace", timeout=PATIENCE_S,
        )  # fmt: skip
        self._child.delaybeforesend = None
        self._screen = _Screen(columns, rows, self._child.send)
        self._stream = pyte.Stream(self._screen)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """Everything shown, with what has scrolled away, as running text without line breaks."""
        columns = self._screen.columns
        gone = ("".join(row[x].data for x in range(columns)) for row in self._screen.history.top)
        return " ".join(" ".join([*gone, *self.lines]).split())

    @property
    def prompt(self) -> str:
        """The line with the cursor."""
        return self.lines[self._screen.cursor.y]

    @property
    def toolbar(self) -> str:
        """The last line."""
        return next((line for line in reversed(self.lines) if line), "")

    def wait(self, wanted: str) -> None:
        """Until ``wanted`` has been shown."""
        self._until(lambda: wanted in self.text, f"to see {wanted!r}")

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Until a condition on the screen holds."""
        self._until(condition, what)

    def ready(self) -> None:
        """Until a prompt waits for input."""
        self._until(lambda: BRACKETED_PASTE in self._screen.mode, "for a prompt")

    def send(self, keys: str) -> None:
        """Send keys at once, whether or not a line editor waits."""
        self._child.send(keys)

    def press(self, key: str) -> None:
        """Press a key that answers, and wait for the next prompt."""
        self._next(key)

    def type(self, keys: str) -> None:
        """Type without Enter, at a prompt."""
        self.ready()
        self._child.send(keys)

    def answer(self, text: str) -> None:
        """Type a line, and wait for the next prompt."""
        self._next(text + "\r")

    def paste(self, text: str) -> None:
        """Paste a text as terminals do, and wait for the next prompt."""
        self._next(PASTE + text + END_OF_PASTE)

    def interrupt(self) -> None:
        """Press Ctrl-C, and wait for the next prompt."""
        self._next(CTRL_C)

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self._screen.resize(rows, columns)
        self._child.setwinsize(rows, columns)

    def end(self, keys: str) -> int:
        """Type what ends the program; its exit code."""
        self.type(keys)
        self._until(lambda: not self._child.isalive(), "for the end")
        self._read()
        return int(self._child.exitstatus if self._child.exitstatus is not None else -1)

    @property
    def alive(self) -> bool:
        """Whether the program still runs."""
        return bool(self._child.isalive())

    @property
    def status(self) -> int:
        """The exit code; -1 where a signal ended it."""
        return int(self._child.exitstatus if self._child.exitstatus is not None else -1)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it, outside of a prompt."""
        return self._child.signalstatus == signal.SIGINT

    def look(self) -> None:
        """Take what has been written so far."""
        self._read()

    def finish(self) -> None:
        """Leave, whatever is on the screen: end a search, clear the line, Ctrl-D."""
        limit = time.monotonic() + PATIENCE_S
        while self._child.isalive() and time.monotonic() < limit:
            for key in ("\x07", CTRL_C, "\x04"):
                while self._quiet_for(0.1):
                    pass
                if self._child.isalive():
                    self._child.send(key)
        while not self._child.isalive() and self._read():
            pass

    def close(self) -> None:
        """End it, whatever it does."""
        self._child.close(force=True)

    def _next(self, keys: str) -> None:
        self.ready()
        seen = self._screen.prompts
        self._child.send(keys)
        self._until(lambda: self._screen.prompts > seen, f"for a prompt after {keys!r}")

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        limit = time.monotonic() + PATIENCE_S
        while not condition():
            if not self._read() and not condition():
                shown = "\n".join(self.lines)
                raise AssertionError(f"ended while waiting {what}; the screen:\n{shown}")
            if time.monotonic() > limit:
                shown = "\n".join(self.lines)
                raise AssertionError(f"waited too long {what}; the screen:\n{shown}")

    def _quiet_for(self, seconds: float) -> bool:
        """Take what is written within some time; whether there was anything."""
        before = len(self.raw)
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and self._read():
            pass
        return len(self.raw) > before

    def _read(self) -> bool:
        """Take what has been written; False at the end."""
        try:
            data = self._child.read_nonblocking(65_536, timeout=0.2)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            self._child.wait()
            return False
        self.raw += data
        self._stream.feed(data)
        return True


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The state folder of the user."""
    return tmp_path / "state"


@pytest.fixture
def terminal(home: Path, compiled: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts ``diagnose`` in a terminal."""
    opened: list[Terminal] = []

    def start(
        *options: str, columns: int = 100, rows: int = 40, program: str = RUN, **variables: str
    ) -> Terminal:
        removed = ("NO_COLOR", "ACCESSIBLE", "MODELMEDIC_KEYS", "INPUTRC", "COLUMNS", "LINES")
        environment = {k: v for k, v in os.environ.items() if k not in removed}
        environment |= {"XDG_STATE_HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        environment["MODELMEDIC_CACHE"] = str(compiled)  # a test may end before it is written
        size = {"columns": columns, "rows": rows}
        opened.append(Terminal(environment | variables, *options, **size, program=program))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
