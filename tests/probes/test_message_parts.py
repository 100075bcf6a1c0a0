"""The parts that messages are read with: log heads, HTTP statuses, known events, class names."""

import json

import pytest

from modelmedic.probes.messages.events import find_events, table
from modelmedic.probes.messages.http_statuses import find_responses, operation_of
from modelmedic.probes.messages.rejoined import rejoined
from modelmedic.probes.messages.scan import begins_message
from modelmedic.reading.text.exceptions import embedded_exception, exception_line, warning_line
from modelmedic.reading.text.json_records import json_record
from modelmedic.reading.text.log_lines import log_head
from modelmedic.reading.text.plain_text import Line


@pytest.mark.parametrize(
    ("line", "head"),
    [
        ("[t=120.2s] tinker.lib.x:593 [WARNING] text", ("WARNING", "tinker.lib.x", "text")),
        ("root:687 [INFO] Command line", ("INFO", "root", "Command line")),
        ("WARNING:tinker.lib.x:text", ("WARNING", "tinker.lib.x", "text")),
        ("2026-01-02 03:04:05,678 - a.b - ERROR - text", ("ERROR", "a.b", "text")),
        ("2026-01-02 03:04:05 [ERROR] a.b: text", ("ERROR", "a.b", "text")),
        ("2026-01-02T03:04:05Z ERROR a.b: text", ("ERROR", "a.b", "text")),
        ("2026-01-02 03:04:05.678 | ERROR    | a.b:f:12 - text", ("ERROR", "a.b", "text")),
        ("2026-01-02 03:04:05 [warning] text", ("WARNING", "", "text")),
        ("[03:04:05] WARNING  text        train.py:12", ("WARNING", "", "text")),
        ("INFO 01-02 03:04:05 [core.py:123] text", ("INFO", "", "text")),
        ("E0102 03:04:05.123456 1234 file.cc:12] text", ("ERROR", "", "text")),
        ("ERROR: text", ("ERROR", "", "text")),
        ("[WARN] text", ("WARNING", "", "text")),
        ("FATAL text", ("CRITICAL", "", "text")),
        ("Jan  2 03:04:05 host: text", ("", "", "host: text")),
        ("[2026-01-02 03:04:05,678][a.b][ERROR] - text", ("ERROR", "a.b", "text")),
        ("[2026-01-02, 03:04:05 UTC] {a.py:12} ERROR - text", ("ERROR", "", "text")),
        ("[2026-01-02 03:04:05 +0000] [7] [ERROR] text", ("ERROR", "", "text")),
        ("[2026-01-02 03:04:05,678: ERROR/Main-1] text", ("ERROR", "", "text")),
        ("[E102 03:04:05.678 Group.cpp:123] text", ("ERROR", "", "text")),
        ("ERROR:    text", ("ERROR", "", "text")),
        ("ERROR 01-02 03:04:05 [a.py:1] a.b.OddError: x", ("ERROR", "", "a.b.OddError: x")),
        (
            'ts=1 level=error logger=a.b msg="it \\"x\\" failed" n=1',
            ("ERROR", "a.b", 'it "x" failed'),
        ),
        (
            'level=warn msg="failed" err="ValueError: x\\ny"',
            ("WARNING", "", "failed: ValueError: x\ny"),
        ),
        ("time=1 level=info msg=plain words here", ("INFO", "", "plain words here")),
    ],
)
def test_log_heads(line, head):
    assert log_head(line) == head


@pytest.mark.parametrize(
    "line",
    [
        "level=9 msg=x",
        "a=1 level=odd msg=x",
        "ERRORS happened",
        "Error: x",
        "  ERROR: x",
        "INFORMATION",
        "12 apples",
        "a:b",
        "",
    ],
)
def test_lines_without_a_log_head(line):
    assert log_head(line) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Error code: 402 - {'a': {'b': 1}} with status 402 for x", [(402, "", "{'a': {'b': 1}}")]),
        ("HTTP/1.1 429 Too Many Requests", [(429, "", "")]),
        ('"status": 500', [(500, "", "")]),
        ("HTTP 503 Service Unavailable", [(503, "", "")]),
        ("<title>502 Bad Gateway</title><h1>502 Bad Gateway</h1>", [(502, "", "")]),
        ('POST https://x/api/v1/forward_backward "HTTP/1.1 408 Request Timeout"',
         [(408, "forward_backward", "")]),
        ('GET http://x/api/v1/samplers/s1?a=b "200 OK"', [(200, "samplers", "")]),
        ("Client error '404 Not Found' for url 'https://x/api/v1/client/config'",
         [(404, "client/config", "")]),
        ("exit status 500, batch 404, took 500 s, v2.500, line 402", []),
        ("status 700, Error code: 42", []),
    ],
)  # fmt: skip
def test_http_statuses(text, found):
    assert [tuple(each) for each in find_responses(text)] == found


def test_operations_of_paths():
    assert operation_of("/api/v1/session_heartbeat") == "session_heartbeat"
    assert operation_of("https://x/services/t/api/v1/auth/token?x=1") == "auth/token"
    assert operation_of("optim_step") == "optim_step"


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("Session heartbeat failed for 165.2 seconds for session x", [("heartbeat-failed", 165.2)]),
        ("Session heartbeat failed for ever", [("heartbeat-failed", None)]),
        ("Model creation for Qwen/Qwen3-8B is paused. Reason: Tinker backend is running short on "
         "capacity, please wait", [("queue-paused", None), ("capacity-wait", None)]),
        ("The job was paused due to billing status for 15 seconds. This", [("billing-paused", 15)]),
        ("Training for a better world", []),
    ],
)  # fmt: skip
def test_known_events(text, events):
    assert [(each.event, each.duration_s) for each in find_events(text)] == events


def test_the_operation_of_a_retry_is_read():
    (event,) = find_events("Retrying request to /api/v1/optim_step in 0.4 seconds")
    assert (event.event, event.operation) == ("retry", "optim_step")


def test_the_event_table_is_well_formed(vocabulary):
    allowed = vocabulary.kinds["log_event"].attributes["event"].values
    names = [name for name, _ in table().events]
    assert len(set(names)) == len(names)
    assert set(names) <= set(allowed)
    for name, templates in table().events:
        for template in templates:
            assert template.pieces[0], f"{name}: a template begins with text"
            assert all(template.pieces), f"{name}: text stands between and after placeholders"
            assert set(template.gaps) <= {"", "duration_s", "operation"}, name
    assert all(word == word.lower() and word for word in table().signals)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("tinker.APIStatusError: Error code: 410", ("APIStatusError", "tinker", "Error code: 410")),
        ("TimeoutError", ("TimeoutError", "", "")),
        ("pyarrow.lib.ArrowInvalid: cannot mix", ("ArrowInvalid", "pyarrow.lib", "cannot mix")),
        ("__main__.f.<locals>.OddError: x", ("OddError", "__main__.f", "x")),
        ("Exception: x", ("Exception", "", "x")),
    ],
)
def test_exception_lines(line, parts):
    found = exception_line(line)
    assert found is not None and found[:3] == parts


@pytest.mark.parametrize(
    "line",
    ["Error: x", "Note: ValueError", "a b: c", "http://x", "NotFoundError True", "Warning: x"],
)
def test_lines_that_name_no_exception(line):
    assert exception_line(line) is None


def test_warning_lines():
    warned = ("FutureWarning", "old", "/a b/c.py", 12)
    assert warning_line("/a b/c.py:12: FutureWarning: old") == warned
    assert warning_line("FutureWarning: old") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"detail": "no billing"}', "no billing"),
        ('{"error": {"message": "bad key", "type": "auth"}}', "bad key"),
        ('{"severity": "WARN", "msg": "slow"}', "slow"),
        ('{"step": 1, "loss": 2.0}', None),
        ('{"a": ', None),
        ("[" * 100_000, None),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, None),
    ],
    ids=range(7),
)
def test_json_records(text, message):
    record = json_record(text)
    assert (record.message if record else None) == message


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("step failed: ValueError: x", ("ValueError", "", "x", False)),
        ("step failed: ValueError: x\n  more", ("ValueError", "", "x\n  more", False)),
        ("It ended. Last: a.OddError: x..\nNext", ("OddError", "a", "x.", False)),
        ("I get `KeyError: 'a b'`, why?", ("KeyError", "", "'a b'", True)),
        ("I get `KeyError: set `a` first` at `f`", ("KeyError", "", "set `a` first", True)),
        ("dies with 'ValueError: don't {'a': 'b'} x='y'' now",
         ("ValueError", "", "don't {'a': 'b'} x='y'", True)),
        ("**ValueError: x**", ("ValueError", "", "x", True)),
        ("caught a.OddError('it\\'s')", ("OddError", "a", "it's", False)),
        ("step 3\nall failed: TimeoutError", ("TimeoutError", "", "", False)),
    ],
)  # fmt: skip
def test_exceptions_that_a_text_names(text, found):
    assert embedded_exception(text) == found


@pytest.mark.parametrize(
    "text",
    ["ValueError: x", "    raise ValueError('x')", "It raises ValueError", "no errors: 0",
     "see: KeyError", "ValueError(x)", "ValueError('x' + y)", "Error: x"],
)  # fmt: skip
def test_texts_that_name_no_exception_in_passing(text):
    assert embedded_exception(text) is None


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"msg": "m", "error": "a.OddError: x"}, [("OddError", "a", "x")]),
        ({"msg": "m", "error": "no room"}, [("", "", "no room")]),
        ({"msg": "m", "error.type": "OddError", "error.message": "x"}, [("OddError", "", "x")]),
        ({"msg": "m", "exception": {"values": [{"type": "OddError", "value": "x",
                                                "module": "a"}]}}, [("OddError", "a", "x")]),
        ({"msg": "m", "exception": [{"exc_type": "OddError", "exc_value": "x"}]},
         [("OddError", "", "x")]),
        ({"msg": "m", "error": None, "err": 0, "exception": False, "exc_info": "True"}, []),
        ({"message": "m", "error": "m"}, []),
    ],
)  # fmt: skip
def test_exceptions_in_json_records(data, told):
    record = json_record(json.dumps(data))
    assert record is not None
    assert ([tuple(each) for each in record.told], record.exception) == (told, "")


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["x" * 40 + " it was wr" + "i" * 30, "tten so"], 1),
        (["word " * 15 + "and", "also another word"], 1),
        (["word " * 15 + "end.", "Then something else"], 2),
        (["word " * 15 + "end", "", "more"], 3),
        (["word " * 13 + "for '/data/a'", "Please look there"], 2),
        (["a short line", "another one"], 2),
        (["word " * 15 + "and", "also a word", "word " * 30], 3),
        (["word " * 15 + "and", "- an item of a list"], 2),
        (["word " * 15 + "and", "KeyError: 'x'"], 2),
        (["    raise odd.Stop(" + "x" * 40 + " and so on", "odd.Stop: " + "x" * 40], 2),
        (["1 validation error " + "x" * 60, "field", "  is required"], 3),
    ],
)
def test_wrapped_lines(lines, joined):
    found = rejoined([Line(n, text) for n, text in enumerate(lines, 1)], begins_message)
    assert len(found) == joined
    kept = "".join(line.text for line in found).replace(" ", "")
    assert kept == "".join(lines).replace(" ", "")
