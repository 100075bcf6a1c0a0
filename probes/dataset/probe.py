"""A chat data set in JSONL -> problems of its rows, and figures of the whole.

The form is that of the cookbook's file loader: one JSON object a line with a ``messages`` list of
objects with ``role`` and ``content``. Reading is streaming; of the rows only hashes are kept.
"""

from __future__ import annotations

import re
from array import array
from hashlib import blake2b
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress
from ...facts.regular_files import open_regular
from ...reading.text.files import MAX_LINE_BYTES, Ending, Line, LineProblems, parse_row, read_lines
from ..outcome import Collector, Outcome, not_available
from ..shared.series_statistics import median, rounded
from .rows import Finding, RowFigures, check_row
from .tables import is_table, is_table_folder, rows_of, table_files

MAX_BYTES = 1_000_000_000
MAX_ROWS = 500_000
# With fewer questions their openings are not evidence.
MIN_QUESTIONS = 20
MAX_FORMS = 100_000
# Everything that is searched for, in the words of the vocabulary; reported also if it is absent.
CHECKED = (
    "not-json", "not-an-object", "messages-missing", "bad-message", "mixed-content-types",
    "no-assistant-turn", "last-turn-not-assistant", "unknown-role", "empty-content",
    "duplicate-rows",
)  # fmt: skip
_MARK = b"\xef\xbb\xbf"
_NOT_WORDS = re.compile(r"[\W_]+")


def gather_dataset(
    path: Path | str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The facts of a JSONL file: for each checked problem a ``dataset_problem``, with count, share
    of the rows, first line and the finding there, or ``present`` false if no row has it;
    ``dataset_profile``, ``think_blocks`` and ``tool_format`` of the training data.

    Details show roles, keys and places, never the text of messages. Problems: MM440 the file cannot
    be read, MM441 a line is too long to be checked, MM442, MM407 rows were left out (then nothing
    is said to be absent), MM470 there is no row, MM471 the file is not text.
    """
    return _gather(Path(path), vocabulary, progress, named=True)


def gather_found(
    path: Path | str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """Like the gathering of a named file, for data that was found in a folder: rows of another
    usual form may be meant for a loader of the user's own, so they are not reported as
    incomplete."""
    return _gather(Path(path), vocabulary, progress, named=False)


def _gather(path: Path, vocabulary: Vocabulary, progress: Progress, *, named: bool) -> Outcome:
    collector = Collector(vocabulary, "probe:dataset")
    try:
        reading = collector.attempt(_read, path, progress)
    except ImportError:
        return not_available("pyarrow", "bulk")
    if reading is None:
        return collector.outcome()
    _report(collector, path, reading)
    if reading.rows and not reading.binary:
        _add_problems(collector, path, reading, named=named)
        _add_figures(collector, path, reading)
    return collector.outcome()


class _Reading:
    """The findings and figures of the rows so far."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self.binary = False
        self.ending = Ending(ends_early=True)
        self.full = False
        self.too_long = LineProblems(path, "it is not checked")
        self.counts: dict[str, int] = dict.fromkeys(CHECKED, 0)
        self.first: dict[str, tuple[int, str]] = {}
        self.lengths = array("q")
        self.longest = (0, 0)
        self.conversations = 0
        self.others = 0  # rows of another form
        self.assistants = [0, 0]  # last messages, with thinking
        self.earlier = [0, 0]  # messages before the last, with thinking
        self.forms: dict[str, int] = {}
        self.questions = 0
        self.repeated = 0
        self.systems: dict[bytes, int] = {}
        self.calls: dict[str, int] = {}
        self._seen: dict[bytes, int] = {}
        self._alike: set[bytes] = set()
        self._content_kind: type | None = None

    def find(self, finding: Finding, line: int) -> None:
        self.counts[finding.problem] += 1
        self.first.setdefault(finding.problem, (line, finding.detail))

    def take(self, line: Line) -> None:
        """Check a line. A blank one counts as a row: the loader fails on it."""
        self.rows += 1
        if line.number == 1 and line.raw.startswith(_MARK):
            self.find(Finding("not-json", "the file begins with a byte order mark"), 1)
        row = parse_row(line.number, line.raw)
        if row.error:
            blank = "the line is empty" if not line.raw.strip() else row.error
            self.find(Finding("not-json", blank), line.number)
            return
        self.take_value(row.value, line.number)

    def take_value(self, value: object, number: int) -> None:
        """Check the content of a row."""
        findings, figures = check_row(value)
        self._note_content_kinds(value, number)
        for finding in findings:
            self.find(finding, number)
        if figures:
            self.others += any(finding.problem == "messages-missing" for finding in findings)
            self._add(figures, number)

    def _note_content_kinds(self, value: object, line: int) -> None:
        """Contents may be texts or lists of parts, but one kind in the whole file: the loader
        makes a table of it."""
        messages = value.get("messages") if isinstance(value, dict) else None
        for message in messages if isinstance(messages, list) else ():
            content = message.get("content") if isinstance(message, dict) else None
            if not isinstance(content, (str, list)):
                continue
            self._content_kind = self._content_kind or type(content)
            if type(content) is not self._content_kind:
                names = {str: "text", list: "a list of parts"}
                detail = f"a content is {names[type(content)]}, others before it are not"
                self.find(Finding("mixed-content-types", detail), line)
                return

    def _add(self, figures: RowFigures, line: int) -> None:
        self.conversations += 1
        self.lengths.append(figures.characters)
        if figures.characters > self.longest[0]:
            self.longest = (figures.characters, line)
        for index, has in enumerate(figures.thinking):
            kept = self.assistants if index == len(figures.thinking) - 1 else self.earlier
            kept[0] += 1
            kept[1] += has
        if figures.words:
            self.questions += 1
            if figures.words in self.forms or len(self.forms) < MAX_FORMS:
                self.forms[figures.words] = self.forms.get(figures.words, 0) + 1
        if figures.system and len(self.systems) < MAX_FORMS:
            system = _digest(figures.system)
            self.systems[system] = self.systems.get(system, 0) + 1
        for form in dict.fromkeys(figures.calls):
            self.calls[form] = self.calls.get(form, 0) + 1
        exact = _digest(figures.text)
        if exact in self._seen:
            first = self._seen[exact]
            self.find(Finding("duplicate-rows", f"it says the same as line {first}"), line)
        else:
            self._seen[exact] = line
        alike = _digest(_NOT_WORDS.sub(" ", figures.text.casefold()).strip())
        self.repeated += alike in self._alike
        self._alike.add(alike)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()


def _read(path: Path, progress: Progress) -> _Reading:
    if is_table_folder(path) or is_table(_start(path), path.name):
        return _read_tables(path, progress)
    reading = _Reading(path)
    blank: list[Line] = []
    for line in read_lines(path, MAX_BYTES, reading.ending, progress):
        if line.number == 1 and (b"\0" in line.raw[:4096] or line.raw.startswith(b"PAR1")):
            reading.binary = True
            break
        if reading.rows >= MAX_ROWS:
            reading.full = True
            break
        if line.too_long:
            reading.too_long.add(line.number, f"the line has more than {MAX_LINE_BYTES:,} bytes")
        elif not line.raw.strip():
            blank.append(line)
        else:
            for each in [*blank, line]:
                reading.take(each)
            blank.clear()
    if reading.rows:
        for each in blank:
            reading.take(each)
    return reading


def _start(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(8)
    except (OSError, ValueError):
        return b""  # the reader reports the reason


def _read_tables(path: Path, progress: Progress) -> _Reading:
    """The rows of a table, or of those of a folder."""
    reading = _Reading(path)
    files = table_files(path) if path.is_dir() else [path]
    with progress.part(path.name, unit="rows", ends_early=True) as step:
        for row in (row for file in files for row in rows_of(file)):
            if reading.rows >= MAX_ROWS:
                reading.full = True
                break
            reading.rows += 1
            reading.take_value(row, reading.rows)
            if not reading.rows % 1_000 and not step(1_000):
                reading.ending.cut = reading.ending.interrupted = True
                break
    return reading


def _report(collector: Collector, path: Path, reading: _Reading) -> None:
    where = Location(str(path))
    collector.extend(reading.too_long.all())
    if reading.binary:
        hint = "give the rows as text, one JSON object a line"
        collector.problem("MM471", "the file is not text (compressed, or a table?)", where, hint)
    elif not reading.rows:
        hint = "give a JSONL file, one conversation a line"
        collector.problem("MM470", "there is no row in the file", where, hint)
    if reading.ending.cut or reading.full:
        collector.extend([reading.ending.problem(f"{reading.rows:,} rows were checked", where)])


def _add_problems(collector: Collector, path: Path, reading: _Reading, *, named: bool) -> None:
    whole = not (reading.ending.cut or reading.full or reading.too_long.count)
    for problem in CHECKED:
        count = reading.counts[problem]
        if problem == "messages-missing" and not named and reading.others == reading.rows:
            continue
        if count:
            line, detail = reading.first[problem]
            if problem == "not-json":
                detail += _whole_file(path)
            collector.add(
                "dataset_problem", f"{path}:{line}", problem=problem, present=True, file=str(path),
                line=line, count=count, share=rounded(min(count / reading.rows, 1.0)),
                detail=detail,
            )  # fmt: skip
        elif whole and (reading.conversations or problem in ("not-json", "not-an-object")):
            collector.add("dataset_problem", str(path), problem=problem, present=False,
                          file=str(path), count=0)  # fmt: skip


def _whole_file(path: Path) -> str:
    """A hint if the file seems to be one JSON value over several lines."""
    first = next(iter(read_lines(path, 65_536)), None)
    opens = first is not None and first.raw.strip() in (b"[", b"{")
    return "; the file seems to be one JSON value, not one object a line" if opens else ""


def _add_figures(collector: Collector, path: Path, reading: _Reading) -> None:
    count = reading.conversations
    if not count:
        return
    forms = reading.questions >= MIN_QUESTIONS
    collector.add(
        "dataset_profile", str(path), examples=count,
        near_duplicate_share=rounded(reading.repeated / count),
        question_forms=len(reading.forms) if forms else None,
        top_form_share=rounded(max(reading.forms.values()) / reading.questions) if forms else None,
        median_chars=int(median(reading.lengths)), max_chars=reading.longest[0],
        longest_line=reading.longest[1] or None,
        system_share=rounded(max(reading.systems.values()) / count) if reading.systems else None,
    )  # fmt: skip
    if len(reading.calls) == 1:  # of several forms, some may be in the output of tools
        ((form, rows),) = reading.calls.items()
        collector.add(
            "tool_format", str(path), place="training-data", format=form,
            share=rounded(rows / count),
        )  # fmt: skip
    total = reading.assistants[0] + reading.earlier[0]
    filled = reading.assistants[1] + reading.earlier[1]
    for place, messages, having in (
        ("data", total, filled), ("data-history", reading.earlier[0], reading.earlier[1]),
    ):  # fmt: skip
        if messages:
            collector.add("think_blocks", str(path), place=place, present=having > 0,
                          share=rounded(having / messages))  # fmt: skip
