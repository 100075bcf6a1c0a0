"""The vocabulary: fact kinds with typed attributes, probes and questions.

These are the run-time values; :mod:`.declarations` reads them from YAML. Everything here is built
from plain data, so that a compiled vocabulary can be loaded without YAML or pydantic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .fact import Fact, Provenance, Value
from .owners import Owner
from .problems import Location, ModelMedicError, Problem, did_you_mean, excerpt
from .records import NamedTuple
from .statements import Statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAX_STRING = 4_096
MAX_TEXT = 65_536
_RESERVED = frozenset({"kind", "provenance"})


class Attribute(NamedTuple):
    """One attribute of a kind.

    ``placeholder`` is the word in commands that the only known value replaces; ``type`` is string,
    text, path, version, integer, number or boolean; ``values`` maps each allowed value to its
    meaning (empty: any); ``unit`` is a symbol such as ``s``; ``default`` is the value if a fact
    does not state one; ``ask`` is the question text, with ``{other_attribute}``; see :func:`asked`.
    """

    name: str
    type: str
    description: str = ""
    unit: str = ""
    required: bool = False
    values: Mapping[str, str] | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: Value | None = None
    secret: bool = False
    ask: str = ""
    placeholder: str = ""

    def problem(self, value: Any, item: Mapping[str, Any] | None = None) -> tuple[str, str] | None:
        """The problem with ``value`` (message, hint), or None. A value that is a secret by the
        other attributes of ``item`` is not quoted."""
        wrong = _type_problem(self.type, value)
        if wrong:
            return f"{self.name!r} must be {wrong}, not {excerpt(self._shown(value, item))}", ""
        if self.values is not None and value not in self.values:
            hint = did_you_mean(str(value), self.values) or f"one of: {', '.join(self.values)}"
            return f"{self.name!r} cannot be {excerpt(self._shown(value, item))}", hint[:400]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            limit = ""
            if self.minimum is not None and value < self.minimum:
                limit = f"at least {self.minimum:g}"
            elif self.maximum is not None and value > self.maximum:
                limit = f"at most {self.maximum:g}"
            if limit:
                return f"{self.name!r} must be {limit}, not {self._shown(value, item)!r}", ""
        return None

    def _shown(self, value: Any, item: Mapping[str, Any] | None) -> Any:
        from .redaction.masking import masked_value

        return masked_value(self.name, value, item or {})


class Kind(NamedTuple):
    """A fact kind.

    ``key`` names the attributes that identify what a fact is about; ``functional`` says that a
    known fact about the same key contradicts a condition it fails. ``polarity`` names the boolean
    attribute (default true) that is false where something was looked for and not found.
    ``assumption`` names the attribute that says what was taken for granted: from a fact that has
    it, rules conclude a hint at most. Facts of a ``context`` kind describe the environment; alone
    they suggest nothing.
    """

    name: str
    description: str
    attributes: Mapping[str, Attribute]
    key: tuple[str, ...] = ()
    functional: bool = True
    polarity: str = ""
    probes: tuple[str, ...] = ()
    derived: bool = False
    context: bool = False
    assumption: str = ""


def asked(kind: Kind, ask: str, about: Mapping[str, Any]) -> str:
    """The question ``ask`` about a fact; empty if it names what ``about`` leaves open. After a
    colon or in parentheses, a value with a meaning is replaced by the meaning."""
    told = dict(about)
    for name, attribute in kind.attributes.items():
        meaning = (attribute.values or {}).get(str(about.get(name)))
        if meaning and (f": {{{name}}}" in ask or f"({{{name}}})" in ask):
            told[name] = meaning if meaning[:2].isupper() else meaning[0].lower() + meaning[1:]
    try:
        return ask.format(**told)
    except (KeyError, IndexError, ValueError):
        return ""


class Probe(NamedTuple):
    """A probe as its folder declares it: its command and cost in seconds, the one ``domain`` that
    it serves (empty: any), and the kinds that it gathers; ``gives`` names attributes and values
    that its code does not spell out.

    ``about`` is the help of the command, ``prompt`` describes its input to a user; an ``alone`` one
    needs no argument; one that ``executes`` runs code that is not ours. In commands,
    ``placeholder`` stands for its input. ``argument``, ``options`` and ``artefacts`` are plain
    data, see :mod:`.declarations`; it ``needs`` at least one of these options.
    """

    name: str
    title: str
    command: str
    seconds: float
    network: bool = False
    gathers: Sequence[str] = ()
    domain: str = ""
    about: str = ""
    prompt: str = ""
    alone: bool = False
    argument: Mapping[str, Any] = {}
    options: Mapping[str, Mapping[str, Any]] = {}
    needs: Sequence[str] = ()
    artefacts: Mapping[str, Mapping[str, Any]] = {}
    executes: bool = False
    placeholder: str = ""
    gives: Sequence[str] = ()


class Question(NamedTuple):
    """A question to a person that sets ``attribute`` of a fact of ``kind`` (``where`` is fixed)."""

    id: str
    text: str
    kind: str
    attribute: str
    where: tuple[tuple[str, Value], ...] = ()
    help: str = ""
    seconds: float = 10.0


class Vocabulary(NamedTuple):
    """All kinds, probes, questions, owners of messages and statements, by name. ``derived`` names
    the kinds that only rules make, ``defaults`` holds the default attribute values by kind."""

    kinds: Mapping[str, Kind]
    probes: Mapping[str, Probe]
    questions: Mapping[str, Question]
    derived: frozenset[str]
    defaults: Mapping[str, Mapping[str, Value]]
    owners: Mapping[str, Owner] = {}
    statements: Mapping[str, Statement] = {}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Vocabulary:
        """Build from the compiled form (see :func:`.declarations.load_vocabulary`)."""
        return Vocabulary(
            {name: _kind(name, kind) for name, kind in plain["kinds"].items()},
            {name: Probe(name, **probe) for name, probe in plain["probes"].items()},
            {
                name: Question(name, **{**q, "where": tuple(sorted(q.get("where", {}).items()))})
                for name, q in plain["questions"].items()
            },
            frozenset(plain["derived"]),
            plain["defaults"],
            {n: Owner.from_plain(n, o) for n, o in plain.get("owners", {}).items()},
            {n: Statement.from_plain(n, s) for n, s in plain.get("statements", {}).items()},
        )

    def fact(self, kind: str, provenance: Iterable[Provenance] = (), **values: Value) -> Fact:
        """A checked fact. Raises :class:`ModelMedicError` (MM1xx) if it breaks the vocabulary."""
        problems = self.problems({"kind": kind, **values}, Location("fact"))
        if problems:
            raise ModelMedicError(problems)
        return Fact.of(kind, provenance, **values)

    def read(self, item: Any, where: Location, source: Provenance) -> Fact:
        """A fact from its flat JSON form; raises with every problem found at ``where``."""
        problems = self.problems(item, where)
        if problems:
            raise ModelMedicError(problems)
        return self.trusted(item, source)

    def read_all(self, items: Iterable[Any], source: Provenance, most: int = 50) -> list[Fact]:
        """Facts from their flat JSON forms; raises with their problems, looking no further
        after ``most``."""
        problems: list[Problem] = []
        facts: list[Fact] = []
        for place, item in enumerate(items):
            found = self.problems(item, Location(f"facts[{place}]"))
            problems.extend(found)
            if len(problems) >= most:
                break
            if not found:
                facts.append(self.trusted(item, source))
        if problems:
            raise ModelMedicError(problems)
        return facts

    def trusted(self, item: Mapping[str, Any], source: Provenance) -> Fact:
        """A fact from a flat form in which :meth:`problems` has found nothing."""
        values = ((name, value) for name, value in item.items() if name not in _RESERVED)
        stated = _provenance(item.get("provenance"), source)
        return Fact.from_items(item["kind"], values, stated)

    def meanings(self, facts: Iterable[Fact]) -> dict[str, str]:
        """The meanings of the listed values of facts, by ``kind.attribute=value``."""
        found: dict[str, str] = {}
        for fact in facts:
            kind = self.kinds.get(fact.kind)
            for name, value in fact.values if kind else ():
                declared = kind.attributes.get(name) if kind else None
                listed = declared.values if declared else None
                if listed and (meaning := listed.get(str(value))):
                    found[f"{fact.kind}.{name}={value}"] = meaning
        return found

    def problems(self, item: Any, where: Location) -> list[Problem]:
        """Everything that is wrong with a fact in its flat JSON form."""
        if not isinstance(item, dict):
            message = f"a fact must be an object, not {excerpt(item)}"
            return [Problem("MM110", message, where, 'write {"kind": ..., ...}')]
        name = item.get("kind")
        if not isinstance(name, str):
            return [Problem("MM111", "a fact needs a 'kind'", where, 'add "kind": "package"')]
        kind = self.kinds.get(name)
        if kind is None:
            hint = did_you_mean(name, self.kinds) or "`diagnose facts` lists the kinds"
            return [Problem("MM112", f"unknown fact kind {excerpt(name)}", where, hint)]
        if kind.derived:
            message = f"{name!r} is derived by the engine and cannot be given"
            return [Problem("MM113", message, where, "give the observations it follows from")]
        return _attribute_problems(kind, item, where)


def _attribute_problems(kind: Kind, item: Mapping[str, Any], where: Location) -> list[Problem]:
    problems: list[Problem] = []
    for name, value in item.items():
        if name in _RESERVED:
            continue
        attribute = kind.attributes.get(name)
        if attribute is None:
            known = ", ".join(kind.attributes)
            hint = did_you_mean(name, kind.attributes) or f"{kind.name} has: {known}"
            message = f"{kind.name} has no attribute {excerpt(name)}"
            problems.append(Problem("MM114", message, where, hint))
        elif wrong := attribute.problem(value, item):
            hint = wrong[1] or f"`diagnose facts {kind.name}` describes its attributes"
            problems.append(Problem("MM115", f"{kind.name}: {wrong[0]}", where, hint))
    for attribute in kind.attributes.values():
        if attribute.required and attribute.name not in item:
            message = f"{kind.name} needs the attribute {attribute.name!r}"
            problems.append(Problem("MM116", message, where, attribute.description))
    problems.extend(_provenance_problems(item.get("provenance"), where))
    return problems


def _type_problem(kind: str, value: Any) -> str | None:
    """The expected type in words; None if ``value`` has it."""
    if kind == "boolean":
        return None if isinstance(value, bool) else "true or false"
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return "a whole number" if kind == "integer" else "a number"
        if not abs(value) <= 1e300:  # nor is NaN
            return "a finite number of ordinary size"
        if kind == "integer" and not isinstance(value, int):
            return "a whole number"
        return None if abs(value) < 2**63 or isinstance(value, float) else "a number below 2^63"
    limit = MAX_TEXT if kind == "text" else MAX_STRING
    if not isinstance(value, str):
        return "a version in quotes" if kind == "version" else "text in quotes"
    if len(value) > limit:
        return f"at most {limit} characters long"
    if any("\ud800" <= char <= "\udfff" for char in value):
        return "well-formed text (it holds a lone surrogate)"
    return None


def _provenance_problems(stated: Any, where: Location) -> list[Problem]:
    if stated is None:
        return []
    entries = stated if isinstance(stated, list) else [stated]
    allowed = {"source", "location", "at", "certainty"}
    for entry in entries:
        if not isinstance(entry, dict) or not set(entry) <= allowed:
            message = "'provenance' must be an object, or a list of objects"
            hint = "its parts are source, location, at, certainty"
            return [Problem("MM117", message, where, hint)]
        if any(_type_problem("string", value) for value in entry.values()):
            message = f"each part of 'provenance' must be text of at most {MAX_STRING} characters"
            return [Problem("MM117", message, where, "mend it, or leave it out")]
    return []


def _provenance(stated: Any, source: Provenance) -> tuple[Provenance, ...]:
    if stated is None:
        return (source,)
    entries = stated if isinstance(stated, list) else [stated]
    return tuple(sorted({Provenance(**entry) for entry in entries}))


def _kind(name: str, plain: Mapping[str, Any]) -> Kind:
    attributes = {a: Attribute(a, **rest) for a, rest in plain["attributes"].items()}
    rest: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in plain.items() if k != "attributes"
    }
    return Kind(name, attributes=attributes, **rest)
