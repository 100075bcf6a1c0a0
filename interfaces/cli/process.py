"""Runs the ``diagnose`` command: errors, exit codes and streams."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from ...facts import ModelMedicError, Problem
from .. import output
from ..reports.output_guard import UnsafeOutputError, mask
from . import fast_lane
from .fast_lane import COMPLETION, Arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...engine.diagnosis.report import Report
    from ..context import Context

_DIALOGUE = "modelmedic.interfaces.consult.loop"
_HELP = frozenset({"-h", "--help", "--version"})
_MOST_KEYS = 10
"""How often Ctrl-C may come while one is prepared to be delivered."""


def run(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    _prepare_streams()
    sys.unraisablehook = _unraisable
    arguments = fast_lane.read(sys.argv[1:] if argv is None else argv)
    code = _run(arguments)
    if argv is None and arguments.is_main_job:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> None:
    """End the process at once: freeing a large heap takes a tenth of a run. Only for the main job,
    which has no open files and no exit handlers."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            return  # the ordinary exit handles it
    os._exit(code)


def _prepare_streams() -> None:
    """Replaces closed streams by empty ones, and escapes what a stream cannot encode."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - for the whole run
            setattr(sys, name, stream)
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _unraisable(event: sys.UnraisableHookArgs) -> None:
    """Ctrl-C that comes inside a finalizer cannot be raised there, and Python would print it and go
    on: it is delivered once more, a moment later, to the code outside. Another one may come while
    that is prepared."""
    if not issubclass(event.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(event)
        return
    for _ in range(_MOST_KEYS):
        try:
            import _thread

            _thread.start_new_thread(_interrupt_soon, ())  # does not wait until it runs
        except KeyboardInterrupt:
            continue
        return


def _interrupt_soon() -> None:
    import _thread
    import time

    time.sleep(0.01)
    _thread.interrupt_main()


def _run(arguments: Arguments) -> int:
    """The exit code, whatever happens."""
    try:
        return _reported(arguments)
    except UnsafeOutputError as error:
        # This fixed message bypasses the output guard, because the guard failed.
        sys.stderr.write(f"{error}\n")
        return output.INTERNAL


def _reported(arguments: Arguments) -> int:
    """The exit code of the command, with its errors reported."""
    try:
        _mask(arguments.mask)
        code = _with_retry(arguments)
        output.finish()
        return code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return output.INTERRUPTED
    except output.NoStdoutError as error:
        return _fail(error.problems, "text")
    except UnsafeOutputError:
        raise
    except ModelMedicError as error:
        return _fail(error.problems, arguments.format, everything="--all" in arguments.words)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _crash(arguments, error)


def _mask(names: str) -> None:
    """Mask more than secrets, where that is asked for."""
    try:
        mask(names)
    except ValueError as error:
        hint = "there are addresses, accounts, hosts and homes, and all"
        raise ModelMedicError(
            Problem("MM300", f"{error} is nothing that --mask can hide", None, hint)
        ) from None


def _with_retry(arguments: Arguments) -> int:
    """Run the command, and once more without the cache if it crashes: cached knowledge that passes
    its checks can still be damaged, which shows only when that part is used. Answers are written
    whole, so nothing has been written by then, except in a dialogue, which is not restarted."""
    try:
        return _answer(arguments)
    except ModelMedicError:
        raise
    except Exception:
        from ..context import forget_cache

        if not forget_cache() or _DIALOGUE in sys.modules:
            raise
        return _answer(arguments)


def _answer(arguments: Arguments) -> int:
    """Run the command; the plain main job and the plain consultation without click."""
    if arguments.is_main_job:
        return arguments.context().diagnosed(_go_on)
    if not arguments.words and sys.stdin.isatty() and COMPLETION not in os.environ:
        from ..consult.start import consult
        from ..context import Context

        return consult(Context())
    return _command_line(arguments)


def _go_on(context: Context, report: Report, code: int) -> int:
    from .follow_up import go_on

    return go_on(context, report, code)


def _command_line(arguments: Arguments) -> int:
    import click

    from .commands import cli

    if COMPLETION in os.environ:
        from .shell.completion import answer

        return answer(cli)
    try:
        code = cli.main(
            arguments.words, prog_name="diagnose", standalone_mode=False, obj=tuple(arguments.words)
        )
        return code if isinstance(code, int) else output.OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except OSError as error:
        if not _HELP.intersection(arguments.words):
            raise
        output.give_up(error)  # click writes help pages itself
        return output.OK
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"see `{context.command_path.strip() if context else 'diagnose'} --help`"
        problem = Problem("MM300", error.format_message(), None, hint)
        return _fail([problem], arguments.format)


def _fail(problems: Sequence[Problem], format_: str, *, everything: bool = False) -> int:
    """Report an error in the requested format; 3 if the knowledge does not load."""
    from ...engine.diagnosis.consultation import TOOL

    if not output.emit_failure(TOOL, problems, format_):
        from ..reports.layout import first_problem_lines, write

        write(first_problem_lines(problems, everything), sys.stderr)
    knowledge = any(p.code.startswith("MM2") for p in problems)
    return output.BAD_KNOWLEDGE if knowledge else output.BAD_INPUT


def _crash(arguments: Arguments, error: Exception) -> int:
    """Report a bug in one line; the traceback only with ``--debug``."""
    from ...facts.redaction.masking import cut

    what = f"internal error: {type(error).__name__}: {cut(str(error), 200)}"
    hint = "this is a bug of ModelMedic; run again with --debug and report the output"
    if "--debug" in arguments.words:
        _show_traceback(error)
    _fail([Problem("MM399", what, None, hint)], arguments.format)
    return output.INTERNAL


def _show_traceback(error: Exception) -> None:
    """The traceback on stderr, without secrets and control characters."""
    import traceback

    from ..reports.layout import Line, write

    text = "".join(traceback.format_exception(error)).rstrip()
    write([Line(text, keep=True)], sys.stderr)
