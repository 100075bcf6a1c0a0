"""Faults in compiled tests of one attribute: dropped, negated, bounds shifted, sets changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...engine.inference.operators import compile_check
from ...engine.inference.program import Test
from ...facts import Attribute
from ..testing.values import domain
from .text_faults import pattern_faults

NEGATED = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq",
           "matches": "not_matches", "not_matches": "matches"}  # fmt: skip
_BY_VALUE = ("lt", "le", "gt", "ge", "eq", "ne", "in", "not_in")
ORDERED = ("lt", "le", "gt", "ge")
SHIFT = 0.05
"""A bound of a number moves by this share: just across, so that only a value nearby shows it."""


class Edit(NamedTuple):
    """A change of a condition. ``what`` describes it and ``example`` the facts that show it;
    ``looser``: whether more facts pass (None: different ones); ``tests`` replace the one
    changed."""

    operator: str
    what: str
    example: str
    looser: bool | None
    tests: tuple[Test, ...] = ()

    def changes_nothing(self, attribute: Attribute | None, test: Test) -> bool:
        """Whether the same values of the attribute's domain pass: ``gt 0`` and ``ge 1`` mean the
        same for a whole number, and a required attribute is always known."""
        if attribute is None or not (
            self.tests or attribute.required or attribute.default is not None
        ):
            return False
        if test.op == "known":
            return not self.tests
        both = (test, *self.tests)
        if not all(each.op in _BY_VALUE for each in both):
            return False
        constants = [
            x for t in both for x in (t.operand if isinstance(t.operand, list) else [t.operand])
        ]
        values = domain(attribute, constants)
        before, *after = ([compile_check(*each[1:])(v) is True for v in values] for each in both)
        return before == (after[0] if after else [True] * len(values))


def edits(attribute: Attribute | None, test: Test) -> Iterator[Edit]:
    """Every fault of a test; ``none_of`` has no ``attribute``."""
    if attribute is None:
        for tests in test.operand:
            said = ", ".join(spelled_test(Test(*each)) for each in tests)
            left = [other for other in test.operand if other is not tests]
            kept = (test._replace(operand=left),) if left else ()
            yield Edit("drop test", f"the exception for {said} is dropped", said, True, kept)
        return
    said, name, operand = spelled_test(test), test.attribute, test.operand
    yield Edit("drop test", f"the test {said} is dropped", f"all holds but {said}", True)
    prefix, op = ("version_" if test.op.startswith("version_") else ""), _plain(test.op)
    if op in NEGATED:
        what = f"{name} {op} {spelled(operand)} becomes {NEGATED[op]}"
        example, looser = f"{name} is exactly {spelled(operand)}", op in ("lt", "gt")
        if op == "eq":
            what, example = f"{name} is {spelled(operand)} becomes: is not", said
        elif op in ("matches", "not_matches"):
            what, example = f"{name} {op} becomes {NEGATED[op]}", f"{name} {op} it"
        new = test._replace(op=prefix + NEGATED[op])
        yield Edit("flip operator", what, example, looser if op in ORDERED else None, (new,))
    if op in ORDERED and attribute.type in ("integer", "number"):
        shifted, wider = beyond(op, operand, attribute.type == "integer")
        if attribute.problem(shifted) is None:
            what, example = f"becomes {op} {shifted}", f"{name} just beyond {operand}"
            new = test._replace(operand=shifted)
            yield Edit("shift threshold", f"{name} {op} {operand} {what}", example, wider, (new,))
    yield from _sets(test, op)


def _sets(test: Test, op: str) -> Iterator[Edit]:
    """Faults of tests with a set of values, of texts or of versions."""
    name, operand = test.attribute, test.operand
    if op in ("in", "not_in") and len(operand) > 1:
        for value in operand:
            what = f"{spelled(value)} is dropped from {name} {op} {spelled(operand)}"
            example = f"{name} is {spelled(value)}"
            new = test._replace(operand=[v for v in operand if v != value])
            yield Edit("drop choice", what, example, op == "not_in", (new,))
    elif op == "affected":
        for place, event in enumerate(operand):
            for operator, what, example, looser, new in _event(event, len(operand) > 1):
                left = [*operand[:place], *new, *operand[place + 1 :]]
                tests = (test._replace(operand=left),)
                yield Edit(operator, f"{name} {what}", f"{name} is {example}", looser, tests)
    elif op == "prerelease":
        new = test._replace(operand=not operand)
        what = f"{name} prerelease becomes {spelled(not operand)}"
        example = f"{name} is {'a' if operand else 'no'} pre-release"
        yield Edit("flip operator", what, example, None, (new,))
    elif op in ("matches", "not_matches"):
        for what, text, more in pattern_faults(operand):
            example = f"all but {what}" if more else f"only {what}"
            looser, tests = more == (op == "matches"), (test._replace(operand=text),)
            yield Edit("drop anchor", f"{what} is dropped from the pattern", example, looser, tests)


def _event(event: Mapping[str, Any], one_of_several: bool) -> Iterator[tuple[Any, ...]]:
    """Faults of a range of versions: operator, what, example, looser and the new ranges."""
    if one_of_several:
        said = spelled(event)
        yield "drop version event", f"in {said} is dropped", f"in {said}", False, []
    for field, edge in (("introduced", "before"), ("fixed", "from"), ("last_affected", "after")):
        if (bound := event.get(field)) not in (None, "0"):
            wide = {**event, field: "0" if field == "introduced" else None}
            what = f"{field} {bound} is dropped"
            yield "widen version event", what, f"{edge} {bound}", True, [wide]
    if (fixed := event.get("fixed")) is not None:
        wide = {**event, "fixed": None, "last_affected": fixed}
        what = f"fixed {fixed} becomes last_affected {fixed}"
        yield "widen version event", what, f"exactly {fixed}", True, [wide]


def beyond(op: str, bound: float, whole: bool) -> tuple[float, bool]:
    """A bound moved to the side that the negated operator does not show, and whether more values
    pass then."""
    return moved(bound, 1 if op in ("le", "gt") else -1, whole), op in ("le", "ge")


def moved(bound: float, sign: int, whole: bool) -> float:
    """A bound moved a little up or down."""
    if whole:
        return bound + sign
    return float(f"{bound + sign * (abs(bound) * SHIFT or SHIFT):.6g}")


def spelled_test(test: Test) -> str:
    """A test nearly as in YAML."""
    operand = spelled(test.operand)
    if test.op != "eq":
        operand = f"{{{_plain(test.op)}: {operand}}}"
    return f"{test.attribute}: {operand}"


def spelled(node: Any, limit: int = 90) -> str:
    """Data nearly as in YAML, shortened."""
    text = _spelled(node)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _spelled(node: Any) -> str:
    if isinstance(node, Mapping):
        parts = (f"{k}: {_spelled(v)}" for k, v in node.items() if v is not None)
        return "{" + ", ".join(parts) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(map(_spelled, node)) + "]"
    return str(node).lower() if isinstance(node, bool) else str(node)


def _plain(op: str) -> str:
    return op.removeprefix("version_")
