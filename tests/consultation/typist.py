"""The consultation in this process, with a user who types: the line editor of the terminal with its
own keyboard on a pipe, and a screen of a size that changes. Faster than a terminal, and the same
keys arrive in the same pieces each time."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from prompt_toolkit.application import create_app_session, get_app
from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.dialogue.dialogue import Dialogue
from modelmedic.interfaces.consult import keyboard
from modelmedic.interfaces.consult.input_handler import Sources
from modelmedic.interfaces.consult.kept_sessions import KeptSessions
from modelmedic.interfaces.consult.loop import Consultation
from modelmedic.interfaces.consult.session import SessionFile
from modelmedic.interfaces.consult.terminal import TerminalDriver
from modelmedic.interfaces.consult.typed_or_pasted import waits

LEAVING = ("\x07", "\x03", "\x04")  # end a search, clear the line, leave
MOST_TO_LEAVE = 60
PIPE = 4_096
SIZES = {"narrow": Size(24, 40), "wide": Size(40, 100)}


class Played(NamedTuple):
    """The outcome of a session: the dialogue at its end, the screen, and the file it is kept in."""

    dialogue: Dialogue
    shown: str
    session: SessionFile


class Typist(keyboard.Keyboard):
    """Types a piece when the line editor has taken the one before, then whatever leaves."""

    def __init__(self, pieces: deque[str], resized: Callable[[str], None]) -> None:
        self._out, self._in = os.pipe()
        self._file = os.fdopen(self._out, "r")
        self._pieces = pieces
        self._resized = resized
        self._leaving = 0
        super().__init__(self._file)

    def typeahead_hash(self) -> str:
        """Another keyboard may get the same file number; what was typed ahead here is not its."""
        return f"typist {id(self)}"

    def raw_mode(self) -> AbstractContextManager[None]:
        return _nothing()

    def cooked_mode(self) -> AbstractContextManager[None]:
        return _nothing()

    @contextmanager
    def attach(self, input_ready_callback: Callable[[], None]) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        typing: list[asyncio.Handle] = []
        typing.append(loop.call_soon(self._type, loop, typing))
        with super().attach(input_ready_callback):
            try:
                yield
            finally:
                typing[0].cancel()
                typing.clear()

    def _type(self, loop: asyncio.AbstractEventLoop, typing: list[asyncio.Handle]) -> None:
        """The next piece, if the last one was read; ``typing`` is the call to come."""
        if not waits(self._out, 0):
            self._press(self._pieces.popleft() if self._pieces else None)
        if typing:
            typing[0] = loop.call_later(0.002, self._type, loop, typing)

    def _press(self, piece: str | None) -> None:
        if piece is None:
            piece = LEAVING[self._leaving % len(LEAVING)]
            self._leaving += 1
            if self._leaving > MOST_TO_LEAVE and not get_app().is_done:
                get_app().exit(exception=AssertionError("nothing leaves"))
        if piece in SIZES:
            self._resized(piece)
            return
        data = piece.encode("utf-8", "surrogateescape")
        if len(data) < PIPE:
            os.write(self._in, data)
        else:  # more than a pipe holds
            Thread(target=os.write, args=(self._in, data), daemon=True).start()

    def close(self) -> None:
        self._file.close()
        os.close(self._in)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def play(doctor: Diagnoser, folder: Path, pieces: Iterable[str], *, resume: bool = False) -> Played:
    """A session in which pieces are typed, and which is then left; pieces that are left over, where
    one of them has left it, stay in a deque. No probe runs but the one of the environment."""
    screen = io.StringIO()
    size = ["wide"]

    def resized(name: str) -> None:
        size[0] = name
        os.kill(os.getpid(), signal.SIGWINCH)

    output = Vt100_Output(screen, lambda: SIZES[size[0]], term="xterm-256color")
    typist = Typist(pieces if isinstance(pieces, deque) else deque(pieces), resized)
    sources = Sources(doctor)
    sources.runnable = ("environment",)
    dialogue = Dialogue(doctor, (), sources.runnable, sources.readable)
    kept = KeptSessions(folder)
    session = kept.files()[0] if resume else kept.new()
    if resume:
        dialogue = dialogue.with_entries(session.load(doctor.base.vocabulary))
    try:
        with create_app_session(output=output):
            driver = TerminalDriver(folder / "history", keyboard=typist)
            driver._session.app.ttimeoutlen = driver._session.app.timeoutlen = 0.005
            finished = Consultation(dialogue, driver, sources, session).run()
    finally:
        typist.close()
    return Played(finished, screen.getvalue(), session)
