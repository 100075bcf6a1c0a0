"""Checks one row of a chat data set. Texts are read, never kept or shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...facts.problems import excerpt
from .forms import conversation_of
from .tool_calls import form_of

ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
_PARTS = {"text": "text", "image": "image", "audio": "audio", "thinking": "thinking"}
_FILLED = re.compile(r"<think(?:ing)?>\s*(?!\s|</think)")
# Other usual forms of rows, by their keys, for the words of the answer alone.
_FORMS = (
    (("conversations",), "ShareGPT conversations"), (("chosen", "rejected"), "preference pairs"),
    (("prompt", "completion"), "prompt and completion"),
    (("prompt", "response"), "prompt and response"),
    (("instruction", "output"), "instruction and output"),
    (("question", "answer"), "question and answer"), (("input", "output"), "input and output"),
    (("text",), "plain text"),
)  # fmt: skip


class Finding(NamedTuple):
    """A problem of a row, in the words of the vocabulary, and its details."""

    problem: str
    detail: str


class RowFigures(NamedTuple):
    """The figures that a row adds to those of the data set.

    ``thinking`` holds for each assistant message whether it has a filled thinking block; ``words``
    are the first two words of the first user message; ``text`` is the text of all messages, to find
    repeated rows; ``system`` is the system message that it begins with; ``calls`` are the forms of
    the tool calls in the texts of the assistant.
    """

    characters: int
    thinking: tuple[bool, ...]
    words: str
    text: str
    system: str = ""
    calls: tuple[str, ...] = ()


def check_row(value: Any) -> tuple[list[Finding], RowFigures | None]:
    """The problems of a row, each at most once, and its figures if its messages can be read."""
    if not isinstance(value, dict):
        return [Finding("not-an-object", f"the row is {_kind(value)}")], None
    messages = value.get("messages")
    if not isinstance(messages, list):
        missing = Finding("messages-missing", _without_messages(value))
        other = conversation_of(value) if "messages" not in value else None
        return [missing], _figures_of(other) if other else None
    if not messages:
        return [Finding("messages-missing", "the 'messages' list is empty")], None
    findings = dict(_message_findings(messages))
    usable = [each for each in messages if isinstance(each, dict)]
    roles = [each.get("role") for each in usable]
    if "assistant" not in roles:
        findings["no-assistant-turn"] = f"the roles are {_names(roles)}"
    if not usable or roles[-1] != "assistant":
        findings["last-turn-not-assistant"] = f"the last role is {_names(roles[-1:])}"
    found = [Finding(problem, detail) for problem, detail in findings.items()]
    # A message that cannot be read cannot repeat another row.
    return found, None if "bad-message" in findings else _figures(usable)


def _figures_of(messages: list[Any]) -> RowFigures | None:
    """The figures of a row of another form, if its turns can be read."""
    usable = [each for each in messages if isinstance(each, dict)]
    return _figures(usable) if len(usable) == len(messages) else None


def _without_messages(value: Mapping[str, Any]) -> str:
    if "messages" in value:
        return f"'messages' is {_kind(value['messages'])}, not a list"
    form = next((name for keys, name in _FORMS if all(key in value for key in keys)), "")
    keys = _names(list(value)[:8]) if value else "none"
    seen = f"the row looks like {form}" if form else f"the keys are {keys}"
    return f"there is no 'messages'; {seen}"


def _message_findings(messages: list[Any]) -> Iterator[tuple[str, str]]:
    """Problems of messages with their place in the row; of several of a kind the last stays."""
    for index, message in reversed(list(enumerate(messages))):
        place = f"message {index + 1}"
        if not isinstance(message, dict):
            yield "bad-message", f"{place} is {_kind(message)}, not an object"
            continue
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str):
            yield "bad-message", f"{place} has no 'role'"
        elif role not in ROLES:
            yield "unknown-role", f"{place} has the role {_names([role])}"
        wrong = _content_problem(content, message)
        if wrong:
            yield "bad-message", f"{place}: {wrong}"
        elif not _is_filled(content) and not message.get("tool_calls"):
            yield "empty-content", f"{place} ({_names([role])}) says nothing"


def _content_problem(content: Any, message: Mapping[str, Any]) -> str:
    if "content" not in message:
        return "it has no 'content'"
    if isinstance(content, str):
        return ""
    if not isinstance(content, list):
        return f"its content is {_kind(content)}, neither text nor a list of parts"
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str):
            return "a part of its content has no 'type'"
        if kind not in _PARTS:
            return f"a part of its content has the type {_names([kind])}"
        if _PARTS[kind] not in part:
            return f"a part of type '{kind}' has no '{_PARTS[kind]}'"
    return ""


def _is_filled(content: Any) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    texts = [part for part in content if part.get("type") in ("text", "thinking")]
    return len(texts) < len(content) or any(_said(part).strip() for part in texts)


def _figures(messages: list[dict[str, Any]]) -> RowFigures:
    said = [(message.get("role"), _said_in(message.get("content"))) for message in messages]
    thinking = tuple(_has_thinking(message.get("content")) for message in messages
                     if message.get("role") == "assistant")  # fmt: skip
    question = next((text for role, text in said if role == "user"), "")
    words = " ".join(question[:400].split()[:2]).casefold()
    text = "\n".join(f"{role if isinstance(role, str) else ''}: {text}" for role, text in said)
    first_role, first_text = said[0] if said else (None, "")
    system = first_text.strip() if first_role == "system" else ""
    forms = (form_of(text) for role, text in said if role == "assistant")
    calls = tuple(form for form in forms if form)
    return RowFigures(sum(len(text) for _, text in said), thinking, words, text, system, calls)


def _said_in(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(_said(part) for part in parts if isinstance(part, dict))


def _said(part: Mapping[str, Any]) -> str:
    value = part.get("text", part.get("thinking"))
    return value if isinstance(value, str) else ""


def _has_thinking(content: Any) -> bool:
    if isinstance(content, str):
        return bool(_FILLED.search(content))
    parts = content if isinstance(content, list) else []
    return any(
        _FILLED.search(_said(part)) or (part.get("type") == "thinking" and _said(part).strip())
        for part in parts if isinstance(part, dict)
    )  # fmt: skip


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "text", list: "a list", dict: "an object", bool: "true or false"}
    return names.get(type(value), "a number")


def _names(values: list[Any]) -> str:
    """Role names or keys, shortened: they should be short structural words, but the data may hold
    anything."""
    shown = [excerpt(value, 40) if isinstance(value, str) else "missing" for value in values[:8]]
    return ", ".join(dict.fromkeys(shown)) or "none"
