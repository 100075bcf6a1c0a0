"""A release by its path, or by its version from the package index that pip is configured for.

Only wheels are asked for: to learn the name of an sdist pip would run its build.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ...facts import ModelMedicError, Problem
from ...probes.shared.child_processes import run_limited
from ...reading.packages.folder import normal_name
from ...reading.packages.release import Release
from ...reading.packages.unpacking import unpacked, version_in
from ...reading.packages.walking import refused

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
SECONDS = 240.0
MAX_LISTED = 8
_OFFLINE = re.compile(
    r"(?i)connection|retrying|timed out|could not fetch|temporary failure|unreachable|getaddrinfo"
    r"|\bproxy|\bSSL"
)
_VERSIONS = re.compile(r"\(from versions: ([^()]{0,20000})\)")


def open_release(package: str, said: str, work: Path) -> Release:
    """The release that ``said`` means: a version, else the path of a wheel, sdist or folder. It is
    unpacked below ``work``. Raises :class:`ModelMedicError` (MM357 to MM359)."""
    if not _NAME.fullmatch(package):
        raise ModelMedicError(Problem("MM359", f"{package[:80]!r} is not the name of a package"))
    version = version_in(said)
    if version:
        path = download(package, version, work / "downloaded")
    else:
        path = Path(said)
        if not path.exists():
            hint = "name a version, or the path of a wheel, sdist or folder (./1.0)"
            raise refused("there is no such release", path, hint)
    return unpacked(normal_name(package), path, version or said, work / "unpacked")


def download(package: str, version: str, folder: Path) -> Path:
    """Download the wheel of a release into a folder of its own. Raises :class:`ModelMedicError`:
    MM358 if no index answers, MM359 if it has no such wheel."""
    folder.mkdir(mode=0o700)
    ran = run_limited(
        # -P: what lies in the working folder is not imported
        [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
         "--ignore-requires-python", "--no-input", "--disable-pip-version-check", "--quiet",
         "--progress-bar=off", "--retries=1", "--timeout=20", f"--dest={folder}",
         f"{package}=={version}"],
        SECONDS,
    )  # fmt: skip
    found = sorted(folder.glob("*.whl"))
    if ran.code == 0 and len(found) == 1 and not found[0].is_symlink():
        return found[0]
    raise _failed(f"{package} {version}", ran.err, ran.timed_out)


def _failed(wanted: str, said: str, timed_out: bool) -> ModelMedicError:
    """Report a failure of pip in our words: its own may name an index with its password."""
    if timed_out or _OFFLINE.search(said):
        how = f"not within {SECONDS:.0f} seconds" if timed_out else "no index can be reached"
        hint = (
            "`pip config list` shows the index; a wheel, sdist or folder can be given by its path"
        )
        return ModelMedicError(Problem("MM358", f"{wanted} was not downloaded: {how}", None, hint))
    if "No module named pip" in said:
        hint = "`python -m ensurepip` installs it; a wheel can be given by its path"
        message = f"{wanted} was not downloaded: this interpreter has no pip"
        return ModelMedicError(Problem("MM358", message, None, hint))
    listed = _VERSIONS.search(said)
    versions = [each.strip() for each in listed[1].split(",")] if listed else []
    known = [each for each in versions if each and each != "none"][-MAX_LISTED:]
    hint = (
        f"its wheels end with {', '.join(known)}" if known else "an sdist can be given by its path"
    )
    return ModelMedicError(
        Problem("MM359", f"the index has no wheel of {wanted} for this machine", None, hint)
    )
