"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """``functools.cached_property`` without its lock, which all instances of a class share:
        threads would wait for each other. Two that come at once both compute, and one value
        stays."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function = function
            self._name = function.__name__
            self.__doc__ = function.__doc__

        def __get__(self, instance: object, owner: type) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._function(instance))
