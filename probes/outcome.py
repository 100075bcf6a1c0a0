"""The outcome of a probe, and the collector that builds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from ..facts.fact import Fact, Provenance, Value
from ..facts.kinds import MAX_STRING, MAX_TEXT, Vocabulary
from ..facts.problems import Location, ModelMedicError, Problem

_CUT = " [...]"
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts that a probe found and the problems it met on the way; both may be empty.

    A problem (``MM4xx``) costs only the part of the input that it names: the facts are good.
    """

    facts: tuple[Fact, ...] = ()
    problems: tuple[Problem, ...] = ()

    @staticmethod
    def joined(*parts: Outcome) -> Outcome:
        """All facts and problems of the parts, in their order."""
        facts = (fact for part in parts for fact in part.facts)
        return Outcome(tuple(facts), tuple(problem for part in parts for problem in part.problems))


def relocated(outcome: Outcome, path: str, name: str) -> Outcome:
    """An outcome of a copy at ``path``, as if ``name`` had been read."""
    facts = tuple(_relocated(fact, path, name) for fact in outcome.facts)
    problems = (
        problem._replace(where=at and at._replace(path=at.path.replace(path, name)))
        for problem in outcome.problems
        for at in [problem.where]
    )
    return Outcome(facts, tuple(problems))


def _relocated(fact: Fact, path: str, name: str) -> Fact:
    sources = (p._replace(location=p.location.replace(path, name)) for p in fact.provenance)
    values = ((key, value.replace(path, name) if isinstance(value, str) else value)
              for key, value in fact.values)  # fmt: skip
    return Fact(fact.kind, tuple(values), tuple(sources))


class Collector:
    """Collects checked facts for one outcome.

    A fact that breaks the vocabulary becomes a problem instead of an exception, so that a probe
    survives a vocabulary that a maintainer has narrowed.
    """

    def __init__(self, vocabulary: Vocabulary, source: str, certainty: str = "measured") -> None:
        self._vocabulary = vocabulary
        self._source = source
        self._certainty = certainty
        self._facts: list[Fact] = []
        self._problems: list[Problem] = []

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the facts."""
        return self._vocabulary

    def add(self, kind: str, location: str, /, **values: Value | None) -> None:
        """Add a fact with its ``location``. Values of None are left out, and texts that are too
        long are cut and marked."""
        location = clean(location, MAX_STRING)
        kept = {name: self._fit(kind, name, value) for name, value in values.items()
                if value is not None}  # fmt: skip
        found = self._vocabulary.problems({"kind": kind, **kept}, Location(location))
        if found:
            self._problems.extend(
                Problem("MM402", f"a finding was dropped: {p.message}", p.where, p.hint)
                for p in found
            )
            return
        seen = Provenance(self._source, location, certainty=self._certainty)
        self._facts.append(Fact.of(kind, (seen,), **kept))

    def problem(
        self, code: str, message: str, where: Location, hint: str = "", *, is_note: bool = False
    ) -> None:
        """Add a problem with the input."""
        self._problems.append(Problem(code, message, where, hint, is_note))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that another part of the probe has found."""
        self._problems.extend(problems)

    def attempt(self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call a reader; if it raises ``ModelMedicError``, add its problems and return None: one
        bad file costs only that file."""
        try:
            return read(*args, **kwargs)
        except ModelMedicError as error:
            self.extend(error.problems)
            return None

    def outcome(self) -> Outcome:
        """Everything collected, in the order of collection."""
        return Outcome(tuple(self._facts), tuple(self._problems))

    def _fit(self, kind: str, name: str, value: Value) -> Value:
        if not isinstance(value, str):
            return value
        known = self._vocabulary.kinds.get(kind)
        attribute = known.attributes.get(name) if known else None
        is_text = attribute is not None and attribute.type == "text"
        return clean(value, MAX_TEXT if is_text else MAX_STRING)


def clean(text: str, limit: int) -> str:
    """``text`` without lone surrogates and at most ``limit`` characters long."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT


def not_available(what: str, extra: str) -> Outcome:
    """The outcome of a probe whose optional packages are not installed."""
    hint = f"install it: pip install 'modelmedic[{extra}]'"
    return Outcome(problems=(Problem("MM403", f"not available: {what} is not installed", None,
                                     hint),))  # fmt: skip
