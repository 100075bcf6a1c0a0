"""Conditions and values in words, and what a firing says with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from ...facts import Fact, Value
from ...facts.records import NamedTuple, lazy
from ..inference.aggregates import statistic
from ..inference.derivation import Firing
from ..inference.program import Aggregate, Guard, Literal, Pattern, Program, Repair, Rule, Test

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_OPS = {
    "eq": "=",
    "ne": "is not",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "contains": "contains",
    "matches": "matches",
    "not_matches": "does not match",
}
_ASIDE = lazy(r" ?\([^()]*\)")
_GROUPED_FROM = 10_000
_BARE = "#"


def condition(program: Program, literal: Literal, guards: Sequence[Guard] = ()) -> str:
    """A literal in words, such as ``package with name = 'pydantic' and version < 2.13``, with the
    comparisons with variables that its rule makes."""
    if literal.mode == "aggregate":
        return aggregate(program, program.aggregates[literal.pattern], literal.wanted)
    text = pattern(program.patterns[literal.pattern], literal.joins, guards)
    prefix = {"match": "", "refuted": "not ", "unless_possible": "not ", "unless_match": "no "}
    return prefix[literal.mode] + text


def pattern(
    shape: Pattern, joins: Sequence[tuple[str, str]] = (), guards: Sequence[Guard] = ()
) -> str:
    """A pattern in words; a diagnosis, band or tree node in its own phrase."""
    fixed = {t.attribute: t.operand for t in shape.tests if t.op == "eq"}
    if shape.kind == "diagnosis" and "name" in fixed:
        return f"{fixed['name']} {'concluded' if fixed.get('holds', True) else 'ruled out'}"
    if shape.kind == "tree_node" and "node" in fixed:
        return f"triage reached {fixed.get('tree')}/{fixed['node']}".rstrip("/")
    if shape.kind == "classified" and "label" in fixed:
        return f"{fixed.get('classification')} is {fixed['label']!r}"
    parts = [test(t) for t in shape.tests if not _is_implied(t)]
    parts += [f"{attribute} = ${name}" for attribute, name in joins if not name.startswith("_")]
    parts += [
        f"{attribute} {_OPS[guard.op.removeprefix('version_')]} ${guard.right}"
        for attribute, name in joins
        for guard in guards
        if guard.left == name
    ]
    return f"{shape.kind} with {' and '.join(parts)}" if parts else shape.kind


def test(item: Test) -> str:
    """One test in words."""
    name, operand = item.attribute, item.operand
    op = item.op.removeprefix("version_")
    if op in _OPS:
        return f"{name} {_OPS[op]} {constant(operand)}"
    if op in ("in", "not_in"):
        shown = ", ".join(constant(x) for x in operand[:6]) + (", ..." if len(operand) > 6 else "")
        return f"{name} {'in' if op == 'in' else 'not in'} ({shown})"
    if op == "affected":
        return f"{name} {' or '.join(_event(event) for event in operand)}"
    if op == "prerelease":
        return f"{name} {'is' if operand else 'is not'} a pre-release"
    if op == "known":
        return f"{name} is known"
    return _none_of(operand)


def _none_of(alternatives: Sequence[Sequence[Sequence[Any]]]) -> str:
    """The exclusions of error rows: messages of other owners, and those of more specific rows."""
    names = {name for tests in alternatives for name, _, _ in tests}
    if not names <= {"owner", "owner_confidence"}:
        return "no more specific message"
    (_, op, _), *sure = alternatives[0]
    if op == "known":
        return "no known owner"
    return "no other owner for certain" if sure else "no other owner"


def aggregate(program: Program, item: Aggregate, wanted: bool) -> str:
    """A count or series condition in words."""
    source = pattern(program.patterns[item.pattern])
    if item.function == "count" or item.function.startswith("distinct:"):
        what = item.function.partition(":")[2]
        return f"at least {item.bound:g} {what + ' of ' if what else ''}{source}"
    op = _OPS[item.op]
    text = f"{item.function.replace('_', ' ')} of {item.value} over {source} {op} {item.bound:g}"
    return text if wanted else f"not ({text})"


def constant(value: Any) -> str:
    """A constant, long texts shortened."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else f"{value:g}"


def shown(value: Value) -> str:
    """A value inside running text: no quotes, shortened, one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = " ".join(str(value).split())
    return text if len(text) <= 120 else text[:117] + "..."


def _event(event: Mapping[str, str | None]) -> str:
    low = event.get("introduced") or "0"
    if event.get("fixed"):
        return f"from {low} before {event['fixed']}" if low != "0" else f"before {event['fixed']}"
    if event.get("last_affected"):
        return f"from {low} to {event['last_affected']}"
    return f"from {low} on"


def _is_implied(item: Test) -> bool:
    """Implicit tests: a polarity, and that a fact assumes nothing."""
    if item.op == "none_of":
        return all(op == "known" for tests in item.operand for _, op, _ in tests)
    polar = item.attribute in ("present", "holds", "is_set")
    return polar and item.op == "eq" and item.operand is True


class Named(NamedTuple):
    """The value of an alias: a fact, and the number of a count or series of such facts."""

    fact: Fact
    number: float | None = None


Observed = Callable[[Fact], Fact]
"""The fact behind a classification, or the fact itself."""


def message(
    program: Program, rule: Rule, firing: Firing, observed: Observed
) -> tuple[str, Repair | None]:
    """The first message of a rule whose values are all known, and its repair; else the last,
    with ``?``."""
    messages, repairs = rule.messages, rule.repairs
    if not telling(rule):
        return messages[0] if messages else "", repairs[0] if repairs else None
    named: dict[str, Named] = {}
    for literal, facts in zip(rule.literals, firing.premises, strict=True):
        if literal.alias and facts:
            named[literal.alias] = _named(program, literal, facts, observed)
    text, found = "", None
    for template, repair in zip_longest(messages, repairs):
        text, known = fill(template, named)
        if repair:
            parts = [fill(part, named) for part in repair]
            found, known = Repair(*[part for part, _ in parts]), known and all(k for _, k in parts)
        else:
            found = None
        if known:
            break
    return text, found


def telling(rule: Rule) -> bool:
    """Whether a rule says what was found, and not only that it was."""
    repair = rule.repairs[0] if rule.repairs else None
    return "{" in " ".join([*rule.messages[:1], *(repair or ())])


def whole(text: str, repair: Repair | None) -> str:
    """A message with the repair that fits its facts, in words."""
    return f"{text} {repair_text(repair)}".lstrip() if repair else text


def repair_text(repair: Repair) -> str:
    """A repair in words."""
    do, command, verify, code, note = repair
    if do:
        command = f" Command: {command}" * bool(command)
        return f"To do: {do}{command}" + f" Worked if: {verify}" * bool(verify)
    if code and note:
        note = f" {note}" if note.startswith("(") else f", {note}"
    return f"Right form: {code}{note}."


def fill(template: str, named: Mapping[str, Named]) -> tuple[str, bool]:
    """A compiled template in words, and whether everything that it names is known. A part in
    parentheses that names something unknown is left out."""
    if "{" not in template:
        return template, True

    text, known = _filled(template, named)
    if known or "(" not in template:
        return text, known
    stated = _ASIDE.sub(lambda m: m[0] if _filled(m[0], named)[1] else "", template)
    return _filled(stated, named)


def _filled(template: str, named: Mapping[str, Named]) -> tuple[str, bool]:
    """The same with the parts in parentheses."""
    text, *parts = template.split("{")
    known = True
    for part in parts:
        place, end, rest = part.partition("}")
        what, colon, unit = place.partition(":")
        if not (end and colon and _stands_for_a_value(what)):
            text += "{" + part
            continue
        found = _value(what, named)
        known = known and found is not None
        text += ("?" if found is None else quantity(found, unit)) + rest
    return text, known


def _stands_for_a_value(what: str) -> bool:
    """``=0.5``, ``alias`` and ``alias.attribute`` do."""
    if what.startswith("="):
        return len(what) > 1
    names = what.split(".")
    return len(names) <= 2 and all(n.isidentifier() and n == n.lower() for n in names)


def _value(what: str, named: Mapping[str, Named]) -> Value | None:
    if what.startswith("="):
        return float(what[1:])
    name, _, attribute = what.partition(".")
    found = named.get(name)
    if found is None:
        return None
    return found.fact.get(attribute) if attribute else found.number


def quantity(value: Value, unit: str = "") -> str:
    """A value with its unit: ``98.9 %``, ``40 s``, ``1.2e-05``, ``12,500``; text as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return shown(value)
    if unit == _BARE:
        return str(value)
    if unit == "%":
        return f"{_number(float(f'{100 * value:.3g}'))} %"
    return f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    size = abs(value)
    if float(value).is_integer() and size < 1e15:
        return f"{int(value):,}" if size >= _GROUPED_FROM else str(int(value))
    if size >= _GROUPED_FROM:
        return f"{value:,.0f}" if size < 1e15 else f"{value:.3g}"
    return f"{value:.4g}" if size >= 0.001 else f"{value:.3g}"


def _named(program: Program, literal: Literal, facts: Sequence[Fact], observed: Observed) -> Named:
    if literal.mode != "aggregate":
        return Named(observed(_telling(program, literal, facts)))
    counted = program.aggregates[literal.pattern]
    return Named(facts[0], statistic(counted, [dict(fact.values) for fact in facts]))


def _telling(program: Program, literal: Literal, facts: Sequence[Fact]) -> Fact:
    """The fact furthest beyond the bound, of several that pass."""
    if len(facts) == 1:
        return facts[0]
    for name, op, bound in program.patterns[literal.pattern].tests:
        if op in ("lt", "le", "gt", "ge") and bound not in (0, 1):  # 'step: {ge: 1}' selects
            furthest = min if op in ("lt", "le") else max
            return furthest(facts, key=lambda fact: _measured(fact, name))
    return facts[0]


def _measured(fact: Fact, name: str) -> float:
    found = fact.get(name)
    return found if isinstance(found, int | float) else 0.0  # it passed: a number
