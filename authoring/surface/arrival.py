"""A site -> the text in which its message reaches a user: traceback, log line, warning, exit."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable

from ...reading.packages.sites import Site
from ...reading.python.parts import has_words
from .values import plausible

FOLDER = "/opt/venv/lib/python3.11/site-packages"
_SPOKEN_EXITS = frozenset({"SystemExit", "ClickException", "UsageError", "BadParameter"})
_OF_COMMAND = re.compile(r"Cli(?![a-z])|CLI")
"""Classes that a command catches, and shows by their text alone."""


def filled(site: Site, value: Callable[[str, int], str] = plausible) -> str:
    """The message of a site with plausible values; ``value`` makes them."""
    parts = list(site.parts)
    for number, at in enumerate(range(1, len(parts), 2), 1):
        parts[at] = value(parts[at], number)
    return "".join(parts).strip()


def as_it_arrives(site: Site, message: str) -> str:
    """The text around a message, with what it shows of the package: frame, logger or file."""
    if site.kind == "log":
        level = site.level or "ERROR"
        return f"2026-03-04 10:11:12,123 - {site.module} - {level} - {message}"
    if site.kind == "warn":
        shown = class_shown(site) if site.exception_name.endswith("Warning") else "UserWarning"
        return f"{FOLDER}/{site.file}:{site.line}: {shown}: {message}\n  warnings.warn("
    if speaks_only(site):
        return f"Error: {message}" if site.exception_name != "SystemExit" else message
    function = site.function.rpartition(".")[2] or "<module>"
    return (
        "Traceback (most recent call last):\n"
        '  File "/home/user/project/train.py", line 40, in <module>\n'
        "    main()\n"
        f'  File "{FOLDER}/{site.file}", line {site.line}, in {function}\n'
        f"    {'assert' if site.kind == 'assert' else 'raise'} ...\n"
        f"{alone(site, message)}\n"
    )


def alone(site: Site, message: str) -> str:
    """A message without any sign of its package: the class and the text."""
    if site.kind in ("log", "warn") or speaks_only(site):
        return message
    shown = class_shown(site)
    return f"{shown}: {message}" if message else shown


def said(site: Site, message: str) -> str:
    """A message as the exception shows it: KeyError shows the ``repr`` of its argument."""
    quoted = "KeyError" in (site.exception_name, *site.bases) and has_words(site.parts)
    return repr(message) if quoted else message


def class_shown(site: Site) -> str:
    """The class of a site as the last line of a traceback shows it."""
    name = site.exception_name
    if not name.lstrip("_")[:1].isupper():
        return "RuntimeError"  # a class that is chosen when it runs
    if hasattr(builtins, name):
        return name
    if site.bases:
        return f"{site.module.partition('.')[0]}.{name}"
    return site.exception if site.exception[:1].islower() else name


def speaks_only(site: Site) -> bool:
    """Whether the program ends with the message alone, without a traceback."""
    return site.kind in ("exit", "print") or (
        site.kind == "raise" and (site.exception_name in _SPOKEN_EXITS or of_command(site))
    )


def of_command(site: Site) -> bool:
    """Whether a command catches the exception and shows its arguments line by line."""
    return bool(_OF_COMMAND.search(site.exception_name))
