"""All output passes through here and becomes a :class:`Redacted` value.

If the search for secrets fails, nothing is written.
"""

from __future__ import annotations

import os
from functools import cache

from ...facts import ModelMedicError, Problem
from ...facts.redaction import Redacted, Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_NOT_SECRET = ("localhost", "localhost.localdomain")


class UnsafeOutputError(ModelMedicError):
    """An answer could not be checked for secrets and was not written (MM321)."""


Machine = tuple[bytes, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""The settings of a redactor: the key of its tokens, home folders and host names of the machine,
and further masks."""


def redacted(value: T, by: Redactor | None = None) -> Redacted[T]:
    """The value without secrets. Raises :class:`UnsafeOutputError`, which quotes none of it."""
    try:
        return (by or redactor()).redact(value)
    except Exception as error:  # noqa: BLE001 - fails closed, whatever the reason
        raise UnsafeOutputError(
            Problem(
                "MM321",
                f"nothing was written: the search for secrets failed ({type(error).__name__})",
                None,
                "this is a bug of ModelMedic; please report what kind of input led to it",
            )
        ) from None


@cache
def redactor() -> Redactor:
    """The redactor of this machine."""
    return Redactor(_salt, homes=_homes(), hosts=_hosts(), masks=_masks())


def this_machine() -> Machine:
    """This machine, for work on its behalf elsewhere."""
    return _salt(), _homes(), _hosts(), _masks()


def redactor_for(machine: Machine) -> Redactor:
    """The redactor of another machine: the same tokens as there."""
    salt, homes, hosts, masks = machine
    return Redactor(lambda: salt, homes=homes, hosts=hosts, masks=masks)


def mask(names: str) -> None:
    """Set the masks of this run besides secrets: names with commas; an empty text uses those of the
    environment. Raises ValueError for an unknown name."""
    chosen = names or os.environ.get("MODELMEDIC_MASK", "")
    masks: tuple[str, ...] = ()
    if chosen:
        from ...facts.redaction.masks import chosen_masks

        masks = chosen_masks(chosen)
    if masks != _masks():
        _chosen[:] = masks
        redactor.cache_clear()


_chosen: list[str] = []


def _masks() -> tuple[str, ...]:
    return tuple(_chosen)


def _homes() -> tuple[str, ...]:
    home = os.path.expanduser("~")
    return (home,) if os.path.isabs(home) else ()


def _hosts() -> tuple[str, ...]:
    node = os.uname().nodename
    return tuple(sorted({node, node.partition(".")[0]}.difference(_NOT_SECRET)))


def _salt() -> bytes:
    """The key of the tokens: ``MODELMEDIC_SALT`` or the machine's id, so that a machine gives
    the same tokens each time. Nothing is stored."""
    chosen = os.environ.get("MODELMEDIC_SALT")
    if chosen:
        return chosen.encode("utf-8", "surrogateescape")
    known = next(filter(None, map(_read, _MACHINE_IDS)), "")
    return f"modelmedic:{known or os.uname().nodename}:{os.getuid()}".encode()


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""
