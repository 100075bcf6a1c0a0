"""The code around a message in its source: the tests of a chain as one, the values of constants,
the code after the message, the origin of a tested variable, and the methods that set the tested
attributes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...reading.python.guards import MAX_GUARDS
from ...reading.python.nodes import FunctionNode, dotted
from ...reading.python.parsing import Unreadable, blocks, parse

_OWN = re.compile(r"(?:not )?self\.(\w+)(?: (?:is|is not|==|!=) (?:None|True|False))?\Z")
MAX_VALUE = 80
MAX_MADE = 2
_ENDING = frozenset({"exit", "_exit", "abort", "fail"})
_Refused = tuple[str, list[str]]


def chained(guards: Sequence[str]) -> str:
    """The innermost test; of a chain that asked for one value after the other, all of them in one:
    ``x not in (A, B)``. "..." stands for other tests of the same subject."""
    if not guards:
        return ""
    innermost = _refused(_expression(guards[0]))
    if innermost is None:
        return guards[0]
    subject, values = innermost
    asked = len(values)
    for text in guards[1:]:
        test = _expression(text)
        refused = _refused(test)
        if refused and refused[0] == subject:
            values = [*refused[1], *values]
        elif test is not None and isinstance(test, ast.UnaryOp) and _names(test, subject):
            values = ["...", *values]
        else:
            break
    else:
        values = ["...", *values] if len(guards) >= MAX_GUARDS else values
    if len(values) == asked:
        return guards[0]
    several = ", ".join(dict.fromkeys(values))
    if subject.startswith("isinstance("):
        return f"not {subject[:-1]}, ({several}))"
    return f"{subject} not in ({several})"


class Around:
    """The code around the messages in the source of one file."""

    def __init__(self, raw: bytes) -> None:
        self._going_on: set[int] = set()
        self._setters: dict[str, dict[str, list[str]]] = {}
        self._constants: dict[str, ast.expr] = {}
        self._functions: dict[str, FunctionNode] = {}
        self._made: dict[str, dict[str, str]] = {}
        try:
            tree = parse(raw)[0]
        except Unreadable:
            return
        self._constants = dict(_constants(tree.body))
        self._functions = dict(_functions(tree.body, ""))
        self._follow(tree.body, False)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._setters[node.name] = _setters(node)

    def with_values(self, guard: str) -> str:
        """A test with the values of the constants that the file defines."""
        test = _expression(guard)
        if test is None or self._constants.keys().isdisjoint(_words(test)):
            return guard
        return ast.unparse(_Filled(self._constants).visit(test))

    def made(self, function: str, guard: str) -> str:
        """How the function itself makes the variables of a test, such as ``n = len(parts)``."""
        test = _expression(guard)
        if test is None or function not in self._functions:
            return ""
        if function not in self._made:
            self._made[function] = _variables(self._functions[function])
        known = self._made[function]
        told = dict.fromkeys(known[each] for each in sorted(_words(test)) if known.get(each))
        text = "; ".join(list(told)[:MAX_MADE])
        return text if len(text) <= MAX_VALUE * 2 else ""

    def goes_on(self, line: int) -> bool:
        """Whether the call continues after the statement of a line."""
        return line in self._going_on

    def setters(self, function: str, guard: str) -> tuple[str, ...]:
        """The methods that set the attribute of a test to something, if it begins as nothing."""
        match = _OWN.match(guard)
        owner = function.rpartition(".")[0].rpartition(".")[2]
        if match is None or not owner:
            return ()
        inside = function.rpartition(".")[2]
        found = self._setters.get(owner, {}).get(match[1], ())
        return tuple(name for name in found if name != inside)

    def _follow(self, body: Sequence[ast.stmt], ended: bool) -> None:
        """Note the statements of a block after which the call continues."""
        for at, statement in enumerate(body):
            ends = ended or any(map(_ends, body[at + 1 :]))
            if isinstance(statement, FunctionNode | ast.ClassDef):
                ends = False
            elif isinstance(statement, ast.Expr) and not ends:
                self._going_on.add(statement.lineno)
            for block in blocks(statement):
                self._follow(block, ends)


class _Filled(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)


def _constants(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for name, value in _assigned(body):
        if name.isupper() and _is_plain(value) and len(ast.unparse(value)) <= MAX_VALUE:
            yield name, value


def _is_plain(value: ast.expr) -> bool:
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return all(isinstance(each, ast.Constant | ast.Attribute) for each in value.elts)
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float | str)


def _words(test: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(test) if isinstance(each, ast.Name)}


def _functions(body: Iterable[ast.stmt], inside: str) -> Iterator[tuple[str, FunctionNode]]:
    """The functions by their qualified names."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{inside}{node.name}.")
        elif isinstance(node, FunctionNode):
            yield f"{inside}{node.name}", node
            yield from _functions(node.body, f"{inside}{node.name}.<locals>.")


def _variables(function: FunctionNode) -> dict[str, str]:
    """How a function makes its variables: those that one assignment makes, or one loop."""
    found: dict[str, str] = {}
    given = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        elif isinstance(node, ast.For | ast.comprehension):
            targets = [node.target]
        else:
            continue
        text = "" if _is_empty(getattr(node, "value", None)) else _told(node)
        names = {each.id for target in targets for each in ast.walk(target)
                 if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}  # fmt: skip
        for name in names:
            plain = name not in found and name not in given and len(text) <= MAX_VALUE
            found[name] = " ".join(text.replace("self.", "").split()) if plain else ""
    return found


def _is_empty(value: ast.expr | None) -> bool:
    """Whether a value is an empty start: later additions are unknown."""
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.Call):
        return not value.args and getattr(value.func, "id", "") in ("list", "dict", "set")
    return value is not None and _is_nothing(value)


def _told(node: ast.AST) -> str:
    if isinstance(node, ast.For | ast.comprehension):
        return f"{ast.unparse(node.target)} of {ast.unparse(node.iter)}"
    return ast.unparse(node)


def _ends(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    return dotted(call.func).rpartition(".")[2] in _ENDING


def _setters(node: ast.ClassDef) -> dict[str, list[str]]:
    """The attributes that a class begins without, each with the methods that set it."""
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    begin = [*node.body, *(s for each in methods if each.name == "__init__" for s in each.body)]
    first = list(_assigned(begin))
    empty = {name for name, value in first if _is_nothing(value)}
    empty -= {name for name, value in first if not _is_nothing(value)}
    found: dict[str, list[str]] = {}
    for method in methods:
        if method.name == "__init__":
            continue
        inside = (each for each in ast.walk(method) if isinstance(each, ast.stmt))
        for name, value in _assigned(inside):
            if name in empty and not _is_nothing(value) and method.name not in found.get(name, ()):
                found.setdefault(name, []).append(method.name)
    return found


def _assigned(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for each in statements:
        targets = each.targets if isinstance(each, ast.Assign) else (
            [each.target] if isinstance(each, ast.AnnAssign) else [])  # fmt: skip
        value = getattr(each, "value", None)
        for target in targets:
            if isinstance(value, ast.expr) and isinstance(target, ast.Attribute | ast.Name):
                yield (target.attr if isinstance(target, ast.Attribute) else target.id), value


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and (value.value is None or value.value is False)


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _refused(test: ast.expr | None) -> _Refused | None:
    """Return the subject and the values that it is not, according to a test that held."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _of_type(test.operand) or _one_of(test.operand)
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return None
    subject, other = ast.unparse(test.left), test.comparators[0]
    if isinstance(test.ops[0], ast.NotEq | ast.IsNot) and not _is_nothing(other):
        return subject, [ast.unparse(other)]
    return (subject, _listed(other)) if isinstance(test.ops[0], ast.NotIn) else None


def _of_type(test: ast.expr) -> _Refused | None:
    if not isinstance(test, ast.Call) or ast.unparse(test.func) != "isinstance":
        return None
    wanted = test.args[1] if len(test.args) == 2 else None
    if wanted is None:
        return None
    types = wanted.elts if isinstance(wanted, ast.Tuple) else [wanted]
    return f"isinstance({ast.unparse(test.args[0])})", [ast.unparse(each) for each in types]


def _one_of(test: ast.expr) -> _Refused | None:
    """Return the subject and values of alternative tests if each requires a value of the same
    subject."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
    values: list[str] = []
    subjects = set()
    for part in parts:
        if not isinstance(part, ast.Compare) or len(part.ops) > 1:
            return None
        if isinstance(part.ops[0], ast.Eq):
            values.append(ast.unparse(part.comparators[0]))
        elif isinstance(part.ops[0], ast.In):
            values += _listed(part.comparators[0])
        else:
            return None
        subjects.add(ast.unparse(part.left))
    return (subjects.pop(), values) if len(subjects) == 1 else None


def _listed(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [ast.unparse(each) for each in node.elts]
    return [f"*{ast.unparse(node)}"]


def _names(test: ast.expr, subject: str) -> bool:
    return any(isinstance(each, ast.expr) and ast.unparse(each) == subject
               for each in ast.walk(test))  # fmt: skip
