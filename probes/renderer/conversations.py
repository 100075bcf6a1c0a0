"""The conversations that are compared: a small built-in set, or a person's own from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem, excerpt
from ...facts.regular_files import read_regular

MAX_BYTES = 16 * 2**20
MAX_CONVERSATIONS = 20
MAX_MESSAGES = 200
MAX_CHARACTERS = 200_000
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_IMAGES = frozenset({"image", "image_url", "input_image", "video", "audio", "input_audio"})

Message = dict[str, Any]


class Conversation(NamedTuple):
    """Messages in the form of OpenAI's chat API, and tools as bare function declarations.

    ``built_in``: one of our own; a renderer that cannot render it is not reported. ``place`` is its
    origin.
    """

    name: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    built_in: bool = False
    place: str = ""

    @property
    def has_tools(self) -> bool:
        """Whether it declares, calls or answers tools."""
        return bool(self.tools) or any(
            message["role"] == "tool" or message.get("tool_calls") for message in self.messages
        )

    @property
    def has_images(self) -> bool:
        """Whether a message holds something other than text."""
        return any(isinstance(part, dict) and part.get("type") in _IMAGES
                   for message in self.messages if isinstance(message.get("content"), list)
                   for part in message["content"])  # fmt: skip

    @property
    def has_system(self) -> bool:
        """Whether it begins with a system message."""
        return bool(self.messages) and self.messages[0]["role"] in ("system", "developer")

    @property
    def has_history_thinking(self) -> bool:
        """Whether an assistant message before the last user message holds thinking."""
        earlier = self.messages[: self._last_question()]
        return any(each["role"] == "assistant" and thinking_of(each)[0] for each in earlier)

    def _last_question(self) -> int:
        users = (i for i, each in enumerate(self.messages) if each["role"] == "user")
        return max(users, default=0)

    def without_system(self) -> Conversation:
        """The conversation without its system message."""
        return self._replace(messages=self.messages[1:]) if self.has_system else self

    def without_tools(self) -> Conversation:
        """The conversation without declarations of tools; their calls and answers stay."""
        return self._replace(tools=())

    def without_history_thinking(self) -> Conversation:
        """The conversation without the thinking of the assistant before the last user message."""
        last = self._last_question()
        return self._replace(messages=tuple(
            {**{k: v for k, v in each.items() if k != "reasoning_content"},
             "content": thinking_of(each)[1]}
            if i < last and each["role"] == "assistant" else each
            for i, each in enumerate(self.messages)
        ))  # fmt: skip


def thinking_of(message: Message) -> tuple[str, str]:
    """The thinking and the text of a message, however the two are written."""
    content = message.get("content") or ""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        thinking = "".join(str(p.get("thinking", "")) for p in parts if p.get("type") == "thinking")
        return thinking, "".join(str(p.get("text", "")) for p in parts if p.get("type") == "text")
    given = message.get("reasoning_content")
    if isinstance(given, str) and given:
        return given, content
    head, tag, tail = content.partition("</think>")
    if tag and "<think>" in head:
        return head.partition("<think>")[2].strip("\n"), tail.lstrip("\n")
    return "", content


_WEATHER = {
    "name": "get_weather",
    "description": "Get the weather of a place",
    "parameters": {
        "type": "object",
        "properties": {"place": {"type": "string", "description": "Name of the place"}},
        "required": ["place"],
    },
}


def _say(role: str, content: str, **more: Any) -> Message:
    return {"role": role, "content": content, **more}


_SYSTEM = _say("system", "You are a helpful assistant.")
_CALL = {"type": "function", "id": "call_1",
         "function": {"name": "get_weather", "arguments": '{"place": "Bern"}'}}  # fmt: skip

BUILT_IN = (
    Conversation("basic", (_say("user", "Hello"),)),
    Conversation("system", (_SYSTEM, _say("user", "What is 2 + 2?"))),
    Conversation(
        "multi-turn", (_say("user", "Hi"), _say("assistant", "Hello!"), _say("user", "Bye"))
    ),
    Conversation(
        "history-thinking",
        (
            _say("user", "What is 2 + 2?"),
            _say("assistant", "4", reasoning_content="Two and two are four."),
            _say("user", "And 3 + 3?"),
        ),
    ),
    Conversation("answer", (_say("user", "What is 2 + 2?"), _say("assistant", "4"))),
    Conversation("tools", (_SYSTEM, _say("user", "Weather in Bern?")), (_WEATHER,)),
    Conversation(
        "tool-call",
        (
            _say("user", "Weather in Bern?"),
            _say("assistant", "", tool_calls=[_CALL]),
            _say("tool", "Sunny", tool_call_id="call_1", name="get_weather"),
        ),
        (_WEATHER,),
    ),
)  # fmt: skip


def built_in_conversations() -> list[Conversation]:
    """Our own cases, in order."""
    return [each._replace(built_in=True, place=f"case {each.name}") for each in BUILT_IN]


def read_conversations(path: Path, problems: list[Problem]) -> list[Conversation]:
    """The conversations of a JSON or JSON-lines file: objects with ``messages`` (and ``tools``,
    ``name``) or bare lists of messages. Never raises; what cannot be used becomes a problem:
    MM440 the file, MM441 a conversation."""
    try:
        content = read_regular(path, MAX_BYTES)
    except OSError as error:
        problems.append(_file(path, f"cannot be read: {error.strerror}"))
        return []
    if len(content) > MAX_BYTES:
        problems.append(_file(path, "is too large; give a few conversations only"))
        return []
    found: list[Conversation] = []
    for line, value in _values(path, content, problems):
        if len(found) >= MAX_CONVERSATIONS:
            problems.append(_file(path, f"holds more than {MAX_CONVERSATIONS} conversations; "
                                        "the others were left out"))  # fmt: skip
            break
        where = Location(str(path), line)
        one = _conversation(value, f"conversation-{len(found) + 1}", where, problems)
        if one is not None:
            taken = {each.name for each in found}
            name = one.name if one.name not in taken else f"{one.name}-{len(found) + 1}"
            found.append(one._replace(name=name))
    if not found and not problems:
        problems.append(_file(path, "holds no conversation"))
    return found


def _values(path: Path, content: bytes, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    """Candidates with their line; 0 if the file is one JSON document."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        yield from _lines(path, content, problems)
        return
    several = isinstance(whole, list) and not (whole and _is_message(whole[0]))
    for value in whole if several else [whole]:
        yield 0, value


def _lines(path: Path, content: bytes, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    bad = 0
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            bad += 1
            if bad == 1:
                text = f"{path.name}: the line is not valid JSON; it was left out"
                problems.append(Problem("MM441", text, Location(str(path), number)))
            if bad >= 5:
                return  # no JSON lines at all
            continue
        yield number, value


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def _conversation(
    value: Any, name: str, where: Location, problems: list[Problem]
) -> Conversation | None:
    tools: Any = ()
    messages = value
    if isinstance(value, dict):
        messages, tools = value.get("messages"), value.get("tools") or ()
        given = value.get("name")
        name = given[:80] if isinstance(given, str) and given.strip() else name
    wrong = _what_is_wrong(messages, tools)
    if wrong:
        problems.append(Problem("MM441", f"a conversation was left out: {wrong}", where))
        return None
    bare = tuple(tool["function"] if isinstance(tool.get("function"), dict) else tool
                 for tool in tools)  # fmt: skip
    place = f"{where.path}:{where.line}" if where.line else where.path
    return Conversation(name, tuple(messages), bare, place=place)


def _what_is_wrong(messages: Any, tools: Any) -> str:
    if not isinstance(messages, list) or not messages:
        return "it has no list of messages"
    if len(messages) > MAX_MESSAGES:
        return f"it has more than {MAX_MESSAGES} messages"
    if not isinstance(tools, (list, tuple)) or not all(isinstance(tool, dict) for tool in tools):
        return "its tools are not a list of objects"
    total = 0
    for message in messages:
        if not _is_message(message) or message["role"] not in _ROLES:
            return f"a message has no known role: {excerpt(message)}"
        content = message.get("content", "")
        if not isinstance(content, (str, list, type(None))):
            return "the content of a message is neither text nor a list of parts"
        total += len(content) if isinstance(content, str) else len(json.dumps(content))
    return "" if total <= MAX_CHARACTERS else f"it is longer than {MAX_CHARACTERS:,} characters"


def _file(path: Path, message: str) -> Problem:
    return Problem("MM440", f"{path.name} {message}", Location(str(path)))
