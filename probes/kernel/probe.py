"""dmesg -> facts: errors of the Neuron driver, processes ended for memory, version of the driver.

Problems: MM440 the file cannot be read, MM442 it was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, ModelMedicError
from ...reading.text.files import read_text
from ..outcome import Collector, Outcome
from ..shared.redaction import without_keys

SOURCE = "probe:kernel"
MAX_BYTES = 16 << 20
MAX_MESSAGES = 200
_STARTED = re.compile(r"Neuron Driver Started with Version: ?([0-9][0-9.]{0,30})")
_ERRORS = re.compile(
    r"NEURON_HW_ERR=|Out of memory: Killed process|oom-kill:|DEREG_MR|device mempool \[|"
    r"neuron:\w{1,80}: .{0,200}(?:[Ff]ail|[Ii]nvalid|[Ee]rror|timed? ?out|timeout|[Cc]ould ?n[o']t|"
    r"[Cc]an't|[Uu]nable|exceed|too (?:large|small)|miss-wired|not enough|Unknown|not supported)"
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


def gather_kernel(path: Path | str, vocabulary: Vocabulary) -> Outcome:
    """The ``error_message``, ``driver_state`` and ``neuron_machine`` facts of dmesg. Messages that
    differ in numbers only are given once, with their count."""
    collector = Collector(vocabulary, SOURCE)
    path = Path(path)
    try:
        text, cut = read_text(path, MAX_BYTES)
    except ModelMedicError as error:
        return Outcome(problems=error.problems)
    if cut:
        message = f"{path.name}: only the first {MAX_BYTES >> 20} MiB"
        collector.problem("MM442", message, Location(str(path)))
    started = _STARTED.findall(text)
    if started or "neuron:" in text:
        collector.add("neuron_machine", str(path), driver_loaded=True)
    if started:
        collector.add("driver_state", str(path), running=started[-1].rstrip("."))
    for line, said, count in _messages(text):
        owner = "os" if "memory: Killed" in said or "oom-kill" in said else "neuron_driver"
        collector.add(
            "error_message", f"{path}:{line}", text=without_keys(said), source="log", count=count,
            owner=owner, owner_confidence="likely",
            owner_evidence="the kernel says it in dmesg",
        )  # fmt: skip
    return collector.outcome()


def _messages(text: str) -> Iterator[tuple[int, str, int]]:
    """The line, text and count of the messages that report an error."""
    found: dict[str, tuple[int, str]] = {}
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not _ERRORS.search(line[:2000]):
            continue
        said = line[:2000].partition("] ")[2] or line[:2000]
        shape = _NUMBERS.sub("#", said)
        if shape not in found and len(found) >= MAX_MESSAGES:
            continue
        found.setdefault(shape, (number, said))
        counts[shape] = counts.get(shape, 0) + 1
    for shape, (number, said) in found.items():
        yield number, said, counts[shape]
