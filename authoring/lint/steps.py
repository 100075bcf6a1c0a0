"""Checks the first steps: a snippet that runs unchanged, outcomes that differ, a check that can
fail, and words that are clear at the first reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...engine.compiler.source import entries as e
from ...engine.compiler.source.issues import Issue
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Problem
from ...facts.problems import excerpt
from ...interfaces.reports.layout import is_arguments, is_setting, prompt
from ..references import Path
from .lint_context import Subject

_IMPORTS = {
    r"weights\.(?:build_|download)": "from tinker_cookbook import weights",
    r"model_info\.\w": "from tinker_cookbook import model_info",
    r"renderers\.\w": "from tinker_cookbook import renderers",
    r"tinker_cookbook\.\w": "from tinker_cookbook import ...",
    r"types\.[A-Z]": "from tinker import types",
    r"tinker\.[A-Z]": "import tinker",
    r"asyncio\.\w": "import asyncio",
    r"get_renderer\(": "from tinker_cookbook.renderers import get_renderer",
    r"get_recommended_renderer_name\(": "from tinker_cookbook import model_info",
    r"datum_from_\w": "from tinker_cookbook.supervised.common import ...",
}
_USES = {re.compile(rf"(?<![\w./'\"-]){use}"): line for use, line in _IMPORTS.items()}
_BARE = re.compile(
    r"(?<![\w.])(?<!def )(create_(?:lora_training|training|sampling|rest)_client|"
    r"create_custom_loss|forward_backward|optim_step|save_state|load_state|get_tokenizer)\("
)
_ELSEWHERE = re.compile(r"""python3? -c ["'](?:print|assert)\b(?!.*\bimport )""")
_CODE = re.compile(r"[\w)\]]\s?=\s|\w\(")
_SHELL = re.compile(
    r"^(?:[A-Z_]{1,40}=\S{1,200} )?(?:python3?|pip|diagnose|grep|curl|env|\w+ -)[ \w]"
)
_OVERWRITES = re.compile(r"\bgit (?:checkout --|restore|reset --hard|clean|stash drop)")
_SAVES = re.compile(r"\bgit (?:diff|stash push|commit)|\bcp ")
_WRITTEN = re.compile(r"\bresults/\w{1,40}\.json\b")
_DECIDES = "This decides:"
_BRANCH = re.compile(r"\bif\b")
_UNDECIDED = re.compile(r"\b(?:is|was) not (?:yet )?(?:decided|settled)\b")
_CANNOT_FAIL = re.compile(
    r"\b(?:is|are) (?:known|understood|cleared|looked at)\b|, or (?:it is not|there is none|none)\b"
)
_HARD_TO_READ = {
    "what stands": "name the thing itself",
    "inside of": "write 'inside'",
    "is to be done": "write 'do ...', or 'nothing needs to be done'",
    "make again": "write 'regenerate'",
    "whole repair": "write 'fully repaired'",
    "by own code": "write 'by your own code'",
    "In own code": "write 'In your own code'",
    "letter by letter": "write 'exactly'",
    "on their way": "write 'submitted'",
    "Must it be": "write 'If it has to be'",
    "named above": "name the thing, or write 'this' with what it is",
    "named below": "name the thing, or write 'this' with what it is",
    "told above": "name the thing, or write 'this' with what it is",
    "lines above": "say in which file or output",
}
_HARD = re.compile("|".join(map(re.escape, _HARD_TO_READ)))


class _Text(NamedTuple):
    """A text of an entry and its place."""

    where: Path
    text: str


def step_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of the instructions on the first screen of a diagnosis."""
    for item in subject.forms["diagnosis"]:
        entry: e.Diagnosis = item.entry
        if entry.status == "deprecated" or isinstance(entry, Issue):
            continue
        yield from _word_problems(item)
        if entry.kind == "benign":
            continue
        yield from _snippet_problems(item)
        yield from _loss_problems(item)
        yield from _outcome_problems(item)
        yield from _check_problems(item)


def _snippet_problems(item: Item) -> Iterator[Problem]:
    """Code of a first action with names that neither it nor the reader's script defines."""
    for number, action in enumerate(item.entry.actions):
        if _ELSEWHERE.search(action.command):
            message = f"a command of {item.id} starts a Python without the names of the script"
            hint = "write the statement alone: people run it where these names are defined"
            yield Problem("MM217", message, item.where("actions", number, "command"), hint)
        if not _is_read(action.command):
            message = f"the code of {item.id} is not valid Python"
            hint = "write whole statements; '...' stands for what people fill in, before keywords"
            yield Problem("MM217", message, item.where("actions", number, "command"), hint)
    for number, action in enumerate(item.entry.actions[:1]):
        code = action.command
        if not _CODE.search(code) or _SHELL.match(code):
            continue
        where = item.where("actions", number, "command")
        lacking = [line for use, line in _USES.items() if use.search(code) and "import" not in code]
        for line in lacking[:1]:
            message = f"the code of {item.id} uses a name that it does not import"
            yield Problem("MM217", message, where, f"begin with '{line}'")
        if bare := _BARE.search(code):
            message = f"the code of {item.id} calls the method {bare[1]}() without an object"
            hint = f"write the client before it, such as 'training_client.{bare[1]}(...)'"
            yield Problem("MM217", message, where, hint)


def _is_read(code: str) -> bool:
    """Whether a command is not Python, or can be parsed as Python."""
    if not code or prompt(code) or is_arguments(code) or is_setting(code):
        return True
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def _loss_problems(item: Item) -> Iterator[Problem]:
    """Commands that discard unsaved edits."""
    for number, action in enumerate(item.entry.actions):
        lost = _OVERWRITES.search(action.command)
        if lost and not _SAVES.search(action.command[: lost.start()]):
            message = f"a command of {item.id} discards unsaved edits: {excerpt(lost[0])}"
            hint = "save them first in the same command, such as 'git diff > edit.diff && ...'"
            yield Problem("MM214", message, item.where("actions", number, "command"), hint)


def _outcome_problems(item: Item) -> Iterator[Problem]:
    """Outcomes of a first step that overlap, and open causes without such a step."""
    entry: e.Diagnosis = item.entry
    for number, action in enumerate(entry.actions):
        begins, decides, outcomes = action.do.partition(_DECIDES)
        if decides and not begins.strip():
            message = f"an action of {item.id} says what its outcomes mean, and not what to do"
            hint = f"write what to run or to look at before '{_DECIDES}'"
            yield Problem("MM218", message, item.where("actions", number, "do"), hint)
        if decides and len(_BRANCH.findall(outcomes)) < 2:
            message = f"an action of {item.id} has fewer than two outcomes to decide between"
            hint = f"write '{_DECIDES} if ..., ...; if ..., ...'"
            yield Problem("MM218", message, item.where("actions", number, "do"), hint)
    if _UNDECIDED.search(entry.summary) and not any(_DECIDES in a.do for a in entry.actions[:1]):
        message = f"{item.id} says that it is not decided, and its first action does not decide it"
        hint = f"end the first action with '{_DECIDES} if ..., ...; if ..., ...'"
        yield Problem("MM218", message, item.where("summary"), hint)


def _check_problems(item: Item) -> Iterator[Problem]:
    """Checks that pass whether or not the action worked, or read a file that nothing writes."""
    for number, action in enumerate(item.entry.actions):
        if action.verify and (sure := _CANNOT_FAIL.search(action.verify)):
            message = f"'verify' of {item.id} cannot fail: it says {excerpt(sure[0])}"
            hint = "say what the output names, or the number that only a repair gives"
            yield Problem("MM216", message, item.where("actions", number, "verify"), hint)
        written = _WRITTEN.search(action.verify or "")
        if number == 0 and written and not action.command and written[0] not in action.do:
            message = f"'verify' of {item.id} reads {written[0]}, and nothing writes it"
            hint = "add the command that writes this file"
            yield Problem("MM216", message, item.where("actions", number, "verify"), hint)


def _word_problems(item: Item) -> Iterator[Problem]:
    """Words over which readers of the first screen stumbled."""
    for where, text in _texts(item.entry):
        if hard := _HARD.search(text):
            message = f"hard to read in {item.id}: {excerpt(hard[0])}"
            yield Problem("MM219", message, item.where(*where), _HARD_TO_READ[hard[0]])


def _texts(entry: e.Diagnosis) -> Iterator[_Text]:
    yield _Text(("title",), entry.title)
    yield _Text(("summary",), entry.summary)
    for number, action in enumerate(entry.actions):
        yield _Text(("actions", number, "do"), action.do)
        yield _Text(("actions", number, "verify"), action.verify or "")
