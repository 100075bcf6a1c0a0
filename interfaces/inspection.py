"""Reads artefacts at paths with the probes that recognise them, and texts; plots the facts. Ctrl-C
ends the reading, with what is known by then."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.problems import INTERRUPTED, out_of_time
from .intake import PASTED, Taken

if TYPE_CHECKING:
    from ..facts import Fact, Problem, Vocabulary
    from ..probes.recognition import Texts, Unit
    from .deadline import Deadline
    from .intake import Intake
    from .reports.formats import Picture
    from .waiting import Watch

    Gathered = tuple[list[Fact], list[Problem], list[tuple[str, str, int]]]

STDIN = "<stdin>"
_LONGEST_LINE = 65_536


def gather(
    paths: Sequence[Path],
    vocabulary: Vocabulary,
    watch: Watch | None = None,
    deadline: Deadline | None = None,
    intake: Intake | None = None,
) -> Gathered:
    """Read paths: facts, problems, and for each source its path, kind and number of facts. The path
    ``-`` is standard input. Parts that Ctrl-C or the ``deadline`` left unread are problems (MM407,
    MM319). With a ``watch`` of the caller, no progress is shown and no signal handled. The
    ``intake`` reads standard input, and texts that no probe knows."""
    from .deadline import NEVER
    from .waiting import watched

    files = [path for path in paths if str(path) != "-"]
    given: Gathered = ([], [], [])
    if intake is not None and len(files) < len(paths):
        given = _standard_input(intake)
    if watch is not None:
        found = _gathered(files, vocabulary, watch, intake)
    else:
        with watched(deadline or NEVER) as watch:
            found = _gathered(files, vocabulary, watch, intake)
    facts, problems, read = found
    facts, read = [*given[0], *facts], [*given[2], *read]
    return facts, [*given[1], *_with_reason(problems, watch)], read


def _standard_input(intake: Intake) -> Gathered:
    """The same of a text that is piped in."""
    from .context import read_stdin

    taken = intake.read(read_stdin(), STDIN)
    facts = taken.as_error
    return list(facts), list(taken.problems), [(STDIN, taken.title or "text", len(facts))]


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


def _gathered(
    paths: Sequence[Path], vocabulary: Vocabulary, watch: Watch, intake: Intake | None
) -> Gathered:
    from ..facts.progress import interrupted
    from ..probes.recognition import Texts, find_units, gather_unit

    facts: list[Fact] = []
    read: list[tuple[str, str, int]] = []
    texts = Texts() if intake is not None else None
    found = watch.attempt(find_units, paths, vocabulary, watch, texts)
    if found is None:
        return facts, [interrupted(f"not read: {_few(paths)}")], read
    units, problems = found
    if texts is not None:  # a single line may be anything
        lines = [unit for unit in units if _is_line(unit)]
        texts.found += [unit.paths[0] for unit in lines]
        units = [unit for unit in units if unit not in lines]
    with watch.part("", len(units)) as done:
        for at, unit in enumerate(units):
            outcome = watch.attempt(gather_unit, unit, vocabulary, watch)
            if outcome is None:
                behind = [path for each in units[at:] for path in each.paths]
                problems.append(interrupted(f"not read: {_few(behind)}"))
                return facts, problems, read
            of_text = unit.paths if unit.artefact.stated else ()
            stated, notes = _figures(of_text, intake) if intake else ([], [])
            facts += [*outcome.facts, *stated]
            problems += [*outcome.problems, *notes]
            read.append((_few(unit.paths), unit.artefact.title, len(outcome.facts) + len(stated)))
            done()
    if intake is not None and texts is not None:
        places = {place for unit in units for path in unit.paths for place in (path, *path.parents)}
        further = _of_texts(texts, places, intake, watch)
        unread = [path for path in (*texts.found, *texts.data, *texts.left) if path not in places]
        nothing = _nothing(paths, unread, places, vocabulary)
        return facts + further[0], [*problems, *further[1], *nothing], read + further[2]
    return facts, problems, read


def _of_texts(texts: Texts, places: set[Path], intake: Intake, watch: Watch) -> Gathered:
    """The same of the files that no probe knows; those in which something is recognised are added
    to ``places``."""
    facts, problems, read = _texts(texts.found, intake, watch)
    for path in texts.data:
        stated, notes = _figures((path,), intake)
        if stated or notes:
            facts, problems = facts + stated, problems + notes
            read.append((str(path), "statements", len(stated)))
    for place in map(Path, [*(each for each, _, _ in read), *_places(problems)]):
        places |= {place, *place.parents}
    if silent := [path for path in texts.found if path not in places]:
        read.append((_few(silent), "text in which nothing is recognised", 0))
    if texts.left:
        read.append((_few(texts.left), "long text, not read", 0))
    return facts, problems, read


def _figures(paths: Sequence[Path], intake: Intake) -> tuple[list[Fact], list[Problem]]:
    """The figures that files state, one after the other, and notes on others."""
    facts: list[Fact] = []
    notes: list[Problem] = []
    for path in paths:
        with suppress(OSError):
            text = path.read_bytes().decode("utf-8-sig", "replace")
            found = intake.figures(text, str(path))
            facts += found[0]
            notes += found[1]
    return facts, notes


def _places(problems: Sequence[Problem]) -> list[str]:
    """The paths that problems are about."""
    return [problem.where.path for problem in problems if problem.where]


def _is_line(unit: Unit) -> bool:
    """Whether a log is one line."""
    path = unit.paths[0]
    if unit.artefact.name != "log" or len(unit.paths) > 1 or path.stat().st_size > _LONGEST_LINE:
        return False
    return b"\n" not in path.read_bytes().strip()


def _texts(texts: Sequence[Path], intake: Intake, watch: Watch) -> Gathered:
    """The same of texts that no probe knows; those in which nothing is recognised are left out."""
    from ..facts.progress import interrupted

    facts: list[Fact] = []
    problems: list[Problem] = []
    read: list[tuple[str, str, int]] = []
    with watch.part("", len(texts)) as done:
        for at, path in enumerate(texts):
            taken = watch.attempt(_taken, path, intake, watch)
            if taken is None:
                problems.append(interrupted(f"not read: {_few(texts[at:])}"))
                break
            problems += taken.problems
            if taken.facts:
                facts += taken.facts
                read.append((str(path), taken.title, len(taken.facts)))
            done()
    return facts, problems, read


def _nothing(
    paths: Sequence[Path], silent: Sequence[Path], places: Collection[Path], vocabulary: Vocabulary
) -> Iterator[Problem]:
    """A problem for each path that was given and holds nothing but ``silent`` texts; ``places`` are
    those where something was read. If there are none, the known artefacts are listed once."""
    from ..facts import Location, Problem
    from ..probes.recognition import Table

    hint = "" if places else Table(vocabulary).titles()
    for path in paths:
        if path not in places and any(path in (each, *each.parents) for each in silent):
            message = f"nothing is recognised in this {'file' if path in silent else 'folder'}"
            yield Problem("MM406", message, Location(str(path)), hint)
            hint = ""


def _taken(path: Path, intake: Intake, watch: Watch) -> Taken:
    from ..facts import Location, Problem

    try:
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        message = f"cannot read the file: {error.strerror}"
        return Taken(problems=(Problem("MM403", message, Location(str(path)), "check its rights"),))
    return intake.read(text, str(path), progress=watch, tried=True)


def read_text(
    text: str | None,
    intake: Intake,
    deadline: Deadline | None = None,
    name: str = PASTED,
) -> Taken:
    """Read a text, by default standard input, within the time."""
    from ..facts.progress import interrupted
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
        found = watch.attempt(intake.read, text, name, progress=watch)
    if not is_whole:
        found = intake.read(text, name)
    if found is None or not is_whole:
        found = found or Taken()
        found = found._replace(problems=(*found.problems, interrupted(left_out)))
    return found._replace(problems=tuple(_with_reason(found.problems, watch)))


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
