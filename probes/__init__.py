"""Probes: they look at the world and state what they saw as facts.

One file a probe; a probe imports :mod:`modelmedic.facts` only, never prints and never judges.
Importing this package loads no probe: :mod:`.registry` knows them by name.
"""

from .outcome import Outcome
from .registry import ProbeFunction, list_probes, load_probe

__all__ = ["Outcome", "ProbeFunction", "list_probes", "load_probe"]
