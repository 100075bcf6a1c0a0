"""Typed values of the answers besides the report."""
