"""Recognises lists of packages by their first bytes."""

from __future__ import annotations

from pathlib import Path


def looks_like_environment(path: Path, head: bytes) -> bool:
    """Whether most lines pin packages, or the name is that of a lock file."""
    if path.name in ("uv.lock", "poetry.lock", "Pipfile.lock", "pylock.toml"):
        return True
    lines = [line.strip() for line in head.split(b"\n")[:200] if line.strip()]
    pins = sum(b"==" in line and b" " not in line.split(b"==")[0] for line in lines)
    return bool(lines) and pins >= max(2, len(lines) // 2) and path.suffix != ".py"
