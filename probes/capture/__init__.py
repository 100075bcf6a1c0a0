"""Captures the inputs and outputs of the modules of a reference and of its port.

Four functions, for those who run on a device of their own; ``diagnose capture`` is made of them:

- :func:`load_reference` builds a transformers model, :func:`load_port` the port of a file;
- :func:`capture_run` runs one of them and writes what its modules are given and give;
- :func:`write_reference` writes configuration, weights and ``capture.json``.

These functions run models: code that is not ours. Nothing else of ModelMedic does.
"""

from .models import load_made, load_port, load_reference, lowered
from .reference import write_reference
from .running import Plan, capture_run, trace_run

__all__ = [
    "Plan",
    "capture_run",
    "load_made",
    "load_port",
    "load_reference",
    "lowered",
    "trace_run",
    "write_reference",
]
