"""HTTP answers that a text mentions: status, API operation, start of the body."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...facts.redaction.masking import cut

_NUMBER = re.compile(r"(?<![\w.-])[2-5]\d\d(?!\w|\.\d)")
_BEFORE = (
    "error code: ", "http/1.1 ", "http/1.0 ", "http/2 ", "http/2.0 ", "http/3 ", "http ",
    "http error ", "http status ", "http status: ", "http code ", "httperror: ", "status code ",
    "status code: ", "status_code=", "status_code: ", 'status_code":', 'status_code": ',
    "status_code': ", '"status": ', '"status":', "'status': ", "with status ", "(status ",
    "http status code ", "statuscode: ", "response status: ", "failed with status: ",
)  # fmt: skip
_AFTER = (
    " bad request", " unauthorized", " payment required", " forbidden", " not found",
    " request timeout", " conflict", " gone", " payload too large", " request entity too large",
    " unprocessable ", " too many requests", " internal server error", " bad gateway",
    " service unavailable", " service temporarily unavailable", " gateway time", " client error",
    " server error",
)  # fmt: skip
_ALONE = re.compile(r"\(?([45]\d\d)\)?\.?(?: [A-Za-z][A-Za-z' -]{1,40})?\.?")
_OF_CLASS = {
    "BadRequestError": 400, "AuthenticationError": 401, "BillingError": 402,
    "PermissionDeniedError": 403, "NotFoundError": 404, "ConflictError": 409,
    "UnprocessableEntityError": 422, "RateLimitError": 429,
}  # fmt: skip
"""HTTP statuses of the exception classes of generated API clients, whichever package has them."""
_OF_CLIENTS = {*_OF_CLASS, "APIStatusError", "InternalServerError"}
_PATH = "/api/v1/"
_PATH_END = re.compile(r"[^\s\"'?#,;)\]}>]*")
_TWO_PARTS = frozenset({"client", "auth"})
_MAX_BODY = 500


class Response(NamedTuple):
    """One HTTP answer; ``operation`` and ``body`` are "" if the text does not say."""

    status: int
    operation: str = ""
    body: str = ""


def find_responses(text: str) -> list[Response]:
    """The answers that ``text`` mentions, each status and operation once.

    A number counts only next to words that make it an HTTP status.
    """
    found: dict[tuple[int, str], Response] = {}
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        before = text[max(start - 20, 0) : start].lower()
        after = text[end : end + 32].lower()
        quoted = before.endswith('"') and after.startswith(" ok")
        if not (quoted or before.endswith(_BEFORE) or after.startswith(_AFTER)):
            continue
        response = Response(int(number[0]), _near(text, start, end), _body(text, end))
        key = (response.status, response.operation)
        if key not in found or (response.body and not found[key].body):
            found[key] = response
    named = {status for status, operation in found if operation}
    return [r for r in found.values() if r.operation or r.status not in named]


def response_of_class(exception: str, module: str, text: str) -> list[Response]:
    """The HTTP answer named by the class of an exception, or by a status that is its whole text.

    A number alone counts after a class of a package or of an API client, never after a class of
    Python, where it may be a key. A class without a number counts if its package is named.
    """
    known = _OF_CLASS.get(exception)
    alone = _ALONE.fullmatch(text.strip())
    if alone and (module or exception in _OF_CLIENTS):
        return [Response(int(alone[1]))]
    return [Response(known)] if known and module and not text.strip() else []


def operation_of(path: str) -> str:
    """The operation of an API path or URL: ``/api/v1/samplers/s1`` -> ``samplers``."""
    rest = path.partition(_PATH)[2] or path.lstrip("/")
    parts = _text_of_path(rest).strip("/").split("/")
    return "/".join(parts[:2]) if parts[0] in _TWO_PARTS else parts[0]


def _near(text: str, start: int, end: int) -> str:
    """The operation of the nearest API path in the same line, before the number if there is one."""
    first = text.rfind("\n", max(start - 2000, 0), start) + 1 or max(start - 2000, 0)
    at = text.rfind(_PATH, first, start)
    if at < 0:
        stop = text.find("\n", end, end + 2000)
        at = text.find(_PATH, end, stop if stop >= 0 else end + 2000)
    return operation_of(text[at : at + 300]) if at >= 0 else ""


def _text_of_path(rest: str) -> str:
    end = _PATH_END.match(rest)
    return end[0] if end else ""


def _body(text: str, end: int) -> str:
    """The body after ``Error code: 400 - ``: a whole literal if it is one, else the rest of the
    line."""
    if not text.startswith(" - ", end):
        return ""
    rest = text[end + 3 : end + 3 + 4 * _MAX_BODY].partition("\n")[0]
    depth = 0
    for at, char in enumerate(rest):
        depth += (char in "{[") - (char in "}]")
        if depth == 0 and char in "}]":
            rest = rest[: at + 1]
            break
        if depth == 0:
            break
    return cut(rest, _MAX_BODY)
