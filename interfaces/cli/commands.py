"""The commands of ``diagnose``. Each loads what it needs, asks the engine, and writes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ...engine.compiler.knowledge_base import VERSION
from .. import output
from ..context import Context, check_id
from ..reports.formats import Picture
from .candidates import diagnosis_ids, entry_ids, files, kinds, sessions
from .follow_up import FOLLOW_UP, Case, conclude, go_on
from .options import (
    FACTS,
    FAIL_ON,
    baseline_options,
    command,
    common,
    common_answer,
    common_reading,
    detail,
    path_option,
    takes_context,
)
from .source_lookup import Environment, source_options


class _Commands(click.Group):
    """A group that imports a command when it is first used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module = import_module(_ELSEWHERE[cmd_name], __package__)
        found: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Everyday commands first, in the order of :data:`_EVERYDAY`; then the others."""
        others = [name for name in self.list_commands(ctx) if name not in _EVERYDAY]
        limit = formatter.width - 6 - max(map(len, [*others, *_EVERYDAY]))
        for title, names in (
            ("Everyday commands", _EVERYDAY),
            ("Commands for maintainers and pipelines", others),
        ):
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [(name, each.get_short_help_str(limit)) for name, each in found if each]
                )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a text that begins with a hyphen, such as an item of a list, as text."""
        return super().parse_args(ctx, [f" {a}" if _is_item(a) else a for a in args])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete commands and options; files if none of them matches."""
        return super().shell_complete(ctx, incomplete) or files(ctx, None, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name; other arguments go to :mod:`.entry`."""
        if self.get_command(ctx, args[0]) is None and not ctx.params.get("files"):
            from .guess import mistyped

            if not mistyped(args, self.list_commands(ctx)):
                from .entry import anything

                return "", anything, args
        return super().resolve_command(ctx, args)


def _is_item(argument: str) -> bool:
    return argument.startswith("-") and (argument[1:2].isspace() or "\n" in argument)


_EVERYDAY = (
    "inspect", "decode", "rehearse", "watch", "probe", "source", "explain", "why-not", "whatif",
    "capture", "ratios",
)  # fmt: skip
_ELSEWHERE = dict.fromkeys(("baseline", "diff", "replay", "report"), ".report_commands")
_ELSEWHERE |= dict.fromkeys(("capture", "ratios"), "..capturing.command")
_ELSEWHERE |= dict.fromkeys(("rehearse", "stand-in"), "..rehearsing.command")
_ELSEWHERE |= {"bulk": "..bulk.command", "kb": ".kb", "mcp": "..mcp.command"}
_ELSEWHERE |= {"probe": ".probe_commands", "source": ".source_commands"}
_ELSEWHERE |= {"ci": "..ci.command", "completion": ".shell.completion", "manual": ".shell.manual"}


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes_context
@FACTS
@FAIL_ON
@detail
@path_option(
    "--answers",
    "Take the answers of a consultation from a file.",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@click.option("--accessible", is_flag=True, help="Run a consultation in plain lines.")
@click.option("--resume", is_flag=False, flag_value="", metavar="[NAME]", shell_complete=sessions,
              help="Continue a saved consultation.")  # fmt: skip
@click.option("--vi", is_flag=True, help="Use vi keys in a consultation.")
@baseline_options
@common
@click.version_option(VERSION, prog_name="modelmedic")
def cli(
    context: Context, answers: Path | None, accessible: bool, resume: str | None, vi: bool
) -> int | None:
    """Find out what is wrong with a training run or a model port.

    `diagnose ANYTHING` reads paths, an error text, a sentence, or - for standard input, and
    diagnoses it. Without arguments it starts a consultation on a terminal; with --facts it
    diagnoses facts files.

    Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 bad usage or input, 3 knowledge does
    not load, 4 no verdict (an error has no explanation, or an input could not be read), 70 internal
    error, 130 interrupted.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return None
    if context.files:
        return context.diagnosed(go_on)
    if sys.stdin.isatty() or answers or accessible or resume is not None or vi:
        from ..consult.start import consult

        return consult(context, answers=answers, accessible=accessible, resume=resume, vi=vi)
    click.echo(click.get_current_context().get_help(), err=True)
    raise click.UsageError("nothing to diagnose: name a file, an error or a command")


@command(cli)
@click.argument("text", nargs=-1)
@FAIL_ON
@source_options()
@common
def decode(
    context: Context, text: Sequence[str], source: bool, python: Path | None, site: Path | None
) -> int:
    """Explain an error. TEXT is a message, or - for standard input (tracebacks, logs)."""
    from ..inspection import read_text
    from ..reports.answers_text import decode_lines

    given = None if not text or list(text) == ["-"] else " ".join(text)
    taken = read_text(given, context.intake, context.deadline)
    case = Case(taken.as_error, taken.problems)
    where = Environment(python, site) if source else None
    return conclude(context, case, where, lines=decode_lines)


@command(cli)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@FAIL_ON
@detail
@path_option("--save-facts", "Also write the gathered facts.")
@path_option("--patch", "Also write the suggested changes, for git apply.")
@path_option("--plots", "Plot R-ratios and errors (PNG); an HTML report shows them.", "DIR")
@FOLLOW_UP
@baseline_options
@source_options()
@common_reading
def inspect(
    context: Context, paths: Sequence[Path], save_facts: Path | None, plots: Path | None,
    follow_up: bool, source: bool, python: Path | None, site: Path | None,
) -> int:  # fmt: skip
    """Read run folders, logs, scripts, data, weights, profiles, freeze files or facts files, and
    diagnose them. A PATH of - is standard input. Nothing is executed and nothing leaves the
    machine."""
    from ..inspection import gather, plot

    vocabulary = context.base.vocabulary
    facts, problems, read = gather(
        paths, vocabulary, deadline=context.deadline, intake=context.intake
    )

    def written(case: Case) -> Sequence[Picture]:
        if save_facts is not None:
            output.emit_facts(case.facts, save_facts)
        return plot(case.facts, paths, plots, vocabulary) if plots is not None else ()

    where = Environment(python, site) if source else None
    case = Case(tuple(facts), tuple(problems), tuple(read))
    return conclude(context, case, where, follow_up=follow_up, pictures=written)


@command(cli, context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@path_option("--keep", "Save the record in a file, for `diagnose inspect`.")
@FAIL_ON
@common
def watch(context: Context, words: Sequence[str], keep: Path | None) -> int:
    """Run COMMAND (after --) unchanged, record its SDK calls and waiting threads, and diagnose when
    it ends or on Ctrl-C. Shapes and times are recorded, never texts or keys.

    The exit status is that of the command unless it is 0, else that of the diagnosis.
    """
    from ...probes.watch.command import run_watch

    doctor = context.doctor
    watched = run_watch(list(words), doctor.base.vocabulary, keep=keep)
    late = context.new_deadline().has_passed
    outcome = watched.outcome
    report = doctor.diagnose(outcome.facts, outcome.problems, time_is_up=late)
    sys.stdout.flush()
    code = context.emit_report(report)
    return watched.exit_code or code


@command(cli, "why-not")
@click.argument("diagnosis", shell_complete=diagnosis_ids)
@FACTS
@common_answer
def why_not(context: Context, diagnosis: str) -> int:
    """Show the facts whose absence or value keeps DIAGNOSIS from being concluded."""
    from ..reports.answers_text import why_not_lines

    check_id(diagnosis, context.base.catalogue["diagnoses"], "diagnosis")
    consultation = context.doctor.consult(context.facts())
    plain = consultation.explain_absence(diagnosis)
    facts = {consultation.explanations.ids[fact]: str(fact) for fact in consultation.facts}
    context.emit({"schema": "modelmedic/why-not/1", **plain}, why_not_lines(plain, facts))
    return output.OK


@command(cli, "whatif")
@click.option("--set", "settings", multiple=True, required=True, metavar="FACT",
              shell_complete=kinds,
              help='Such as "package name=pydantic version=2.14.3".')  # fmt: skip
@FACTS
@common_answer
def what_if(context: Context, settings: Sequence[str]) -> int:
    """Show what changes if a fact is different. The new fact replaces the known one about the same
    thing."""
    from ..reports.answers_text import what_if_lines
    from ..settings import parse_setting

    change = [parse_setting(text, context.base.vocabulary) for text in settings]
    plain = context.doctor.what_if(context.facts(), change)
    context.emit({"schema": "modelmedic/whatif/1", **plain}, what_if_lines(plain, context.base))
    return output.OK


@command(cli)
@click.argument("entry", shell_complete=entry_ids)
@common_answer
def explain(context: Context, entry: str) -> int:
    """Explain a diagnosis or any other entry of the knowledge: meaning, actions, sources."""
    if entry[:2] == "MM" and entry[2:].isdigit():
        from .kb.lint import explain_code

        explain_code(entry)
        return output.OK
    from ..reports.answers_text import entry_plain, explain_lines

    catalogue = context.base.catalogue
    check_id(entry, {*catalogue["entries"], *catalogue["diagnoses"]}, "entry")
    plain = entry_plain(context.base, entry)
    context.emit({"schema": "modelmedic/entry/1", **plain}, explain_lines(plain))
    return output.OK


@command(cli, "facts")
@click.argument("kind", required=False, shell_complete=kinds)
@click.option("--schema", is_flag=True, help="The JSON Schema of facts files.")
@common_answer
def facts_(context: Context, kind: str | None, schema: bool) -> int:
    """List the fact kinds, describe one, or print the JSON Schema of facts files."""
    from ...facts.json_schema import facts_schema
    from ..reports.answers_text import kind_lines, kinds_lines

    vocabulary = context.base.vocabulary
    lines = list(kinds_lines(vocabulary) if kind is None else kind_lines(vocabulary, kind))
    if schema:
        context = context._replace(format="json")
    context.emit(facts_schema(vocabulary), lines)
    return output.OK
