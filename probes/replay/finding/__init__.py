"""Derives what a port did from its output, instead of trying one possibility after another. A
result is only a proposal: R decides.
"""
