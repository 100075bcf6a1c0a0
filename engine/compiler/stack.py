"""Compiles layers of knowledge: overlays on what the cache has of the knowledge below them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from mmap import mmap
from typing import TYPE_CHECKING, NamedTuple

from ...facts import ModelMedicError
from ...facts.problems import out_of_time
from ...facts.uncollected import uncollected
from ..inference.derivation import OutOfTime, Work
from .build import build_or_raise
from .overlaid import laid_over
from .store import cache as store
from .store.compiled import Compiled, decode, encode
from .store.files import Layer, knowledge_key

if TYPE_CHECKING:
    from .changes import Applied


class Stack(NamedTuple):
    """The layers to be compiled, the lowest first, how their changes apply, and the cache folder,
    "" if there is none."""

    layers: Sequence[Layer]
    today: str
    applied: Applied
    work: Work
    folder: str

    def compiled(self) -> tuple[Compiled, list[str]]:
        """The knowledge of all layers, which goes into the cache, and the digest of each. Raises
        :class:`ModelMedicError` with all problems, and where the work ends before."""
        with uncollected():
            try:
                laid = self._laid()
            except OutOfTime:
                raise ModelMedicError(out_of_time("the knowledge was not compiled")) from None
            if laid is not None:
                content, lowest = laid
                digests = [lowest, *(layer.digest() for layer in self.layers[1:])]
                self._keep(digests, content)
                return decode(content), digests
            digests = [layer.digest() for layer in self.layers]
            lowest_texts, *others = (layer.texts() for layer in self.layers)
            built = build_or_raise(
                *lowest_texts, others, today=self.today, applied=self.applied, work=self.work
            )
            if self.folder:
                self._keep(digests, encode(built))
        return built, digests

    def _keep(self, digests: Sequence[str], body: bytes) -> None:
        if self.folder:
            store.write(self.folder, knowledge_key(digests, self.applied), body, digests[0])

    def _laid(self) -> tuple[bytes, str] | None:
        """The stored form, each overlay laid over what is stored of those below it, and the digest
        of the lowest layer; None if that is not enough."""
        lowest, *overlays = self.layers
        if not (lowest.knowledge and overlays) or any(layer.vocabulary for layer in overlays):
            return None
        try:
            (content, start), digest = self._stored(lowest)
        except ModelMedicError:
            return None  # the overlays may have problems, too
        for layer in overlays:
            try:
                laid = laid_over(
                    content,
                    start,
                    layer.texts()[1],
                    today=self.today,
                    applied=self.applied,
                    work=self.work,
                )
            except ModelMedicError:
                if len(overlays) == 1:
                    raise
                return None
            if laid is None:
                return None
            content, start = laid, 0
        return bytes(content), digest

    def _stored(self, layer: Layer) -> tuple[tuple[bytes | mmap, int], str]:
        """The content that holds the lowest layer, from which place on, and its digest."""
        if self.folder:
            memory = store.DigestMemory(self.folder)
            first = os.path.abspath(layer.files[0][1])
            digest = memory.digest(first, store.look_at(layer.files), layer.digest)
            found = store.read(self.folder, digest, memory)
            if found is not None:
                return found[1:], digest
        body = encode(build_or_raise(*layer.texts(), work=self.work))
        if self.folder:
            store.write(self.folder, layer.digest(), body)
        return (body, 0), layer.digest()
