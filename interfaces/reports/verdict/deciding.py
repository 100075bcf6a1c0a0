"""A symptom whose cause is open: the suspects, and the one step that decides, with the meaning of
each of its outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....engine.diagnosis.report import Diagnosis, NextStep
from ....facts.records import NamedTuple, lazy
from ..layout import Line, prompt
from ..safe_text import one_line
from ..view import ReportView
from .commands import CHECK, DECIDES, shell_command
from .parts import FOR_THAT, SUSPECTED, parted
from .placeholders import REPLACE, in_words, known_words, replacements
from .repairs import first_action
from .words import brief, first_sentence, places, reasons

MAX_SUSPECTS = 2
ELSE = 110
"""Characters of what to do where a step names nothing: one sentence."""
SHORT = 200
"""Characters of a command shown next to another one."""
_AT_HAND = frozenset(["train.py", "TARGET_MODELING_FILE", "server.log"])
"""Files that every user with such a problem has; others must be created first, or were read."""
_OF_FILE = lazy(r"diagnose probe [a-z-]{2,30} ([^\s-]\S{0,300})")
_GIVEN = lazy(r"diagnose (?:--facts|inspect)(?: [^\s-]\S{0,300}){1,4}")
_OF_COMMAND = lazy(r"(?:It|They|The (?:\w+ )?(?:command|output|chart|report)|The \w+ line)\b")
"""Begins a check that reads what the command of its own action prints."""
_ELSEWHERE = lazy(r"\b(?:below|lines?)\b")


class Open(NamedTuple):
    """The texts on an open cause: the suspect, the deciding step if one fits, else the first
    actions, the next step if they do not help, and the packet to hand over then."""

    suspects: Sequence[Line]
    step: Sequence[Line]
    actions: Sequence[Mapping[str, Any]]
    otherwise: Sequence[Line]
    packet: Sequence[str]


def deciding(
    d: Diagnosis, view: ReportView, given: str, told: Sequence[str], *, decided: bool
) -> Open:
    """The texts on a symptom. ``given`` is the command behind the report, ``told`` the text on the
    symptom so far; ``decided``: the screen shows another step."""
    suspects = suspected(view)
    own: Sequence[Mapping[str, Any]] = d.actions
    otherwise, packet = "", d.packet
    check = complaint_check(d)
    first = _first_of(suspects[0], view) if suspects else ()
    tries = any(action.get("verify") for action in first)
    if tries and (len(suspects) == 1 or not _decides(own)):
        otherwise = "" if _decides(first) else _otherwise(own)
        own, packet = first, suspects[0].packet
        if check and _decides(first):  # a step that tells ends when the complaint does
            own = tuple([{**action, "verify": check} for action in first])
    is_told = decided or (len(suspects) == 1 and _decides(own))
    step = None if is_told else decider(view, suspects)
    return Open(
        [Line(_told(suspects, view, told), 2, mark=SUSPECTED)] if suspects else [],
        list(_step(step, suspects, own, given, check)) if step else [],
        own,
        _second(otherwise, d.actions) if otherwise and not decided else [],
        packet,
    )


def _second(otherwise: str, own: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The next step if the suspect is not the cause."""
    return [Line(f"{otherwise}.", 2, mark="If it is not that: "), *_second_command(own)]


def _second_command(own: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """The command of the second action, if it is short."""
    if not (_sentence(own) and _is_short(own[0])):
        return
    command = str(own[0]["command"])
    yield Line("", 2, "dim", mark=FOR_THAT)
    yield shell_command(command)
    if put := replacements(command, ""):
        yield Line(put, 2, mark=REPLACE)


def _first_of(suspect: Diagnosis, view: ReportView) -> Sequence[Mapping[str, Any]]:
    """The first thing to do about a suspect, which its own reason may name."""
    _, repair = parted(reasons(suspect, view)[:1])
    if repair and suspect.actions:
        return first_action(suspect, repair, places(suspect, view))
    return suspect.actions[:1]


def complaint_check(d: Diagnosis) -> str:
    """The way to see that a symptom is gone, if it makes sense without its own command."""
    check = str(d.actions[0].get("verify", "")) if d.actions else ""
    return "" if _OF_COMMAND.match(check) else check


def _decides(actions: Sequence[Mapping[str, Any]]) -> bool:
    return any(DECIDES in action["do"] for action in actions[:1])


def suspected(view: ReportView) -> Sequence[Diagnosis]:
    """The leads that may be the cause."""
    return [d for d in view.leads if d.kind != "symptom"] or view.leads


def decider(view: ReportView, suspects: Sequence[Diagnosis]) -> NextStep | None:
    """The reading of an available file that distinguishes most suspects. For others the symptom's
    own first step is better."""
    names = {d.id for d in suspects}
    steps = [
        step
        for step in view.report.next
        if step.type == "probe" and names.intersection(step.separates)
        if known_words(step.command) <= _AT_HAND and "..." not in step.command
    ]
    return max(steps, key=lambda s: len(names.intersection(s.separates)), default=None)


def _told(suspects: Sequence[Diagnosis], view: ReportView, told: Sequence[str]) -> str:
    """The titles of the suspects; for a single one also the reason, if there is room and it was not
    ``told``."""
    shown = [one_line(d.title) for d in suspects[:MAX_SUSPECTS]]
    why, _ = parted(reasons(suspects[0], view)[:1])
    if len(suspects) == len(view.causes) == 1 and why and why[0] not in told:
        return f"{shown[0]}. {brief(why[0], ELSE * 2)}"
    return f"{'; or: '.join(shown)}."


def _step(
    step: NextStep,
    suspects: Sequence[Diagnosis],
    own: Sequence[Mapping[str, Any]],
    given: str,
    check: str,
) -> Iterator[Line]:
    names = [f"'{one_line(each.title)}'" for each in suspects[:MAX_SUSPECTS]]
    one = "one of the two" if len(names) > 1 else names[0]
    adds = _begun_small(step.text.partition(" - ")[0])
    text = (
        f"Run the command, which adds to what is known: {adds}. {DECIDES}if the report then has "
        f"{one} as a problem, it is the cause: follow its Do; if not, {_otherwise(own)}."
    )
    command = with_given(step.command, given)
    yield Line(text, 2, mark="Do: ")
    yield shell_command(command)
    if put := replacements(command, f"{step.text}\n{check}"):
        yield Line(put, 2, mark=REPLACE)
    yield from _second_command(own)
    if check:
        yield Line(brief(first_sentence(in_words(check)), CHECK), 2, mark="Worked if: ")


def with_given(command: str, given: str) -> str:
    """The command of a probe as one that diagnoses what it finds together with what was given."""
    if not command.startswith("diagnose probe "):
        return command
    known = given if _GIVEN.fullmatch(given) else ""
    own = _OF_FILE.fullmatch(command)
    if own and "--facts" not in known:  # a facts file may be a bare list, as no other file is
        return f"{known or 'diagnose inspect'} {own[1]}"
    if known:
        return f"{command} -f json | {known} {'--facts ' * ('--facts' in known)}-"
    return f"{command} -f json | diagnose --facts -"


def _sentence(actions: Sequence[Mapping[str, Any]]) -> str:
    """The first of these actions, if it fits in one sentence."""
    own = first_sentence(actions[0]["do"].partition(DECIDES.strip())[0]) if actions else ""
    return "" if not own or len(own) > ELSE or _ELSEWHERE.search(own) else own


def _is_short(action: Mapping[str, Any]) -> bool:
    """Whether it has a command of a shell for which there is room beside another one."""
    command = str(action.get("command", ""))
    return bool(prompt(command)) and 0 < len(command) <= SHORT


def _otherwise(actions: Sequence[Mapping[str, Any]]) -> str:
    """The first of these actions, in a sentence."""
    if not (own := _sentence(actions)):
        return "a consultation (diagnose, without more) asks what else it can be"
    hidden = actions[0].get("command") and not _is_short(actions[0])
    whole = " (option -v has its command)" if hidden else ""
    return _begun_small(in_words(own)).rstrip(". ") + whole


def _begun_small(text: str) -> str:
    """A sentence in lower case, to continue another one."""
    return text[:1].lower() + text[1:] if re.match(r"[A-Z][a-z]*\b(?!-)", text) else text
