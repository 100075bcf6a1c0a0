"""Tensors captured from three runs of a model: FP32 reference, BF16 reference and target.

The parts: :mod:`.roles` finds the three runs, :mod:`.stored` reads their tensors in pieces,
:mod:`.naming` orders modules as the model does, :mod:`.comparison` computes.
"""

from .probe import gather_tensors
from .roles import looks_like_tensors

__all__ = ["gather_tensors", "looks_like_tensors"]
