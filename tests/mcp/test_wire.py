"""Input that is not a message is answered with an error, and no request is left unanswered."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("mcp")

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PARSE, INVALID, NO_METHOD, PARAMETERS = -32700, -32600, -32601, -32602
MALFORMED = {
    "not JSON": (b"hello", None, PARSE),
    "cut short": (b'{"jsonrpc": "2.0", "id": 1, "method": ', None, PARSE),
    "not UTF-8": (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}', None, PARSE),
    "a number": (b"7", None, INVALID),
    "null": (b"null", None, INVALID),
    "not a number of JSON": (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', None, PARSE),
    "deep": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": '
             + b"[" * 5_000 + b"]" * 5_000 + b"}}", "any", "any"),
    "half a character": (rb'{"jsonrpc": "2.0", "id": 21, "method": "tools/call", "params": '
                         rb'{"name": "decode", "arguments": {"text": "\ud800"}}}', 21, PARSE),
    "half a character as id": (rb'{"jsonrpc": "2.0", "id": "\ud800", "method": "ping"}',
                               None, INVALID),
    "huge": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "'
             + b"x" * 17_000_000 + b'"}}', None, INVALID),
    "batch": (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', None, INVALID),
    "no version": (b'{"id": 22, "method": "ping"}', 22, INVALID),
    "other version": (b'{"jsonrpc": "1.0", "id": 23, "method": "ping"}', 23, INVALID),
    "method of a wrong type": (b'{"jsonrpc": "2.0", "id": 24, "method": 5}', 24, INVALID),
    "id of a wrong type": (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', None, INVALID),
    "id that is true": (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None, INVALID),
    "id that is null": (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, INVALID),
    "parameters of a wrong type": (b'{"jsonrpc": "2.0", "id": 25, "method": "ping", "params": 5}',
                                   25, INVALID),
    "unknown method": (b'{"jsonrpc": "2.0", "id": 26, "method": "no/such"}', 26, NO_METHOD),
    "call without a tool": (b'{"jsonrpc": "2.0", "id": 27, "method": "tools/call", "params": {}}',
                            27, PARAMETERS),
    "arguments of a wrong type": (b'{"jsonrpc": "2.0", "id": 28, "method": "tools/call", "params":'
                                  b' {"name": "explain", "arguments": "x"}}', 28, PARAMETERS),
}  # fmt: skip


def line(message):
    return json.dumps(message).encode() + b"\n"


@pytest.fixture(scope="module")
def told(environment):
    """All replies to some lines, after which the input ends at once."""

    def told(*lines):
        command = [sys.executable, "-m", "modelmedic.interfaces.cli.main", "mcp"]
        given = b"".join([line(HELLO), line(READY), *lines])
        done = subprocess.run(command, env=environment, input=given, capture_output=True,
                              timeout=120, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        replies = [json.loads(each) for each in done.stdout.splitlines()]
        replies.remove(next(each for each in replies if each["id"] == 0))  # in any order
        return replies

    return told


@pytest.fixture(scope="module")
def refused(told):
    """The reply to each malformed message, all of one session in which the tools then work."""
    call = {
        "jsonrpc": "2.0",
        "id": "last",
        "method": "tools/call",
        "params": {"name": "explain", "arguments": {"id": "tinker.perf.gil-contention"}},
    }
    replies = told(*(raw + b"\n" for raw, _, _ in MALFORMED.values()), line(call))
    good = [r for r in replies if "error" not in r]
    assert [r["id"] for r in good] == ["last"]
    assert not good[0]["result"]["isError"]
    return [r for r in replies if "error" in r]


def test_every_malformed_message_gets_one_error(refused):
    assert len(refused) == len(MALFORMED)
    for reply in refused:
        assert reply.keys() == {"jsonrpc", "id", "error"} and reply["jsonrpc"] == "2.0"
        assert reply["error"]["message"]


@pytest.mark.parametrize(
    ("name", "wanted", "code"),
    [(name, wanted, code) for name, (_, wanted, code) in MALFORMED.items() if code != "any"],
)
def test_the_error_has_the_id_and_the_code(refused, name, wanted, code):
    assert (wanted, code) in {(r["id"], r["error"]["code"]) for r in refused}, name


def test_errors_quote_nothing_of_the_message(told):
    secret = "tml-" + "Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"
    (reply,) = told(b'{"jsonrpc": "2.0", "id": 1, "method": 5, "params": "%s"}\n' % secret.encode())
    assert secret not in json.dumps(reply)


def test_pending_calls_are_answered_before_the_end(told, slow_steps):
    """The input ends while all of them are at work."""
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call",
         "params": {"name": "diagnose", "arguments": {"facts": slow_steps}}}
        for number in range(1, 13)
    ]  # fmt: skip
    replies = told(*map(line, calls))
    assert sorted(r["id"] for r in replies) == list(range(1, 13))
    assert all(r["result"]["structuredContent"]["verdict"]["diagnoses"] for r in replies)


def test_the_last_line_needs_no_end(told):
    (reply,) = told(line({"jsonrpc": "2.0", "id": "x", "method": "ping"}).rstrip())
    assert (reply["id"], reply["result"]) == ("x", {})


def test_an_id_is_not_taken_twice_while_it_is_pending(told, slow_steps):
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call",
            "params": {"name": "diagnose", "arguments": {"facts": slow_steps}}}  # fmt: skip
    replies = told(line(call), line(call | {"id": "5"}))
    assert sorted("error" in r for r in replies) == [False, True]


def test_a_cancelled_call_does_not_hold_up_the_end(told, slow_steps):
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call",
            "params": {"name": "diagnose", "arguments": {"facts": slow_steps}}}  # fmt: skip
    stop = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
    assert [r["id"] for r in told(line(call), line(stop))] in ([], [5])
