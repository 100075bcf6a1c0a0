"""Progress on a terminal while a command works, and the handling of Ctrl-C.

:mod:`.gauge` keeps the progress, :mod:`.display` shows it, :mod:`.watch` lets Ctrl-C end the work
early, with what is known so far, and so does a deadline.
"""

from .display import shown
from .gauge import Gauge
from .watch import Watch, alarmed, watched

__all__ = ["Gauge", "Watch", "alarmed", "shown", "watched"]
