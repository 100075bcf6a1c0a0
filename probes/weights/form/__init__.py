"""What the files of two models are like, beside their numbers: names, fused tensors, tied heads.

The parts: :mod:`.alignment` says which tensor is which, :mod:`.fused_tensors` takes them apart,
:mod:`.tied_head` and :mod:`.model_names` compare what configurations say, :mod:`.export_form`
makes the fact.
"""
