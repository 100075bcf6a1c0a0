"""Finds the first difference of two lists of tokens and its likely reason, by changing one thing at
a time."""

from __future__ import annotations

import re
from typing import NamedTuple

from .conversations import Conversation, thinking_of
from .sides import Keywords, Sides, Tokens, other_modes

# Tokens shown from the first difference on, and before it.
_SHOWN = 24
_MARKER = re.compile(r"<[|｜][^<>|｜\s]{1,40}[|｜]>")
_ROLE = re.compile(r"(?i)\b(?:system|developer)\b")


class Difference(NamedTuple):
    """How ours and theirs compare; texts are decoded from the first difference on."""

    match: bool
    first: int | None = None
    tail_only: bool = False
    tail_text: str = ""
    our_text: str = ""
    their_text: str = ""
    reason: str = ""


def first_difference(ours: tuple[int, ...], theirs: tuple[int, ...]) -> int | None:
    """The first position at which two lists differ, the shorter one's length if one is the start
    of the other, None if they are equal."""
    for position, (left, right) in enumerate(zip(ours, theirs, strict=False)):
        if left != right:
            return position
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def compare_tokens(
    sides: Sides, conversation: Conversation, ours: Tokens, theirs: Tokens, keywords: Keywords, *,
    supervised: bool, tools: bool,
) -> Difference:  # fmt: skip
    """The difference of both sides of a conversation, with its reason."""
    if not theirs.is_list:
        return Difference(False, None, reason="batch-encoding")
    first = first_difference(ours.ids, theirs.ids)
    if first is None:
        return Difference(True)
    longer = ours.ids if len(ours.ids) > len(theirs.ids) else theirs.ids
    tail_only = first == min(len(ours.ids), len(theirs.ids))
    tail = longer[first:] if tail_only else ()
    found = Difference(
        False, first, tail_only, sides.decode(tail[:_SHOWN]) if tail else "",
        sides.decode(ours.ids[first : first + _SHOWN]),
        sides.decode(theirs.ids[first : first + _SHOWN]),
    )  # fmt: skip
    if supervised and tail_only and tail == ours.ids[first:] and set(tail) <= sides.controls(tail):
        # Training examples end with a token that ends the turn; some templates leave it out.
        return found._replace(match=True)
    trial = _Trial(sides, conversation, keywords, supervised, tools)
    return found._replace(reason=_reason(trial, found, ours, theirs))


class _Trial(NamedTuple):
    """A comparison that can be repeated with one thing changed."""

    sides: Sides
    conversation: Conversation
    keywords: Keywords
    supervised: bool
    tools: bool

    def agrees(
        self, *, ours: Conversation | None = None, theirs: Conversation | None = None,
        keywords: Keywords | None = None, tools: bool | None = None,
    ) -> bool:  # fmt: skip
        """Whether both sides are equal after a change (a missing final newline aside)."""
        left = self.sides.ours(ours or self.conversation, supervised=self.supervised)
        right = self.sides.theirs(
            theirs or self.conversation, self.keywords if keywords is None else keywords,
            supervised=self.supervised, tools=self.tools if tools is None else tools,
        )  # fmt: skip
        if left.error or right.error or not right.is_list:
            return False
        first = first_difference(left.ids, right.ids)
        if first is None:
            return True
        rest = right.ids[first:] if first == len(left.ids) else ()
        return self.supervised and bool(rest) and self.sides.decode(rest) == "\n"


def _reason(trial: _Trial, found: Difference, ours: Tokens, theirs: Tokens) -> str:
    sides, conversation = trial.sides, trial.conversation
    if found.tail_only and found.tail_text == "\n":
        return "trailing-newline"
    if _is_foreign(sides, ours, theirs):
        return "wrong-family"
    if conversation.tools and not trial.tools and trial.agrees(tools=True):
        return "tools"
    if any(trial.agrees(keywords=mode) for mode in other_modes(trial.keywords)):
        return "thinking-flag"
    removed = _by_removal(trial)
    if removed:
        return removed
    one_sided = system_added(sides, conversation, ours, theirs) in ("renderer", "template")
    return "system-prompt" if one_sided else "other"


def _is_foreign(sides: Sides, ours: Tokens, theirs: Tokens) -> bool:
    """Whether the renderer's control tokens are not those of the tokenizer: it shares none with
    the template, or writes markers that the tokenizer knows as plain text only."""
    wanted, found = sides.controls(theirs.ids), sides.controls(ours.ids)
    if wanted and not wanted & found:
        return True
    return _plain_markers(sides, ours) > _plain_markers(sides, theirs)


def _plain_markers(sides: Sides, tokens: Tokens) -> int:
    """Markers such as <|user|> in the text, beyond those that are single tokens."""
    known = sides.controls(tokens.ids)
    single = sum(1 for token in tokens.ids if token in known)
    return max(0, len(_MARKER.findall(sides.decode(tokens.ids))) - single)


def _by_removal(trial: _Trial) -> str:
    """The part of the conversation without which both sides are equal."""
    conversation = trial.conversation
    if conversation.has_history_thinking:
        plain = conversation.without_history_thinking()
        if trial.agrees(theirs=plain) or trial.agrees(ours=plain) or \
                trial.agrees(ours=plain, theirs=plain):  # fmt: skip
            return "history-stripped"
    if conversation.tools:
        plain = conversation.without_tools()
        if trial.agrees(ours=plain, theirs=plain) or trial.agrees(ours=plain):
            return "tools"
    if conversation.has_system and len(conversation.messages) > 1:
        plain = conversation.without_system()
        if trial.agrees(ours=plain, theirs=plain):
            return "system-prompt"
    return ""


def system_added(sides: Sides, conversation: Conversation, ours: Tokens, theirs: Tokens) -> str:
    """The side whose text names a system role before the first message of a conversation that has
    none; empty if unknown."""
    if conversation.has_system or conversation.tools or not conversation.messages:
        return ""
    text = thinking_of(conversation.messages[0])[1].strip()
    if not text:
        return ""
    added = []
    for name, tokens in (("renderer", ours), ("template", theirs)):
        before, found, _ = sides.decode(tokens.ids).partition(text)
        if not found:
            return ""
        if _ROLE.search(before):
            added.append(name)
    return "both" if len(added) == 2 else added[0] if added else "neither"
