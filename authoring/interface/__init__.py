"""The public interface of packages over their releases, as a table for the probe of scripts.

:mod:`.annotations` and :mod:`.signatures` read what is said of the names of a release,
:mod:`.classes` what instances have and how they are made, :mod:`.listing` lays one release flat,
:mod:`.spans` joins releases, :mod:`.build` writes the file. Sources are read as syntax, never
imported.
"""

from .listing import list_interface
from .spans import joined, parted

__all__ = ["joined", "list_interface", "parted"]
