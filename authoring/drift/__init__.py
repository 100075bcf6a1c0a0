"""Drift: do the packages still say what the error tables say they do?

:mod:`.anchors` looks for the anchors of error rows in releases of packages, :mod:`.events` compares
version events with what is installed. Files are read and parsed; nothing of them is ever run.
"""

from .anchors import Found, anchors_of, look_for
from .events import Reach, version_reach, versioned

__all__ = ["Found", "Reach", "anchors_of", "look_for", "version_reach", "versioned"]
