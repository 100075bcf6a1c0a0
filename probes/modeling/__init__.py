"""Modeling files of a port, its component tests and patches, read and never run.

The parts: :mod:`.port_code` tells the CPU side of a condition from the device side,
:mod:`.divergence` and :mod:`.kernels` find the classes that
differ, :mod:`.patterns`, :mod:`.call_rows` and :mod:`.device_code` the code behind the pitfalls,
:mod:`.parameters` and :mod:`.pairs` compare with the reference, :mod:`.component_tests` and
:mod:`.patches` read the files of an experiment folder.
"""
