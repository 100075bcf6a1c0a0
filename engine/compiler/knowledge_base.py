"""A loaded knowledge base: vocabulary, rules and catalogue, immutable and shared."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from ...facts import Value, Vocabulary
from ...facts.records import NamedTuple
from ..inference.program import Program
from .store.compiled import VERSION, Compiled, Summary
from .store.files import (
    Layer,
    digest_of_layers,
    files_in,
    knowledge_key,
    overlay_layer,
    vocabulary_in,
)

__all__ = ["VERSION", "KnowledgeBase", "Summary", "content_digest"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from .changes import Applied

# Paths are texts here: importing pathlib would be a twentieth of a whole run.
_ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
SHIPPED_KNOWLEDGE = os.path.join(_ROOT, "knowledge")
SHIPPED_VOCABULARY = os.path.join(_ROOT, "facts", "vocabulary")
SHIPPED_FOLDERS = (SHIPPED_KNOWLEDGE, SHIPPED_VOCABULARY, os.path.join(_ROOT, "probes"))


_UNLISTED = {"summary": "", "actions": [], "packet": []}


class KnowledgeBase(NamedTuple):
    """Compiled knowledge (see :class:`Compiled`) with its identity: ``digest`` identifies the
    content, ``overlays`` names the overlays and what each of them did."""

    vocabulary: Vocabulary
    program: Program
    catalogue: Mapping[str, Mapping[str, Any]]
    summaries: Mapping[str, Summary]
    causes: Mapping[str, Sequence[str]]
    overlays: tuple[Mapping[str, Any], ...]
    validity: tuple[str, str]
    verified: str
    digest: str
    version: str = VERSION
    unchanged: Callable[[], KnowledgeBase] | None = None
    """Loads the same knowledge with what overlays add and without what they change; None if
    they change nothing."""

    @staticmethod
    def load(
        overlays: Sequence[Path | str] = (),
        *,
        cache: Path | str | None = None,
        shipped: bool = True,
        today: str = "",
        applied: Applied = "valid",
        time_is_up: Callable[[], bool] | None = None,
    ) -> KnowledgeBase:
        """The shipped knowledge with overlays, from ``cache`` (a folder) if it has them.

        An overlay folder may hold knowledge files and a ``vocabulary/`` folder; the last one lies
        on top. Its changes end with their last day, judged by ``today`` (such as 2027-01-31; if it
        is not given, they hold); ``applied="none"`` leaves all of them out. Raises
        :class:`ModelMedicError` (MM2xx) with all problems if the knowledge does not load, and
        (MM319) if ``time_is_up``, which is called now and then, returns true before it is compiled.
        """
        layers = _layers(overlays, shipped)
        loaded = _cached(cache, layers, overlays, today, applied) if cache is not None else None
        if loaded is None:
            from ..inference.derivation import Work
            from .stack import Stack

            folder = os.fspath(cache) if cache is not None else ""
            stack = Stack(layers, today, applied, Work(time_is_up), folder)
            compiled, digests = stack.compiled()
            marks = _overlay_provenance(overlays, digests)
            loaded = KnowledgeBase.of(compiled, digest_of_layers(digests), marks)
        if not overlays:
            return loaded
        return loaded._replace(unchanged=_unchanged(loaded, overlays, cache, shipped, today))

    @staticmethod
    def of(
        compiled: Compiled, digest: str, marks: Sequence[Mapping[str, str]] = ()
    ) -> KnowledgeBase:
        """Compiled knowledge under its digest. ``marks`` holds what the content does not say of
        each overlay: its ``path`` and ``digest``."""
        marked = zip(marks, compiled.overlays, strict=False)
        known = compiled._replace(overlays=tuple({**mark, **use} for mark, use in marked))
        return KnowledgeBase(*known, digest=digest)

    @property
    def compiled(self) -> Compiled:
        """The content, without its identity."""
        return Compiled._make(self[: len(Compiled._fields)])

    def is_of(self, today: str) -> bool:
        """Whether the changes of the overlays are right on a day (empty: unknown)."""
        after, until = self.validity
        return (after < today or not after) and (not until or today <= until)

    @property
    def defaults(self) -> Mapping[str, Mapping[str, Value]]:
        """Default attribute values by kind."""
        return self.vocabulary.defaults

    @property
    def derived_kinds(self) -> frozenset[str]:
        """The fact kinds that only rules make."""
        return self.vocabulary.derived

    def summary(self, diagnosis: str) -> Summary:
        """Title, severity, kind and effects; bare ones for an id that is not in the catalogue."""
        return self.summaries.get(diagnosis) or Summary(diagnosis, "info", "symptom")

    def diagnosis(self, diagnosis: str) -> Mapping[str, Any]:
        """The whole catalogue entry; a bare one for an id that is not there."""
        known: Mapping[str, Any] | None = self.catalogue["diagnoses"].get(diagnosis)
        return known or _UNLISTED | self.summary(diagnosis)._asdict()


def content_digest(overlays: Sequence[Path | str] = ()) -> str:
    """The digest that :meth:`KnowledgeBase.load` would give, without compiling anything."""
    return digest_of_layers([layer.digest() for layer in _layers(overlays)])


def _layers(overlays: Sequence[Path | str], shipped: bool = True) -> list[Layer]:
    """The shipped knowledge and the overlays upon it."""
    return [shipped_layer(tests=False, knowledge=shipped), *map(overlay_layer, overlays)]


def shipped_layer(*, tests: bool, knowledge: bool = True) -> Layer:
    """The files of the shipped knowledge."""
    entries = files_in(SHIPPED_KNOWLEDGE, tests=tests) if knowledge else []
    return Layer(vocabulary_in(_ROOT), entries)


_CHANGES = ("silenced", "changed", "tightened")


def _unchanged(
    base: KnowledgeBase,
    overlays: Sequence[Path | str],
    cache: Path | str | None,
    shipped: bool,
    today: str,
) -> Callable[[], KnowledgeBase] | None:
    if not any(use.get(name) for use in base.overlays for name in _CHANGES):
        return None
    from functools import partial

    return partial(
        KnowledgeBase.load,
        overlays,
        cache=cache,
        shipped=shipped,
        today=today,
        applied="none",
    )


def _overlay_provenance(
    overlays: Sequence[Path | str], digests: Sequence[str]
) -> list[Mapping[str, str]]:
    """The path and digest of each overlay."""
    return [
        {"path": str(folder), "digest": digest}
        for folder, digest in zip(overlays, digests[1:], strict=True)
    ]


def _cached(
    folder: Path | str,
    layers: Sequence[Layer],
    overlays: Sequence[Path | str],
    today: str,
    applied: Applied,
) -> KnowledgeBase | None:
    from .store import cache as store

    memory = store.DigestMemory(folder)
    digests = []
    for layer in layers:  # which is read only if it has changed
        key = os.path.abspath(layer.files[0][1]) if layer.files else ""
        digests.append(memory.digest(key, store.look_at(layer.files), layer.digest))
    found = store.read(folder, knowledge_key(digests, applied), memory)
    if found is None:
        return None
    marks = _overlay_provenance(overlays, digests)
    base = KnowledgeBase.of(found[0], digest_of_layers(digests), marks)
    return base if base.is_of(today) else None
