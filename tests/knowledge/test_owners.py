"""The owner of a failure: messages of others are named as theirs and never become Tinker's.

``owners/foreign.jsonl`` holds texts of other software with their owner, ``owners/tinker.jsonl``
those of Tinker with the diagnosis that stands first among the firm ones (empty: any or none), and
``owners/unknown.jsonl`` texts in which nothing tells whose they are.
"""

import json
from pathlib import Path

import pytest

from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import shipped_layer
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.facts import Location, Provenance
from modelmedic.probes.messages.probe import read_messages

FOLDER = Path(__file__).parent / "owners"


def texts(name):
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


def owners(doctor, text):
    facts = read_messages(text, doctor.base.vocabulary).facts
    told = [f for f in facts if f.kind in ("error_message", "http_response")]
    return [fact.get("owner") for fact in told]


def firm(report):
    return [d.id for d in report.diagnoses if d.confidence != "possible"]


@pytest.mark.parametrize("case", texts("foreign"))
def test_a_foreign_message_is_named_as_such(case, doctor, decode):
    assert owners(doctor, case["text"])[0] == case["owner"]
    assert decode(case["text"]).diagnoses == ()


@pytest.mark.parametrize("case", texts("tinker"))
def test_a_message_of_tinker_keeps_its_diagnosis(case, doctor, decode):
    assert owners(doctor, case["text"])[0] == case["owner"]
    if case["diagnosis"]:
        assert firm(decode(case["text"]))[0] == case["diagnosis"]


@pytest.mark.parametrize("case", texts("unknown"))
def test_common_words_of_unknown_origin_are_possible_at_most(case, decode):
    report = decode(case["text"])
    assert firm(report) == []
    assert {d.severity for d in report.diagnoses} <= {"warning", "info"}


def test_an_address_to_report_to_does_not_tell_whose_it_is(doctor):
    text = "ERROR neuronx-cc gave up - report it at https://github.com/an/owner/issues/new"
    assert owners(doctor, text) == ["neuron_compiler"]
    assert owners(doctor, "ERROR make gave up - see https://github.com/an/owner.git") == ["git"]


def test_many_hints_make_nothing_likely(decode):
    log = "\n".join(f"2026-01-01 10:00:0{n} ERROR call failed with status code {status}"
                    for n, status in enumerate((502, 503, 504, 500, 429, 401)))  # fmt: skip
    report = decode(log + "\nAPIConnectionError: Connection error.\n\nRequest timed out.")
    assert report.diagnoses and firm(report) == []


def test_the_line_of_the_user_that_called_in_is_told(doctor):
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/reward.py", line 31, in score\n    ask()\n'
        '  File "/venv/lib/python3.11/site-packages/openai/_base_client.py", line 9, in request\n'
        "openai.APIConnectionError: Connection error."
    )
    (fact,) = read_messages(text, doctor.base.vocabulary).facts
    assert fact.get("owner_confidence") == "certain"
    assert "line 31 of reward.py" in str(fact.get("owner_evidence"))


def test_a_cause_belongs_to_what_it_led_to(doctor):
    text = (
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.11/site-packages/httpx/_client.py", line 9, in send\n'
        "httpx.ConnectError: All connection attempts failed\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.11/site-packages/openai/_base_client.py", line 9, in request\n'
        "openai.APIConnectionError: Connection error."
    )
    assert owners(doctor, text) == ["openai", "openai"]


@pytest.mark.parametrize(
    ("fact", "sure"),
    [
        ({"status": 402, "operation": "forward_backward"}, True),
        ({"status": 402, "owner": "tinker"}, True),
        ({"status": 402}, False),
        ({"status": 402, "operation": "charge_card"}, False),
    ],
)
def test_a_status_needs_a_sign_of_tinker(fact, sure, doctor):
    given = doctor.base.vocabulary.read(
        {"kind": "http_response", **fact}, Location("facts[0]"), Provenance()
    )
    (found,) = doctor.diagnose([given]).diagnoses
    assert found.id == "tinker.billing.blocked"
    assert (found.confidence != "possible") is sure


def test_a_status_of_another_owner_is_silent(doctor):
    fact = doctor.base.vocabulary.fact("http_response", status=402, owner="openai")
    assert doctor.diagnose([fact]).diagnoses == ()


def test_exhausted_retries_are_no_bad_request(decode):
    text = "tinker.lib.retry:9 [ERROR] Failed after exhausting retries, last: Error code: 400"
    assert firm(decode(text)) == ["tinker.service.retries-exhausted"]


def test_an_overlay_adds_an_owner_without_code(tmp_path):
    folder = tmp_path / "vocabulary"
    folder.mkdir()
    (folder / "owners.yaml").write_text(
        "schema: modelmedic/vocabulary/1\n"
        "owners:\n"
        "  judgebox: {title: our judge, next: Ask its team., hosts: [judge.internal]}\n"
        "  slurm: {prefixes: ['flux-job: ']}\n"
    )
    added = [(name, text) for name, text in read_folder(tmp_path)]
    vocabulary = build(*shipped_layer(tests=False).texts(), [(added, [])]).vocabulary
    text = "call to https://judge.internal/score failed with status code 500"
    assert read_messages(text, vocabulary).facts[0].get("owner") == "judgebox"
    assert vocabulary.owners["judgebox"].title == "our judge"
    assert read_messages("flux-job: error: lost", vocabulary).facts[0].get("owner") == "slurm"


def test_every_foreign_owner_says_where_to_look(doctor):
    for owner in doctor.base.vocabulary.owners.values():
        assert owner.title and owner.next and owner.source.startswith("https://"), owner.name
