"""Verifies the combinations of knowledge/*/tested.yaml, each in a throw-away environment.

Needs a package index. It is not a part of the test suite: `python
tests/reproducers/combinations.py`. A combination is laid over links to the packages of this
interpreter, so that large ones are not installed again; where one of those does not fit, what fits
is installed as well. The tokenizer is made by hand (tests/probes/data/renderer), with a template
like that of Qwen3.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import Any

import yaml

from modelmedic.engine import KnowledgeBase
from modelmedic.facts import Fact
from modelmedic.probes.environment.probe import gather_environment
from modelmedic.probes.verification.probe import gather_verification
from modelmedic.probes.verification.worker import MODULES

TOP = Path(__file__).parents[2]
TOKENIZER = TOP / "tests" / "probes" / "data" / "renderer" / "qwen_like_tiny"
MODEL = "Qwen/Qwen3-8B"
SLOW_S = 1.0
"""The value in the serialization test of the guide."""
ROUNDS = 3
TRAILING = "trailing-newline"
"""The template ends an answer with a newline, the renderer with the token; that is how they are."""

Values = dict[str, Any]


def environment(packages: dict[str, str], place: Path, vocabulary: Any) -> list[str]:
    """Make an environment with these packages; returns what its own requirements rule out."""
    if not place.exists():
        venv.create(place, with_pip=False, symlinks=True)
        link_rest(place)
    [folder] = place.glob("lib/python*/site-packages")
    wanted = [f"{name}=={version}" for name, version in packages.items()]
    unmet: list[str] = []
    for _ in range(ROUNDS):
        for each in wanted:
            install(each, folder)
        facts = gather_environment(vocabulary, python=place, environ={}).facts
        unmet = [f"{f['requires']}{f['specifier']}" for f in of(facts, "requirement")
                 if f.get("met") is False]  # fmt: skip
        wanted = [each for each in unmet if each.partition("=")[0] not in packages]
        if not wanted:
            break
    return unmet


def link_rest(place: Path) -> None:
    """Let the environment see the packages of this interpreter, but none that are under test."""
    rest = place / "rest"
    rest.mkdir()
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        name = entry.name.partition(".dist-info")[0].partition("-")[0].lower()
        if name.replace("_", "-") not in MODULES and entry.suffix != ".pth":
            (rest / entry.name).symlink_to(entry)
    [folder] = place.glob("lib/python*/site-packages")
    (folder / "rest.pth").write_text(f"{rest}\n", encoding="utf-8")


def install(requirement: str, folder: Path) -> None:
    """Install one package alone; one that cannot be had is left as it is."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    command = [*pip, "--no-warn-conflicts", "--target", str(folder), requirement]
    subprocess.run(command, check=False, capture_output=True)


def of(facts: tuple[Fact, ...], kind: str) -> list[Values]:
    """The values of all facts of a kind."""
    return [dict(fact.values) for fact in facts if fact.kind == kind]


def passed(facts: tuple[Fact, ...], packages: dict[str, str]) -> set[str]:
    """The checks that ran and were right."""
    checks: dict[str, list[bool]] = {}
    for each in of(facts, "environment_check"):
        checks.setdefault(each["check"], []).append(each["ok"])
    found = {name for name, results in checks.items() if all(results)}
    if len(checks.get("import", [])) < len(packages):
        found.discard("import")
    compared = of(facts, "token_comparison")
    if not compared or not all(c["match"] or c.get("reason") == TRAILING for c in compared):
        found.discard("renderer")
    timed = of(facts, "serialization_benchmark")
    if timed and all(not t["applies"] or t["seconds"] < SLOW_S for t in timed):
        found.add("serialization")
    return found


def verify(packages: dict[str, str], place: Path, vocabulary: Any) -> tuple[set[str], list[str]]:
    """The checks that pass, and all evidence against the combination."""
    against = [f"needs {each}" for each in environment(packages, place, vocabulary)]
    outcome = gather_verification(
        vocabulary, python=place, tokenizer=str(TOKENIZER), model=MODEL
    )  # fmt: skip
    installed = {f["name"]: f.get("version") for f in of(outcome.facts, "package")}
    for name in MODULES:
        if installed.get(name) != packages.get(name):
            against.append(f"{name} {installed.get(name)} is installed")
    against += [problem.message for problem in outcome.problems]
    against += [f"{e['subject']}: {e['detail']}" for e in of(outcome.facts, "environment_check")
                if not e["ok"]]  # fmt: skip
    against += [
        f"{c['case']} differs: {c.get('reason')}"
        for c in of(outcome.facts, "token_comparison")
        if not c["match"] and c.get("reason") != TRAILING
    ]
    return passed(outcome.facts, packages), against


def listed() -> dict[str, Values]:
    """The combinations by id."""
    files = sorted((TOP / "knowledge").glob("*/tested.yaml"))
    texts = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    return {one["id"]: one for text in texts for one in text["combinations"]}


def main(arguments: list[str] | None = None) -> int:
    """0 if every combination passes the checks under its `how`, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="(parts of) ids of combinations; default: all")
    parser.add_argument("--try", dest="tried", action="append", default=[], metavar="VERSIONS",
                        help="another one: tinker==0.38.0,pydantic==2.14.0")  # fmt: skip
    parser.add_argument("--keep", help="folder in which the environments stay for the next time")
    said = parser.parse_args(arguments)
    vocabulary, wrong = KnowledgeBase.load().vocabulary, 0
    chosen: dict[str, Values] = {
        text: {"packages": dict(p.split("==") for p in text.split(",")), "how": []}
        for text in said.tried
    } or {
        name: one for name, one in listed().items()
        if not said.names or any(part in name for part in said.names)
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(said.keep or scratch).resolve()
        root.mkdir(parents=True, exist_ok=True)
        for name, one in chosen.items():
            versions = {str(n): str(v) for n, v in one["packages"].items()}
            place = root / "+".join(f"{n}-{v}" for n, v in sorted(versions.items()))
            found, against = verify(versions, place, vocabulary)
            # Tried with the loopback server of tests/probes/watch, not here.
            right = set(one["how"]) - {"loopback"} <= found
            wrong += not right
            print("ok   " if right else "WRONG", name, ", ".join(sorted(found)), flush=True)
            for each in against:
                print(f"      {each}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
