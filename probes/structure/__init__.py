"""Two model trees side by side: their differences, the number of layers, the modules that the
mapping leaves out.

The parts: :mod:`.config_tree` builds the tree of a reference from its config.json in a process of
its own (:file:`tree_worker.py`), :mod:`.recognition` knows tree files. Reading and comparing is
shared with the experiment folder.
"""
