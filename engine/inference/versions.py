"""Versions as comparable keys (PEP 440), quick for the common forms."""

from __future__ import annotations

from functools import lru_cache

Key = tuple[int, tuple[int, ...], tuple[int, int], int, tuple[int, int]]

_PHASE = {"a": 1, "b": 2, "rc": 3}
_MOST_PARTS, _MOST_DIGITS = 8, 9
_FINAL = (4, 0)
_NO_DEV = (1, 0)


@lru_cache(maxsize=4096)
def version_key(text: str) -> Key | None:
    """A key that orders versions as PEP 440 does, or None if ``text`` is not a version.

    A local part (``+cpu``) is ignored: it names a build of the same release.
    """
    common = _common_key(text)
    return _packaging_key(text) if common is None else common


def _common_key(text: str) -> Key | None:
    """``v1.2.3``, with ``a``, ``b`` or ``rc`` and a number, and with a local part; None for the
    rest. Without an expression, since those are slow to import."""
    public, plus, local = text.removeprefix("v").partition("+")
    if plus and not all(p.isascii() and p.isalnum() and p == p.lower() for p in local.split(".")):
        return None
    numbers, phase = public, _FINAL
    for name, order in _PHASE.items():
        before, found, number = public.partition(name)
        if found:
            if not _is_number(number):
                return None
            numbers, phase = before, (order, int(number))
            break
    parts = numbers.split(".")
    if len(parts) > _MOST_PARTS or not all(map(_is_number, parts)):
        return None
    return 0, _strip(tuple(map(int, parts))), phase, -1, _NO_DEV


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def is_prerelease(text: str) -> bool | None:
    """Whether it is an alpha, beta, candidate or development release; None if it is not a
    version."""
    key = version_key(text)
    if key is None:
        return None
    return key[2] != _FINAL or key[4] != _NO_DEV


def _strip(release: tuple[int, ...]) -> tuple[int, ...]:
    end = len(release)
    while end > 1 and release[end - 1] == 0:
        end -= 1
    return release[:end]


def _packaging_key(text: str) -> Key | None:
    """Rare forms (epochs, post and development releases, odd spellings) through packaging."""
    from packaging.version import Version

    try:
        version = Version(text)
    except ValueError:  # no version, or with more digits than Python reads as a number
        return None
    if version.pre:
        pre = (_PHASE[version.pre[0]], version.pre[1])
    else:
        only_dev = version.dev is not None and version.post is None
        pre = (0, 0) if only_dev else _FINAL
    post = -1 if version.post is None else version.post
    dev = _NO_DEV if version.dev is None else (0, version.dev)
    return version.epoch, _strip(version.release), pre, post, dev
