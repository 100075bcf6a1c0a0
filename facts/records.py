"""Standard declarations, made lighter: what costs start-up time or a lock is left out."""

from __future__ import annotations

__all__ = ["Generic", "NamedTuple", "cached_property", "lazy"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from functools import cached_property
    from types import CodeType
    from typing import Any, Generic, NamedTuple
else:
    from collections import _tuplegetter, namedtuple
    from functools import cache
    from types import FunctionType

    class cached_property:
        """``functools.cached_property`` without the lock that all instances of a class share. Of
        two threads that compute a value at once, the first to finish sets it."""

        def __init__(self, function: Any) -> None:
            self._function = function
            self._name = function.__name__
            self.__doc__ = function.__doc__

        def __get__(self, instance: object, owner: type) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._function(instance))

    class Generic:
        """A substitute for ``typing.Generic`` at run time, when its parameters are not used."""

        def __class_getitem__(cls, parameters: object) -> Any:
            return cls

    _GLOBALS = {"_tuple_new": tuple.__new__}

    @cache
    def _of_so_many(count: int) -> CodeType:
        return namedtuple("Fields", [f"x{n}" for n in range(count)]).__new__.__code__

    class _Constructor:
        """``__new__`` of a named tuple, made when it is first wanted: of eighty classes that a
        short run declares, it makes a third. The code compiled for one class serves all with the
        same number of fields."""

        made: Any  # set by hand: Python 3.11 makes an interrupt in __set_name__ another error

        def __get__(self, instance: object, owner: type) -> Any:
            made = self.made
            code = _of_so_many(len(made._fields)).replace(
                co_varnames=("_cls", *made._fields),
                co_name="__new__",
                co_qualname=f"{made.__qualname__}.__new__",
            )
            new = FunctionType(code, _GLOBALS, "__new__", (*made._field_defaults.values(),))
            made.__new__ = staticmethod(new)
            return new

    class _Record(tuple):
        __slots__ = ()

        @classmethod
        def _make(cls, values: Any) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes: Any) -> Any:
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        __replace__ = _replace

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            items = self._asdict().items()
            return f"{type(self).__name__}({', '.join(map('%s=%r'.__mod__, items))})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    class _Declaration(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = (*body.get("__annotations__", ()),)
            defaults = {field: body.pop(field) for field in fields if field in body}
            about = {"_fields": fields, "__match_args__": fields, "_field_defaults": defaults}
            places = {field: _tuplegetter(n, None) for n, field in enumerate(fields)}
            constructor = _Constructor()
            own = {"__slots__": (), "__new__": constructor, **about, **places, **body}
            made = constructor.made = type(name, (_Record,), own)
            return made

    class NamedTuple(metaclass=_Declaration):
        """``typing.NamedTuple``, but annotations stay text and methods are shared: making those of
        eighty classes takes a tenth of a short run."""


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        import re  # as slow to import as the knowledge

        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The compiled pattern, for its attributes and methods."""
    made: Any = _Lazy(pattern, flags)
    return made  # type: ignore[no-any-return]
