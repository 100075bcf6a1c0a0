"""Reads artefacts at paths with the probes that recognise them, and texts; plots the facts. Ctrl-C
ends the reading, with what is known by then."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.problems import INTERRUPTED, out_of_time

if TYPE_CHECKING:
    from ..facts import Fact, Problem, Vocabulary
    from ..probes import Outcome
    from .deadline import Deadline
    from .reports.formats import Picture
    from .waiting import Watch

    Gathered = tuple[list[Fact], list[Problem], list[tuple[str, str, int]]]

STDIN = "<stdin>"


def gather(
    paths: Sequence[Path],
    vocabulary: Vocabulary,
    watch: Watch | None = None,
    deadline: Deadline | None = None,
) -> Gathered:
    """Read paths: facts, problems, and for each source its path, kind and number of facts. The path
    ``-`` is standard input. Parts that Ctrl-C or the ``deadline`` left unread are problems (MM407,
    MM319). With a ``watch`` of the caller, no progress is shown and no signal handled."""
    from .deadline import NEVER
    from .waiting import watched

    files = [path for path in paths if str(path) != "-"]
    given: Gathered = ([], [], [])
    if len(files) < len(paths):
        given = _standard_input(vocabulary)
    if watch is not None:
        found = _gathered(files, vocabulary, watch)
    else:
        with watched(deadline or NEVER) as watch:
            found = _gathered(files, vocabulary, watch)
    facts, problems, read = found
    facts, read = [*given[0], *facts], [*given[2], *read]
    return facts, [*given[1], *_with_reason(problems, watch)], read


def _standard_input(vocabulary: Vocabulary) -> Gathered:
    """The same of a text that is piped in: what a probe knows, else as messages."""
    from ..probes.messages.probe import read_messages
    from ..probes.pasted import gather_pasted
    from .context import read_stdin_bytes

    raw = read_stdin_bytes()
    known = gather_pasted(raw, vocabulary, STDIN)
    if known is not None:
        title, outcome = known.artefact.title, known.outcome
    else:
        title = "text"
        outcome = read_messages(raw.decode("utf-8-sig", "replace"), vocabulary, name=STDIN)
    return list(outcome.facts), list(outcome.problems), [(STDIN, title, len(outcome.facts))]


def _with_reason(problems: Sequence[Problem], watch: Watch) -> list[Problem]:
    """The problems, with the reason for parts left out, which probes do not know."""
    if not watch.late:
        return list(problems)
    return [
        out_of_time(problem.message.removeprefix("interrupted: "), problem.where)
        if problem.code == INTERRUPTED
        else problem
        for problem in problems
    ]


def _gathered(paths: Sequence[Path], vocabulary: Vocabulary, watch: Watch) -> Gathered:
    from ..facts.progress import interrupted
    from ..probes.recognition import find_units, gather_unit

    facts: list[Fact] = []
    read: list[tuple[str, str, int]] = []
    found = watch.attempt(find_units, paths, vocabulary, watch)
    if found is None:
        return facts, [interrupted(f"not read: {_few(paths)}")], read
    units, problems = found
    with watch.part("", len(units)) as done:
        for at, unit in enumerate(units):
            outcome = watch.attempt(gather_unit, unit, vocabulary, watch)
            if outcome is None:
                behind = [path for each in units[at:] for path in each.paths]
                problems.append(interrupted(f"not read: {_few(behind)}"))
                break
            facts.extend(outcome.facts)
            problems.extend(outcome.problems)
            read.append((_few(unit.paths), unit.artefact.title, len(outcome.facts)))
            done()
    return facts, problems, read


def read_error(
    text: str | None, vocabulary: Vocabulary, deadline: Deadline | None = None
) -> Outcome:
    """The facts of the messages in a text, by default in standard input."""
    from ..facts.progress import interrupted
    from ..probes import Outcome
    from ..probes.messages.probe import read_messages
    from .context import read_stdin
    from .deadline import NEVER
    from .waiting import watched

    if text is None and sys.stdin.isatty():
        text = read_stdin()
    left_out = "the text was not read"
    with watched(deadline or NEVER) as watch:
        if text is None:
            text = read_stdin(watch)
            left_out = "standard input was not read to its end"
        is_whole = not watch.stopped
        found = watch.attempt(read_messages, text, vocabulary, progress=watch)
    if not is_whole:
        found = read_messages(text, vocabulary)
    if found is None or not is_whole:
        missing = Outcome(problems=(interrupted(left_out),))
        found = Outcome.joined(found, missing) if found is not None else missing
    return Outcome(found.facts, tuple(_with_reason(found.problems, watch)))


def _few(paths: Sequence[Path]) -> str:
    """Some paths by name, the others by number."""
    names = ", ".join(str(path) for path in paths[:3])
    return f"{names} and {len(paths) - 3} more" if len(paths) > 3 else names


def plot(
    facts: Sequence[Fact], paths: Sequence[Path], folder: Path, vocabulary: Vocabulary
) -> tuple[Picture, ...]:
    """Plot the component results among ``facts``, and the errors of captured tensors at ``paths``
    or below, and list the files on stderr. The pictures may go into a report, so they show only
    redacted names."""
    from ..probes.recognition import find_units
    from .reports.charts.png import PROFILE, write_plots
    from .reports.formats import Picture
    from .reports.layout import Line, counted, problem_lines, write
    from .reports.output_guard import redacted

    units, _ = find_units(list(paths), vocabulary)
    captures = [path for unit in units if unit.artefact.name == "tensors" for path in unit.paths]
    written = write_plots(redacted(list(facts)).value, captures, folder)
    lines = (
        [Line(f"{counted(len(written.files), 'plot')} written to {folder}")]
        if written.files
        else []
    )
    if not written.files and not written.problems:
        lines = [Line("nothing to plot: there are no R-ratios of components")]
    write([*lines, *problem_lines(written.problems)], sys.stderr)
    return tuple(
        Picture(caption, file.read_bytes())
        for file, caption in zip(written.files, written.captions, strict=True)
        if file.name != PROFILE  # HTML has it as SVG
    )
