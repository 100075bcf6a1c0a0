"""A bulk job: inputs through a runner into outputs, with a journal of how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from ....facts import Location, ModelMedicError, Problem
from .inputs import Inputs
from .interrupts import Interrupts
from .journal import Identity, Journal, State
from .outputs import Outputs, beside
from .records import Chunk, Limits, Position, Result, chunks
from .runner import Runner
from .tally import Tally


class Plan(NamedTuple):
    """What is to be done. ``checkpoint`` is the time in seconds between two entries of the journal;
    so much work is done twice after an interruption."""

    inputs: Inputs
    target: Path
    identity: Identity
    limits: Limits = Limits()
    checkpoint: float = 2.0


class Progress(Protocol):
    """Who is told how far the job is."""

    def begin(self, records: int, stored: int) -> None: ...
    def advance(self, records: int, stored: int) -> None: ...


class Outcome(NamedTuple):
    """What came of it. ``went_on_after`` is the number of records of the interrupted job."""

    tally: Tally
    went_on_after: int


def run_job(
    plan: Plan, make_runner: Callable[[], Runner], progress: Progress, *, restart: bool = False
) -> Outcome:
    """Run a job to its end, from where it was interrupted. Raises :class:`ModelMedicError` (MM320,
    MM330, MM331, MM333) and KeyboardInterrupt; what is done by then is kept."""
    outputs = Outputs(plan.target)
    journal = Journal(beside(plan.target, ".journal"), plan.identity)
    with _told(plan.target):
        if restart:
            journal.remove()
        state = journal.read() or State(Position(), 0, 0, Tally(limited=True))
        before = processed(state.tally)
        if not state.done:
            state = _work(plan, state, outputs, journal, make_runner, progress)
        outputs.finish(has_errors=state.errors > 0)
    return Outcome(state.tally, before)


def forget(target: Path, identity: Identity) -> None:
    """The answer of a finished job has been given: it needs no journal any more."""
    with _told(target):
        Journal(beside(target, ".journal"), identity).remove()


def processed(tally: Tally) -> int:
    """The number of records behind."""
    return tally.all.records + tally.refused


def _work(
    plan: Plan,
    state: State,
    outputs: Outputs,
    journal: Journal,
    make_runner: Callable[[], Runner],
    progress: Progress,
) -> State:
    try:
        outputs.open(state.output, state.errors)
        with Interrupts() as interrupts:
            pace = _Pace(journal, outputs, state, plan.checkpoint)
            runner = make_runner()
            try:
                reads = plan.inputs.reads(state.position)
                progress.begin(processed(state.tally), 0)
                for chunk, result in runner.results(chunks(reads, plan.limits)):
                    with interrupts.held():
                        outputs.append(result.output, result.errors)
                        pace.take(chunk, result)
                        progress.advance(processed(pace.state.tally), chunk.stored)
            except BaseException:
                with suppress(OSError):
                    pace.note()
                raise
            finally:
                runner.close()
            with interrupts.held():
                pace.state = pace.state._replace(done=True)
                pace.note()
            return pace.state
    finally:
        outputs.close()


class _Pace:
    """Takes results into the state and notes it from time to time."""

    def __init__(
        self, journal: Journal, outputs: Outputs, state: State, checkpoint: float
    ) -> None:
        self._journal = journal
        self._outputs = outputs
        self._checkpoint = checkpoint
        self._noted = time.monotonic()
        self.state = state

    def take(self, chunk: Chunk, result: Result) -> None:
        tally = self.state.tally
        tally.merge(result.tally)
        self.state = State(
            chunk.after,
            self.state.output + len(result.output),
            self.state.errors + len(result.errors),
            tally,
        )
        if time.monotonic() - self._noted >= self._checkpoint:
            self.note()

    def note(self) -> None:
        """Write the journal. Raises OSError."""
        self._outputs.sync()
        self._journal.write(self.state)
        self._noted = time.monotonic()


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """Trouble with files, told to people."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "make room or name another file; the same command goes on where it ended"
        where = Location(str(error.filename or target))
        problem = Problem("MM320", f"cannot write the results: {reason}", where, hint)
        raise ModelMedicError(problem) from None
