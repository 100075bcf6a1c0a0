"""Weights of a base model, a LoRA adapter and a merged model: which update each tensor received.

The parts: :mod:`.adapters` and :mod:`.targets` map LoRA modules to tensors, :mod:`.hypotheses`
computes the result of a right or wrong merge, :mod:`.comparison` decides, :mod:`.probe` makes the
facts.
"""
