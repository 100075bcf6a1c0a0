"""Knowledge that may change while a service runs: the last good version stays in use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from ...facts import ModelMedicError
from ..compiler.knowledge_base import KnowledgeBase, content_digest
from .diagnoser import Diagnoser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..inference.engine import Choice


class LiveDiagnoser:
    """A diagnoser that follows its knowledge folders. Threads may share it.

    >>> live = LiveDiagnoser()
    >>> live.refresh()
    False
    >>> live.current.diagnose([]).status
    'clear'
    """

    def __init__(
        self,
        overlays: Sequence[Path | str] = (),
        *,
        engine: Choice = "auto",
        cache: Path | str | None = None,
        today: str = "",
    ) -> None:
        """Loads the knowledge; raises :class:`ModelMedicError` if there is none to start with.
        ``today`` (such as 2027-01-31) ends silences of overlays."""
        self._overlays = tuple(overlays)
        self._engine = engine
        self._cache = cache
        self._lock = Lock()
        self._refused: str | None = None
        self.problem: ModelMedicError | None = None
        self.current = Diagnoser.load(self._overlays, engine=engine, cache=cache, today=today)

    def refresh(self, today: str = "") -> bool:
        """Load changed knowledge; returns whether :attr:`current` is new. Call it as often as you
        want to notice changes, with the current day if silences are to end. If the new knowledge
        does not load, the last good one stays in use, and :attr:`problem` says what is wrong until
        it is fixed.

        A report that is under way keeps the knowledge that it began with.
        """
        with self._lock:
            digest = ""
            try:
                digest = content_digest(self._overlays)
                if digest == self._refused:
                    return False  # known to be bad
                known = self.current.base
                changed = digest != known.digest or bool(today and not known.is_of(today))
                if changed:
                    base = KnowledgeBase.load(self._overlays, cache=self._cache, today=today)
                    self.current = Diagnoser.of(base, self._engine)
            except ModelMedicError as error:
                self.problem, self._refused = error, digest or None
                return False
            self.problem, self._refused = None, None
            return changed
