"""Classifies arguments that name no command: paths, a mistyped command, or words."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,6}$", re.ASCII)
_SPOKEN = re.compile(r"[^\W\d_][\w'’-]*[,.;:!?]?")
_SENTENCE = 0.75  # so near to a command must the first of several words be


def are_paths(words: Sequence[str]) -> bool:
    """Whether the words name files or folders: those that exist, with others that look alike. A
    folder may happen to be called like a word of a sentence."""
    there = [exists(word) for word in words]
    return any(there) and all(
        found or looks_like_path(word) for word, found in zip(words, there, strict=True)
    )


def paths_and_words(words: Sequence[str]) -> tuple[Sequence[str], str] | None:
    """Split the words into paths and a complaint; None unless there are both. A complaint is
    quoted, or several words after a clear path."""
    quoted = [word for word in words if len(word.split()) > 1 and not exists(word)]
    named = [word for word in words if word not in quoted]
    if quoted:
        return (named, " ".join(quoted)) if named and are_paths(named) else None
    count = next((n for n, word in enumerate(words) if not _is_path(word)), len(words))
    said = words[count:]
    if not count or len(said) < 2 or any(map(looks_like_path, said)):
        return None
    return words[:count], " ".join(said)


def _is_path(word: str) -> bool:
    return exists(word) and looks_like_path(word)


def exists(word: str) -> bool:
    """Whether there is such a file or folder, be it a link to nowhere."""
    try:
        return bool(word) and os.path.lexists(os.path.expanduser(word))
    except (OSError, ValueError):  # no valid file name
        return False


def looks_like_path(word: str) -> bool:
    """Whether a word reads like a path rather than like a part of a sentence or an address."""
    if len(word.split()) != 1 or "://" in word:
        return False
    return os.sep in word or bool(_SUFFIX.search(word))


def mistyped(words: Sequence[str], commands: Collection[str]) -> bool:
    """Whether the first word was meant to be a command: alone, or with arguments that fit no
    sentence."""
    first, *rest = words
    if len(first.split()) != 1 or exists(first) or looks_like_path(first):
        return False
    if not rest:
        return bool(get_close_matches(first, commands))
    spoken = [word for word in rest if _SPOKEN.fullmatch(word)]
    near = get_close_matches(first, commands, cutoff=_SENTENCE)
    return bool(near) and len(spoken) < len(rest)
