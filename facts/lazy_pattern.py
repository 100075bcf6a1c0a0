"""Regular expressions that are compiled when they are first used: a short run imports many that it
never asks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        import re  # as slow to import as the knowledge

        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The compiled pattern, for its attributes and methods."""
    made: Any = _Lazy(pattern, flags)
    return made  # type: ignore[no-any-return]
