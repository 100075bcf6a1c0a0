"""``diagnose probe``: run one probe and print its facts, or list the probes.

The commands are made of what the probes declare (``probes/NAME/probe.yaml``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import output
from ..context import Context, read_stdin
from .options import OUTPUT, TEXT_OR_JSON, command, formats, takes_context

if TYPE_CHECKING:
    from ...facts import Vocabulary
    from ...facts.kinds import Probe
    from ...probes import Outcome

# The probe reports paths that cannot be read.
_PATH = click.Path(path_type=Path, readable=False)


_FORMAT = formats("auto", "text", "json")


class ProbeGroup(click.Group):
    """Has a command for every probe that declares one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        known = ctx.ensure_object(Context).base.vocabulary.probes.values()
        return sorted([*self.commands, *(probe.name for probe in known if _has_command(probe))])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a probe, made when it is asked for."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        vocabulary = ctx.ensure_object(Context).base.vocabulary
        probe = vocabulary.probes.get(cmd_name)
        return _command(probe, vocabulary) if probe and _has_command(probe) else None


@click.group(cls=ProbeGroup, no_args_is_help=False)
def probe() -> None:
    """Gather facts: `probe list`, or one probe. A terminal gets a table, anything else a facts
    file."""


@command(probe, "list")
@TEXT_OR_JSON
def list_(context: Context) -> int:
    """The probes with what they gather and cost."""
    from ..reports.layout import Line

    known = context.base.vocabulary.probes
    found = [known[name] for name in sorted(known)]
    lines = []
    for p in found:
        network = ", uses the network" if p.network else ""
        lines.append(Line(f"{p.title} (about {p.seconds:g} s{network})", mark=f"{p.name}: "))
        lines.append(Line(p.command, 4, "command", mark="$ ", keep=True))
    shown = ("name", "title", "command", "seconds", "network", "gathers")
    context.emit([{field: getattr(p, field) for field in shown} for p in found], lines)
    return output.OK


def _has_command(probe: Probe) -> bool:
    return probe.command.startswith(f"diagnose probe {probe.name}")


def _command(probe: Probe, vocabulary: Vocabulary) -> click.Command:
    body = OUTPUT(_FORMAT(takes_context(partial(_run, probe, vocabulary))))
    made = click.command(probe.name, help=probe.about)(body)
    made.params[:0] = [_option(name, **declared) for name, declared in probe.options.items()]
    if probe.argument:
        made.params.insert(0, _argument(**probe.argument))
    return made


def _argument(name: str, takes: str, required: bool = True) -> click.Argument:
    many = -1 if takes in ("each", "all") else 1
    kind = None if takes == "text" else _PATH
    shown = name.upper() if required else f"[{name.upper()}]"
    metavar = shown + "..." * (many < 0)
    return click.Argument([_own(name)], type=kind, nargs=many, required=required, metavar=metavar)


def _own(name: str) -> str:
    """The name of a probe's parameter, told apart from those of the command context."""
    return f"{name}_" if name in Context._fields else name


def _option(
    name: str, type: str = "path", option: str = "", metavar: str | None = None, help: str = ""
) -> click.Option:
    kinds = {"text": click.STRING, "number": click.FLOAT}
    flag = type in ("flag", "off")
    return click.Option(
        [option or f"--{name.replace('_', '-')}", _own(name)],
        type=None if flag else kinds.get(type, _PATH),
        is_flag=flag,
        multiple=type == "paths",
        metavar=metavar,
        help=help or None,
    )


def _run(probe: Probe, vocabulary: Vocabulary, context: Context, **given: Any) -> int:
    options = {name: given[_own(name)] for name in probe.options}
    if probe.needs and all(options[name] is None for name in probe.needs):
        raise click.UsageError("give " + " and ".join(f"--{name}" for name in probe.needs))
    said = {
        name: probe.options[name].get("type") != "off" if value is True else value
        for name, value in options.items()
        if value is not None and value is not False and value not in ("", ())
    }
    plots: Any = said.pop("plots", None)
    read: Any = given[_own(probe.argument["name"])] if probe.argument else None
    outcome = _gathered(probe, vocabulary, read, said)
    if plots is not None:
        from ..inspection import plot

        plot(outcome.facts, read, plots, vocabulary)
    return emit(outcome, context)


def _gathered(
    probe: Probe, vocabulary: Vocabulary, read: Any, options: Mapping[str, Any]
) -> Outcome:
    from ...probes import Outcome, load_probe, told
    from ..waiting import watched

    gather, takes = load_probe(probe.name), probe.argument.get("takes")
    given: list[tuple[Any, ...]] = [(read,)]
    if takes is None:
        given = [()]
    elif takes == "text":
        text, name = _text(read)
        given, options = [(text,)], {**options, "name": name}
    elif takes == "each":
        given = [(path,) for path in read]
    with watched() as watch, watch.part(probe.name):
        options = {**options, **told(gather, watch)}
        found = [watch.attempt(gather, *each, vocabulary, **options) for each in given]
    return Outcome.joined(*(_or_interrupted(*pair) for pair in zip(found, given, strict=True)))


def _or_interrupted(found: Outcome | None, given: Sequence[object]) -> Outcome:
    from ...facts.progress import interrupted
    from ...probes import Outcome

    if found is not None:
        return found
    what = str(given[0]) if given and isinstance(given[0], Path) else "the rest"
    return Outcome(problems=(interrupted(f"{what} was not read"),))


def _text(file: str | None) -> tuple[str, str]:
    """The text of a file, or of standard input (nothing, or -), and what to call it."""
    from ...facts.fact_file import MAX_BYTES, read_text

    if file is None or file == "-":
        return read_stdin(), "<stdin>"
    form = "messages are text, such as a log or a traceback"
    return read_text(Path(file), MAX_BYTES, form), file


def emit(outcome: Outcome, context: Context) -> int:
    """The facts on stdout, the problems on stderr; bad input if there is nothing else. A person at
    a terminal gets a table, anything else a facts file."""
    from ..reports.layout import problem_lines, write

    chosen = context.format
    if chosen == "auto":
        chosen = "text" if context.target is None and sys.stdout.isatty() else "json"
    if chosen == "text":
        from ..reports.facts_text import fact_lines

        output.emit_text(fact_lines(outcome.facts, context.base.vocabulary), context.target)
    else:
        output.emit_facts(outcome.facts, context.target)
    write(problem_lines(outcome.problems), sys.stderr)
    return output.gathered_code(outcome.problems, found=bool(outcome.facts or not outcome.problems))
