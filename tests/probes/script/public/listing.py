"""The findings of a measurement with the code around both of their ends, for one who judges them.

    python tests/probes/script/public/measure.py run FOLDER --out findings.json
    python tests/probes/script/public/listing.py FOLDER findings.json > findings.md

It shows what the report says and the code there, not what is believed of it. Texts of others are in
it: it is for a folder outside of the project. Leads are counted only.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

AROUND = 25
_PLACE = re.compile(r"^(?P<file>.*?)(?::cell (?P<cell>\d+))?(?::(?P<line>\d+))?$")
_TOLD = ("error", "warning", "blocker")


def lines_of(folder: Path, location: str) -> tuple[list[str], int]:
    """The lines of the file or cell of a place, and the number of its line."""
    found = _PLACE.match(location)
    file = folder / (found["file"] if found else location)
    if found is None or not file.is_file():
        return [], 0
    text = file.read_text("utf-8", "replace")
    if file.suffix == ".ipynb" and found["cell"]:
        cells = json.loads(text)["cells"]
        text = "".join(cells[min(int(found["cell"]), len(cells)) - 1]["source"])
    return text.splitlines(), int(found["line"] or 0)


def around(folder: Path, location: str) -> str:
    lines, at = lines_of(folder, location)
    if not lines:
        return "(no such file here)"
    first, last = max(0, at - 1 - AROUND), min(len(lines), at + AROUND)
    rows = enumerate(lines[first:last], first + 1)
    return "\n".join(f"{'>' if n == at else ' '}{n:5} {line[:160]}" for n, line in rows)


def same(finding: dict[str, Any]) -> tuple[Any, ...]:
    """The key by which two findings are one: read in a file alone or with its project."""
    ends = [(e["rule"], e["place"]) for e in finding["reasons"]]
    return finding["repo"], finding["id"], finding["severity"], tuple(sorted(set(ends)))


def listed(root: Path, findings: list[dict[str, Any]]) -> str:
    told: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in findings:
        if each["severity"] in _TOLD:
            told.setdefault(same(each), each)
    leads = Counter(f["id"] for f in findings if f["severity"] not in _TOLD)
    parts = [f"# {len(told)} findings of severity error or warning\n"]
    ordered = sorted(told.values(), key=lambda f: (f["severity"], f["repo"], f["id"]))
    for number, each in enumerate(ordered, 1):
        folder = root / each["repo"].replace("/", "+")
        read = f"the file {each['of']} alone" if each["of"] else "the whole repository"
        parts += [f"## {number}. {each['severity']}: {each['title']}\n",
                  f"- diagnosis `{each['id']}`, {each['confidence']}",
                  f"- repository {each['repo']}; read as {read}"]  # fmt: skip
        for reason in each["reasons"]:
            parts += [f"\n**{reason['place']}**: {reason['text']}",
                      f"(rule `{reason['rule']}`; takes for granted: {reason['assumes'] or '-'})\n",
                      f"```python\n{around(folder, reason['place'])}\n```"]  # fmt: skip
            if reason["other"]:
                parts += [f"\nThe other end, **{reason['other']}**:\n",
                          f"```python\n{around(folder, reason['other'])}\n```"]  # fmt: skip
        parts.append("")
    parts.append(f"# Leads (not listed): {sum(leads.values())}\n")
    parts += [f"- {count} `{name}`" for name, count in leads.most_common()]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("findings", type=Path)
    given = parser.parse_args()
    found = json.loads(given.findings.read_text("utf-8"))["findings"]
    print(listed(given.folder, found))


if __name__ == "__main__":
    main()
