"""Rows of other usual forms, read as conversations: prompt and completion, preference pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ANSWERS = ("completion", "response", "chosen")
_OTHERS = (("instruction", "output"), ("question", "answer"), ("input", "output"))


def conversation_of(row: Mapping[str, Any]) -> list[Any] | None:
    """The messages that a row without ``messages`` represents; for a preference pair, those of the
    chosen answer. None if the form is unknown."""
    if isinstance(row.get("conversations"), list):
        return _share_gpt(row["conversations"])
    answer = next((name for name in _ANSWERS if name in row), "")
    if answer == "chosen" and "rejected" not in row:
        answer = ""
    if answer and ("prompt" in row or isinstance(row[answer], list)):
        asked, said = _turns(row.get("prompt"), "user"), _turns(row[answer], "assistant")
        # A pair may repeat the prompt in its answers.
        return said if said[: len(asked)] == asked else [*asked, *said]
    for question, reply in _OTHERS:
        if question in row and reply in row:
            return [*_turns(row[question], "user"), *_turns(row[reply], "assistant")]
    return None


def _turns(value: Any, role: str) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [{"role": role, "content": value}]


_ROLES = {"human": "user", "gpt": "assistant", "system": "system", "user": "user",
          "assistant": "assistant", "tool": "tool"}  # fmt: skip


def _share_gpt(turns: list[Any]) -> list[Any]:
    return [
        {"role": _ROLES.get(str(turn.get("from")), str(turn.get("from"))),
         "content": turn.get("value")} if isinstance(turn, dict) and "from" in turn else turn
        for turn in turns
    ]  # fmt: skip
