"""``diagnose ANYTHING``: paths, an error, a complaint, or standard input, told apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...facts import Fact, ModelMedicError, Problem
from ...facts.problems import did_you_mean, excerpt
from ..context import Context, read_stdin_bytes, text_of
from ..inspection import STDIN
from ..intake import ERROR, MOST_LINES, PASTED, STATEMENTS, Taken
from ..reports.similar import HEADING
from ..reports.similar import title as similar_title
from . import guess
from .candidates import files
from .follow_up import FOLLOW_UP, Case, conclude
from .options import FAIL_ON, baseline_options, command, common_reading, detail
from .source_lookup import Environment, source_options

if TYPE_CHECKING:
    from ...engine.diagnosis.report import SimilarIssue

_EMPTY = {PASTED: "give a path, an error or a sentence", STDIN: "standard input is empty"}


@command(name="")
@click.argument("words", metavar="ANYTHING...", nargs=-1, required=True,
                shell_complete=files)  # fmt: skip
@FAIL_ON
@detail
@FOLLOW_UP
@baseline_options
@source_options()
@common_reading
def anything(
    context: Context, words: Sequence[str], follow_up: bool,
    source: bool, python: Path | None, site: Path | None,
) -> int:  # fmt: skip
    """Diagnose ANYTHING: paths, an error text in quotes, a sentence that says what is wrong, or -
    for standard input. Says on stderr how it took it."""
    context = _with_group_options(context)
    entry = _Entry(context, Environment(python, site) if source else None, follow_up)
    if list(words) == ["-"]:
        return entry.stdin(read_stdin_bytes())
    text = " ".join(words).strip()
    if guess.are_paths(words):
        return entry.paths([Path(word).expanduser() for word in words])
    if both := guess.paths_and_words(words):
        return entry.paths([Path(word).expanduser() for word in both[0]], both[1])
    if len(words) == 1 and guess.looks_like_path(text) and not entry.is_error(text):
        return entry.paths([Path(text).expanduser()])
    return entry.text(text)


class _Entry:
    """One answer, with the options that it is to have."""

    def __init__(self, context: Context, source: Environment | None, follow_up: bool) -> None:
        self._context = context
        self._source = source
        self._follow_up = follow_up
        self._vocabulary = context.base.vocabulary

    def paths(self, paths: Sequence[Path], said: str = "") -> int:
        """Files, and a complaint about them."""
        from ..inspection import gather

        facts, problems, read = gather(
            paths, self._vocabulary, deadline=self._context.deadline, intake=self._context.intake
        )
        for path, title, _ in read[:1]:
            more = f", and {len(read) - 1} more" if len(read) > 1 else ""
            _say(f"Reading {path} as {title}{more}.")
        return self._conclude(Case((*self._told(said), *facts), tuple(problems), tuple(read)))

    def _told(self, said: str) -> tuple[Fact, ...]:
        """The facts of a complaint given with paths; they replace no facts from files."""
        if not said:
            return ()
        found = self._context.intake.read(said)
        heard = self._heard(found.facts) or f"{len(found.facts)} facts"
        near = self._near(found.near)
        meant = f"; did you mean: {'; '.join(near)}?" if near else "."
        _say(f"And as a description: {heard}." if found.facts
             else f"Not understood, and left out: {excerpt(said)}{meant}")  # fmt: skip
        return found.facts

    def text(self, text: str | None, name: str = PASTED) -> int:
        """A text, by default that of standard input: what a probe knows, an error, or a
        description."""
        from ..inspection import read_text

        if text is not None and not text.strip():
            raise click.UsageError(f"nothing to diagnose: {_EMPTY[name]}")
        found = read_text(text, self._context.intake, self._context.deadline, name)
        if found.form:
            _say(f"Reading {'standard input' if name == STDIN else 'the text'} as {found.title}.")
            read = ((name, found.title, len(found.facts)),)
            return self._conclude(Case(found.facts, found.problems, read))
        if found.title == ERROR:
            return self._error(Case(found.facts, found.problems))
        if found.title == STATEMENTS:
            return self._conclude(Case(found.facts, found.problems))
        if (text or "").count("\n") >= MOST_LINES:
            return self._error(Case(found.unknown, found.problems))
        return self._description(text or "", found)

    def is_error(self, text: str) -> bool:
        """Whether a text has the look of an error."""
        return self._context.intake.read(text).is_error

    def _error(self, case: Case) -> int:
        """An error message, a traceback, lines of a log."""
        from ..reports.answers_text import decode_lines

        _say("Taken as an error message.")
        return self._conclude(case, decode_lines)

    def _description(self, text: str, found: Taken) -> int:
        """A complaint in words."""
        complaint = next((fact for fact in found.facts if fact.kind == "symptom"), None)
        if self._context.is_conversation() and (complaint or len(text.split()) > 1):
            return self._consultation(text)
        notes = [problem for problem in found.problems if problem.is_note]
        if complaint is None and notes:
            raise ModelMedicError(notes)
        if complaint is None:
            raise _not_understood(text, self._near(found.near), found.similar)
        for issue in found.similar:
            _say(f"{HEADING}{similar_title(issue)}; {issue.link}")
        _say(f"Taken as a description: {self._heard(found.facts)}.")
        for cause in found.causes:
            title = self._context.base.summary(cause).title
            _say(f"You name a cause: {title}; `diagnose explain {cause}` says what to do.")
        from ..reports.complaint import complaint_lines

        is_alone = all(fact.kind == "symptom" for fact in found.facts)
        case = Case(found.facts, found.problems)
        return self._conclude(case, complaint_lines if is_alone else None)

    def stdin(self, raw: bytes) -> int:
        """Standard input: facts, a report, or a text."""
        text = text_of(raw).strip()
        schema = _schema(text)
        if schema.startswith("modelmedic/"):
            _say(f"Reading standard input as {_SCHEMAS.get(schema, 'facts file')}.")
            return self._conclude(Case(self._recorded(text, schema)))
        return self.text(text, STDIN)

    def _recorded(self, text: str, schema: str) -> tuple[Fact, ...]:
        from ...facts.fact_file import parse_facts
        from ..reports.recorded import recorded_facts

        if schema in _SCHEMAS:
            return recorded_facts(text, STDIN, self._context.doctor)
        return tuple(parse_facts(text, STDIN, self._vocabulary))

    def _conclude(self, case: Case, lines: Any = None) -> int:
        return conclude(self._context, case, self._source, follow_up=self._follow_up, lines=lines)

    def _consultation(self, text: str) -> int:
        from ..consult.start import consult

        _say("Taken as a description; a consultation follows.")
        given = _group_options()
        plain, vi = bool(given.get("accessible")), bool(given.get("vi"))
        return consult(self._context, accessible=plain, vi=vi, told=text)

    def _near(self, names: Sequence[str]) -> list[str]:
        return [self._symptom(name) for name in names]

    def _heard(self, facts: Sequence[Fact]) -> str:
        """The complaints, and what the words deny."""
        said = [fact for fact in facts if fact.kind == "symptom"]
        denials = {fact for fact in said if fact.get("present") is False}
        title = {fact: self._symptom(str(fact.get("name"))) for fact in said}
        return "; ".join(f"not: {title[f]}" if f in denials else title[f] for f in said)

    def _symptom(self, name: str) -> str:
        known = self._vocabulary.kinds["symptom"].attributes["name"].values or {}
        return dict(known).get(name, name)


_SCHEMAS = {"modelmedic/report/1": "report of ModelMedic"}


def _not_understood(text: str, near: Sequence[str], similar: Sequence[SimilarIssue]) -> Exception:
    """A single word was a command, most likely; else it says what the words may mean."""
    words = text.split()
    message = f"{excerpt(text)} is not a known path, error or complaint"
    if len(words) == 1:
        message = f"No such command {excerpt(text)}, and no path, error or complaint that is known"
    if similar:
        issue = similar[0]
        hint = f"{HEADING[0].lower()}{HEADING[1:]}{similar_title(issue)}; {issue.link}"
        return ModelMedicError(Problem("MM300", message, None, hint))
    hint = did_you_mean(words[0], _commands()) or _HINT
    if near and hint == _HINT:
        hint = f"did you mean: {'; '.join(near)}? Or {_HINT}"
    return ModelMedicError(Problem("MM300", message, None, hint))


def _commands() -> Sequence[str]:
    group = click.get_current_context().parent
    known = group.command if group else None
    return known.list_commands(group) if group and isinstance(known, click.Group) else ()


_HINT = "see `diagnose --help`, or run `diagnose` for a consultation"


def _group_options() -> dict[str, Any]:
    parent = click.get_current_context().parent
    return dict(parent.params) if parent else {}


def _with_group_options(context: Context) -> Context:
    """The options given before ANYTHING count as well."""
    given = _group_options()
    fields = Context._field_defaults
    changed = {
        name: given[name]
        for name, default in fields.items()
        if name in given and given[name] != default and getattr(context, name) == default
    }
    return context._replace(**changed)


def _schema(text: str) -> str:
    """The schema that a JSON document names; empty if the text is not JSON."""
    if not text.startswith("{"):
        return ""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return str(plain.get("schema", "")) if isinstance(plain, dict) else ""


def _say(text: str) -> None:
    """How it was taken, on stderr: the answer may go to a program."""
    from ..reports.layout import Line, write

    write([Line(text, style="dim")], sys.stderr)
