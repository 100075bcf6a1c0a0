"""The lighter NamedTuple is a named tuple."""

import copy
import inspect
import pickle
from typing import Any

import pytest

from modelmedic.facts.records import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 2

    @property
    def sum(self):
        return self.x + self.y


class Nothing(NamedTuple):
    pass


class Named(Point):
    def shown(self):
        return f"{self.x} {self.y}"


ANY_POINT: Any = Point
ANY_NOTHING: Any = Nothing


def test_it_is_made_and_shown_like_one():
    assert Point(1) == (1, 2) == Point(x=1, y=2) == Point._make([1, 2])
    assert repr(Point(1)) == "Point(x=1, y=2)" and Nothing() == ()
    assert Point(3).sum == 5 and Point.__doc__ == "A place."
    assert Named(4).shown() == "4 2" and repr(Named(4)) == "Named(x=4, y=2)"
    assert str(inspect.signature(Point)) == "(x, y=2)"
    assert (Point._fields, Point._field_defaults) == (("x", "y"), {"y": 2})


def test_it_is_changed_copied_and_kept_like_one():
    assert Point(1)._replace(y=5) == (1, 5) and Named(1)._replace(x=2).shown() == "2 2"
    assert Point(1)._asdict() == {"x": 1, "y": 2}
    assert pickle.loads(pickle.dumps(Point(7))) == copy.copy(Point(7)) == Point(7)
    match Point(1, 3):
        case Point(x, y):
            assert (x, y) == (1, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        ANY_POINT,
        lambda: ANY_POINT(1, 2, 3),
        lambda: ANY_POINT(1, z=3),
        lambda: ANY_POINT._make([1]),
        lambda: ANY_NOTHING(1),
    ],
)
def test_wrong_fields_are_refused(wrong):
    with pytest.raises(TypeError):
        wrong()


def test_unknown_fields_cannot_be_replaced():
    with pytest.raises(ValueError, match="z"):
        ANY_POINT(1)._replace(z=3)
