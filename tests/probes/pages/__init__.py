"""Whole texts as pages and people hand them on."""
