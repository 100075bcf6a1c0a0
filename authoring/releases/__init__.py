"""Releases: the changes between two releases of a package that matter to our knowledge.

:mod:`.download` gets a release, :mod:`.definitions`, :mod:`.tables` and :mod:`.logic` read what it
defines, :mod:`.api`, :mod:`.values`, :mod:`.messages` and :mod:`.packaging` compare,
:mod:`.touches`, :mod:`.limits` and :mod:`.sources` say which entries are touched, :mod:`.proposal`
writes what to review. Nothing is imported or run.
"""

from ...reading.packages.release import Release
from .changes import AREAS, Change
from .comparing import Comparison, Lost, Pair, compare
from .download import open_release
from .limits import Limit

__all__ = ["AREAS", "Change", "Comparison", "Limit", "Lost", "Pair", "Release", "compare",
           "open_release"]  # fmt: skip
