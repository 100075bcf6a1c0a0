"""A bulk job: inputs through a runner into outputs, with a journal of its progress, so that it can
resume after any interruption.

The journal is replaced atomically, after the output that it describes has reached the disk. Output
written after the journal is truncated and processed again.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from ...facts import Location, ModelMedicError, Problem
from .inputs import Inputs
from .outputs import Outputs, beside
from .progress import NoProgress
from .records import Chunk, Limits, Position, Result, chunks
from .runner import Runner
from .tally import Tally
from .trouble import other_job

SCHEMA = "modelmedic/bulk-journal/2"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Identity(NamedTuple):
    """The values that must be the same for a job to resume."""

    inputs: tuple[tuple[Any, ...], ...]
    knowledge: str
    version: str
    options: dict[str, Any]


class Plan(NamedTuple):
    """A job to run. ``checkpoint``: seconds between journal entries, the most work that an
    interruption costs."""

    inputs: Inputs
    target: Path
    identity: Identity
    limits: Limits = Limits()
    checkpoint: float = 2.0


class Outcome(NamedTuple):
    """The result. ``went_on_after``: records processed before the job was resumed."""

    tally: Tally
    went_on_after: int


def run_job(
    plan: Plan, make_runner: Callable[[], Runner], progress: NoProgress, *, restart: bool = False
) -> Outcome:
    """Run a job to its end, from where it was interrupted. Raises :class:`ModelMedicError` (MM320,
    MM330, MM331, MM333) and KeyboardInterrupt; finished work is kept."""
    outputs = Outputs(plan.target)
    journal = Journal(beside(plan.target, ".journal"), plan.identity)
    with _reporting(plan.target):
        if restart:
            journal.remove()
        state = journal.read() or State(Position(), 0, 0, Tally(limited=True))
        before = state.tally.processed
        try:
            if not state.done:
                outputs.open(state.output, state.errors)
                state = _work(
                    plan, _Checkpoints(journal, outputs, state, plan), make_runner, progress
                )
            outputs.finish(has_errors=state.errors > 0)
        finally:
            outputs.close()
    return Outcome(state.tally, before)


def forget(target: Path, identity: Identity) -> None:
    """Delete the journal of a finished job, once its answer has been given."""
    with _reporting(target):
        Journal(beside(target, ".journal"), identity).remove()


def _work(
    plan: Plan, checkpoints: _Checkpoints, make_runner: Callable[[], Runner], progress: NoProgress
) -> State:
    """Process what is left, and write the journal, even if interrupted."""
    with _Interrupts() as interrupts:
        runner = make_runner()
        try:
            progress.begin(checkpoints.state.tally.processed)
            reads = plan.inputs.reads(checkpoints.state.position)
            for chunk, result in runner.results(chunks(reads, plan.limits)):
                with interrupts.held():
                    checkpoints.take(chunk, result)
                    progress.advance(checkpoints.state.tally.processed, chunk.stored)
        except BaseException:
            with suppress(OSError):
                checkpoints.note()
            raise
        finally:
            runner.close()
        with interrupts.held():
            checkpoints.note(done=True)
    return checkpoints.state


class _Interrupts:
    """Ctrl-C and SIGTERM end a job between two results, never within one: both raise
    KeyboardInterrupt, but not inside :meth:`held`."""

    def __init__(self) -> None:
        self._holds = False
        self._came = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> _Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Defers a signal until the block ends."""
        self._holds = True
        try:
            yield
        finally:
            self._holds = False
        if self._came:
            raise KeyboardInterrupt

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self._holds:
            self._came = True
        else:
            raise KeyboardInterrupt


class _Checkpoints:
    """Writes results, and the journal at intervals."""

    def __init__(self, journal: Journal, outputs: Outputs, state: State, plan: Plan) -> None:
        self._journal = journal
        self._outputs = outputs
        self._checkpoint = plan.checkpoint
        self._noted = time.monotonic()
        self.state = state

    def take(self, chunk: Chunk, result: Result) -> None:
        """Write the next result. Raises OSError; then nothing of it counts."""
        self._outputs.append(result.output, result.errors)
        output, errors, tally = self.state.output, self.state.errors, self.state.tally
        tally.merge(result.tally)
        output, errors = output + len(result.output), errors + len(result.errors)
        self.state = State(chunk.after, output, errors, tally)
        if time.monotonic() - self._noted >= self._checkpoint:
            self.note()

    def note(self, done: bool = False) -> None:
        """Write the journal. Raises OSError."""
        self.state = self.state._replace(done=done)
        self._outputs.sync()
        self._journal.write(self.state)
        self._noted = time.monotonic()


@contextmanager
def _reporting(target: Path) -> Iterator[None]:
    """Reports trouble with files."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "make room, then run the same command to resume; or name another file"
        where = Location(str(error.filename or target))
        problem = Problem("MM320", f"cannot write the results: {reason}", where, hint)
        raise ModelMedicError(problem) from None


class State(NamedTuple):
    """The progress of a job: position in the inputs, bytes written, and counts."""

    position: Position
    output: int
    errors: int
    tally: Tally
    done: bool = False


class Journal:
    """The journal beside an output."""

    def __init__(self, path: Path, identity: Identity) -> None:
        self.path = path
        self._identity = json.loads(json.dumps(identity._asdict()))

    def read(self) -> State | None:
        """The state to resume from; None to begin. Raises :class:`ModelMedicError` (MM330) for the
        journal of another job."""
        try:
            plain = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise other_job(f"its journal cannot be read ({error})", str(self.path)) from None
        try:
            self._compare(plain["identity"] if plain["schema"] == SCHEMA else {})
            state = plain["state"]
            return State(
                Position(*state["position"]),
                int(state["output"]),
                int(state["errors"]),
                Tally.from_plain(state["tally"]),
                bool(state["done"]),
            )
        except (KeyError, TypeError, ValueError):
            raise other_job("its journal has an unknown form", str(self.path)) from None

    def _compare(self, other: Any) -> None:
        words = {
            "inputs": "the inputs differ or have changed",
            "knowledge": "the knowledge differs",
            "version": "it was begun with another version of ModelMedic",
            "options": "the options differ",
        }
        for name, what in words.items():
            if other.get(name) != self._identity[name]:
                raise other_job(what, str(self.path))

    def write(self, state: State) -> None:
        """Record the progress. Raises OSError."""
        plain = {
            "schema": SCHEMA,
            "identity": self._identity,
            "state": {**state._asdict(), "tally": state.tally.plain()},
        }
        draft = self.path.with_name(self.path.name + ".new")
        with draft.open("wb") as file:
            file.write(json.dumps(plain).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)

    def remove(self) -> None:
        """Delete the journal: the job is finished, or starts over."""
        self.path.with_name(self.path.name + ".new").unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
