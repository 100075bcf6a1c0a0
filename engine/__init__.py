"""The engine: knowledge and facts in, explained diagnoses out.

Embedding: ``Diagnoser.load().diagnose(facts)`` returns a frozen :class:`Report`.
"""

from .diagnoser import Consultation, Diagnoser
from .knowledge_base import VERSION as __version__
from .knowledge_base import KnowledgeBase
from .report import Diagnosis, Evidence, NextStep, Report, RuledOut

__all__ = [
    "Consultation",
    "Diagnoser",
    "Diagnosis",
    "Evidence",
    "KnowledgeBase",
    "NextStep",
    "Report",
    "RuledOut",
    "__version__",
]
