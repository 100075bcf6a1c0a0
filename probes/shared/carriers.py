"""What launchers, containers, terminals and mail programs put before a line that they pass on."""

from __future__ import annotations

import re
from typing import NamedTuple

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
# Each process has its own mark; lines of several processes may be mixed.
_PROCESS = re.compile(
    r"\[(?:stderr|stdout|rank\d{1,6})\]:?(?: |\Z|(?=\[[IWEF]\d))|\[default\d{1,6}\]:"
    r"|\([^()]{0,80}pid=\d{1,9}[^()]{0,80}\)(?: |\Z)"
    r"|[A-Za-z][\w.-]{0,60}[-_]\d{1,6} {1,40}\|(?: |\Z)"
    r"|\[pod/[\w./-]{1,200}\](?: |\Z)"
    r"|\[\d{1,5},\d{1,5}\]<std(?:err|out)>:"
)
# Workers of model servers (DJL, TorchServe, Multi Model Server): stamp and level differ by line.
_WORKER = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3,6}Z? )?"
    r"\[?(?:TRACE|DEBUG|INFO|WARN|ERROR) {0,2}\]? "
    r"(?:PyProcess - )?(W-\d{1,6}-[\w.-]{1,80}-std(?:out|err))"
    r"(?:: | MODEL_LOG - | (?:[a-z]\w{0,30}\.){1,8}\w{1,60} - )"
)
_LABEL = re.compile(r"\d{1,5}: ")
# The same one before every line.
_MARGIN = re.compile(
    r"E(?: {3,7}|\Z)|>(?: (?!File \"|\S{1,300}\(\d{1,9}\))|\Z)|##\[(?:error|warning)\]"
)
_PANE = re.compile(r"[│┃]")
# Stamps of container runtimes and build servers, before whatever the program printed.
_STAMPED = re.compile(
    rf"(?:[\w .-]{{1,100}}\t[\w .-]{{1,100}}\t)?\[?{_STAMP}\]?"
    r"(?: (?:stdout|stderr) [FP]| \d\d[OE])? ?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,100} [\w./-]{1,100}\[\d{1,9}\]: "
)
_BULLET = re.compile(r"(?:[-*+•]|\d{1,2}[.)]) +")
_MOST = 4


class Carried(NamedTuple):
    """A line without its marks, and the mark of the process that wrote it ("" if it has none)."""

    process: str
    margin: str
    text: str


def carried(text: str, *, labels: bool = False, panes: bool = False) -> Carried:
    """Take the marks off a line. ``labels``: a number and a colon are the mark of a task;
    ``panes``: a bar is the border of a pane of a terminal, not of a box."""
    process = margin = ""
    for _ in range(_MOST):
        found = _PROCESS.match(text) or (_LABEL.match(text) if labels else None)
        worker = None if found else _WORKER.match(text)
        if found:
            process += found[0]
        elif worker:
            found, process = worker, process + worker[1]
        else:
            found = _MARGIN.match(text) or (_PANE.match(text) if panes else None)
            if found is None:
                break
            margin += found[0]
        text = text[found.end() :]
    return Carried(process, margin, text)


def without_carrier(text: str) -> str:
    """A line without the marks of the processes or tools that passed it on."""
    return carried(text).text


def without_stamp(text: str) -> str:
    """A line without the stamp of what ran the program that printed it."""
    found = _STAMPED.match(text)
    return text[found.end() :] if found else text


def without_bullet(text: str) -> str:
    """An item of a list without its mark."""
    found = _BULLET.match(text)
    return text[found.end() :] if found else text
