"""The output of neuron-ls -> facts: cores, memory of a core, gaps, devices that are held.

Form: the tables of the neuron-ls user guide and the rows of ``--json-output``. Problems: MM440 the
file cannot be read, MM441 it lists no devices.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, ModelMedicError
from ...reading.text.files import read_text
from ..outcome import Collector, Outcome

SOURCE = "probe:devices"
MAX_BYTES = 4 << 20
MAX_DEVICES = 1024
_TYPE = re.compile(r"instance-type: {0,3}([a-z][a-z0-9-]{1,12}\.[a-z0-9]{1,12})")
_LOGICAL = re.compile(r"logical-neuroncore-config: {0,3}([1-9])")
_ROW = re.compile(r"\| {0,20}(\d{1,4}) {0,20}\| {0,20}(\d{1,3}) {0,20}\|(.{0,400})")
_GB = re.compile(r"\b(\d{1,4}) GB\b")
_PID = re.compile(r"\| {0,20}(\d{2,10}) {0,20}\|")
_NO_PROCESS = re.compile(r"[0-9a-f]{2}:[0-9a-f]{2}\.\d")


class Device(NamedTuple):
    """One device: its number, cores, memory in GB, and whether a process is on it."""

    number: int
    cores: int
    memory_gb: float | None
    held: bool


def gather_devices(path: Path | str, vocabulary: Vocabulary) -> Outcome:
    """The ``neuron_machine`` and ``device_inventory`` facts of the output of neuron-ls."""
    collector = Collector(vocabulary, SOURCE)
    path = Path(path)
    try:
        text, _ = read_text(path, MAX_BYTES)
    except ModelMedicError as error:
        return Outcome(problems=error.problems)
    devices, about = _read(text)
    if devices is None:
        message = f"{path.name} lists no devices as neuron-ls does"
        collector.problem("MM441", message, Location(str(path)))
        return collector.outcome()
    cores = sum(each.cores for each in devices)
    memory = sum(each.memory_gb or 0 for each in devices)
    numbers = sorted(each.number for each in devices)
    collector.add("neuron_machine", str(path), neuron_cores=cores,
                  core_memory_gb=round(memory / cores, 2) if cores and memory else None,
                  instance_type=about.get("instance"))  # fmt: skip
    collector.add("device_inventory", str(path), devices=len(devices),
                  contiguous=numbers == list(range(numbers[0], numbers[0] + len(numbers)))
                  if numbers else None,
                  held=sum(each.held for each in devices),
                  logical_nc_config=about.get("logical"))  # fmt: skip
    return collector.outcome()


def _read(text: str) -> tuple[list[Device] | None, dict[str, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _of_table(text)
    about: dict[str, Any] = {}
    rows = value
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        rows = lists[0] if lists else None
        kind, logical = value.get("instance_type"), value.get("logical_neuroncore_config")
        known = type(logical) is int and 0 < logical < 10
        about = {
            "instance": kind[:60] if isinstance(kind, str) else None,
            "logical": logical if known else None,
        }
    if not isinstance(rows, list):
        return None, about
    devices = [_of_row(n, row) for n, row in enumerate(rows[:MAX_DEVICES])]
    listed = [each for each in devices if each is not None]
    return (listed if len(listed) == len(devices) else None), about


def _of_row(place: int, row: object) -> Device | None:
    if not isinstance(row, dict) or type(row.get("nc_count")) is not int:
        return None
    number, memory = row.get("neuron_device"), row.get("memory_size")
    processes = row.get("neuron_processes")
    return Device(
        number if type(number) is int else place,
        min(max(row["nc_count"], 0), 1024),
        memory / (1 << 30) if type(memory) is int and 0 < memory < 1 << 50 else None,
        isinstance(processes, list) and bool(processes),
    )


def _of_table(text: str) -> tuple[list[Device] | None, dict[str, Any]]:
    kind, logical = _TYPE.search(text), _LOGICAL.search(text)
    about = {"instance": kind[1] if kind else None, "logical": int(logical[1]) if logical else None}
    if "| DEVICE | CORES" not in text:
        return None, about
    devices: list[Device] = []
    for line in text.splitlines()[:10_000]:
        row = _ROW.match(line.strip())
        if row and len(devices) < MAX_DEVICES:
            memory = _GB.search(row[3])
            rest = row[3][memory.end() :] if memory else row[3]
            held = bool(_PID.search(rest)) and bool(_NO_PROCESS.search(rest))
            devices.append(Device(int(row[1]), int(row[2]),
                                  float(memory[1]) if memory else None, held))  # fmt: skip
    return devices, about
