"""The Neuron side of a machine: devices, driver, system packages, SDK release, room on the disk.

Everything is read from files; ``neuron-ls`` is run only when it is asked for.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...facts.problems import Location, ModelMedicError, excerpt
from ...facts.regular_files import read_regular
from ...reading.text.values import json_table, parse_json
from ..outcome import Collector

SYSTEM_PACKAGES = ("aws-neuronx-dkms", "aws-neuronx-runtime-lib", "aws-neuronx-collectives",
                   "aws-neuronx-tools")  # fmt: skip
NEURON_PACKAGES = frozenset({
    "neuronx-distributed", "neuronx-distributed-inference", "torch-neuronx", "neuronx-cc",
    "libneuronxla", "vllm-neuron", "optimum-neuron",
})  # fmt: skip
TOOL_S = 30.0
MAX_STATUS_BYTES = 50_000_000
MAX_MODEL_FILES = 10_000
_DEVICE = re.compile(r"neuron\d+\Z", re.ASCII)
_INSTANCE = re.compile(r"[a-z]{1,9}\d[a-z0-9-]{0,30}\.[a-z0-9-]{1,30}\Z", re.ASCII)


def uses_neuron(packages: Iterable[str], root: Path) -> bool:
    """Whether a machine or environment has Neuron packages, real or placeholders, or device files.
    Without any, missing parts are not findings."""
    return bool(NEURON_PACKAGES & set(packages)) or bool(_devices(root))


def add_machine(
    collector: Collector, packages: Mapping[str, str], *, root: Path, ask_tool: bool
) -> None:
    """Add ``neuron_machine`` and ``system_package`` facts of the machine whose files are below
    ``root``. ``ask_tool`` runs neuron-ls, for cores and memory (MM426 if that fails)."""
    devices = _devices(root)
    told = _ask_tool(collector) if ask_tool else {}
    # Without a device file there is no core; how many a device has only the tool knows.
    cores = told.get("cores", 0 if devices == [] else None)
    system = _system_packages(root)
    collector.add(
        "neuron_machine", str(root / "dev"), neuron_cores=cores,
        core_memory_gb=told.get("memory_gb"), instance_type=_instance_type(root),
        driver_loaded=_driver_loaded(root), sdk_version=sdk_release(packages),
    )  # fmt: skip
    for name in SYSTEM_PACKAGES if system is not None else ():
        version = (system or {}).get(name)
        collector.add("system_package", str(root / "var/lib/dpkg/status"), name=name,
                      installed=version is not None, version=version or None)  # fmt: skip


def add_release(collector: Collector, place: str, packages: Mapping[str, str]) -> None:
    """Add the SDK release that a list of packages belongs to."""
    release = sdk_release(packages)
    if release is not None:
        collector.add("neuron_machine", place, sdk_version=release)


def sdk_release(packages: Mapping[str, str]) -> str | None:
    """The release of the Neuron SDK by the versions of its packages (name -> version)."""
    for row in json_table(__file__, "neuron_releases.json")["packages"]:
        parts = packages.get(row["name"], "").split("+")[0].split(".")
        for count in (3, 2):
            if release := row["releases"].get(".".join(parts[:count])):
                return str(release)
    return None


def add_disk_space(collector: Collector, folder: Path, model: Path | None) -> None:
    """Add the ``disk_space`` of the disk of ``folder``, along with the size of the weights in
    ``model``."""
    try:
        free = shutil.disk_usage(folder).free / 1e9
    except (OSError, ValueError) as error:
        hint = "name the folder of the experiment"
        message = f"cannot tell the free space: {getattr(error, 'strerror', None) or error}"
        collector.problem("MM427", message, Location(str(folder)), hint)
        return
    size = sum(_weights(model)) / 1e9 if model is not None else 0.0
    collector.add(
        "disk_space", str(folder), free_gb=round(free, 2),
        model_gb=round(size, 3) if size else None,
        free_over_model=round(free / size, 2) if size else None,
    )  # fmt: skip


def _weights(model: Path) -> Iterator[int]:
    """Sizes of the weight files directly in a folder."""
    try:
        entries = sorted(os.scandir(model), key=lambda entry: entry.name)[:MAX_MODEL_FILES]
    except (OSError, ValueError):
        return
    names = [e for e in entries if e.name.endswith(".safetensors")]
    for entry in names or [e for e in entries if e.name.endswith((".bin", ".pt", ".pth"))]:
        try:
            yield entry.stat().st_size
        except OSError:
            continue


def _devices(root: Path) -> list[str] | None:
    """Device files; None on systems without device files."""
    try:
        return sorted(name for name in os.listdir(root / "dev") if _DEVICE.match(name))
    except OSError:
        return None


def _driver_loaded(root: Path) -> bool | None:
    text = _text(root / "proc/modules")
    return None if text is None else any(x.startswith("neuron ") for x in text.splitlines())


def _instance_type(root: Path) -> str | None:
    name = (_text(root / "sys/devices/virtual/dmi/id/product_name") or "").strip()
    return name if _INSTANCE.match(name) else None


def _system_packages(root: Path) -> dict[str, str] | None:
    """Map the packages that dpkg has installed to their versions; None if there is no dpkg."""
    text = _text(root / "var/lib/dpkg/status")
    if text is None:
        return None
    found: dict[str, str] = {}
    for block in text.split("\n\n"):
        name = _field(block, "Package")
        if name in SYSTEM_PACKAGES and _field(block, "Status").endswith(" installed"):
            found[name] = _field(block, "Version")
    return found


def _field(block: str, name: str) -> str:
    start = f"{name}: "
    return next((x[len(start) :].strip() for x in block.splitlines() if x.startswith(start)), "")


def _text(path: Path) -> str | None:
    try:
        return read_regular(path, MAX_STATUS_BYTES)[:MAX_STATUS_BYTES].decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _ask_tool(collector: Collector) -> dict[str, Any]:
    from ..shared.child_processes import run_limited

    found = shutil.which("neuron-ls") or "/opt/aws/neuron/bin/neuron-ls"
    where, hint = Location(found), "install aws-neuronx-tools, or leave --neuron-ls out"
    try:
        ran = run_limited([found, "--json-output"], TOOL_S)
    except ModelMedicError as error:
        message = f"neuron-ls cannot be run: {error.problems[0].message}"
        collector.problem("MM426", message, where, hint)
        return {}
    devices = _device_rows(ran.out)
    if ran.timed_out or devices is None:
        said = "no answer in time" if ran.timed_out else excerpt(ran.err or ran.out, 200)
        collector.problem("MM426", f"neuron-ls did not list the devices: {said}", where, hint)
        return {}
    cores = sum(row["nc_count"] for row in devices)
    memory = sum(row.get("memory_size") or 0 for row in devices) / 1e9
    return {"cores": cores, "memory_gb": round(memory / cores, 1) if cores and memory else None}


def _device_rows(text: str) -> list[dict[str, Any]] | None:
    """The rows with a number of cores, in either form of the tool's JSON."""
    value = parse_json(text)
    lists = [value] if isinstance(value, list) else list(value.values()) \
        if isinstance(value, dict) else []  # fmt: skip
    for rows in (each for each in lists if isinstance(each, list)):
        if all(isinstance(r, dict) and isinstance(r.get("nc_count"), int) for r in rows):
            return rows
    return None
