"""The probes by name. Each is a folder of its own that holds

- ``probe.yaml``: its declaration, part of the vocabulary (``facts/declarations.py``),
- ``probe.py``: ``gather_NAME``, and ``gather_found`` if found artefacts are read otherwise,
- ``recognition.py``: ``looks_like_NAME``, if it declares artefacts; ``named_NAME``, if it
  also reads files that do not look so but were named; ``families``, if files are read together
  (a rotated log): it gives a function from a file to all of them.

They are found there: nothing is registered, and nothing imported until it is asked for.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from ..facts.problems import ModelMedicError, Problem, did_you_mean
from ..facts.progress import Progress
from .outcome import Outcome

_FOLDER = os.path.dirname(__file__)


class ProbeFunction(Protocol):
    """A function of the inputs in its signature and a vocabulary. Bad input becomes a problem of
    the outcome; a probe does not raise over it."""

    def __call__(self, *args: object, **kwargs: object) -> Outcome: ...


@cache
def list_probes() -> tuple[str, ...]:
    """The names of all probes, sorted."""
    names = sorted(os.listdir(_FOLDER))
    return tuple(n for n in names if os.path.isfile(os.path.join(_FOLDER, n, "probe.yaml")))


def load_probe(name: str) -> ProbeFunction:
    """The function of a probe. Raises :class:`ModelMedicError` (MM401) for an unknown name."""
    function: ProbeFunction = getattr(load_module(name, "probe"), f"gather_{name}")
    return function


def told(gather: ProbeFunction, progress: Progress) -> dict[str, Any]:
    """The keyword argument with the progress, if a probe has a parameter for it."""
    takes = getattr(gather, "__kwdefaults__", None) or {}
    return {"progress": progress} if "progress" in takes else {}


def load_module(name: str, module: str) -> ModuleType:
    """A module of a probe. Raises :class:`ModelMedicError` (MM401) for an unknown name."""
    known = list_probes()
    if name not in known:
        hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
        raise ModelMedicError(Problem("MM401", f"there is no probe {name!r}", None, hint))
    return import_module(f".{name}.{module}", __package__)
