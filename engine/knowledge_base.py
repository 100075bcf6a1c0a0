"""A loaded knowledge base: vocabulary, rules and catalogue, immutable and shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..facts import Value, Vocabulary
from ..facts.fact import normal
from . import ir
from .files import digest_of, read_raw, texts_of

VERSION = "0.1.0"
_ROOT = Path(__file__).resolve().parents[1]
SHIPPED_KNOWLEDGE = _ROOT / "knowledge"
SHIPPED_VOCABULARY = _ROOT / "facts" / "vocabulary"


class Summary(NamedTuple):
    """What every diagnosis is ranked by."""

    title: str
    severity: str
    kind: str
    explains: Sequence[str] = ()


_UNLISTED = {"summary": "", "actions": [], "packet": []}


class KnowledgeBase(NamedTuple):
    """Everything that is known. ``digest`` identifies the content; ``overlays`` names the folders
    that were added to the shipped knowledge."""

    vocabulary: Vocabulary
    program: ir.Program
    catalogue: Mapping[str, Any]
    summaries: Mapping[str, Summary]
    digest: str
    version: str = VERSION
    overlays: tuple[str, ...] = ()

    @staticmethod
    def load(
        overlays: Sequence[Path] = (), *, cache: Path | None = None, shipped: bool = True
    ) -> KnowledgeBase:
        """The shipped knowledge with overlays, from ``cache`` (a folder) where it has them.

        An overlay folder may hold knowledge files and a ``vocabulary/`` folder. Raises
        :class:`ModelMedicError` (MM2xx) with all problems if the knowledge does not load.
        """
        vocabulary, knowledge = _read(overlays, shipped)
        digest = digest_of([*vocabulary, *knowledge])
        names = tuple(str(folder) for folder in overlays)
        if cache is not None and (loaded := _cached(cache, digest, names)):
            return loaded
        from .kb.build import build_or_raise

        plain = build_or_raise(texts_of(vocabulary), texts_of(knowledge))
        if cache is not None:
            from .kb import cache as store

            store.write(cache, digest, plain)
        return KnowledgeBase.from_plain(plain, digest, names)

    @staticmethod
    def from_plain(
        plain: Mapping[str, Any], digest: str, overlays: tuple[str, ...] = ()
    ) -> KnowledgeBase:
        """From compiled plain data; raises on data of another form."""
        catalogue = plain["catalogue"]
        if not all(isinstance(catalogue[p], Mapping) for p in ("diagnoses", "entries", "trees")):
            raise ValueError("catalogue expected")
        summaries = {name: Summary(*item) for name, item in plain["summaries"].items()}
        return KnowledgeBase(
            Vocabulary.from_plain(plain["vocabulary"]),
            ir.from_plain(plain["program"]),
            catalogue,
            summaries,
            digest,
            overlays=overlays,
        )

    @property
    def defaults(self) -> Mapping[str, Mapping[str, Value]]:
        """Default attribute values by kind."""
        found = {}
        for kind in self.vocabulary.kinds.values():
            values = {
                a.name: normal(a.default) for a in kind.attributes.values() if a.default is not None
            }
            if values:
                found[kind.name] = values
        return found

    @property
    def derived_kinds(self) -> frozenset[str]:
        """The fact kinds that only rules make."""
        return frozenset(k.name for k in self.vocabulary.kinds.values() if k.derived)

    def summary(self, diagnosis: str) -> Summary:
        """Title, severity, kind and effects; bare ones for an id that is not in the catalogue."""
        return self.summaries.get(diagnosis) or Summary(diagnosis, "info", "symptom")

    def diagnosis(self, diagnosis: str) -> Mapping[str, Any]:
        """The whole catalogue entry; a bare one for an id that is not there."""
        known: Mapping[str, Any] | None = self.catalogue["diagnoses"].get(diagnosis)
        return known or _UNLISTED | self.summary(diagnosis)._asdict()


def content_digest(overlays: Sequence[Path] = ()) -> str:
    """The digest that :meth:`KnowledgeBase.load` would give, without compiling anything."""
    vocabulary, knowledge = _read(overlays)
    return digest_of([*vocabulary, *knowledge])


def _read(
    overlays: Sequence[Path], shipped: bool = True
) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    """The files of the vocabulary and those of the knowledge."""
    knowledge = read_raw(SHIPPED_KNOWLEDGE, tests=False) if shipped else []
    vocabulary = read_raw(SHIPPED_VOCABULARY)
    for folder in overlays:
        for name, raw in read_raw(folder, tests=False):
            is_vocabulary = "/vocabulary/" in name
            (vocabulary if is_vocabulary else knowledge).append((name, raw))
    return vocabulary, knowledge


def _cached(folder: Path, digest: str, overlays: tuple[str, ...]) -> KnowledgeBase | None:
    from .kb import cache as store

    plain = store.read(folder, digest)
    if plain is None:
        return None
    try:
        return KnowledgeBase.from_plain(plain, digest, overlays)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None  # not what this version writes: rebuild
