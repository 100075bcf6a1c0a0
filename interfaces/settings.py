"""Parses typed facts: ``package name=pydantic version=2.14.3``."""

from __future__ import annotations

import shlex

from ..facts import Fact, Location, ModelMedicError, Problem, Provenance, Value, Vocabulary
from ..facts.problems import excerpt


def parse_setting(text: str, vocabulary: Vocabulary) -> Fact:
    """A checked fact. Raises :class:`ModelMedicError` (MM304, MM11x) if it is invalid."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _error(text, str(error)) from None
    if not words or "=" in words[0]:
        raise _error(text, "it must start with a fact kind")
    kind, *pairs = words
    item: dict[str, Value] = {"kind": kind}
    for number, pair in enumerate(pairs, 2):
        name, equals, value = pair.partition("=")
        if not equals:
            raise _error(text, f"word {number} is not attribute=value")
        item[name] = _typed(vocabulary, kind, name, value)
    return vocabulary.read(item, Location("--set"), Provenance("what-if"))


def _typed(vocabulary: Vocabulary, kind: str, name: str, value: str) -> Value:
    """The value in the attribute's type; the vocabulary rejects what does not fit."""
    known = vocabulary.kinds.get(kind)
    attribute = known.attributes.get(name) if known else None
    if attribute is None:
        return value
    if attribute.type == "boolean" and value.lower() in ("true", "false", "yes", "no"):
        return value.lower() in ("true", "yes")
    try:
        if attribute.type == "integer":
            return int(value)
        if attribute.type == "number":
            return float(value)
    except ValueError:
        pass
    return value


def _error(text: str, reason: str) -> ModelMedicError:
    """Quotes no value, since any part of an unreadable text may be secret."""
    kind, equals, _ = text.partition("=")
    return ModelMedicError(
        Problem(
            "MM304",
            f"cannot read the fact {excerpt(kind + equals + '...' * bool(equals))}: {reason}",
            None,
            "write: kind attribute=value ..., in quotes",
        )
    )
