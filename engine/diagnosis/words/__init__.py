"""Finds the complaints of a sentence: words to concepts, concepts to symptoms. Deterministic,
offline."""
