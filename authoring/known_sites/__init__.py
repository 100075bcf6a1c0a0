"""The messages of the public sources of the Neuron stack, as an index for the probe of messages.

``packages.yaml`` names the sources, :mod:`.reading` reads their message templates, as syntax,
:mod:`.commonness` finds the words that other software uses too, :mod:`.build` writes the file. Of
a template nothing is kept but numbers made of its words, its place and the test before it.
"""
