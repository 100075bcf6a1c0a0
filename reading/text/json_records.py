"""JSON objects that were logged, whatever library wrote them, and error bodies of servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .exceptions import embedded_exception, exception_line
from .log_lines import LEVELS
from .tracebacks import starts_traceback
from .values import parse_json

_MESSAGE_KEYS = ("message", "msg", "event", "text", "log", "line", "textPayload", "detail", "error",
                 "error_message", "errorMessage")  # fmt: skip
_LEVEL_KEYS = ("level", "levelname", "severity", "log_level", "log.level", "loglevel", "lvl")
_LOGGER_KEYS = ("logger", "logger_name", "name", "log.logger", "loggerName")
_RAISED_KEYS = ("exc_info", "exc_text", "stack_trace", "stacktrace", "traceback", "exception",
                "stack", "error", "err", "exc", "error_stack", "cause")  # fmt: skip
_TEXT_KEYS = ("error", "err", "exc", "cause")
_NO_CLASSES = ("True", "False", "None", "true", "false", "null")
_STATUS_KEYS = ("status_code", "status", "http_status")
_TYPE_KEYS = ("type", "exc_type", "kind", "class", "name")
_VALUE_KEYS = ("message", "msg", "value", "exc_value", "detail", "reason")
_TRACE_KEYS = ("stack_trace", "stacktrace", "traceback", "stack", "backtrace")
# Objects that hold the record, or more of it.
_INNER_KEYS = ("jsonPayload", "record", "payload", "body", "data", "fields", "extra", "context")
# pino and bunyan count levels from 10 (trace) to 60 (fatal).
_NUMBERS = ((60, "CRITICAL"), (50, "ERROR"), (40, "WARNING"), (30, "INFO"), (0, "DEBUG"))
_MOST = 8
_DEPTH = 3


class Told(NamedTuple):
    """An exception that a record names; "" if it does not say."""

    exception: str
    module: str
    text: str


class JsonRecord(NamedTuple):
    """A JSON object that was logged; empty texts and 0 if it does not say."""

    message: str
    level: str = ""
    logger: str = ""
    exception: str = ""
    traceback: str = ""
    status: int = 0
    told: tuple[Told, ...] = ()


def json_record(text: str) -> JsonRecord | None:
    """The record of a JSON log line or of a server's error body; None if it holds no message."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return None
    data = parse_json(stripped)
    return _record(data) if isinstance(data, dict) else None


def _record(data: dict[str, Any]) -> JsonRecord | None:
    objects = [data, *(data[key] for key in _INNER_KEYS if isinstance(data.get(key), dict))]
    message = next(filter(None, (_first_text(each, _MESSAGE_KEYS) for each in objects)), "")
    traceback = exception = ""
    told: list[Told] = []
    for each in objects:
        for found in _raised(_unflattened(each)):
            if isinstance(found, Told):
                told.append(found)
            elif starts_traceback(found):
                traceback = traceback or found
            else:
                exception = exception or found
    if not message and not traceback:
        # A server's error body: what it tells is the message.
        message = next((each.text for each in told if each.text), "")
    if not message and not traceback:
        return None
    kept = tuple(each for each in told if each.exception or each.text != message)
    statuses = (data.get(key) for key in _STATUS_KEYS)
    status = next((each for each in statuses if type(each) is int and 200 <= each <= 599), 0)
    level = next(filter(None, map(_level, objects)), "")
    logger = _first_text(data, _LOGGER_KEYS) if level else ""
    return JsonRecord(message, level, logger, exception, traceback, status, kept[:_MOST])


def _level(data: dict[str, Any]) -> str:
    number = data.get("level")
    if type(number) is int:
        return next((name for least, name in _NUMBERS if number >= least), "")
    inner = data.get("level")
    named = _first_text(inner, ("name",)) if isinstance(inner, dict) else ""
    return LEVELS.get((named or _first_text(data, _LEVEL_KEYS)).upper(), "")


def _unflattened(data: dict[str, Any]) -> dict[str, Any]:
    """``{"error.type": t}`` as ``{"error": {"type": t}}``."""
    if not any("." in key for key in data):
        return data
    whole = dict(data)
    for key, value in data.items():
        outer, dot, inner = key.partition(".")
        if dot and outer in _RAISED_KEYS and isinstance(whole.setdefault(outer, {}), dict):
            whole[outer] = {**whole[outer], inner: value}
    return whole


def _raised(data: dict[str, Any]) -> Iterator[Told | str]:
    """Yield the exceptions in the object: by name and text, as a traceback, or by class alone."""
    for key in _RAISED_KEYS:
        yield from _of_value(data.get(key), key, _DEPTH)


def _of_value(value: Any, key: str, depth: int) -> Iterator[Told | str]:
    if isinstance(value, str):
        yield from _of_text(value.strip(), key)
    elif isinstance(value, list) and depth:
        for each in value[:_MOST]:
            yield from _of_value(each, "", depth - 1)
    elif isinstance(value, dict) and depth:
        yield from _of_object(value, depth)


def _of_text(text: str, key: str) -> Iterator[Told | str]:
    if starts_traceback(text):
        yield text
        return
    named = exception_line(text)
    if named:
        yield Told(named.exception, named.module, _whole(text, named.message))
    elif text.replace(".", "").isidentifier():
        if key not in _TEXT_KEYS and text not in _NO_CLASSES:
            yield text
    elif key in _TEXT_KEYS or embedded_exception(text):
        yield Told("", "", text)


def _whole(text: str, message: str) -> str:
    """The message with the lines below it."""
    rest = text.partition("\n")[2]
    return f"{message}\n{rest}".strip() if rest and "\n" not in message else message


def _of_object(data: dict[str, Any], depth: int) -> Iterator[Told | str]:
    yield from (text for key in _TRACE_KEYS
                if isinstance(text := data.get(key), str) and starts_traceback(text))  # fmt: skip
    text = _first_text(data, _VALUE_KEYS)
    module, _, name = _first_text(data, _TYPE_KEYS).rpartition(".")
    module = module or _first_text(data, ("module",))
    if name.isidentifier() and name[0].isupper() and name != name.upper():
        yield Told(name, "" if module == "builtins" else module, text)
    elif text:
        yield from _of_text(text, "error")
    for key in ("values", "cause", "inner"):
        yield from _of_value(data.get(key), key, depth - 1)


def _first_text(data: dict[str, Any], keys: tuple[str, ...]) -> str:
    texts = (data[key].strip() for key in keys if isinstance(data.get(key), str))
    return next((text for text in texts if text), "")
