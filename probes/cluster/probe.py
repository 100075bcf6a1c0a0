"""kubectl describe -> facts: Neuron resources of nodes, state of pods, warnings among events.

Problems: MM440 the file cannot be read, MM441 it describes neither pod nor node.
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

SOURCE = "probe:cluster"
MAX_BYTES = 8 << 20
MAX_EVENTS = 50
_OBJECT = re.compile(r"^(?=Name: {2,60}\S)", re.M)
_NAME = re.compile(r"^Name: {2,60}(\S{1,253})", re.M)
_SECTION = re.compile(r"^(Capacity|Allocatable):\n((?:[ \t]+\S.{0,200}\n)*)", re.M)
_RESOURCE = re.compile(r"aws\.amazon\.com/(neuron|neuroncore|neurondevice): {0,20}(\d{1,6})\b")
_STATUS = re.compile(r"^Status: {2,60}(\w{1,40})", re.M)
_REASON = re.compile(r"State: {2,60}Waiting\s{1,80}Reason: {2,60}(\w{1,60})")
_EXIT = re.compile(r"Exit Code: {2,60}(-?\d{1,6})")
_EVENT = re.compile(r"^ {1,8}Warning {1,10}(\w{1,60}) {1,20}.{1,80}? {2,20}(\S.{1,1500})$", re.M)
_PLUGIN = re.compile(r"neuron-(?:device-plugin|scheduler)|k8s-neuron")


def gather_cluster(path: Path | str, vocabulary: Vocabulary) -> Outcome:
    """The ``node_resource``, ``pod_state`` and ``error_message`` facts of a description."""
    collector = Collector(vocabulary, SOURCE)
    path = Path(path)
    try:
        text, _ = read_text(path, MAX_BYTES)
    except ModelMedicError as error:
        return Outcome(problems=error.problems)
    parts = [each for each in _OBJECT.split(text) if _NAME.search(each[:400])]
    if not parts:
        message = f"{path.name} describes neither pod nor node"
        collector.problem("MM441", message, Location(str(path)))
    for part in parts[:500]:
        name = _NAME.search(part)
        if name is None:
            continue
        if "\nCapacity:" in part:
            _add_node(collector, str(path), name[1], part)
        elif "\nNamespace:" in part or "\nContainers:" in part:
            _add_pod(collector, str(path), name[1], part)
        _add_events(collector, str(path), part)
    return collector.outcome()


def _add_node(collector: Collector, at: str, node: str, part: str) -> None:
    found: dict[str, dict[str, int]] = {}
    for section, body in _SECTION.findall(part):
        for resource, number in _RESOURCE.findall(body):
            found.setdefault(resource, {})[section.lower()] = int(number)
    for resource, numbers in sorted(found.items()):
        collector.add("node_resource", at, node=node, resource=resource, **numbers)
    if not found and re.search(r"instance-type=(?:inf|trn)\d", part):
        collector.add("node_resource", at, node=node, resource="neuron", capacity=0, allocatable=0)


def _add_pod(collector: Collector, at: str, pod: str, part: str) -> None:
    status, waiting, ended = _STATUS.search(part), _REASON.search(part), _EXIT.findall(part)
    asked = [int(number) for _, number in _RESOURCE.findall(part)]
    collector.add(
        "pod_state", at, pod=pod, phase=status[1] if status else None,
        waiting=waiting[1] if waiting else None, exit_code=int(ended[-1]) if ended else None,
        neuron=max(asked, default=0), plugin=bool(_PLUGIN.search(pod)),
    )  # fmt: skip


def _add_events(collector: Collector, at: str, part: str) -> None:
    for reason, said in _warnings(part):
        collector.add("error_message", at, text=without_keys(f"{reason}: {said}"), source="log",
                      level="WARNING", owner="kubernetes", owner_confidence="certain",
                      owner_evidence="an event of kubectl describe")  # fmt: skip


def _warnings(part: str) -> Iterator[tuple[str, str]]:
    events = part.partition("\nEvents:")[2]
    yield from list(dict.fromkeys(_EVENT.findall(events)))[:MAX_EVENTS]
