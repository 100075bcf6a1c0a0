"""One diagnoser for many: threads with mixed requests, forks and spawned processes give exactly the
answers that callers get one after the other."""

import json
import os
import pickle
import random
import sys
import threading

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Provenance
from modelmedic.interfaces.bulk.local import LocalRunner
from modelmedic.interfaces.bulk.records import Chunk, Position, Record
from modelmedic.interfaces.bulk.worker import Worker, packed

pytestmark = pytest.mark.deep

THREADS = 16
ROUNDS = 12
KINDS = ("screen", "screen_json", "diagnose", "why_not", "what_if", "session")


@pytest.fixture(scope="module")
def requests(fact_sets):
    sets = [facts for facts in fact_sets if len(facts) < 40]
    return [(kind, number) for kind in KINDS for number in range(len(sets))], sets


def answer(doctor, kind, facts, others):
    """The answer to one request, as text."""
    vocabulary = doctor.base.vocabulary
    made = [vocabulary.trusted(item, Provenance("file")) for item in facts]
    change = [vocabulary.trusted(item, Provenance("file")) for item in others]
    if kind == "screen":
        said = doctor.screen(facts)
    elif kind == "screen_json":
        said = doctor.screen_json(json.dumps(facts).encode())
    elif kind == "diagnose":
        said = doctor.diagnose(made).plain()
    elif kind == "why_not":
        said = doctor.consult(made).explain_absence("tinker.env.pydantic-prerelease-serialization")
    elif kind == "what_if":
        said = doctor.what_if(made, change)
    else:
        session = doctor.session(made)
        session.add(*change)
        session.report()
        session.retract(*{fact for fact in change if fact not in made})
        said = session.report().plain()
    return json.dumps(said, sort_keys=True)


@pytest.fixture(scope="module")
def ask(requests):
    _, sets = requests

    def ask(doctor, request):
        kind, number = request
        return answer(doctor, kind, sets[number], sets[(number + 5) % len(sets)])

    return ask


@pytest.fixture(scope="module")
def told(doctor, requests, ask):
    """The answer to each request when nothing else happens."""
    return {request: ask(doctor, request) for request in requests[0]}


def test_the_answers_differ(told):
    """Else a mixed-up answer would not be seen."""
    for kind in KINDS:
        assert len({text for (k, _), text in told.items() if k == kind}) > 5


def test_sixteen_threads_with_mixed_requests(doctor, requests, ask, told):
    shared = Diagnoser.of(doctor.base)
    wrong, together = [], threading.Barrier(THREADS)

    def work(seed):
        order = random.Random(seed).sample(requests[0], min(ROUNDS, len(requests[0])))
        together.wait()
        for request in order:
            if ask(shared, request) != told[request]:
                wrong.append(request)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_of_forks_and_their_parent(doctor, requests, ask, told):
    """The parent goes on while its children work with what they inherited."""
    shared = Diagnoser.of(doctor.base)
    ask(shared, requests[0][0])
    children = []
    for child in range(4):
        pid = os.fork()
        if pid == 0:
            order = random.Random(child).sample(requests[0], 30)
            os._exit(int(any(ask(shared, request) != told[request] for request in order)))
        children.append(pid)
    assert all(ask(shared, request) == told[request] for request in requests[0][::4])
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_threads_diagnose(doctor, requests, ask, told):
    """No lock that a thread held at the moment of the fork keeps the child from answering."""
    shared = Diagnoser.of(doctor.base)
    stop = threading.Event()

    def work(seed):
        chance = random.Random(seed)
        while not stop.is_set():
            ask(shared, chance.choice(requests[0]))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    try:
        for child in range(6):
            pid = os.fork()
            if pid == 0:
                order = requests[0][child::29]
                os._exit(int(any(ask(shared, request) != told[request] for request in order)))
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("full", [False, True])
def test_spawned_processes(setup_of, fact_sets, full):
    """Knowledge travels by pickle; the other processes answer as this process does."""
    setup = setup_of(full=full)
    records = [Record("r", n, json.dumps(facts).encode()) for n, facts in enumerate(fact_sets)]
    chunks = [Chunk(tuple(records[n : n + 3]), Position(), 0) for n in range(0, len(records), 3)]
    here = Worker(setup)
    there = LocalRunner(setup, 2)
    try:
        for chunk, result in there.results(chunks):
            wanted = here.work(chunk)
            assert (result.output, result.errors) == (wanted.output, wanted.errors)
            assert result.output
    finally:
        there.close()


def test_knowledge_travels_with_its_overlays_and_without_a_cache(tmp_path, monkeypatch, fact_sets):
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "diagnoses.yaml").write_text(
        "schema: modelmedic/diagnoses/1\ndomain: local\nsources: [{ref: here}]\ndiagnoses:\n"
        "  - {id: local.x.y, title: X, severity: info, kind: benign, summary: X.}\n"
    )
    monkeypatch.setenv("MODELMEDIC_CACHE", "")
    doctor = Diagnoser.load([tmp_path / "overlay"])
    travelled = pickle.loads(pickle.dumps(packed(doctor.base))).unpacked()
    assert travelled.summary("local.x.y").title == "X"
    assert (travelled.digest, travelled.overlays) == (doctor.base.digest, doctor.base.overlays)
    there = Diagnoser.of(travelled)
    for facts in fact_sets[:8]:
        assert there.screen(facts) == doctor.screen(facts)
