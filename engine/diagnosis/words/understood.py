"""The values that describe the meaning of a text."""

from __future__ import annotations

from ....facts.records import NamedTuple


class Understanding(NamedTuple):
    """``symptoms`` that the text complains of, in its order, and the one that it
    denies, if any (``denied``);
    ``diagnoses`` that it names as causes. Where it is not sure, ``symptoms`` is empty and ``near``
    holds up to four that may be meant."""

    symptoms: tuple[str, ...] = ()
    diagnoses: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
