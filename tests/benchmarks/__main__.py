"""All measurements of speed, one after the other, and how they stand against their goals.

    python tests/benchmarks [--json FILE] [PART ...]

Parts: peers, growth, inference, shipped, cold. Takes about six minutes on two quiet cores. The file
holds all figures with the machine and the versions, for comparison over time. Very many records
and memory are measured apart: ``python tests/benchmarks/bench_bulk.py``.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_HERE = Path(__file__).resolve().parent
_PARTS: Mapping[str, Sequence[str]] = {
    "peers": ("peers",),
    "growth": ("peers/growth.py",),
    "inference": ("peers/inference.py",),
    "shipped": ("bench_shipped.py",),
    "cold": ("bench_cold_start.py",),
}
_PACKAGES = ("modelmedic", "durable-rules", "msgspec", "clipspy", "zen-engine")


class Goal(NamedTuple):
    """A figure, and the least or most that it should be."""

    name: str
    figure: float
    wanted: float
    least: bool

    def __str__(self) -> str:
        met = self.figure >= self.wanted if self.least else self.figure <= self.wanted
        bound = "at least" if self.least else "at most"
        return (
            f"{'met  ' if met else 'MISSED'} {self.name:62} {self.figure:9.2f}  "
            f"{bound} {self.wanted:g}"
        )


def machine() -> dict[str, Any]:
    """Describe the machine that the figures depend on."""
    model = ""
    if (cpu := Path("/proc/cpuinfo")).exists():
        names = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else ""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = ""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": model or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": os.getloadavg()[0],
        "versions": versions,
        "engine": "compiled" if _is_compiled() else "Python",
    }


def run(part: str, folder: Path) -> Any:
    """The figures of a part, which prints its tables itself."""
    print(f"\n== {part}", flush=True)
    path, *options = _PARTS[part]
    place = folder / f"{part}.json"
    command = [sys.executable, str(_HERE / path), *options, "--json", str(place)]
    subprocess.run(command, check=True)
    return json.loads(place.read_text())


def _is_compiled() -> bool:
    from modelmedic.engine.diagnosis import screening

    return not str(screening.__file__).endswith(".py")


def goals(parts: Mapping[str, Any]) -> Iterator[Goal]:
    """Yield the project's goals for these figures."""
    if "peers" in parts:
        yield from _against_clips(parts["peers"])
    if "growth" in parts:
        for name, power in parts["growth"]["exponents"]["ModelMedic"].items():
            if name.startswith("processor"):
                yield Goal(f"power of the growth with facts, {name}", power, 1.0, least=False)
    if "shipped" in parts:
        (large,) = (
            row for row in parts["shipped"]["rows"]
            if (row["sets"], row["way"]) == ("60 facts", "report without plan")
        )  # fmt: skip
        yield Goal("60 facts, explanations: median ms", large["median_ms"], 1.0, least=False)
        yield Goal("60 facts, explanations: a second", large["per_second"], 1500, least=True)
        cores = parts["shipped"]["cores"]["by_wall"]["median"]
        yield Goal("two processes against one", cores, 1.8, least=True)
    if "cold" in parts:
        bare = parts["cold"]["python -c pass"]
        for name in ("diagnose --facts, text", "diagnose --facts, json"):
            yield Goal(f"{name}: times a bare interpreter", parts["cold"][name] / bare, 5, False)


def _against_clips(figures: Any) -> Iterator[Goal]:
    wanted = {("plain", 400): 2.0, ("plain", 4_000): 1.8, ("plain", 10_000): 1.8,
              ("popular", 4_000): 2.5}  # fmt: skip
    for row in figures["engines"]:
        place = row["workload"], row["rules"]
        name = f"{row['rules']:,} rules, {row['workload']}"
        if row["engine"].startswith("CLIPS") and place in wanted:
            times = row["ratio"]["processor"]["throughput"]
            yield Goal(f"{name}: times the throughput of CLIPS", times, wanted[place], least=True)
        if row["engine"] == "ModelMedic" and row["sessions"] >= 100:
            spent = row["processor"]
            tail = spent["p99_us"] / spent["median_us"]
            yield Goal(f"{name}: 99th percentile against the median", tail, 5, least=False)
    for each in figures["growth"]:
        name = f"{each['workload']}: {each['to']:,} rules against {each['from']:,}"
        yield Goal(name, each["times"]["processor"], 1.6, least=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(_PARTS))
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(_PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(_PARTS)}")
    about = machine()
    print(*(f"{name}: {value}" for name, value in about.items() if name != "versions"), sep=", ")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.parts or _PARTS:
            found[name] = run(name, Path(folder))
            if chosen.json:
                document = {"schema": "modelmedic/benchmarks/1", **about, "parts": found}
                chosen.json.write_text(json.dumps(document, indent=1) + "\n")
    print("\n== goals (ratios of processor time, but for cores and cold start)")
    print(*goals(found), sep="\n")


if __name__ == "__main__":
    main()
