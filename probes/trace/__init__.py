"""Finds the operation in which a port differs from its reference, without a list of causes.

Both models run in FP32 on the same tokens, and every tensor operation is recorded
(:mod:`.recorder`): its constants, what its inputs come from, the line that calls it, and a
fingerprint of its result. A quantity of the port that the reference has too is known, whatever its
name, layout or sharding (:mod:`.alignment`). From an output that differs, back through unknown
quantities only, one arrives at operations whose inputs are all known (:mod:`.frontier`): there the
port does something else, and the frontier of the reference says what it should have done
(:mod:`.difference`).
"""
