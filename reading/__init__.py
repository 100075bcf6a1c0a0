"""Reading: how to read a form, such as Python source, an installed release or a tensor file.

This package imports ``facts`` only and knows nothing of Tinker or Neuron. The probes decide what a
form means and which facts follow from it.
"""
