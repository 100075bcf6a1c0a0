"""The engine: knowledge and facts in, explained diagnoses out.

Embedding: ``diagnose(facts)`` returns a frozen :class:`Report`; ``Diagnoser.load()`` is for all
that goes beyond one.
"""

from __future__ import annotations

__all__ = [
    "Absence",
    "ConfidenceChange",
    "Consultation",
    "Diagnoser",
    "Diagnosis",
    "Evidence",
    "KnowledgeBase",
    "NearestWay",
    "NextStep",
    "OpenCondition",
    "Report",
    "RuledOut",
    "WhatIf",
    "__version__",
    "diagnose",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .compiler.knowledge_base import VERSION as __version__
    from .compiler.knowledge_base import KnowledgeBase
    from .diagnosis.consultation import Consultation
    from .diagnosis.diagnoser import Diagnoser, diagnose
    from .diagnosis.report import Diagnosis, Evidence, NextStep, Report, RuledOut
    from .diagnosis.results.answers import (
        Absence,
        ConfidenceChange,
        NearestWay,
        OpenCondition,
        WhatIf,
    )
else:
    _HOMES = {
        "diagnosis.consultation": ("Consultation",),
        "diagnosis.diagnoser": ("Diagnoser", "diagnose"),
        "compiler.knowledge_base": ("KnowledgeBase",),
        "diagnosis.report": ("Diagnosis", "Evidence", "NextStep", "Report", "RuledOut"),
        "diagnosis.results.answers": (
            *("Absence", "ConfidenceChange", "NearestWay", "OpenCondition", "WhatIf"),
        ),
    }

    def __getattr__(name: str) -> Any:
        """Import a name of this package when it is first asked for: the command starts before it
        needs any of them."""
        from importlib import import_module

        if name == "__version__":
            return import_module(".compiler.knowledge_base", __name__).VERSION
        for home, names in _HOMES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f".{home}", __name__), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
