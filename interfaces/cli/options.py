"""The options that commands share, and the decorator that passes them as one :class:`Context`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ..context import TIME_LIMIT_S, Context
from .candidates import diagnosis_ids, files, knowledge
from .fast_lane import OPTIONS

READING_LIMIT_S = 600.0
Body = Callable[..., int | None]
Decorator = Callable[[Body], Body]

PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


def takes_context(body: Body) -> Body:
    """Passes the shared options to ``body`` as a :class:`Context`, before its own."""

    @click.option("--debug", is_flag=True, hidden=True, expose_value=False)  # see .process
    @wraps(body)
    def run(**given: Any) -> int | None:
        shared = {name: given.pop(name) for name in Context._fields if name in given}
        words = click.get_current_context().find_root().obj
        if isinstance(words, tuple):
            shared["command_line"] = words
        return body(Context(**shared), **given)

    return run


def command(
    group: click.Group | None = None, name: str | None = None, **settings: Any
) -> Callable[[Body], click.Command]:
    """Declares a command of a group (or for :meth:`click.Group.add_command`): a function of a
    :class:`Context` and its own options."""
    declare = click.command if group is None else group.command
    return lambda body: declare(name, **settings)(takes_context(body))


def _shared(field: str, **changes: Any) -> Decorator:
    """A shared option, from the table of the fast lane."""
    option = OPTIONS[field]
    settings = {
        "help": option.help,
        "metavar": option.metavar,
        "multiple": option.repeats,
        "is_flag": option.is_flag,
        "default": Context._field_defaults[field],
        "type": click.Choice(option.choices) if option.choices else None,
    }
    if changes.get("required"):
        del settings["default"]  # with a default, be it None, click asks for nothing
    return click.option(*option.names, field, **settings | changes)


def _folders(
    context: click.Context, parameter: click.Parameter, given: Sequence[str]
) -> tuple[str, ...]:
    """Replaces the names of knowledge packs (``pack:acme``) by their folders."""
    from ...engine.compiler.store.packs import PREFIX, pack_folder

    return tuple(
        str(pack_folder(name.removeprefix(PREFIX))) if name.startswith(PREFIX) else name
        for name in given
    )


def _day(context: click.Context, parameter: click.Parameter, given: str) -> str:
    import datetime

    try:
        return datetime.date.fromisoformat(given).isoformat() if given else ""
    except ValueError:
        raise click.BadParameter("write a day like 2027-01-31") from None


def formats(*names: str) -> Decorator:
    """``--format`` with these choices; the first is the default."""
    return _shared("format", type=click.Choice(names), default=names[0])


def path_option(name: str, about: str, metavar: str = "FILE", **settings: Any) -> Decorator:
    """An option that names a file or a folder."""
    return click.option(name, metavar=metavar, help=about, **{"type": PATH} | settings)


def output_option(about: str, metavar: str = "FILE", *, required: bool = False) -> Decorator:
    """``--output`` of a command that writes something of its own."""
    return _shared("target", type=PATH, help=about, metavar=metavar, required=required)


FACTS = _shared("files", shell_complete=files)
FAIL_ON = _shared("fail_on")
LAYERS = _shared("overlays", callback=_folders, shell_complete=knowledge)


def OVERLAYS(body: Body) -> Body:
    """``--kb``, and what it may do."""
    return _shared("trust")(LAYERS(body))


ENGINE = _shared("engine")
ENGINE_UNSEEN = _shared("engine", hidden=True)
FORMAT = formats(*OPTIONS["format"].choices)
TEXT_OR_JSON = formats("text", "json")
OUTPUT = _shared("target", type=PATH)
TODAY = click.option("--today", default="", callback=_day, hidden=True, metavar="DAY")


def detail(body: Body) -> Body:
    """How much the text form of a report tells."""
    return _shared("verbose")(
        _shared("everything")(_shared("why", shell_complete=diagnosis_ids)(body))
    )


def baseline_options(body: Body) -> Body:
    """``--baseline FILE``, and the day on which to judge its entries."""
    about = "Do not count the findings that this file accepts."
    return path_option("--baseline", about)(TODAY(body))


def time_limit(seconds: float = TIME_LIMIT_S) -> Decorator:
    """``--time-limit``, with the default of a command."""
    kind = click.FloatRange(min=0, min_open=True)
    return _shared("time_limit", type=kind, default=seconds, show_default=True, callback=_finite)


def _finite(context: click.Context, parameter: click.Parameter, given: float) -> float:
    if math.isnan(given):
        raise click.BadParameter("write a number of seconds")
    return given


def common(body: Body) -> Body:
    """Options of commands that write a report."""
    return OUTPUT(FORMAT(ENGINE(OVERLAYS(time_limit()(body)))))


def common_reading(body: Body) -> Body:
    """The same for commands that read whatever lies at paths."""
    return OUTPUT(FORMAT(ENGINE(OVERLAYS(time_limit(READING_LIMIT_S)(body)))))


def common_answer(body: Body) -> Body:
    """Options of commands that write another answer."""
    return OUTPUT(TEXT_OR_JSON(ENGINE(OVERLAYS(body))))
