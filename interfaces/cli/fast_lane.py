"""The main job without a command-line library: ``diagnose --facts FILE... [plain options]``.

Importing click costs about as much as the diagnosis itself. This module finds out whether the
arguments are the plain main job, and which format errors are to have.
Everything else, and everything invalid, goes to click, whose shared options are built from the same
table (see :mod:`.options`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...facts.records import NamedTuple
from ..reports.formats import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..context import Context


COMPLETION = "_DIAGNOSE_COMPLETE"
"""The variable by which a shell asks what can be typed next."""


class Option(NamedTuple):
    """An option of the main job; sets ``field`` of :class:`.context.Context`."""

    field: str
    names: tuple[str, ...]
    help: str | None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    repeats: bool = False
    is_flag: bool = False


OPTIONS: dict[str, Option] = {}
_BY_NAME: dict[str, Option] = {}
for _option in (
    Option("files", ("--facts",), "Facts files (JSON); - is standard input.",
           metavar="FILE...", repeats=True),
    Option("fail_on", ("--fail-on",), "Severity that makes the exit code 1.",
           ("info", "warning", "error", "blocker", "never")),
    Option("verbose", ("--verbose", "-v"), "Show the evidence and every action.", is_flag=True),
    Option("everything", ("--all",), "Show everything, open causes included.", is_flag=True),
    Option("why", ("--why",), "Explain one finding.",
           metavar="ID"),
    Option("overlays", ("--kb",),
           "Add knowledge: a folder, or pack:NAME for an installed pack.",
           metavar="DIR", repeats=True),
    Option("trust", ("--trust",),
           "Permission of --kb: none, add, or change with a reason and a last day (default).",
           ("none", "add", "change")),
    Option("engine", ("--engine",), "Inference backend.",
           ("auto", "durable", "native", "reference")),
    Option("format", ("--format", "-f"), None, tuple(FORMATS)),
    Option("time_limit", ("--time-limit",),
           "Stop then; the report names the parts left out.", metavar="SECONDS"),
    Option("target", ("-o", "--output"), "Write the answer to a file.", metavar="FILE"),
):  # fmt: skip
    OPTIONS[_option.field] = _option
    _BY_NAME.update(dict.fromkeys(_option.names, _option))


class Arguments(NamedTuple):
    """The arguments as parsed before click.

    ``words`` are for click. ``given`` holds the values of known options, in order. ``is_main_job``:
    there is nothing else, and the values are valid. ``mask`` is the value of the option that every
    command has; no command sees it.
    """

    words: list[str]
    given: dict[str, list[str]]
    is_main_job: bool
    mask: str = ""

    @property
    def format(self) -> str:
        """The requested format, even if the arguments are invalid."""
        chosen = self.given.get("format", ["text"])[-1]
        return chosen if chosen in FORMATS else "text"

    def context(self) -> Context:
        from ..context import Context

        found: dict[str, Any] = {}
        for field, values in self.given.items():
            option = OPTIONS[field]
            found[field] = tuple(values) if option.repeats else option.is_flag or values[-1]
        if "target" in found:
            from pathlib import Path  # as slow to import as ten of our modules

            found["target"] = Path(found["target"])
        return Context(**found, command_line=tuple(self.words))


def read(arguments: Sequence[str]) -> Arguments:
    """Read the arguments. ``--facts a.json b.json`` means ``--facts a.json --facts b.json``."""
    words: list[str] = []
    given: dict[str, list[str]] = {}
    is_plain, mask = True, ""
    rest = list(arguments)[::-1]
    while rest:
        word = rest.pop()
        if word.startswith("--mask=") or (word == "--mask" and rest):
            mask = word.removeprefix("--mask=") if "=" in word else rest.pop()
            continue
        words.append(word)
        option = _BY_NAME.get(word)
        if option is None:
            is_plain = False
            if word == "--":  # what follows belongs to another program
                words += rest[::-1]
                break
            if word.startswith(("--format=", "-f")):
                value = word.removeprefix("--format=").removeprefix("-f")
                given.setdefault("format", []).append(value)
            continue
        if not option.is_flag and not rest:
            is_plain = False
            break
        value = "" if option.is_flag else rest.pop()
        words += [value] * (not option.is_flag)
        is_plain = is_plain and _is_plain(option, value)
        given.setdefault(option.field, []).append(value)
        if option.field == "files" and rest and _is_facts_file(rest[-1]):
            rest.append("--facts")
    return Arguments(words, given, is_plain and "files" in given, mask)


def _is_plain(option: Option, value: str) -> bool:
    """Whether a value needs nothing that only click provides."""
    if value.startswith("-") or (option.choices and value not in option.choices):
        return False
    if option.field == "time_limit":
        return value.replace(".", "", 1).isdecimal() and float(value) > 0
    return not (option.field == "overlays" and value.startswith("pack:"))


def _is_facts_file(word: str) -> bool:
    return word.endswith(".json") and not word.startswith("-")
