"""The output formats of a report: every module in this folder is one, named like its file.

A module defines

- ``SUFFIX``: the file name ending by which the format is recognised, or "" for none;
- ``render(document: Redacted[Document]) -> str``: the report in this format;
- ``render_failure(failure: Redacted[Failure]) -> str``, if programs read the format: the errors
  where there is no report, so that the output stays valid;
- ``PICTURES = True``, if ``render`` takes pictures as a second argument.

Nothing has to be registered. Names come from the folder, so that no format is imported before it is
used. Only :class:`Redacted` values are rendered.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from ....engine.diagnosis.report import Report
from ....facts import Problem
from ....facts.records import NamedTuple
from ....facts.redaction import Redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Document(NamedTuple):
    """The content to render: the report, its sources (path, kind, number of facts), and the
    severity that makes a problem a failure. ``detail`` is that of text: the ``verdict``, its
    ``evidence`` too, or ``all``; ``why`` names the one finding to explain, ``command`` produced the
    report."""

    report: Report
    read: tuple[tuple[str, str, int], ...] = ()
    detail: str = "verdict"
    fail_on: str = "error"
    why: str = ""
    command: str = ""


class Picture(NamedTuple):
    """A PNG image of facts without secrets, and what it shows in one line."""

    caption: str
    png: bytes


class Failure(NamedTuple):
    """The content to render if there is no report."""

    tool: Mapping[str, str]
    problems: tuple[Problem, ...]


_NAMES = ["text"]  # which is for people, comes first
for _file in sorted(os.listdir(os.path.dirname(__file__))):
    if _file.endswith(".py") and _file[0] != "_" and _file != "text.py":
        _NAMES.append(_file[:-3])
FORMATS = tuple(_NAMES)


def render(
    document: Redacted[Document], name: str, pictures: Sequence[Picture] = ()
) -> Redacted[str]:
    """The report in a format, with the pictures if the format has room for them."""
    format_ = _module(name)
    more = (pictures,) if getattr(format_, "PICTURES", False) else ()
    return document.map(lambda _: format_.render(document, *more))


def render_failure(failure: Redacted[Failure], name: str) -> Redacted[str] | None:
    """The errors in a format that programs read; None for the others."""
    if not for_programs(name):
        return None
    return failure.map(lambda _: _module(name).render_failure(failure))


def for_programs(name: str) -> bool:
    """Whether programs read a format, so that errors must be rendered in it too."""
    return hasattr(_module(name), "render_failure")


def format_of(suffix: str) -> str | None:
    """The format of files with this ending."""
    return next((name for name in FORMATS if suffix and suffix == _module(name).SUFFIX), None)


def _module(name: str) -> Any:
    full = f"{__package__}.{name}"
    __import__(full)  # importlib takes as long to import as two formats
    return sys.modules[full]
