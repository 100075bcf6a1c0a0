"""``diagnose completion``: what a shell needs to complete the command, and its answers."""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

from ... import output
from ...context import Context
from ...reports.layout import Line
from ..fast_lane import COMPLETION as VARIABLE
from ..options import command

SHELLS = ("bash", "zsh", "fish")


@command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(context: Context, shell: str) -> int:
    """Print the completion of commands, options, ids, kinds and names for a SHELL.

    bash: eval "$(diagnose completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: diagnose
    completion fish > ~/.config/fish/completions/diagnose.fish.
    """
    root = click.get_current_context().find_root().command
    # Not its own `source`: for bash that starts another one to ask for its version.
    script = ShellComplete.source(_of(shell, root)).strip()
    output.emit_text(Line(line, keep=True) for line in script.splitlines())
    return output.OK


def answer(root: click.Command) -> int:
    """Write what a shell asks for in its variables; nothing if that goes wrong, whatever it
    is: a person is typing."""
    shell, _, what = os.environ[VARIABLE].partition("_")
    if shell not in SHELLS or what != "complete":
        return output.BAD_INPUT
    try:
        found = _of(shell, root).complete()
    except Exception:  # noqa: BLE001 - nothing to show, and nobody to tell
        return output.OK
    sys.stdout.write(found + "\n")
    return output.OK


def _of(shell: str, root: click.Command) -> ShellComplete:
    found = get_completion_class(shell)
    assert found is not None
    return found(root, {}, "diagnose", VARIABLE)
