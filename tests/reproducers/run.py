"""Runs the scripts that reproduce known issues, each with real releases in throw-away environments.

Needs a package index. It is not a part of the test suite: `python tests/reproducers/run.py
[ISSUE]`. An environment is a folder of packages, which all issues of a release share. Releases
that have a `base` are laid over it without their own requirements, so that large ones are
installed once.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).parent
LISTED = HERE / "reproducers.yaml"
LIMIT_S = 600
SHOWS, WELL = 1, 0  # as the scripts exit; all else is a failure of the script


class Run(NamedTuple):
    """A script that is to be run with a release."""

    issue: str
    package: str
    version: str
    base: str
    script: tuple[str, ...]
    should: bool | None  # show; None: to be found out


def listed() -> dict[str, Any]:
    """The content of reproducers.yaml."""
    found: dict[str, Any] = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
    return found


def runs(names: list[str], versions: list[str]) -> Iterator[Run]:
    """Those of the named issues, or of all; with `versions`, with these releases instead."""
    for found in listed()["issues"]:
        if names and not any(name in found["issue"] for name in names):
            continue
        wanted: list[tuple[str, bool | None]] = [(v, None) for v in versions]
        if not versions:
            wanted += [(str(v), True) for v in found["bad"]]
            wanted += [(str(v), False) for v in found["good"]]
        script = tuple(str(part) for part in found["script"])
        for version, should in wanted:
            base = found.get("base", "")
            yield Run(found["issue"], found["package"], version, base, script, should)


def folder_of(run: Run, bases: dict[str, list[str]], root: Path) -> list[Path]:
    """The folders of packages for it, which are filled if they are not there yet."""
    layers = [_filled(root / f"base-{run.base}", bases[run.base], ())] if run.base else []
    wanted = f"{run.package}=={run.version}"
    alone = ("--no-deps",) if run.base else ()
    name = f"{wanted}+{run.base}" if run.base else wanted
    return [_filled(root / name, [wanted], alone), *layers]


def _filled(folder: Path, requirements: list[str], options: tuple[str, ...]) -> Path:
    if not folder.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-warn-conflicts"]
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            place = Path(scratch, "packages")
            subprocess.run(
                [*pip, "--target", place, *options, *requirements], check=True, capture_output=True
            )
            place.rename(folder)
    return folder


def outcome(run: Run, path: list[Path]) -> tuple[int, str]:
    """How the script ended, and what it said last."""
    script, *arguments = run.script
    with tempfile.TemporaryDirectory() as scratch:
        settings = {
            **os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "HF_HOME": scratch,
            "PYTHONDONTWRITEBYTECODE": "1", "TOKENIZERS_PARALLELISM": "false", "TMPDIR": scratch,
        }  # fmt: skip
        settings.pop("PYTHONHOME", None)
        # -S: nothing of this environment is seen.
        command = [sys.executable, "-S", str(HERE / "harness.py"), str(HERE / script), *arguments]
        try:
            ran = subprocess.run(
                command, capture_output=True, check=False, cwd=scratch, env=settings,
                timeout=LIMIT_S, text=True, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return 2, f"no end within {LIMIT_S} s"
    said = ran.stdout if ran.returncode in (SHOWS, WELL) else ran.stderr
    lines = [line for line in said.splitlines() if line.strip()]
    return ran.returncode, lines[-1][:200] if lines else ""


def main(arguments: list[str] | None = None) -> int:
    """0 if all is as reproducers.yaml says, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="(parts of) ids of issues; default: all")
    parser.add_argument("--versions", default="", help="releases to try instead: 1.0,1.1")
    parser.add_argument("--keep", help="folder in which the environments stay for the next time")
    said = parser.parse_args(arguments)
    bases, wrong = listed().get("bases", {}), 0
    planned = list(runs(said.names, [v for v in said.versions.split(",") if v]))
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(said.keep or scratch).resolve()
        root.mkdir(parents=True, exist_ok=True)
        for run in sorted(planned, key=lambda r: (r.base, r.package, r.version, r.issue)):
            try:
                code, last = outcome(run, folder_of(run, bases, root))
            except subprocess.CalledProcessError:
                code, last = 2, "it cannot be installed"
            shows = {SHOWS: True, WELL: False}.get(code)
            right = shows is not None and run.should in (None, shows)
            wrong += not right
            mark = "ok   " if right else "WRONG"
            verdict = {True: "shows", False: "is well", None: "failed"}[shows]
            print(f"{mark} {run.issue} {run.package} {run.version} {verdict}: {last}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
