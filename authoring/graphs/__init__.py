"""Graphs of the knowledge: their content, the layout of their boxes, and the formats."""
