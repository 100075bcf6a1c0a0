"""A simulated person with the facts of a whole-story case: does the consultation find the cause,
and with how few questions?"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.source.knowledge_source import parse
from modelmedic.engine.compiler.store.files import read_folder

from .rehearsal import (
    Rehearsal,
    Story,
    authored_order,
    rehearse,
    stories,
)

FEWER = 0.3


@pytest.fixture(scope="module")
def cases(doctor: Diagnoser, root: Path) -> Sequence[Story]:
    return tuple(stories(parse(read_folder(root / "knowledge")), doctor))


@pytest.fixture(scope="module")
def pairs(doctor: Diagnoser, cases: Sequence[Story]) -> Sequence[tuple[Rehearsal, Rehearsal]]:
    """Each story as the plan asks, and as the authored order alone would."""
    order = authored_order(doctor)
    return [(rehearse(doctor, story), rehearse(doctor, story, order)) for story in cases]


def test_every_story_is_told_to_its_expected_end(
    pairs: Sequence[tuple[Rehearsal, Rehearsal]],
) -> None:
    assert len(pairs) > 80
    missed = [f"{ours.story.name}: {ours.story.first}" for ours, _ in pairs if not ours.reached]
    assert not missed


def test_hardly_a_story_takes_more_questions_than_the_authored_order(
    pairs: Sequence[tuple[Rehearsal, Rehearsal]],
) -> None:
    """The order that is best on average may cost one question in a single case."""
    worse = {
        ours.story.name: (len(ours.turns), len(authored.turns))
        for ours, authored in pairs
        if len(ours.turns) > len(authored.turns)
    }
    assert len(worse) <= 0.02 * len(pairs), worse
    assert all(ours <= authored + 1 for ours, authored in worse.values()), worse


def test_where_there_is_a_choice_it_saves_three_questions_in_ten(
    pairs: Sequence[tuple[Rehearsal, Rehearsal]],
) -> None:
    chosen = [pair for pair in pairs if pair[1].had_choice]
    assert len(chosen) > 40
    ours = sum(len(ours.turns) for ours, _ in chosen)
    assert ours <= (1 - FEWER) * sum(len(authored.turns) for _, authored in chosen)


def test_a_story_is_told_alike_every_time(doctor: Diagnoser, cases: Sequence[Story]) -> None:
    for story in cases[::10]:
        assert rehearse(doctor, story).turns == rehearse(doctor, story).turns
