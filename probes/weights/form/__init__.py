"""The form of the files of two models, apart from their numbers: names, fused tensors, tied heads.

The parts: :mod:`.alignment` pairs the tensors, :mod:`.fused_tensors` splits them, :mod:`.tied_head`
and :mod:`.model_names` compare the configurations, :mod:`.export_form` makes the fact.
"""
