"""Recomputes captured modules from their own captured input and the weights of the reference.

The parts: :mod:`.captures` and :mod:`.checkpoint` read, :mod:`.spec` describes the computation of a
module, :mod:`.formulas` runs it, :mod:`.hypotheses` lists its possible faults (data), and
:mod:`.trials` computes it under each.
"""
