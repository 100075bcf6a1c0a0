"""Entry point of the ``diagnose`` command: errors, exit codes and stream discipline."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from ...facts import ModelMedicError, Problem
from . import output

_MACHINE = ("json",)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    gc.disable()  # one short run; nothing of it is worth collecting
    arguments = _spread(list(sys.argv[1:] if argv is None else argv))
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    """The exit code. The plain main job goes without click; see :mod:`.fast_lane`."""
    from .fast_lane import recognise, run

    try:
        request = recognise(arguments)
        code = run(request) if request else _command_line(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return output.INTERRUPTED
    except ModelMedicError as error:
        return _fail(arguments, list(error.problems))
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; nothing is left to say
        return output.OK
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _crash(arguments, error)


def _command_line(arguments: list[str]) -> int:
    import click

    from .commands import cli

    try:
        code = cli.main(arguments, prog_name="diagnose", standalone_mode=False)
        return code if isinstance(code, int) else output.OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        hint = "" if isinstance(error, click.FileError) else "see `diagnose --help`"
        return _fail(arguments, [Problem("MM300", error.format_message(), None, hint)])


def _fail(arguments: list[str], problems: list[Problem]) -> int:
    """Report an error in the format asked for; 3 if the knowledge itself does not load."""
    if _machine_format(arguments):
        from ..diagnoser import TOOL
        from ..report import error_plain

        output.emit_json(error_plain(TOOL, problems))
    else:
        from .layout import write
        from .report_text import problem_lines

        write(problem_lines(problems), sys.stderr)
    knowledge = any(p.code.startswith("MM2") for p in problems)
    return output.BAD_KNOWLEDGE if knowledge else output.BAD_INPUT


def _crash(arguments: list[str], error: Exception) -> int:
    """A bug of ours: one line for people, the traceback only on demand."""
    if "--debug" in arguments:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    what = f"internal error: {type(error).__name__}: {str(error)[:200]}"
    hint = "this is a bug of ModelMedic; run again with --debug and report the output"
    _fail(arguments, [Problem("MM399", what, None, hint)])
    return output.INTERNAL


def _machine_format(arguments: Sequence[str]) -> bool:
    for before, argument in zip(("", *arguments), arguments, strict=False):
        if argument == "--json" or argument in tuple(f"--format={name}" for name in _MACHINE):
            return True
        if before in ("--format", "-f") and argument in _MACHINE:
            return True
    return False


def _spread(arguments: list[str]) -> list[str]:
    """``--facts a.json b.json`` means ``--facts a.json --facts b.json``."""
    spread: list[str] = []
    inside = False
    for argument in arguments:
        if argument == "--facts":
            inside = True
        elif inside and spread[-1] != "--facts":
            if argument.endswith(".json") and not argument.startswith("-"):
                spread.append("--facts")
            else:
                inside = False
        spread.append(argument)
    return spread


if __name__ == "__main__":
    main()
