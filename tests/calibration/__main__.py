"""How the shipped knowledge does on healthy runs and on runs with one fault each.

``python -m tests.calibration`` prints the table of docs/quality.md, ``--write`` puts it there,
with the strengths from which on faults are visible. Those are chosen on the open half of the runs;
the other half is measured only.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .faults import KINDS, Kind, faulty_runs
from .healthy_runs import Run, healthy_runs
from .measure import WARNS, Examiner, is_blind

HERE = Path(__file__).resolve().parent
PAGE, VISIBLE = HERE.parents[1] / "docs/quality.md", HERE / "visible.json"
WANTED = 0.9
Cell = tuple[str, int, bool]


def healthy_table(examiner: Examiner, each: int) -> list[str]:
    """Findings on healthy runs, for each workload."""
    seen: dict[str, Counter[str]] = {}
    for run in healthy_runs(each):
        levels = {found.severity for found in examiner.findings(run)}
        worst = next((name for name in ("error", "warning", "info") if name in levels), "none")
        for name in (run.workload, "blind half" if is_blind(run.name) else "open half"):
            seen.setdefault(name, Counter())[worst] += 1
    lines = _head(("healthy runs", "runs", "nothing", "info at most", "warning", "error"))
    for name, found in sorted(seen.items(), key=lambda item: item[0].endswith("half")):
        figures = (sum(found.values()), *(found[level] for level in ("none", "info", *WARNS)))
        lines.append(f"| {name} | {' | '.join(str(figure) for figure in figures)} |")
    return lines


def measured(examiner: Examiner, runs: Iterator[tuple[Kind, int, Run]]) -> dict[Cell, list[bool]]:
    """For each kind, strength and half: whether the fault was named first."""
    found: dict[Cell, list[bool]] = {}
    for kind, level, run in runs:
        first = [each.id for each in examiner.findings(run)][:1]
        cell = found.setdefault((kind.name, level, is_blind(run.name)), [])
        cell.append(bool(set(first) & set(kind.names)))
    return found


def visible_from(found: Mapping[Cell, Sequence[bool]], name: str) -> int | None:
    """The least strength from which on the open half is named first."""
    enough = [share(found.get((name, level, False), ())) >= WANTED for level in range(5)]
    return next((level for level in range(5) if all(enough[level:])), None)


def _head(columns: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def share(named: Sequence[bool]) -> float:
    return sum(named) / len(named) if named else 0.0


def fault_table(found: Mapping[Cell, Sequence[bool]]) -> list[str]:
    lines = _head(("fault", "strength, in", "named first, of all", "visible from", "blind there"))
    all_blind: list[bool] = []
    for kind in KINDS.values():
        shares = []
        for level, strength in enumerate(kind.strengths):
            halves = (found.get((kind.name, level, half), ()) for half in (False, True))
            both = [named for half in halves for named in half]
            shares.append(f"{strength:g}: {share(both):.0%}")
        level_found = visible_from(found, kind.name)
        if level_found is None:
            lines.append(f"| {kind.name} | {kind.unit} | {', '.join(shares)} | none | |")
            continue
        blind = found.get((kind.name, level_found, True), ())
        all_blind += blind
        told = f"{sum(blind)} of {len(blind)}"
        visible = f"{kind.strengths[level_found]:g}"
        lines.append(f"| {kind.name} | {kind.unit} | {', '.join(shares)} | {visible} | {told} |")
    total = f"{sum(all_blind)} of {len(all_blind)} ({share(all_blind):.0%})"
    return [*lines, f"| **all, where they are visible** | | | | **{total}** |"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="calibration", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}, {VISIBLE.name}")
    parser.add_argument("--each", type=int, default=12, help="runs of a fault and strength")
    asked = parser.parse_args()
    examiner = Examiner()
    found = measured(examiner, faulty_runs(asked.each))
    tables = {"healthy": healthy_table(examiner, asked.each // 3), "faults": fault_table(found)}
    for lines in tables.values():
        print("\n".join(lines), end="\n\n")
    if asked.write:
        text = PAGE.read_text("utf-8")
        for name, lines in tables.items():
            body = "\n".join([f"<!-- {name} -->", *lines, f"<!-- end of {name} -->"])
            part = re.compile(f"<!-- {name} -->.*<!-- end of {name} -->", re.DOTALL)
            text = part.sub(body.replace("\\", r"\\"), text)
        PAGE.write_text(text, "utf-8")
        levels = {name: visible_from(found, name) for name in KINDS}
        VISIBLE.write_text(json.dumps(levels, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
