"""A loop after a verdict: probes that only read are run on the spot, and what they find is
diagnosed with the rest."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ...facts.problems import INTERRUPTED
from .. import output
from ..context import Context
from ..stated import read_line
from .source_lookup import Environment, with_source

if TYPE_CHECKING:
    from ...engine.diagnosis.report import Report
    from ...facts import Fact, Problem, Vocabulary
    from ...facts.kinds import Probe
    from ..deadline import Deadline
    from ..reports.formats import Picture
    from ..reports.layout import Line

MAX_ROUNDS = 8
FOLLOW_UP = click.option(
    "--follow-up", is_flag=True,
    help="Also run probes that could add evidence, if they only read.",
)  # fmt: skip


class Case(NamedTuple):
    """The facts gathered so far, and their sources: path, kind of file, number of facts."""

    facts: tuple[Fact, ...]
    problems: tuple[Problem, ...] = ()
    read: tuple[tuple[str, str, int], ...] = ()

    def joined(self, more: Case) -> Case:
        """With what another one holds."""
        facts, problems, read = more
        return Case(self.facts + facts, self.problems + problems, self.read + read)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C left something out."""
        return any(problem.code == INTERRUPTED for problem in self.problems)

    def learns(self, more: Case) -> bool:
        """Whether another one says anything new."""
        return not set(more.facts) <= set(self.facts)


Lines = Callable[["Report"], Iterable["Line"]]
Pictures = Callable[[Case], Sequence["Picture"]]


class Reading(NamedTuple):
    """A probe that can be run here and now: it reads, it needs no network, and what it reads is
    known."""

    probe: str
    title: str
    command: str
    path: Path | None


def conclude(
    context: Context,
    case: Case,
    source: Environment | None,
    *,
    follow_up: bool = False,
    lines: Lines | None = None,
    pictures: Pictures = lambda case: (),
) -> int:
    """Diagnose a case and write the report; with ``follow_up`` after all that probes can add, on a
    terminal with what the user lets them add. The exit code of the last report."""
    if context.format == "text" and (stated := read_line(case.facts, context.base.vocabulary)):
        _say(stated)
    loop = _Loop(context, source, pictures)
    if follow_up and not case.interrupted:
        case = loop.exhausted(case)
    return loop.go_on(case, loop.emit(case, lines))


def go_on(context: Context, report: Report, code: int) -> int:
    """Offer what could tell more than a report on facts that was written; the exit code of the last
    report, ``code`` where nothing follows."""
    facts = tuple(fact for _, fact, derived in report.facts if not derived)
    case = Case(facts, report.errors)
    return _Loop(context, None, known=(case, report)).go_on(case, code)


class _Loop:
    """The probes that were run, and the report on what is known."""

    def __init__(
        self,
        context: Context,
        source: Environment | None,
        pictures: Pictures = lambda case: (),
        known: tuple[Case, Report] | None = None,
    ) -> None:
        self._context = context
        self._source = source.checked() if source else None
        self.deadline = context.deadline
        self._pictures = pictures
        self._done: set[str] = set()
        self._last = known

    def emit(self, case: Case, lines: Lines | None = None) -> int:
        """Write the report on a case; its exit code."""
        report, pictures = self.report(case), self._pictures(case)
        return self._context.emit_report(report, read=case.read, lines=lines, pictures=pictures)

    def go_on(self, case: Case, code: int) -> int:
        """Offer one probe after another, then the question that decides the cause, while the user
        answers."""
        while code != output.INTERRUPTED and self._context.is_conversation():
            offer = next(self.readings(self.report(case), shown=True), None)
            if offer is not None and not _accepted(offer):
                break
            self.deadline = self._context.new_deadline()
            more = self.run(offer) if offer is not None else None
            known = case.joined(more) if more is not None else None
            if offer is None and (known := self.answered(case)) is None:
                break
            if known is not None and case.learns(known):
                case = known
                code = self.emit(case)
            else:
                _say("That says nothing new.")
        return code

    def answered(self, case: Case) -> Case | None:
        """The case with the answer to the question that decides its cause; None if there is no
        such question or no answer."""
        if case.interrupted or _has_cause(self.report(case)):
            return None
        from ..consult import one_key

        found = one_key.next_question(self._context.doctor, case.facts)
        if found is None:
            return None
        dialogue, question = found
        answer = one_key.ask(question, self._context.base)
        if answer is None:
            return None
        return case._replace(facts=dialogue.answered(question, answer).facts)

    def report(self, case: Case) -> Report:
        """The report on a case, without the steps that were done."""
        if self._last is None or self._last[0] is not case:
            doctor = self._context.doctor
            facts, problems, _ = case
            report = doctor.diagnose(facts, problems, time_is_up=self.deadline.has_passed)
            if self._source is not None:
                report = with_source(doctor, facts, problems, report, self._source, self.deadline)
            self._last = case, _without(report, self._done)
        return self._last[1]

    def exhausted(self, case: Case) -> Case:
        """The case with all that probes add, until they add nothing; Ctrl-C ends it."""
        for _ in range(MAX_ROUNDS):
            offer = next(self.readings(self.report(case)), None)
            more = self.run(offer) if offer else None
            if more is None:
                return case
            case = case.joined(more) if case.learns(more) or more.interrupted else case
            if case.interrupted:
                return case
        return case

    def readings(self, report: Report, *, shown: bool = False) -> Iterator[Reading]:
        """The probes that the report proposes and that can be run here, best first; with ``shown``
        those only that the verdict shows, as long as it names a cause."""
        from ..reports.verdict.screen import proposed_commands

        probes = self._context.base.vocabulary.probes
        found = proposed_commands(report) if shown and _has_cause(report) else _proposed(report)
        for command, title in found:
            reading = _reading(command, title, probes)
            if reading and reading.command not in self._done:
                yield reading

    def run(self, reading: Reading) -> Case | None:
        """The result of a probe; None if it was interrupted."""
        self._done.add(reading.command)
        _say(f"Running {reading.command} ...")
        try:
            return _gathered(reading, self._source, self._context.base.vocabulary, self.deadline)
        except KeyboardInterrupt:
            _say("Stopped; nothing was taken from it.")
            return None


def _without(report: Report, done: Collection[str]) -> Report:
    """The report without the commands that were run: what they could tell is among the facts."""
    if not done:
        return report
    diagnoses = tuple(
        d._replace(actions=tuple(a for a in d.actions if a.get("command") not in done))
        for d in report.diagnoses
    )
    steps = tuple(step for step in report.next if step.command not in done)
    return report._replace(diagnoses=diagnoses, next=steps)


def _has_cause(report: Report) -> bool:
    """Whether there is nothing left to find: a cause that is more than possible, or no problem."""
    problems = [d for d in report.diagnoses if d.kind != "benign"]
    causes = [d for d in problems if d.kind != "symptom" and d.confidence != "possible"]
    complaint = any(fact.kind == "symptom" for _, fact, derived in report.facts if not derived)
    return bool(causes) or not (problems or report.unexplained or complaint)


def _proposed(report: Report) -> Iterator[tuple[str, str]]:
    """Commands and what they tell: of the causes, then of the plan."""
    for d in report.diagnoses:
        for action in d.actions[:1]:
            yield str(action.get("command", "")), str(action["do"])
    yield from ((step.command, step.text) for step in report.next if step.type == "probe")


def _reading(command: str, title: str, probes: Mapping[str, Probe]) -> Reading | None:
    """The probe of a command, if it may be run without asking anything more."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    is_probe = words[:2] == ["diagnose", "probe"] and len(words) > 2
    probe = probes.get(words[2]) if is_probe else None
    if probe is None or probe.network or probe.executes:
        return None
    if probe.alone and len(words) == 3:
        return Reading(probe.name, title, command, None)
    reads = probe.argument.get("takes") in ("each", "all") and len(words) == 4
    if not reads or command == probe.command or not Path(words[3]).exists():
        return None
    return Reading(probe.name, title, command, Path(words[3]))


def _gathered(
    reading: Reading, source: Environment | None, vocabulary: Vocabulary, deadline: Deadline
) -> Case:
    if reading.path is not None:
        from ..inspection import gather

        facts, problems, read = gather([reading.path], vocabulary, deadline=deadline)
        return Case(tuple(facts), tuple(problems), tuple(read))
    from ...probes import load_probe
    from ..waiting import Gauge, shown

    python = source.python if source else None
    gauge = Gauge()
    with shown(gauge), gauge.part(reading.probe):
        outcome = load_probe(reading.probe)(vocabulary, python=python)
    read = [(str(python or "this machine"), reading.probe, len(outcome.facts))]
    return Case(tuple(outcome.facts), tuple(outcome.problems), tuple(read))


def _accepted(offer: Reading) -> bool:
    """Whether the user wants a probe to be run; Enter is yes, Ctrl-C and Ctrl-D are no."""
    from ..consult.answers import consent
    from ..reports.layout import Line, write

    shown = Line(offer.command, 4, style="command", mark="$ ", keep=True)
    write([Line(), Line(offer.title, mark="Next: "), shown], sys.stdout)
    sys.stdout.write("Run it now? It only reads. [Y/n] ")
    sys.stdout.flush()
    try:
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        answer = ""
    if not answer.endswith("\n"):
        sys.stdout.write("\n")
        return False
    return not answer.strip() or consent(answer) is True


def _say(text: str) -> None:
    from ..reports.layout import Line, write

    write([Line(text, style="dim", keep=True)], sys.stderr)
