"""Profiles, traces, stack dumps and task dumps -> facts on the use of time and the states of
threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress
from ...reading.text.files import read_text
from ..outcome import Collector, Outcome
from .pyinstrument import add_profile, looks_like_pyinstrument
from .stacks import Stack, add_states, looks_like_stacks, read_stacks
from .tasks import add_tasks
from .trace import add_timeline, looks_like_trace

MAX_BYTES = 50_000_000
MAX_FILES = 50
HEAD = 65_536


def gather_profile(
    paths: Path | str | Sequence[Path | str], vocabulary: Vocabulary, *,
    progress: Progress = UNWATCHED,
) -> Outcome:  # fmt: skip
    """The facts of one or several files, each recognised by its content:

    - pyinstrument, JSON or text: ``profile``, ``profile_hotspot``
    - trace_events.jsonl or a trace in Chrome's form: ``timeline``
    - py-spy dump, faulthandler, stacks of the watchdog: ``thread_state``. Several dumps, in one
      file or in files given in their order, show whether a thread is stuck.
    - task dumps of asyncio: ``sdk_task``, ``loop_dump``, ``error_message`` of failed tasks

    Problems: MM440 a file cannot be read, MM441 a line cannot be used, MM442 a part was left out,
    MM407 interrupted, MM446 the form is unknown, MM447 a profile and MM448 a trace is not usable.
    Never raises over an input.
    """
    files = [Path(each) for each in ([paths] if isinstance(paths, (str, Path)) else paths)]
    collector = Collector(vocabulary, "probe:profile")
    if len(files) > MAX_FILES:
        text = f"{len(files)} files; the first {MAX_FILES} are read"
        collector.problem("MM442", text, Location(str(files[MAX_FILES])))
    stacks: list[Stack] = []
    for path in files[:MAX_FILES]:
        stacks.extend(collector.attempt(_add, collector, path, progress) or ())
    add_states(collector, stacks)
    return collector.outcome()


def _add(collector: Collector, path: Path, progress: Progress) -> list[Stack]:
    text, cut = read_text(path, HEAD)
    head = text.encode("utf-8", "replace")
    if looks_like_trace(head):
        add_timeline(collector, path, progress)
        return []
    if cut:
        text, cut = read_text(path, MAX_BYTES)
    if cut:
        message = f"the file is long: what follows its first {MAX_BYTES:,} bytes is left out"
        collector.problem("MM442", message, Location(str(path)))
    if looks_like_pyinstrument(head):
        add_profile(collector, path, text)
        return []
    has_tasks = add_tasks(collector, text, str(path))
    stacks = read_stacks(text, str(path)) if has_tasks or looks_like_stacks(head) else []
    if not stacks and not has_tasks:
        what = "the file is empty" if not text.strip() else "the form of the file is not known"
        hint = "give a pyinstrument profile, trace_events.jsonl, a py-spy dump or a task dump"
        collector.problem("MM446", what, Location(str(path)), hint)
    return stacks
