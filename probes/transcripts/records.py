"""Records of transcripts: JSON objects on the result of one call, under various field names.

The names are in ``transcript_fields.json``.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any, NamedTuple

from ...facts.redaction.masking import cut
from ...reading.text.values import json_table
from ..messages.http_statuses import Response, operation_of

# A class name, with or without its modules.
_CLASS = re.compile(r"[A-Za-z_]\w{0,120}(?:\.\w{1,120}){0,12}\Z")
# Log records have these; they are a log, not a transcript.
_LOG_KEYS = ("level", "levelname", "severity", "log_level")
_MAX_BODY = 500
_MAX_ENTRIES = 100


class LogEntry(NamedTuple):
    """A log line that a record quotes."""

    message: str
    logger: str
    level: str
    times: int


class Answers(NamedTuple):
    """HTTP answers of one kind that the server gave during the call."""

    response: Response
    times: int


class CallRecord(NamedTuple):
    """How one call went; texts are "" and ``seconds`` is None if the record does not say.

    ``outcome`` is raised, pending, returned or "".
    """

    exception: str
    message: str
    traceback: str
    status: int
    operation: str
    outcome: str
    seconds: float | None
    log: tuple[LogEntry, ...]
    warnings: tuple[str, ...]
    answers: tuple[Answers, ...]
    sdk: str
    python: str


# The names of the fields by meaning.
fields = partial(json_table, __file__, "transcript_fields.json")


def is_call_record(value: Any) -> bool:
    """Whether a JSON value records a call: it names an exception, or an HTTP status of an error,
    and also the call, its outcome or a message. Log records do not count."""
    if not isinstance(value, dict) or any(isinstance(value.get(key), str) for key in _LOG_KEYS):
        return False
    ended = any(isinstance(value.get(name), str) for name in fields()["outcome"])
    said = bool(_first(value, "message", str) or _first(value, "traceback", str))
    called = bool(_first(value, "operation", str))
    if _exception(value)[0]:
        return said or called or ended or _status(value) > 0
    if any(name in value for name in fields()["exception"]) and ended and called:
        return True
    return _status(value) >= 400 and called and (said or ended)


def call_record(value: dict[str, Any]) -> CallRecord:
    """The parts of a record for which :func:`is_call_record` holds; never raises."""
    exception, inner = _exception(value)
    message = _first(value, "message", str) or inner
    outcome = _outcome(value, raised=bool(exception))
    operation = operation_of(_first(value, "operation", str)[:300])
    return CallRecord(
        exception, message, _first(value, "traceback", str), _status(value), operation, outcome,
        _seconds(value), tuple(_log(value)),
        tuple(w for w in _list(value, "warnings") if isinstance(w, str) and w.strip()),
        tuple(_answers(value, outcome)), _version(value, "sdk"), _version(value, "python"),
    )  # fmt: skip


def _first(value: dict[str, Any], meaning: str, kind: type) -> Any:
    """The first usable value under the names of a meaning; the empty value of the kind if none."""
    found = (value[name] for name in fields()[meaning] if isinstance(value.get(name), kind))
    return next((each for each in found if each), kind())


def _list(value: dict[str, Any], meaning: str) -> list[Any]:
    found: list[Any] = _first(value, meaning, list)
    return found[:_MAX_ENTRIES]


def _exception(value: dict[str, Any]) -> tuple[str, str]:
    """The class name, and the message if it is in the same object."""
    for name in (*fields()["exception"], "error"):
        found = value.get(name)
        if isinstance(found, str) and name != "error" and _CLASS.match(found.strip()):
            return found.strip(), ""
        if isinstance(found, dict):
            parts = fields()["exception_parts"]
            texts = {part: next((found[n] for n in names if isinstance(found.get(n), str)), "")
                     for part, names in parts.items()}  # fmt: skip
            if _CLASS.match(texts["name"].strip()):
                return texts["name"].strip(), texts["message"]
    return "", ""


def _status(value: dict[str, Any]) -> int:
    for name in fields()["status"]:
        found = value.get(name)
        if type(found) is int and 200 <= found <= 599:
            return found
    return 0


def _outcome(value: dict[str, Any], *, raised: bool) -> str:
    if raised:
        return "raised"
    said = _first(value, "outcome", str).strip().lower()
    known = (outcome for outcome in ("pending", "returned") if said in fields()[outcome])
    return next(known, "")


def _seconds(value: dict[str, Any]) -> float | None:
    for name in fields()["seconds"]:
        found = value.get(name)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            usable = math.isfinite(found) and 0 <= found < 1e9
            return float(found) if usable else None
    return None


def _version(value: dict[str, Any], meaning: str) -> str:
    found = _first(value, meaning, str).strip()
    return found if re.match(r"\d[\w.+!-]{0,40}\Z", found) else ""


def _log(value: dict[str, Any]) -> list[LogEntry]:
    entries = []
    for each in _list(value, "log"):
        if isinstance(each, str) and each.strip():
            entries.append(LogEntry(each, "", "", 1))
        elif isinstance(each, dict):
            message = _first(each, "message", str)
            logger, level = _first(each, "log_logger", str), _first(each, "log_level", str)
            if message:
                entries.append(LogEntry(message, logger, level, _times(each.get("count"))))
    return entries


def _times(value: Any) -> int:
    """A number of times; 1 if the value is not a positive integer."""
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53
    return int(value) if usable else 1


def _answers(value: dict[str, Any], outcome: str) -> list[Answers]:
    """The answers with an error status. Their number is that of the requests to their paths, if
    the call failed in the end."""
    requests = _first(value, "requests", dict)
    answers = []
    for each in _list(value, "answers"):
        status = _status(each) if isinstance(each, dict) else 0
        if status < 400:
            continue
        places = [p for p in _list(value, "answered_at") if isinstance(p, str)]
        for place in places or [""]:
            operation, asked = _asked(place, requests)
            times = asked if outcome != "returned" else 1
            answers.append(Answers(Response(status, operation, _body(each)), times))
    return answers


def _asked(place: str, requests: dict[str, Any]) -> tuple[str, int]:
    """The operation at a place and how often it was requested. A place may be the end of a path,
    with the ``$`` of a pattern."""
    wanted = place.strip("^$ ")
    if not wanted:
        return "", 1
    for name, count in requests.items():
        if name.rstrip("/").endswith(wanted):
            return operation_of(name), _times(count)
    return operation_of(wanted), 1


def _body(answer: dict[str, Any]) -> str:
    for name in ("json", "body", "text"):
        found = answer.get(name)
        if isinstance(found, str) and found:
            return cut(found, _MAX_BODY)
        if isinstance(found, (dict, list)):
            import json

            return cut(json.dumps(found), _MAX_BODY)
    return ""
