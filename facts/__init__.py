"""Facts: the vocabulary of observables and typed, immutable facts.

A *fact* is an instance of a *fact kind*; kinds are declared in ``facts/vocabulary/*.yaml``.
This package imports nothing else of the project: probes produce facts, the engine consumes them.
"""

from .fact import Fact, Provenance, Value
from .kinds import Attribute, Kind, Probe, Question, Vocabulary
from .problems import Location, ModelMedicError, Problem

__all__ = [
    "Attribute",
    "Fact",
    "Kind",
    "Location",
    "ModelMedicError",
    "Probe",
    "Problem",
    "Provenance",
    "Question",
    "Value",
    "Vocabulary",
]
