"""Weights of a base model, a LoRA adapter and a merged model: which update each tensor received.

The parts: :mod:`.adapters` and :mod:`.targets` say which tensor a LoRA module belongs to,
:mod:`.hypotheses` what a right or wrong merge would have written, :mod:`.comparison` decides,
:mod:`.probe` makes facts of it.
"""
