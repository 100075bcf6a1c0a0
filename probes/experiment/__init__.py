"""The experiment folder of a port check: the stages that ran, and the content of their files.

The parts: :mod:`.reading` reads files within bounds, :mod:`.trees`, :mod:`.mapping` and
:mod:`.structure` Stage 0, :mod:`.components` and :mod:`.faults` Stages 2 and 3, :mod:`.end_to_end`
Stages 5 and 6, :mod:`.benchmarks` Stage 7, :mod:`.stages` the state of each stage.
"""
