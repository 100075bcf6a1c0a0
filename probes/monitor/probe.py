"""The JSON stream of neuron-monitor -> facts: memory errors, executions that failed, instance.

Form: the neuron-monitor user guide. One report a line, or one report alone. Problems: MM440 the
file cannot be read, MM441 a line is not a report, MM442 the file was cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, ModelMedicError
from ...reading.text.files import read_text
from ..outcome import Collector, Outcome
from .reports import reports_in

SOURCE = "probe:monitor"
MAX_BYTES = 64 << 20
MAX_DEVICES = 256
_ERRORS = ("mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected", "sram_ecc_uncorrected",
           "mem_ecc_corrected")  # fmt: skip
_ENDS = {"completed": "completed", "completed_with_err": "with_error",
         "completed_with_num_err": "numerical", "timed_out": "timed_out",
         "incorrect_input": "incorrect_input", "failed_to_queue": "not_queued"}  # fmt: skip


def gather_monitor(path: Path | str, vocabulary: Vocabulary) -> Outcome:
    """The ``device_errors`` (of the latest report), ``execution_summary`` (of all reports) and
    ``neuron_machine`` facts of a stream."""
    collector = Collector(vocabulary, SOURCE)
    path = Path(path)
    try:
        text, cut = read_text(path, MAX_BYTES)
    except ModelMedicError as error:
        return Outcome(problems=error.problems)
    where = Location(str(path))
    if cut:
        collector.problem("MM442", f"{path.name}: only the first {MAX_BYTES >> 20} MiB", where)
    counts: Counter[str] = Counter()
    latest: dict[int, dict[str, int]] = {}
    kind, seen = None, 0
    for report in reports_in(text):
        seen += 1
        latest |= dict(_devices(report))
        counts.update(_executions(report))
        told = _inner(report, "instance_info").get("instance_type")
        kind = told[:60] if isinstance(told, str) and told else kind
    if not seen:
        collector.problem("MM441", f"{path.name} holds no report of neuron-monitor", where)
    for device, errors in sorted(latest.items())[:MAX_DEVICES]:
        collector.add("device_errors", str(path), device=device, **errors)
    if counts:
        collector.add("execution_summary", str(path), **counts)
    if kind:
        collector.add("neuron_machine", str(path), instance_type=kind)
    return collector.outcome()


def _inner(value: object, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _devices(report: dict[str, Any]) -> Iterator[tuple[int, dict[str, int]]]:
    rows = _inner(_inner(report, "system_data"), "neuron_hw_counters").get("neuron_devices")
    for row in rows if isinstance(rows, list) else ():
        number = _count(row.get("neuron_device_index")) if isinstance(row, dict) else None
        if number is not None:
            counts = {name: _count(row.get(name)) for name in _ERRORS}
            yield number, {name: value for name, value in counts.items() if value is not None}


def _executions(report: dict[str, Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    rows = report.get("neuron_runtime_data")
    for row in rows if isinstance(rows, list) else ():
        summary = _inner(_inner(_inner(row, "report"), "execution_stats"), "execution_summary")
        for name, key in _ENDS.items():
            value = _count(summary.get(name))
            if value is not None:
                found[key] += value
    return found
