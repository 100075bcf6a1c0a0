"""Details of a site's statement that the index of sites lacks.

The index names placeholders only; ``{name!r}`` puts quotes round a text, ``{share:.2f}`` is a
number. Both are read from the lines of the statement and shortly above it, and so are further
arguments of an exception, which a command shows below its message.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from ...reading.packages.sites import Site
from ...reading.python.parsing import Unreadable, blocks, parse
from ...reading.python.parts import Parts
from ...reading.python.scopes import Scope
from ...reading.python.templates import Way, templates

LINES_ABOVE = 15
"""Messages are often put together in a variable first."""
_NUMBER = re.compile(r"[-+ ,_#0-9.]*[bdoxXeEfFgG%]|[,_]|[-+ ]?\.?\d+")


class Spelling(NamedTuple):
    """Whether the value is shown by ``repr``, and whether its format takes numbers only."""

    quoted: bool = False
    number: bool = False


class Spellings:
    """Looks placeholders up in files, which ``read`` gives; keeps the last one."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._file = ""
        self._raw = b""
        self._lines: list[str] = []

    def of(self, site: Site, name: str) -> Spelling:
        """The way in which the statement of a site writes a placeholder; the plain way if the
        statement does not show it."""
        if not name:
            return Spelling()
        written = re.compile(r"\{\s*" + re.escape(name) + r"\s*(![rsa])?(?::([^{}]{0,40}))?\}")
        # The statement itself comes first: another one above it may use the same name.
        nearest = (written.search(self._lines_of(site, above)) for above in (0, LINES_ABOVE))
        found = next(filter(None, nearest), None)
        if found is None:
            return Spelling(number=_by_percent(self._lines_of(site, 0), name))
        return Spelling(found[1] == "!r", bool(found[2] and _NUMBER.fullmatch(found[2])))

    def further(self, site: Site) -> Parts:
        """The template of the second argument of a raise, if that is a text."""
        self._open(site.file)
        block, at = _block(self._tree, site.line)
        raised = block[at] if block else None
        if not isinstance(raised, ast.Raise) or not isinstance(raised.exc, ast.Call):
            return ("",)
        scope = Scope()
        for statement in ast.walk(ast.Module(list(block[:at]), [])):
            if isinstance(statement, ast.stmt):
                scope.note(statement)
        given = [each for each in raised.exc.args[1:2] if ast.unparse(each) != "None"]
        texts = [text for each in given for text in templates(each, Way(scope))]
        return max(texts, key=lambda parts: sum(map(len, parts[::2])), default=("",))

    def _lines_of(self, site: Site, above: int) -> str:
        self._open(site.file)
        return "\n".join(self._lines[max(0, site.line - 1 - above) : site.last_line])

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            return parse(self._raw)[0]
        except Unreadable:
            return ast.Module([], [])

    def _open(self, file: str) -> None:
        if file != self._file:
            self._file = file
            try:
                self._raw = self._read(file)
            except Unreadable:
                self._raw = b""
            self._lines = self._raw.decode("utf-8", "replace").splitlines()
            self.__dict__.pop("_tree", None)


def _block(tree: ast.Module, line: int) -> tuple[Sequence[ast.stmt], int]:
    """The statements around the one that begins at a line, and its number among them."""
    waiting = [tree.body]
    for body in waiting:
        starts = [each.lineno for each in body]
        if line in starts:
            return body, starts.index(line)
        waiting += [inner for each in body for inner in blocks(each)]
    return (), 0


def _by_percent(text: str, name: str) -> bool:
    """Whether ``"%d" % name`` is all that a statement fills in."""
    return name in text and bool(re.search(r"%[-+ 0-9.]*[dfgeiu]\b", text)) and "%s" not in text
