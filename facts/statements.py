"""Statements: how people write about an observable, so that its figure can be read from a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .fact import Value
from .records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Pairs = tuple[tuple[str, float], ...]


class Statement(NamedTuple):
    """A figure that people state: it becomes ``attribute`` of a fact of ``kind``, with the
    ``fixed`` attributes.

    ``title`` names it to people. The words of a name may be joined by a space, a hyphen, an
    underscore or nothing.
    ``units`` have factors; ``telling`` units name the observable themselves (``tok/s``).
    ``subjects`` are the words for each subject, which goes to the attribute ``subject``;
    ``unnamed`` is the subject where a text names none. Without names, its subjects are its names.
    ``limit`` is the attribute of a limit or of what the figure is compared with, ``difference``
    that of the limit less the figure; figures beyond ``percent_above`` are percentages. It is read
    only where the text has one of the words ``about``, and none of ``unless``. ``form`` is number,
    version or word, which matches ``pattern`` (and needs no name then); the names of ``words``
    tell observables apart, such as a side or a limit. Figures that ``behave`` so are
    read without a name. Everything is immutable and can be hashed.
    """

    name: str
    kind: str = ""
    attribute: str = ""
    title: str = ""
    names: tuple[str, ...] = ()
    units: Pairs = ()
    telling: Pairs = ()
    needs_unit: bool = False
    minimum: float | None = None
    maximum: float | None = None
    integer: bool = False
    fixed: tuple[tuple[str, Value], ...] = ()
    subject: str = ""
    subjects: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unnamed: str = ""
    limit: str = ""
    difference: str = ""
    percent_above: float | None = None
    about: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    form: str = "number"
    pattern: str = ""
    behaves: str = ""

    @staticmethod
    def from_plain(name: str, plain: Mapping[str, Any]) -> Statement:
        """Build from the compiled form."""
        return Statement(name, **{key: _frozen(value) for key, value in plain.items()})

    @staticmethod
    def from_stored(fields: Sequence[Any]) -> Statement:
        """Build from its fields, as JSON keeps them."""
        return Statement(*map(_frozen, fields))

    def fits(self, value: float) -> bool:
        """Whether a figure lies within the bounds."""
        low = self.minimum is None or value >= self.minimum
        high = self.maximum is None or value <= self.maximum
        return low and high and (not self.integer or value == int(value))


def _frozen(value: Any) -> Any:
    """Lists and mappings as tuples."""
    if isinstance(value, Mapping):
        return tuple((key, _frozen(each)) for key, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_frozen(each) for each in value)
    return value
