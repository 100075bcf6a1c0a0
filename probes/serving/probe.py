"""The log of a vLLM or SGLang server -> its settings, and the fate of its adapters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress, interrupted
from ..logs.files import LogFamilies, LogStream, in_time_order, size_of
from ..logs.probe import gather_logs
from ..outcome import Collector, Outcome
from .server import Server

SOURCE = "probe:serving"


def gather_serving(
    path: Path | Sequence[Path], vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The ``serving`` and ``served_adapter`` facts of a server's log, rotated files included. Of a
    log with several starts the last one counts.

    Problems: MM490 cannot be read, MM493 not a text, MM494 damaged, MM495 too long, MM453 no lines
    of vLLM or SGLang, MM407 interrupted. Never raises over an input.
    """
    files = LogFamilies().of(path) if isinstance(path, Path) else in_time_order(path)
    collector = Collector(vocabulary, SOURCE)
    where = Location(str(files[-1]) if files else "")
    stream, server = LogStream(files), Server()
    with progress.part(Path(where.path).name, size_of(files), "bytes", ends_early=True) as step:
        for piece in stream.pieces():
            server.feed(piece)
            if not step(len(piece.data)):
                behind = f"what follows {stream.place(piece.line)} was not read"
                stream.problems.append(interrupted(behind, where))
                break
    collector.extend(stream.problems)
    if server.engine:
        _add(collector, server, stream)
    elif not stream.problems:
        hint = "give the log of vLLM or SGLang from its start"
        collector.problem("MM453", "nothing here is a line of vLLM or SGLang", where, hint)
    return collector.outcome()


def gather_found(
    paths: Sequence[Path], vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The facts of a server's log that was found, and of any log: errors and answers."""
    read = gather_serving(paths, vocabulary, progress=progress)
    if any(problem.code == "MM407" for problem in read.problems):
        return read
    # The reader of logs reports the problems of the files.
    return Outcome.joined(
        Outcome(facts=read.facts), gather_logs(paths, vocabulary, progress=progress)
    )


def _add(collector: Collector, server: Server, stream: LogStream) -> None:
    collector.add("serving", stream.place(server.line), engine=server.engine, **server.values())
    for adapter in server.adapters.values():
        collector.add(
            "served_adapter", stream.place(adapter.line), name=adapter.name,
            path=adapter.path or None, loaded=adapter.loaded,
            ignored_modules=len(adapter.ignored) or None,
            ignored_module=min(adapter.ignored, default=None),
        )  # fmt: skip
