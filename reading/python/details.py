"""The code around a place in its file: the function, the statement, the arguments and their
documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .docstrings import MAX_DOC, described
from .nodes import FUNCTIONS, FunctionNode
from .parsing import STARS, blocks, parameters, parse, signature_of

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
MAX_STATEMENT = 300
Definition = FunctionNode | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Details:
    """A file, and the definitions around one of its lines, outermost first."""

    tree: ast.Module
    lines: tuple[str, ...]
    around: tuple[Definition, ...] = field(default=())

    @property
    def function(self) -> FunctionNode | None:
        """The innermost function."""
        return next((d for d in reversed(self.around) if isinstance(d, FUNCTIONS)), None)

    @property
    def owner(self) -> ast.ClassDef | None:
        """The innermost class."""
        return next((d for d in reversed(self.around) if isinstance(d, ast.ClassDef)), None)

    @property
    def qualified(self) -> str:
        """The name of the function as Python qualifies it, "" at module level."""
        name = ""
        for before, here in zip((None, *self.around), self.around, strict=False):
            inside = ".<locals>." if isinstance(before, FUNCTIONS) else "."
            name = f"{name}{inside}{here.name}" if name else here.name
        return name

    def statement(self, line: int) -> str:
        """The innermost statement at a line, on one line; a compound one by its first line."""
        found = _innermost(self.tree, line)
        if found is None:
            return ""
        last = found.end_lineno or found.lineno
        if isinstance(found, _DEFINITIONS) or getattr(found, "body", None):
            last = line
        text = " ".join(" ".join(self.lines[found.lineno - 1 : last]).split())
        return text if len(text) <= MAX_STATEMENT else text[: MAX_STATEMENT - 4] + " ..."

    def document(self, name: str) -> str:
        """Find the documentation of a value: an argument (``lr``), a field (``self.lr``), or a
        field of an argument whose class is in the same file (``config.lr``). "" if there is
        none."""
        paths = [path.split(".") for path in _PATH.findall(name)]
        found = next(filter(None, map(self._of_path, paths)), "")
        return found or next(filter(None, map(self._elsewhere, paths)), "")

    def arguments_in(self, text: str) -> Iterator[str]:
        """The arguments of the function that an expression names, with their fields."""
        function = self.function
        known = set(parameters(function)) if function is not None else set()
        seen: set[str] = set()
        for path in _PATH.findall(text):
            if path.partition(".")[0] in known | {"self"} and "." + path not in seen:
                seen.add("." + path)
                yield path

    def _of_path(self, path: Sequence[str]) -> str:
        if path[0] in ("self", "cls") and len(path) > 1 and self.owner is not None:
            return _of_class(self.owner, path[1], self.lines)
        function = self.function
        if function is None or path[0] not in parameters(function):
            return ""
        if len(path) > 1:
            known = self._class_named(_annotation(function, path[0]))
            inner = _of_class(known, path[1], self.lines) if known is not None else ""
            if inner:
                return inner
        return self._of_argument(function, path[0])

    def _of_argument(self, function: FunctionNode, name: str) -> str:
        found = described(ast.get_docstring(function, clean=False) or "").get(name, "")
        if not found and self.owner is not None and function.name in ("__init__", "__post_init__"):
            found = _of_class(self.owner, name, self.lines)
        return found

    def _elsewhere(self, path: Sequence[str]) -> str:
        """Find the documentation of an argument in other functions: a function that only checks its
        arguments is seldom documented. Those of the same class come first."""
        function = self.function
        if function is None or len(path) > 1 or path[0] not in parameters(function):
            return ""
        classes = [self.owner] if self.owner is not None else []
        classes += [node for node in self.tree.body if isinstance(node, ast.ClassDef)]
        bodies = [*(node.body for node in classes), self.tree.body]
        for other in (node for body in bodies for node in body if isinstance(node, FUNCTIONS)):
            if other is not function and path[0] in parameters(other):
                found = described(ast.get_docstring(other, clean=False) or "").get(path[0], "")
                if found:
                    return f"{found} (as {other.name} says)"
        return ""

    def _class_named(self, annotation: str) -> ast.ClassDef | None:
        names = set(_PATH.findall(annotation))
        return next((node for node in self.tree.body
                     if isinstance(node, ast.ClassDef) and node.name in names), None)  # fmt: skip


def details(raw: bytes, line: int) -> Details:
    """The surroundings of a line. Raises :class:`Unreadable`."""
    tree, text = parse(raw)
    around: list[Definition] = []
    body: Sequence[ast.stmt] = tree.body
    while body:
        inside = next(
            (
                node
                for node in _statements(body)
                if isinstance(node, _DEFINITIONS)
                and _first_line(node) <= line <= (node.end_lineno or line)
            ),
            None,
        )
        if inside is None:
            break
        around.append(inside)
        body = inside.body
    return Details(tree, tuple(text.split("\n")), tuple(around))


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and of the blocks in it, but not of its definitions."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _DEFINITIONS):
            waiting += [each for block in blocks(node) for each in reversed(block)]


def _innermost(tree: ast.Module, line: int) -> ast.stmt | None:
    found: ast.stmt | None = None
    body: Sequence[ast.stmt] = tree.body
    while body:
        inside = next(
            (node for node in body if _first_line(node) <= line <= (node.end_lineno or line)), None
        )
        if inside is None:
            break
        found = inside
        body = [each for block in blocks(inside) for each in block]
    return found


def _first_line(node: ast.stmt) -> int:
    marks = node.decorator_list if isinstance(node, _DEFINITIONS) else []
    return min([node.lineno, *(mark.lineno for mark in marks)])


def _annotation(function: FunctionNode, name: str) -> str:
    for each in signature_of(function):
        if each.name == name and each.annotation is not None and each.kind not in STARS:
            try:
                return ast.unparse(each.annotation).replace("'", "")
            except (ValueError, RecursionError):
                return ""
    return ""


def _of_class(node: ast.ClassDef, name: str, lines: Sequence[str]) -> str:
    """Find a class's documentation of a field: in its description, the text below it, the comment
    next to or above it, the docstring of the class or of ``__init__``."""
    for at, statement in enumerate(node.body):
        if not isinstance(statement, ast.AnnAssign | ast.Assign) or name not in _targets(statement):
            continue
        below = node.body[at + 1] if at + 1 < len(node.body) else None
        found = _description(statement.value) or _text(below) or _comment(statement, lines)
        if found:
            return found
    texts: list[Definition] = [node]
    texts += (each for each in node.body
              if isinstance(each, ast.FunctionDef) and each.name == "__init__")  # fmt: skip
    return next(
        (
            found
            for each in texts
            if (found := described(ast.get_docstring(each, clean=False) or "").get(name, ""))
        ),
        "",
    )


def _targets(statement: ast.AnnAssign | ast.Assign) -> set[str]:
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _description(value: ast.expr | None) -> str:
    """The description of a ``Field(...)`` of pydantic, or the doc or help of another library."""
    keywords = value.keywords if isinstance(value, ast.Call) else ()
    told = (each.value for each in keywords if each.arg in ("description", "doc", "help"))
    return next(filter(None, map(_constant, told)), "")


def _text(statement: ast.stmt | None) -> str:
    return _constant(statement.value) if isinstance(statement, ast.Expr) else ""


def _constant(value: ast.expr) -> str:
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return ""
    return " ".join(value.value.split())[:MAX_DOC]


def _comment(statement: ast.stmt, lines: Sequence[str]) -> str:
    """The comment after a field, or the lines of comment right above it."""
    last = (statement.end_lineno or statement.lineno) - 1
    behind = lines[last].encode()[statement.end_col_offset or 0 :].decode("utf-8", "replace")
    if behind.strip().startswith("#"):
        return behind.strip().lstrip("#: ")[:MAX_DOC]
    above: list[str] = []
    at = statement.lineno - 2
    while at >= 0 and lines[at].strip().startswith("#") and len(above) < 6:
        above.insert(0, lines[at].strip().lstrip("#: "))
        at -= 1
    return " ".join(above)[:MAX_DOC]
