"""The durable-rules network against a naive join, and its behaviour under threads and forks."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("durable_rules_engine")

from modelmedic.engine.inference.durable_network import DurableNetwork
from modelmedic.engine.inference.mark_network import (
    Activation,
    FeedOrderError,
    FiringBudgetExceeded,
    Mark,
    MarkError,
    MarkLimitExceeded,
    MarkNetwork,
    NetworkError,
    SessionClosed,
    SessionLimitExceeded,
    Shape,
    ShapeError,
)

PAIR = Shape(2, 0, ((1, 0, 0, 0),))
GUARDED = Shape(1, 1, ((1, 0, 0, 0),))
SINGLE = Shape(1)
CASES = int(os.environ.get("MARK_NETWORK_CASES", "300"))


class NaiveNetwork:
    """Every combination, tested join by join when its last positive mark comes."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.shapes = shapes
        self.marks: list[Mark] = []

    def feed(self, marks: Sequence[Mark]) -> Counter[Activation]:
        found: Counter[Activation] = Counter()
        for mark in marks:
            self.marks.append(mark)
            if mark.slot < self.shapes[mark.shape].positives:
                found.update(self._completed(mark))
        return found

    def _of(self, shape: int, slot: int) -> list[int]:
        return [n for n, m in enumerate(self.marks, 1) if m.shape == shape and m.slot == slot]

    def _completed(self, last: Mark) -> Iterator[Activation]:
        shape = self.shapes[last.shape]
        newest = len(self.marks)
        columns = [
            [newest] if slot == last.slot else self._of(last.shape, slot)
            for slot in range(shape.positives)
        ]
        for combination in product(*columns):
            if self._holds(shape, combination) and not self._blocked(last.shape, combination):
                yield Activation(last.shape, combination)

    def _holds(self, shape: Shape, combination: tuple[int, ...]) -> bool:
        keys = [self.marks[number - 1].keys for number in combination]
        return all(
            keys[slot][port] == keys[earlier][its_port]
            for slot, port, earlier, its_port in shape.joins
            if slot < shape.positives
        )

    def _blocked(self, index: int, combination: tuple[int, ...]) -> bool:
        shape = self.shapes[index]
        keys = [self.marks[number - 1].keys for number in combination]
        return any(
            all(
                self.marks[number - 1].keys[port] == keys[earlier][its_port]
                for joined, port, earlier, its_port in shape.joins
                if joined == slot
            )
            for slot in range(shape.positives, shape.positives + shape.negatives)
            for number in self._of(index, slot)
        )


@st.composite
def shape_values(draw: st.DrawFn) -> Shape:
    positives = draw(st.integers(1, 5))
    negatives = draw(st.integers(0, 5 - positives))
    ports = draw(st.integers(1, 4))
    joins = []
    for slot in range(1, positives + negatives):
        for _ in range(draw(st.integers(1, 3))):
            earlier = draw(st.integers(0, min(slot, positives) - 1))
            port, its_port = draw(st.integers(0, ports - 1)), draw(st.integers(0, ports - 1))
            joins.append((slot, port, earlier, its_port))
    return Shape(positives, negatives, tuple(joins))


@st.composite
def diagnoses(draw: st.DrawFn) -> tuple[list[Shape], list[list[Mark]]]:
    """Shapes, and rounds of marks in an order that the negated-first rule may or may not allow."""
    shapes = draw(st.lists(shape_values(), min_size=1, max_size=4))
    top = draw(st.integers(0, 3))
    slots = [(i, s) for i, shape in enumerate(shapes) for s in range(shape[0] + shape[1])]
    marks = [
        Mark(*draw(st.sampled_from(slots)), tuple(draw(st.integers(0, top)) for _ in range(4)))
        for _ in range(draw(st.integers(0, 24)))
    ]
    if draw(st.booleans()):  # negated marks first: nothing is left out below
        marks.sort(key=lambda mark: mark.slot < shapes[mark.shape].positives)
    cut = draw(st.lists(st.integers(0, len(marks)), max_size=3).map(sorted))
    bounds = [0, *cut, len(marks)]
    return shapes, [marks[a:b] for a, b in pairwise(bounds)]


def allowed(shapes: Sequence[Shape], rounds: list[list[Mark]]) -> list[list[Mark]]:
    """Leave out negated marks that come after all the positive marks they could block."""
    seen: list[Mark] = []
    kept: list[list[Mark]] = []
    for marks in rounds:
        kept.append([])
        for mark in marks:
            if not comes_late(shapes[mark.shape], mark, seen):
                seen.append(mark)
                kept[-1].append(mark)
    return kept


def comes_late(shape: Shape, mark: Mark, seen: list[Mark]) -> bool:
    joins = [join for join in shape.joins if join[0] == mark.slot]
    if mark.slot < shape.positives:
        return False
    return all(
        any(
            (other.shape, other.slot) == (mark.shape, slot)
            and all(mark.keys[p] == other.keys[q] for _, p, s, q in joins if s == slot)
            for other in seen
        )
        for slot in {join[2] for join in joins}
    )


@settings(
    max_examples=CASES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(diagnoses(), st.integers(0, 5))
def test_agrees_with_a_naive_join(
    case: tuple[list[Shape], list[list[Mark]]], patience: int
) -> None:
    shapes, rounds = case
    naive = NaiveNetwork(shapes)
    network = DurableNetwork(shapes, debug=True)
    pending = allowed(shapes, rounds)
    found: Counter[Activation] = Counter()
    expected: Counter[Activation] = Counter()
    with network.session() as session:
        while pending:
            marks = pending.pop(0)
            expected += naive.feed(marks)
            session.feed(marks)
            for count, activation in enumerate(session.activations()):
                found[activation] += 1
                if pending and count >= patience:  # feed while the activation is in flight
                    marks = pending.pop(0)
                    expected += naive.feed(marks)
                    session.feed(marks)
    network.close()
    assert found == expected


@settings(max_examples=CASES, deadline=None, database=None)
@given(diagnoses())
def test_refuses_exactly_the_late_negated_marks(
    case: tuple[list[Shape], list[list[Mark]]],
) -> None:
    shapes, rounds = case
    seen: list[Mark] = []
    with DurableNetwork(shapes).session() as session:
        for mark in (mark for marks in rounds for mark in marks):
            if comes_late(shapes[mark.shape], mark, seen):
                with pytest.raises(FeedOrderError):
                    session.feed([mark])
            else:
                seen.append(mark)
                assert session.feed([mark]) == [len(seen)]


def test_is_a_mark_network() -> None:
    network: MarkNetwork = DurableNetwork([PAIR, SINGLE])
    assert network.shapes == (PAIR, SINGLE)
    with network.session() as session:
        assert session.feed([Mark(0, 0, (7,)), Mark(1, 0, (7,))]) == [1, 2]
        assert session.feed([Mark(0, 1, (7,)), Mark(0, 1, (8,))]) == [3, 4]
        assert set(session.activations()) == {Activation(0, (1, 3)), Activation(1, (2,))}
        assert list(session.activations()) == []
    network.close()


def test_equal_marks_are_two_marks() -> None:
    with DurableNetwork([PAIR]).session() as session:
        session.feed([Mark(0, 0, (1,)), Mark(0, 0, (1,)), Mark(0, 1, (1,))])
        assert {activation.marks for activation in session.activations()} == {(1, 3), (2, 3)}


def test_session_without_marks_or_activations_closes() -> None:
    network = DurableNetwork([PAIR])
    for marks in ([], [Mark(0, 0, (1,))]):
        for _ in range(50):
            with network.session() as session:
                session.feed(marks)
                assert list(session.activations()) == []
    network.close()


def test_breaking_off_and_going_on_loses_and_repeats_nothing() -> None:
    with DurableNetwork([SINGLE]).session() as session:
        session.feed([Mark(0, 0, (n,)) for n in range(6)])
        seen: list[int] = []
        while len(seen) < 6:
            for activation in session.activations():
                seen.append(activation.marks[0])
                break
        assert sorted(seen) == [1, 2, 3, 4, 5, 6]
        assert list(session.activations()) == []


def test_eight_slots_join() -> None:
    joins = tuple((slot, 0, slot - 1, 0) for slot in range(1, 8))
    with DurableNetwork([Shape(8, 0, joins)], debug=True).session() as session:
        session.feed([Mark(0, slot, (5,)) for slot in reversed(range(8))])
        assert [a.marks for a in session.activations()] == [(8, 7, 6, 5, 4, 3, 2, 1)]


def test_largest_key_joins_exactly() -> None:
    with DurableNetwork([PAIR]).session() as session:
        session.feed([Mark(0, 0, (2**31 - 1,)), Mark(0, 1, (2**31 - 2,)), Mark(0, 1, (2**31 - 1,))])
        assert [a.marks for a in session.activations()] == [(1, 3)]


@pytest.mark.parametrize(
    "mark",
    [
        Mark(1, 0, (1,)),
        Mark(-1, 0, (1,)),
        Mark(0, 2, (1,)),
        Mark(0, -1, (1,)),
        Mark(0, 0, ()),
        Mark(0, 0, (-1,)),
        Mark(0, 0, (2**31,)),
        Mark(0, 0, (1.0,)),  # type: ignore[arg-type]
        Mark(0, 0, (True,)),
        Mark(0, 0, ("1",)),  # type: ignore[arg-type]
        Mark(0, 0, (None,)),  # type: ignore[arg-type]
    ],
)
def test_a_bad_mark_feeds_nothing(mark: Mark) -> None:
    with DurableNetwork([PAIR], debug=True).session() as session:
        with pytest.raises(MarkError):
            session.feed([Mark(0, 0, (1,)), mark])
        assert session.feed([Mark(0, 1, (1,))]) == [1]
        assert list(session.activations()) == []


@pytest.mark.parametrize(
    "shape",
    [
        Shape(0),
        Shape(1, -1),
        Shape(2),
        Shape(1, 1),
        Shape(8, 1, tuple((slot, 0, 0, 0) for slot in range(1, 9))),
        Shape(2, 0, ((1, 16, 0, 0),)),
        Shape(2, 0, ((1, 0, 0, -1),)),
        Shape(2, 0, ((1, 0, 1, 0),)),
        Shape(2, 0, ((2, 0, 0, 0), (1, 0, 0, 0))),
        Shape(1, 2, ((1, 0, 0, 0), (2, 0, 1, 0))),
        Shape(2, 0, ((1, 0, 0, 0),) * 21),
    ],
)
def test_malformed_shapes_are_refused(shape: Shape) -> None:
    with pytest.raises(ShapeError):
        DurableNetwork([shape])


def test_a_refused_late_mark_leaves_the_session_usable() -> None:
    with DurableNetwork([GUARDED]).session() as session:
        session.feed([Mark(0, 0, (1,))])
        with pytest.raises(FeedOrderError):
            session.feed([Mark(0, 0, (2,)), Mark(0, 1, (1,))])
        session.feed([Mark(0, 1, (2,)), Mark(0, 0, (2,))])
        assert [a.marks for a in session.activations()] == [(1,)]


def test_mark_limit() -> None:
    with DurableNetwork([SINGLE], mark_limit=3).session() as session:
        session.feed([Mark(0, 0, (1,))] * 2)
        with pytest.raises(MarkLimitExceeded, match="2 were fed and 2 more"):
            session.feed([Mark(0, 0, (1,))] * 2)
        assert session.feed([Mark(0, 0, (1,))]) == [3]
    with pytest.raises(ValueError, match="mark_limit"):
        DurableNetwork([SINGLE], mark_limit=100_001)


def test_large_batches_arrive_whole() -> None:
    with DurableNetwork([PAIR], debug=True).session() as session:
        marks = [Mark(0, slot, (key,)) for key in range(1750) for slot in (0, 1)]
        assert session.feed(marks) == list(range(1, 3501))
        assert len(set(session.activations())) == 1750


def test_firing_budget_names_the_last_activations() -> None:
    with DurableNetwork([SINGLE], firing_budget=20).session() as session:
        session.feed([Mark(0, 0, (0,))])
        fired = 0
        with pytest.raises(FiringBudgetExceeded, match="at most 20 times") as caught:
            for _ in session.activations():
                fired += 1
                session.feed([Mark(0, 0, (fired,))])  # a rule that feeds itself
        assert fired == 20
        assert caught.value.last[-1] == Activation(0, (21,))


def test_closed_sessions_and_networks_say_so() -> None:
    network = DurableNetwork([SINGLE])
    session = network.session()
    with pytest.raises(NetworkError, match="1 sessions are still open"):
        network.close()
    session.feed([Mark(0, 0, (1,))])
    for use in (lambda: session.feed([Mark(0, 0, (1,))]), lambda: next(session.activations())):
        session.close()
        session.close()
        with pytest.raises(SessionClosed):
            use()
    network.close()
    network.close()
    with pytest.raises(SessionClosed):
        network.session()


def test_too_many_open_sessions() -> None:
    network = DurableNetwork([SINGLE], session_wait_s=0.01)
    sessions = [network.session() for _ in range(256)]
    with pytest.raises(SessionLimitExceeded, match="256 sessions"):
        network.session()
    for number, session in enumerate(sessions):  # each still has its own marks
        session.feed([Mark(0, 0, (number,))])
        assert len(list(session.activations())) == 1
    sessions.pop().close()
    network.session().close()
    del session, sessions
    gc.collect()
    network.close()
