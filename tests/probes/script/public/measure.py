"""The false-alarm budget of the script probe, measured on public code. Run by hand; no test.

The corpus is kept as pointers (``corpus.yaml``: repository, commit, paths), what a person found
when reading the places of its findings in ``verdicts.yaml``. Texts of others are fetched when they
are measured, into a folder outside the project.

    python tests/probes/script/public/measure.py fetch FOLDER
    python tests/probes/script/public/measure.py run FOLDER            # without the held-out files
    python tests/probes/script/public/measure.py run FOLDER --held-out # those alone, at the end
    python tests/probes/script/public/measure.py choose FOLDER OWNER/NAME@COMMIT...

A tenth of the files is held out by the hash of ``owner/name/path``. Findings in those files do not
show before the end. ``fresh.yaml`` is a second corpus, all of it held out: files that use tinker
of 19 more repositories, at most 10 of each by the same hash, none that the first corpus or the
cookbook has; drawn before the code that it measures was tuned (``--corpus fresh.yaml --held-out``).
``third.yaml``
is drawn by the same rule from 14 further repositories, without paths that the cookbook ever had.
``ninth.yaml`` likewise: at most 10 files of each of 20 repositories, 8 of which no other set has.

First runs, before anything was mended: of 220 files of the eighth set (9 repositories, forks of the
cookbook most of them) all were recognised, 4 errors true, none false, 7 warnings true, 2 debatable
(two readers agreed); in its last 14, read at the end, nothing was reported. Of 116 files of the
ninth all were recognised, of 7 errors 4 true and 3 false (two mechanisms), of 23 warnings none
false (one reader). ``listing.py`` writes the findings down with their code, for one who judges.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from modelmedic.engine.diagnosis.diagnoser import Diagnoser
from modelmedic.engine.diagnosis.report import Evidence
from modelmedic.facts.fact import Fact
from modelmedic.probes.recognition import find_units, gather_unit
from modelmedic.probes.script.probe import gather_script
from modelmedic.probes.script.recognition import HEAD, looks_like_script

HERE = Path(__file__).parent
MOST_OF_ONE = 40
MOST_COPIES = 10  # of the cookbook, which many repositories carry with them
PATTERNS = ("*.py", "*.ipynb", "*.toml", "*.cfg", "*.yaml", "*.yml", "requirements*.txt",
            "*.lock")  # fmt: skip
PACKAGES = ("tinker", "tinker_cookbook")
_CELL = re.compile(r"^\s*(?:import|from)\s+(?:tinker|tinker_cookbook)\b", re.MULTILINE)


def number(name: str) -> int:
    return int(sha256(name.encode()).hexdigest()[:8], 16)


def held_out(repo: str, path: str) -> bool:
    return number(f"{repo}/{path}") % 10 == 0


def hidden_of(repo: str, entry: dict[str, Any]) -> set[str]:
    """The held-out files of a repository; of a corpus that was drawn for the end, all."""
    whole = entry.get("held_out") == "all"
    return {p for p in entry["files"] if whole or held_out(repo, p)}


def folder_of(root: Path, repo: str) -> Path:
    return root / repo.replace("/", "+")


def fetch(root: Path, corpus: dict[str, Any], source: str) -> None:
    """The files of the corpus with plain git, one commit deep; what is there already stays."""
    for repo, entry in corpus.items():
        folder = folder_of(root, repo)
        if folder.exists():
            continue
        folder.mkdir(parents=True)
        owner, _, name = repo.partition("/")
        url = source.format(repo=repo, owner=owner, name=name)
        for command in (
            ["init", "-q"],
            ["sparse-checkout", "set", "--no-cone", *PATTERNS],
            ["fetch", "-q", "--depth", "1", "--filter=blob:limit=4m", url, entry["commit"]],
            ["checkout", "-q", "FETCH_HEAD"],
        ):
            subprocess.run(["git", "-C", str(folder), *command], check=True)


def uses_tinker(path: Path) -> bool:
    """Whether a file imports the SDK or the cookbook; decided without the probe."""
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".ipynb":
        try:
            cells = json.loads(text).get("cells", ())
        except ValueError:
            return False
        code = ["".join(c.get("source", "")) for c in cells if c.get("cell_type") == "code"]
        return any(_CELL.search(part) for part in code)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return bool(_CELL.search(text))
    return any(name.split(".")[0] in PACKAGES for name in imported(tree))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def choose(root: Path, repos: Iterable[str], source: str) -> dict[str, Any]:
    """The files of repositories: those that use tinker, each content once, at most 40 of each."""
    corpus: dict[str, Any] = {}
    seen: set[str] = set()
    for repo in sorted(repos):
        name, _, commit = repo.partition("@")
        fetch(root, {name: {"commit": commit}}, source)
        folder = folder_of(root, name)
        paths = sorted(p for s in (".py", ".ipynb") for p in folder.rglob(f"*{s}") if p.is_file())
        paths.sort(key=lambda p: number(f"{name}/{p.relative_to(folder).as_posix()}"))
        files: list[str] = []
        copies = 0
        for path in paths:
            if not uses_tinker(path):
                continue
            content = sha256(path.read_bytes()).hexdigest()
            copied = "tinker_cookbook" in path.parts
            if content in seen or len(files) == MOST_OF_ONE or (copied and copies == MOST_COPIES):
                continue
            seen.add(content)
            copies += copied
            files.append(path.relative_to(folder).as_posix())
        if files:
            corpus[name] = {"commit": commit, "files": sorted(files)}
    return corpus


def file_of(location: str) -> str:
    return re.sub(r"(:cell \d+)?(:\d+)?$", "", location)


def shown(diagnoser: Diagnoser, facts: Iterable[Fact], folder: Path) -> list[dict[str, Any]]:
    """The findings on facts, each with the places of its evidence below the folder."""
    report = diagnoser.diagnose(facts, plan=False)
    known = {name: fact for name, fact, *_ in report.facts}
    found = []
    for each in report.diagnoses:
        if each.kind == "benign":
            continue
        used = [fact for e in each.evidence if (fact := known.get(e.fact)) is not None]
        places = {
            p.location.removeprefix(f"{folder}/"): str(fact.get("pattern") or fact.kind)
            for fact in used
            for p in fact.provenance
        }
        rules = sorted({e.rule for e in each.evidence})
        assumed = sorted({str(a) for fact in used if (a := fact.get("assumes"))})
        found.append({"id": each.id, "severity": each.severity, "confidence": each.confidence,
                      "title": each.headline, "places": places, "rules": rules,
                      "assumes": assumed,
                      "reasons": [*reasons(each.evidence, known, folder)]})  # fmt: skip
    return found


def reasons(
    evidence: Iterable[Evidence], known: dict[str, Fact], folder: Path
) -> Iterator[dict[str, str]]:
    """The text of each piece of evidence, with its place and the place at its other end."""
    for each in evidence:
        fact = known.get(each.fact)
        if fact is None:
            continue
        place = fact.provenance[0].location.removeprefix(f"{folder}/") if fact.provenance else ""
        other = ""
        if fact.get("other_file"):
            beside = place.rpartition("/")[0]
            file = f"{beside}/{fact.get('other_file')}".removeprefix("/")
            other = f"{file}:{fact.get('other_line')}"
        yield {"rule": each.rule, "text": each.text, "place": place, "other": other,
               "assumes": str(fact.get("assumes") or "")}  # fmt: skip


def measure(root: Path, corpus: dict[str, Any], end: bool, each: int) -> dict[str, Any]:
    diagnoser = Diagnoser.load()
    vocabulary = diagnoser.base.vocabulary
    known, missed, findings, times, slow = 0, [], [], [], []
    for repo, entry in corpus.items():
        folder = folder_of(root, repo)
        started = time.process_time()
        units, _ = find_units([folder], vocabulary)
        scripts = [unit for unit in units if unit.artefact.name == "script"]
        facts = [f for unit in scripts for f in gather_unit(unit, vocabulary).facts]
        times.append((round(time.process_time() - started, 2), repo))
        whole = {path for unit in scripts for path in unit.paths}
        hidden = hidden_of(repo, entry)
        measured = [p for p in entry["files"] if (p in hidden) == end]
        singly = sorted(measured, key=lambda p: number(f"{repo}/{p}"))[:each]
        for path in measured:
            file = folder / path
            with file.open("rb") as opened:
                if file in whole and looks_like_script(file, opened.read(HEAD)):
                    known += 1
                else:
                    missed.append(f"{repo}/{path}")
            if path not in singly:
                continue
            started = time.process_time()
            alone = gather_script([file], vocabulary)
            slow.append((round(time.process_time() - started, 2), f"{repo}/{path}"))
            for finding in shown(diagnoser, alone.facts, folder):
                findings.append({"repo": repo, "of": path, **finding})
        for finding in shown(diagnoser, facts, folder):
            findings.append({"repo": repo, "of": "", **finding})
        findings = [f for f in findings if f["repo"] != repo or visible(f, hidden, end)]
        print(f"{times[-1][0]:7.2f} s  {repo}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {
        "files": known + len(missed), "recognised": known, "missed": missed,
        "slowest repositories": sorted(times)[-3:], "slowest files": sorted(slow)[-3:],
        "peak MB": peak, "findings": findings, "times": sorted(slow, reverse=True),
    }  # fmt: skip


def visible(finding: dict[str, Any], hidden: set[str], end: bool) -> bool:
    """Whether a finding may show: before the end none that touches a held-out file, at the end
    only those."""
    return end == any(file_of(place) in hidden for place in finding["places"])


def verdict_of(finding: dict[str, Any], verdicts: list[dict[str, Any]]) -> str:
    """The reviewed verdict of a finding, by its diagnosis and the places of its evidence."""
    for each in verdicts:
        if each["id"] != finding["id"] or each["repo"] != finding["repo"]:
            continue
        if any(file_of(place) == each["file"] for place in finding["places"]):
            return str(each["verdict"])
    return "not reviewed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("fetch", "run", "choose"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("repos", nargs="*", metavar="OWNER/NAME@COMMIT")
    parser.add_argument("--source", default="https://github.com/{repo}.git")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--corpus", default="corpus.yaml", help="which list of files, beside this")
    parser.add_argument("--only", default="", help="repositories whose name has this in it")
    parser.add_argument("--singly", type=int, default=MOST_OF_ONE,
                        help="how many files of each to read one by one too")  # fmt: skip
    parser.add_argument("--out", type=Path, help="the findings, as JSON")
    given = parser.parse_intermixed_args()
    file = HERE / given.corpus
    if given.what == "choose":
        corpus = choose(given.folder, given.repos, given.source)
        file.write_text(yaml.safe_dump(corpus, sort_keys=True, width=200), "utf-8")
        return
    corpus = yaml.safe_load(file.read_text("utf-8"))
    corpus = {repo: entry for repo, entry in corpus.items() if given.only in repo}
    if given.what == "fetch":
        fetch(given.folder, corpus, given.source)
        return
    result = measure(given.folder, corpus, given.held_out, given.singly)
    if given.out:
        given.out.write_text(json.dumps(result, indent=1), "utf-8")
    verdicts = yaml.safe_load((HERE / "verdicts.yaml").read_text("utf-8") or "[]")
    for severity in ("error", "warning", "info"):
        of = [f for f in result["findings"] if f["severity"] == severity]
        print(severity, len(of), dict(Counter(verdict_of(f, verdicts) for f in of)))
    print(json.dumps({k: v for k, v in result.items() if k not in ("findings", "times")}, indent=1))


if __name__ == "__main__":
    main()
