"""The tokens of both sides of a comparison.

Traps that fake a difference are avoided here: the template is asked for a plain list of tokens
(``return_dict=False``), with the keywords that its family reads, with the tools, and with messages
in the form that templates know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .conversations import Conversation, Message, thinking_of

Keywords = Mapping[str, Any]


class Tokens(NamedTuple):
    """Tokens, or the error that prevented them; ``is_list`` is false if the template call gave
    something else than a list of numbers."""

    ids: tuple[int, ...] = ()
    error: str = ""
    is_list: bool = True


def template_keywords(renderer: str) -> dict[str, Any]:
    """The keywords with which apply_chat_template() renders in the mode of a renderer."""
    thinks = not renderer.endswith("_disable_thinking")
    keeps = renderer.endswith("_preserve_thinking")
    effort = renderer.split("_")[-2] if renderer.endswith("_reasoning") else ""
    if renderer.startswith("nemotron3"):
        found: dict[str, Any] = {"enable_thinking": thinks}
        for word in ("low", "medium"):
            if renderer.endswith(f"_{word}_thinking"):
                found[f"{word}_effort"] = True
        return found | ({"truncate_history_thinking": False} if keeps else {})
    if renderer.startswith("qwen3") and not renderer.endswith("instruct"):
        return {"enable_thinking": thinks} | ({"reasoning_effort": effort} if effort else {})
    if renderer.startswith("deepseekv4"):
        return {"thinking_mode": "thinking" if thinks else "chat"} | (
            {"reasoning_effort": effort} if effort else {}
        ) | ({"drop_thinking": False} if keeps else {})  # fmt: skip
    if renderer.startswith("deepseekv3"):
        return {"thinking": renderer == "deepseekv3_thinking"}
    if renderer.startswith(("kimi_k25", "kimi_k26")):
        return {"thinking": thinks} | ({"preserve_thinking": True} if keeps else {})
    return {"reasoning_effort": effort} if effort else {}


def other_modes(keywords: Keywords) -> list[dict[str, Any]]:
    """The template call in other thinking modes."""
    modes: list[dict[str, Any]] = [
        {"enable_thinking": True}, {"enable_thinking": False}, {"thinking": True},
        {"thinking": False}, {"thinking_mode": "thinking"}, {"thinking_mode": "chat"}, {},
    ]  # fmt: skip
    return [mode for mode in modes if mode != dict(keywords)]


class Sides:
    """A renderer and a tokenizer with its chat template."""

    def __init__(self, renderer: Any, tokenizer: Any) -> None:
        self._renderer, self._tokenizer = renderer, tokenizer

    def ours(self, conversation: Conversation, *, supervised: bool = False) -> Tokens:
        """The renderer's tokens: of the generation prompt, or of the training example."""
        try:
            messages = self._for_renderer(conversation)
            if supervised:
                built, _ = self._renderer.build_supervised_example(messages)
            else:
                built = self._renderer.build_generation_prompt(messages)
            return Tokens(tuple(int(token) for token in built.to_ints()))
        except Exception as error:  # noqa: BLE001 - the renderer is not our code
            return Tokens(error=_told(error))

    def theirs(
        self, conversation: Conversation, keywords: Keywords, *, supervised: bool = False,
        tools: bool = True,
    ) -> Tokens:  # fmt: skip
        """The template's tokens; ``tools``: pass the declarations on."""
        try:
            declared = [{"type": "function", "function": tool} for tool in conversation.tools]
            found = self._tokenizer.apply_chat_template(
                self._for_template(conversation), tools=declared if tools and declared else None,
                tokenize=True, add_generation_prompt=not supervised, return_dict=False, **keywords,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - templates are programs of others
            return Tokens(error=_told(error))
        if not isinstance(found, list) or not all(type(token) is int for token in found):
            return Tokens(tuple(range(len(found))) if hasattr(found, "__len__") else (), "", False)
        return Tokens(tuple(found))

    def decode(self, ids: tuple[int, ...]) -> str:
        """The text of tokens, special ones included."""
        try:
            return str(self._tokenizer.decode(list(ids)))
        except Exception:  # noqa: BLE001 - a text for people only
            return ""

    def controls(self, ids: tuple[int, ...]) -> frozenset[int]:
        """The special and added tokens among some tokens."""
        try:
            added = set(self._tokenizer.get_added_vocab().values())
            known = added | set(self._tokenizer.all_special_ids)
        except Exception:  # noqa: BLE001 - not every tokenizer has them
            return frozenset()
        return frozenset(ids) & known

    def _for_renderer(self, conversation: Conversation) -> list[Any]:
        messages = [_cookbook_message(message) for message in conversation.messages]
        if not conversation.tools:
            return messages
        system = ""
        if conversation.has_system:
            system = thinking_of(conversation.messages[0])[1]
            messages = messages[1:]
        tools = [dict(tool) for tool in conversation.tools]
        return [*self._renderer.create_conversation_prefix_with_tools(tools, system), *messages]

    def _for_template(self, conversation: Conversation) -> list[Message]:
        """Messages as the renderer itself hands them to templates, with our own as fallback."""
        converted = []
        for message in conversation.messages:
            try:
                converted.append(dict(self._renderer.to_openai_message(_cookbook_message(message))))
            except Exception:  # noqa: BLE001 - then as they were given
                converted.append(_plain_message(message))
        return converted


def _cookbook_message(message: Message) -> Any:
    """A message as the cookbook's renderers take it."""
    from tinker_cookbook.renderers import ToolCall

    thinking, text = thinking_of(message)
    found: dict[str, Any] = {"role": message["role"], "content": text}
    if thinking:
        found["content"] = [{"type": "thinking", "thinking": thinking},
                            {"type": "text", "text": text}]  # fmt: skip
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function", call)
        given = function.get("arguments", "{}")
        arguments = given if isinstance(given, str) else json.dumps(given)
        body = ToolCall.FunctionBody(name=function["name"], arguments=arguments)
        calls.append(ToolCall(function=body, id=call.get("id")))
    if calls:
        found["tool_calls"] = calls
    for name in ("tool_call_id", "name"):
        if isinstance(message.get(name), str):
            found[name] = message[name]
    return found


def _plain_message(message: Message) -> Message:
    thinking, text = thinking_of(message)
    kept = {k: v for k, v in message.items() if k not in ("content", "reasoning_content")}
    return {**kept, "content": text} | ({"reasoning_content": thinking} if thinking else {})


def _told(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no text"
    return f"{type(error).__name__}: {text}"[:400]
