"""Python files and notebooks: their text, syntax tree and places, and the meanings of their names.

Nothing is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ...facts.problems import Location, Problem
from ...facts.regular_files import read_regular
from .nodes import FUNCTIONS, FunctionNode, Nodes, assignments, dotted, last_name
from .parsing import parse_text

MAX_SCRIPT_BYTES = 2_000_000
MAX_NOTEBOOK_BYTES = 20_000_000
MAX_LINES = 20_000
MAX_LINE = 100_000
MAX_BROKEN_PARTS = 20
_CODING = re.compile(rb"^[ \t\f]*#.{0,100}?coding[:=][ \t]*([-\w.]+)")
# None that decodes to something else than the text, or takes longer than linear time.
_ENCODINGS = frozenset({
    "latin-1", "iso-8859-1", "iso-8859-15", "cp1252", "cp1251", "windows-1252", "windows-1251",
    "koi8-r", "ascii", "us-ascii", "gbk", "gb2312", "gb18030", "big5", "shift-jis", "euc-jp",
    "euc-kr", "cp949",
})  # fmt: skip
_MAGIC = re.compile(r"^(\s*)(%|!|\?)")
_ASSIGNED_MAGIC = re.compile(r"^(\s*+)([\w,][\w, ]*=\s*)([%!].*)$")
_CLASS_NAME = re.compile(r"_*[A-Z][A-Za-z0-9_]*\Z", re.ASCII)
_CONSTANT_NAME = re.compile(r"_*[A-Z][A-Z0-9_]+\Z", re.ASCII)


class Place(NamedTuple):
    """A line of a file; ``cell`` counts the cells of a notebook from 1 and is 0 elsewhere."""

    line: int
    cell: int = 0

    def location(self, name: str) -> str:
        """``train.py:12``, or ``train.ipynb:cell 3:2``."""
        return f"{name}:cell {self.cell}:{self.line}" if self.cell else f"{name}:{self.line}"


class Span(NamedTuple):
    """A range of a file: lines and columns count from 1, the end column is the one after it."""

    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}-{self.end_line}:{self.end_column}"


class Source(NamedTuple):
    """A script as one text; ``places`` holds the place of each of its lines."""

    name: str
    lines: tuple[str, ...]
    places: tuple[Place, ...]

    def place(self, node: ast.AST) -> Place:
        """Return the place of a node of the tree in the file."""
        number = min(max(getattr(node, "lineno", 1), 1), len(self.places) or 1)
        return self.places[number - 1] if self.places else Place(1)

    def span(self, node: ast.AST) -> Span | None:
        """The range of a node; of a loop or function, the first line alone. None if the node
        has no place in the text."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or 0
        if not 0 < first <= last <= len(self.lines) or not hasattr(node, "col_offset"):
            return None
        start, end = self._column(first, node.col_offset), 0
        if isinstance(getattr(node, "body", None), list):
            last, end = first, len(self.lines[first - 1].rstrip()) + 1
        elif getattr(node, "end_col_offset", None) is not None:
            end = self._column(last, getattr(node, "end_col_offset", 0))
        lines = self.places[first - 1].line, self.places[last - 1].line
        return Span(lines[0], start, lines[1], max(end, 1))

    def _column(self, line: int, offset: int) -> int:
        """The column of an offset in UTF-8 bytes."""
        text = self.lines[line - 1]
        if text.isascii():
            return offset + 1
        return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1

    def snippet(self, node: ast.AST, limit: int = 3) -> str:
        """The first lines of the code at a node, without the common indent."""
        start = getattr(node, "lineno", 1) - 1
        end = min(getattr(node, "end_lineno", None) or start + 1, start + limit)
        shown = self.lines[start : max(end, start + 1)]
        indent = min((len(x) - len(x.lstrip()) for x in shown if x.strip()), default=0)
        return "\n".join(line[indent:][:300].rstrip() for line in shown)


def read_source(path: Path) -> tuple[Source | None, list[Problem]]:
    """The text of a script or notebook; None with a problem (MM440) if there is none."""
    try:
        limit = MAX_NOTEBOOK_BYTES if path.suffix == ".ipynb" else MAX_SCRIPT_BYTES
        raw = read_regular(path, limit)
        if len(raw) > limit:
            return None, [_unreadable(path, f"it has more than {limit:,} bytes")]
    except (OSError, ValueError) as error:
        return None, [_unreadable(path, getattr(error, "strerror", None) or str(error))]
    return source_of(raw, str(path))


def source_of(raw: bytes, name: str) -> tuple[Source | None, list[Problem]]:
    """The source in the bytes of a file."""
    path = Path(name)
    if not raw.strip():
        return None, [_unreadable(path, "it is empty")]
    if b"\0" in raw[:65_536]:
        return None, [_unreadable(path, "it is not a text file")]
    text = raw.decode(_encoding(raw), "replace").replace("\0", " ")
    if text.lstrip()[:1] == "{" and '"cells"' in text:
        return _notebook(text, name)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ").split("\n")
    return _source(name, lines, [*map(Place, range(1, min(len(lines), MAX_LINES) + 1))])


def _encoding(raw: bytes) -> str:
    """The encoding that the first two lines declare (PEP 263), if it is a text encoding."""
    for line in raw.split(b"\n", 2)[:2]:
        declared = _CODING.match(line[:200])
        if declared is not None:
            name = declared[1].decode("ascii").lower().replace("_", "-")
            return name if name in _ENCODINGS else "utf-8-sig"
    return "utf-8-sig"


def _source(
    name: str, lines: list[str], places: Sequence[Place]
) -> tuple[Source, list[Problem]]:  # fmt: skip
    problems = []
    if len(lines) > MAX_LINES:
        message = f"{len(lines) - MAX_LINES:,} lines behind line {MAX_LINES:,} were left out"
        problems.append(Problem("MM442", message, Location(name, MAX_LINES), ""))
        lines, places = lines[:MAX_LINES], places[:MAX_LINES]
    for at, line in enumerate(lines):
        if len(line) > MAX_LINE:
            message = f"a line of {len(line):,} characters was left out"
            problems.append(Problem("MM442", message, Location(name, places[at].line), ""))
            lines[at] = ""
    return Source(name, tuple(lines), tuple(places)), problems


def _notebook(text: str, name: str) -> tuple[Source | None, list[Problem]]:
    import json

    try:
        data = json.loads(text)
        cells = data["cells"]
        if not isinstance(cells, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, [_unreadable(Path(name), "it is not a readable notebook")]
    rows: list[str] = []
    places: list[Place] = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        code = source if isinstance(source, str) else "".join(map(str, source or ()))
        lines = code.split("\n")
        if lines and lines[0].startswith("%%") and not lines[0].startswith("%%time"):
            continue  # a cell in another language
        rows += map(_plain, lines)
        places += [Place(at, number) for at in range(1, len(lines) + 1)]
    if not rows:
        return None, [_unreadable(Path(name), "the notebook has no code")]
    return _source(name, rows, places)


def _plain(line: str) -> str:
    """A line of a cell without shell and magic commands; their text stays as a string."""
    assigned = _ASSIGNED_MAGIC.match(line)
    if assigned:
        return f"{assigned[1]}{assigned[2]}None"
    magic = _MAGIC.match(line)
    return f"{magic[1]}{line.strip()!r}" if magic else line


def parse(source: Source) -> tuple[ast.Module, list[Problem], bool]:
    """The tree of a source. If a part does not parse, only that part is left out (MM466), and the
    last value is false."""
    text = "\n".join(source.lines)
    tree = _parsed(text)
    if isinstance(tree, ast.Module):
        return tree, [], True
    body: list[ast.stmt] = []
    problems: list[Problem] = []
    for start, end in _parts(source.lines):
        part = _parsed("\n".join(source.lines[start:end]))
        if isinstance(part, ast.Module):
            ast.increment_lineno(part, start)
            body += part.body
        elif len(problems) < MAX_BROKEN_PARTS:
            place = source.places[min(start + part.line - 1, len(source.places) - 1)]
            last = source.places[min(end, len(source.places)) - 1]
            lost = f"lines {source.places[start].line} to {last.line} are not read"
            where = f"{source.name}:cell {place.cell}" if place.cell else source.name
            message = f"this is not valid Python: {part.reason}; {lost}"
            at = Location(where, place.line)
            problems.append(Problem("MM466", message, at, "correct it, then read again"))
    return ast.Module(body, []), problems, False


class _Broken(NamedTuple):
    line: int
    reason: str


def _parsed(text: str) -> ast.Module | _Broken:
    try:
        return parse_text(text)
    except SyntaxError as error:
        return _Broken(error.lineno or 1, error.msg or "syntax error")
    except (RecursionError, MemoryError, ValueError) as error:
        return _Broken(1, f"nested too deep ({type(error).__name__})")


def _parts(lines: tuple[str, ...]) -> list[tuple[int, int]]:
    """Blocks of lines that begin at the left margin: statements, as far as the indentation
    shows."""
    starts = [0]
    for number, line in enumerate(lines):
        follows = line[:1] in ("", " ", "\t", ")", "]", "}", "#") or line.startswith(
            ("else", "elif", "except", "finally", "'''", '"""')
        )
        decorated = number and lines[number - 1].startswith("@")
        if number and not follows and not decorated:
            starts.append(number)
    return list(zip(starts, [*starts[1:], len(lines)], strict=True))


def _unreadable(path: Path, reason: str) -> Problem:
    hint = "name a Python script or a notebook (.py, .ipynb)"
    return Problem("MM440", f"there is no script to read: {reason}", Location(str(path)), hint)


class Code(Nodes):
    """A file that was parsed. ``whole`` says that no part of it was left out."""

    def __init__(self, source: Source, tree: ast.Module, parsed: bool) -> None:
        super().__init__(tree)
        self.source = source
        self.whole = self.whole and parsed

    @property
    def name(self) -> str:
        """The file, as it was given."""
        return self.source.name

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around a node."""
        return next((each for each in self.above(node) if isinstance(each, ast.ClassDef)), None)

    def line(self, node: ast.AST) -> int:
        """The line of a node in the file."""
        return self.source.place(node).line

    def at(self, node: ast.AST) -> str:
        """``file:line`` of a node."""
        return self.source.place(node).location(self.name)

    @cached_property
    def imports(self) -> dict[str, str]:
        """Name -> its imported path: ``torch.nn`` or ``.custom_calls.CustomRMSNorm``."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    short = alias.asname or alias.name.partition(".")[0]
                    found[short] = alias.name if alias.asname else short
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{module}.{alias.name}"
        return found

    @cached_property
    def modules(self) -> frozenset[str]:
        """The modules that are imported, with their full names."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module or "")
        return frozenset(found)

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes of the file by name, nested ones too; the last of a name counts."""
        return {node.name: node for node in self.all(ast.ClassDef)}

    def class_name(self, node: ast.AST | None, called: bool = False) -> str | None:
        """The class that an expression names, ``RMSNorm`` or ``nn.RMSNorm``: one that the file
        defines, or a name with a capital that it imports. A name all in capitals is a constant
        unless it is ``called``. None for anything else."""
        if isinstance(node, ast.Name):
            if node.id in self.classes:
                return node.id
            is_class = node.id in self.imports and _is_class_name(node.id, called)
            return node.id if is_class else None
        name = dotted(node)
        if not name or not _is_class_name(name.rpartition(".")[2], called):
            return None
        return name if name.partition(".")[0] in self.imports else None

    @cached_property
    def values(self) -> dict[str, ast.expr]:
        """Name or ``self.name`` -> value, of those that are assigned exactly once in the file."""
        found: dict[str, ast.expr] = {}
        spoilt: set[str] = set()
        for node in self.nodes:
            for target, value in assignments(node):
                name = dotted(target)
                if name in found:
                    spoilt.add(name)
                elif name:
                    found[name] = value
        return {name: value for name, value in found.items() if name not in spoilt}

    def methods(self, owner: ast.ClassDef) -> dict[str, FunctionNode]:
        """The methods of a class by name."""
        return {node.name: node for node in owner.body if isinstance(node, FUNCTIONS)}

    def forward_methods(self, owner: ast.ClassDef) -> list[FunctionNode]:
        """``forward`` of a class and the methods of the class that it calls, also indirectly."""
        methods = self.methods(owner)
        names = [name for name in methods if name in ("forward", "__call__")]
        for name in names:  # grows while it is read
            for call in self.all(ast.Call, methods[name]):
                called = dotted(call.func)
                short = called[5:] if called.startswith("self.") else ""
                if short in methods and short not in names:
                    names.append(short)
        return [methods[name] for name in names]

    @cached_property
    def forwards(self) -> list[FunctionNode]:
        """The forward methods of all classes, in the order of the text."""
        # The forward of an autograd function belongs to training.
        owners = (owner for owner in self.all(ast.ClassDef)
                  if "Function" not in map(last_name, owner.bases))  # fmt: skip
        found = [method for owner in owners for method in self.forward_methods(owner)]
        return list({id(each): each for each in found}.values())


def code_of(source: Source) -> tuple[Code, list[Problem]]:
    """A source with the meanings of its names."""
    tree, problems, whole = parse(source)
    return Code(source, tree, whole and not problems), problems


def read_code(text: str, name: str) -> Code | None:
    """The code of a text; None if it is not readable Python."""
    source, _ = source_of(text.encode("utf-8", "replace"), name)
    return None if source is None else code_of(source)[0]


def _is_class_name(name: str, called: bool) -> bool:
    return bool(_CLASS_NAME.match(name)) and (called or not _CONSTANT_NAME.match(name))
