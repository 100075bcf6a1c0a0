"""Three-valued tests: what an operator means for a value that may be missing.

A test is compiled once to a closure ``value -> True | False | None``; None means unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ...facts import Value
from .versions import is_prerelease, version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


Truth = bool | None
Check = Callable[[Value], Truth]


def same(left: Value, right: Value) -> bool:
    """Whether two values are equal: numbers by size, truth values never to numbers."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def identity(value: Value) -> tuple[str, Value]:
    """A hashable form for which ``==`` is :func:`same`."""
    if isinstance(value, bool):
        return "b", value
    return ("s" if isinstance(value, str) else "n"), value


def compare(op: str, left: Value, right: Value) -> Truth:
    """``left op right``; unknown for values that have no common order. ``version_lt`` and friends
    compare texts as versions."""
    if op.startswith("version_"):
        return _version_check(op.removeprefix("version_"), str(right))(left)
    if op == "eq":
        return same(left, right)
    if op == "ne":
        return not same(left, right)
    numbers = _is_number(left) and _is_number(right)
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return None
    if op == "lt":
        return left < right  # type: ignore[operator]
    if op == "le":
        return left <= right  # type: ignore[operator]
    if op == "gt":
        return left > right  # type: ignore[operator]
    if op == "ge":
        return left >= right  # type: ignore[operator]
    raise ValueError(f"unknown comparison {op!r}")


def compile_check(op: str, operand: Any) -> Check:
    """The closure of one test. Raises ValueError for an unknown operator or a bad operand."""
    if op in ("eq", "ne", "lt", "le", "gt", "ge"):
        return lambda value: compare(op, value, operand)
    if op in ("in", "not_in"):
        allowed = frozenset(identity(item) for item in operand)
        return lambda value: (identity(value) in allowed) == (op == "in")
    if op == "contains":
        return lambda value: operand in value if isinstance(value, str) else None
    if op in ("matches", "not_matches"):
        search, wanted = text_search(operand), op == "matches"
        return lambda value: search(value) == wanted if isinstance(value, str) else None
    if op == "known":
        return lambda value: True
    if op == "prerelease":
        return lambda value: _equal_truth(is_prerelease(str(value)), operand)
    if op == "affected":
        return _affected(operand)
    if op.startswith("version_"):
        return _version_check(op.removeprefix("version_"), operand)
    raise ValueError(f"unknown operator {op!r}")


@lru_cache(maxsize=8192)
def text_search(pattern: str) -> Callable[[str], bool]:
    """A search for an RE2 pattern; compiled when first used. Linear in the text."""
    compiled: list[Any] = []

    def search(text: str) -> bool:
        if not compiled:
            compiled.append(compile_re2(pattern))
        return compiled[0].search(text) is not None

    return search


def compile_re2(pattern: str) -> Any:
    """A compiled RE2 pattern. Raises ValueError with RE2's reason."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 16 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not valid"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"not a valid RE2 pattern: {text}") from None


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equal_truth(found: Truth, wanted: bool) -> Truth:
    return None if found is None else found == wanted


def _affected(events: list[dict[str, str | None]]) -> Check:
    ranges = []
    for event in events:
        introduced = version_key(event.get("introduced") or "0")
        fixed, last = event.get("fixed"), event.get("last_affected")
        ranges.append(
            (introduced, version_key(fixed) if fixed else None, version_key(last) if last else None)
        )

    def check(value: Value) -> Truth:
        key = version_key(value) if isinstance(value, str) else None
        if key is None:
            return None
        return any(
            (low is None or key >= low)
            and (fixed is None or key < fixed)
            and (last is None or key <= last)
            for low, fixed, last in ranges
        )

    return check


def _version_check(op: str, operand: str) -> Check:
    bound = version_key(operand)

    def check(value: Value) -> Truth:
        if not isinstance(value, str):
            return None
        key = version_key(value)
        if key is None or bound is None:
            return same(value, operand) if op == "eq" else None
        if op in ("eq", "ne"):
            return (key == bound) == (op == "eq")
        return {"lt": key < bound, "le": key <= bound, "gt": key > bound, "ge": key >= bound}[op]

    return check
