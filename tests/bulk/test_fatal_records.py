"""A record during whose diagnosis the process ends: the others do not suffer."""

import json

import pytest

from modelmedic.facts import ModelMedicError
from modelmedic.interfaces.bulk.records import Chunk, Position, Record
from modelmedic.interfaces.bulk.runner import MAX_FATAL, Survival, WorkerDiedError
from modelmedic.interfaces.bulk.worker import Worker


@pytest.fixture(scope="module")
def worker(setup_of):
    return Worker(setup_of())


@pytest.fixture
def survival(worker):
    """A worker whose process ends at records that ask for it."""

    def attempt(chunk):
        if any(b"fatal" in record.data for record in chunk.records):
            raise WorkerDiedError
        return worker.work(chunk)

    return Survival(attempt, worker)


def chunk_of(record, fatal, count=20):
    records = [
        Record("r", n + 1, json.dumps(record(n) | ({"id": "fatal"} if n in fatal else {})).encode())
        for n in range(count)
    ]
    return Chunk(tuple(records), Position(0, count), 0)


@pytest.mark.parametrize("fatal", [{0}, {19}, {7}, {3, 4}, {0, 9, 10, 19}, set(range(20))])
def test_it_is_told_of_and_the_others_are_diagnosed(survival, worker, record, fatal):
    result = survival.result(chunk_of(record, fatal))
    errors = [json.loads(line) for line in result.errors.splitlines()]
    assert [error["line"] - 1 for error in errors] == sorted(fatal)
    assert {p["code"] for error in errors for p in error["problems"]} == {"MM333"}
    whole = chunk_of(record, fatal)
    kept = [r for n, r in enumerate(whole.records) if n not in fatal]
    alone = worker.work(whole._replace(records=tuple(kept)))
    assert result.output == alone.output
    assert result.tally.all.plain() == alone.tally.all.plain()
    assert result.tally.refused == len(fatal)


def test_a_machine_on_which_everything_ends_is_no_fault_of_the_records(survival, record):
    with pytest.raises(ModelMedicError) as caught:
        survival.result(chunk_of(record, set(range(MAX_FATAL + 5)), MAX_FATAL + 5))
    assert [p.code for p in caught.value.problems] == ["MM333"]
    assert "--workers" in str(caught.value)
