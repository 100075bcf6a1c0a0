"""The first action and its command, ready to paste: for a shell, in Python, or as arguments of a
given command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....facts.records import NamedTuple, lazy
from ..layout import Line, balanced, is_arguments, is_setting, prompt, quoted
from .placeholders import REPLACE, in_words, replacements
from .words import brief, first_sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


WIDTH = 80
MAX_LINES = 6
WHOLE = "# long: `-v` shows the whole command"
TO_RUN = "To run Stage "
RAN = "The same run no longer prints this message."
DECIDES = "This decides: "
"""Stands in an action before what its outcomes mean."""
ACTION = 420
"""Characters of what to do: a step is given whole."""
CHECK = 170
"""Characters on how to see that an action worked."""
_OPEN = lazy(r"[A-Z]{2}|\./|\.py\b|\.log\b|train\.jsonl")
"""Words that may be placeholders for the reader's own values."""
_OPENS = lazy(r"--?[A-Za-z]|&&$|\|\|?$")
OURS = lazy(
    r"(?<![`'\w.-])diagnose (?:probe [a-z-]{2,30}|inspect|watch|decode)\b"
    r"(?![`'-])(?! (?:-|[A-Z]{2}))"  # a command followed by more text is left unchanged
)


class _Part(NamedTuple):
    """A line of a command; ``begins`` where a shell takes it as the first one of a command."""

    text: str
    begins: bool = False


def command_lines(line: Line, most: int = MAX_LINES) -> Iterator[Line]:
    """The line of a command in as many as it needs: long ones of a shell go on after a backslash,
    Python and arguments are announced. Of a long program the beginning is shown."""
    text, room = line.text, WIDTH - line.indent - len(line.mark)
    if line.mark:
        parts = _rows(text, room)
    else:
        from .statements import statements

        yield Line(announced(text), line.indent - 2, "dim")
        rows = text.split("\n")
        parts = [_Part(part) for row in rows for part in statements(row)]
        parts = _rows(text, room) if is_arguments(text) else parts
    shown = parts
    if len(parts) > most:  # a command is complete or left out: its beginning cannot be pasted
        rest = [_Part(WHOLE)]
        shown = rest if line.mark else [*parts[: most - 1], _Part("# ... (-v)")]
    for part in shown:
        mark = line.mark if part.begins else " " * len(line.mark)
        yield line._replace(text=part.text, mark=mark)


def announced(code: str) -> str:
    """The line above code and arguments."""
    if is_setting(code):
        return "In the configuration:"
    return "Add to the command:" if is_arguments(code) else "In Python, names as in your code:"


def shell_command(command: str) -> Line:
    """A command below a verdict."""
    return Line(command, 4, "command", mark=prompt(command), keep=True)


def action_lines(
    actions: Sequence[Any], mark: str = "Do: ", *, checked: bool = False, where: str | None = None
) -> Iterator[Line]:
    """The first thing to do, its command, and how to see that it worked; replacements in the
    command, if it is known whether they were given before (``where``). An action in words only,
    such as the fix of a message, is followed by one that has a command."""
    if not actions:
        return
    first, own = actions[0], actions[1:]
    yield Line(brief(in_words(first["do"]), ACTION), 2, mark=mark)
    command = first.get("command", "")
    if command:
        yield shell_command(command)
    if code := first.get("code", ""):
        yield Line(code, 4, "command", keep=True)
    told, check = f"{first['do']}\n{where}", first.get("verify", "")
    if where is not None and _OPEN.search(command + "\n" + (told := f"{told}\n{check}")):
        yield from _replaced(command, told)
    if where is not None and "Stage" in told:
        from .stage_runs import stage_runs

        for number, run in stage_runs(first["do"], command):
            yield Line("", 2, "dim", mark=f"{TO_RUN}{number}:")
            yield shell_command(run)
            yield from _replaced(run, where)
    if first.get("verify"):
        if checked:
            yield Line(
                brief(first_sentence(in_words(first["verify"])), CHECK), 2, mark="Worked if: "
            )
    elif not command:
        whole = [each for each in own if each.get("command") and each.get("verify")]
        # The fix of a row is about its message; what else leads to the finding may be otherwise.
        if checked and whole:
            yield Line(RAN, 2, mark="Worked if: ")
        more = "If it is still there: " if checked else "Then: "
        yield from action_lines(whole[:1], more, checked=False, where=where)
        if checked and own and not whole and own[0].get("verify"):
            check = first_sentence(in_words(own[0]["verify"]))
            yield Line(brief(check, CHECK), 2, mark="Worked if: ")


def _replaced(command: str, told: str) -> Iterator[Line]:
    """The values to fill into a command; ``told`` may explain some."""
    if put := replacements(command, told):
        yield Line(put, 2, mark=REPLACE)


def _continued(command: str, room: int) -> list[str]:
    """A command in lines that a shell takes as one, broken before options and operators if that is
    enough."""
    command, comment, said = command.partition("  # ")
    if comment:
        return [f"# {said}", *_continued(command, room)]
    if len(command) <= room or " # " in command:
        return [command]
    lines = [""]
    for group in _groups(command):
        begun = len(lines) == 1 and len(lines[-1]) + len(group) + 2 > room > 2 * len(lines[-1])
        parts = _words(group) if begun or len(group) + 4 > room else [group]
        for part in parts:
            joined = f"{lines[-1]} {part}" if lines[-1] else part
            if len(joined) + 2 > room and lines[-1]:
                lines.append(f"  {part}")
            else:
                lines[-1] = joined
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _rows(text: str, room: int) -> list[_Part]:
    """The commands of a text, each in as many lines as it needs; what a quote or a document spans
    stays as it is."""
    rows = text.split("\n")
    fitting: list[_Part] = []
    for row in rows:
        if "<<" in row or not quoted(row):
            return [_Part(each, begins=number == 0) for number, each in enumerate(rows)]
        if len(row) <= room:
            fitting.append(_Part(row, begins=True))
            continue
        parts = _continued(row, room)
        first = parts[0].startswith("# ")
        fitting += [_Part(each, begins=number == first) for number, each in enumerate(parts)]
    return fitting


def _groups(command: str) -> list[str]:
    """Options with their values, and the words between operators."""
    groups: list[str] = []
    for word in _words(command):
        if groups and not _OPENS.match(word):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    return groups


def _words(command: str) -> list[str]:
    """Split at spaces that are inside of no quotes and parentheses."""
    words: list[str] = []
    for part in command.split(" "):
        if words and not balanced(words[-1]):
            words[-1] += f" {part}"
        else:
            words.append(part)
    return words
