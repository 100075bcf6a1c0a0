"""Owners: the packages, services and tools whose messages turn up, and how each is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Owner(NamedTuple):
    """An owner of messages. ``title`` names it to people and ``next`` says where to look when it is
    at fault, by ``source``. Owners of one ``family`` share their messages. A ``generic`` one is a
    library that others call: the failure belongs to the caller, if known. One that ``relays``
    passes on the messages of others in its own name. ``operations`` are those of its API; ``signs``
    are the texts that identify it, by kind of sign (see
    :class:`.declarations.OwnerDeclaration`)."""

    name: str
    title: str
    next: str = ""
    source: str = ""
    family: str = ""
    generic: bool = False
    relays: bool = False
    operations: Sequence[str] = ()
    signs: Mapping[str, Sequence[str]] = {}

    @staticmethod
    def from_plain(name: str, plain: Mapping[str, Any]) -> Owner:
        """Build from the compiled form."""
        return Owner(name, **plain)


def of_family(owners: Mapping[str, Owner], name: str) -> tuple[str, ...]:
    """The owners that share the messages of ``name``, itself first."""
    known = owners.get(name)
    if known is None or not known.family:
        return (name,)
    others = (o for o in owners if o != name and owners[o].family == known.family)
    return (name, *sorted(others))


def relaying(owners: Mapping[str, Owner]) -> tuple[str, ...]:
    """The owners that pass on what others say, and libraries through which others speak."""
    return tuple(sorted(n for n in owners if owners[n].relays or owners[n].generic))


def title_of(owners: Mapping[str, Owner], name: str) -> str:
    """An owner as people call it; one that is not declared is a package by its import name."""
    known = owners.get(name)
    return known.title if known else f"the package {name}"
