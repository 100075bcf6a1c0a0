"""Static reading of Tinker training scripts and notebooks; see :mod:`.probe`."""

from .probe import gather_script, looks_like_script

__all__ = ["gather_script", "looks_like_script"]
