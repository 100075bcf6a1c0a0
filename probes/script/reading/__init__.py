"""Reads code without running it: a project, its modules, and the values of their names."""
