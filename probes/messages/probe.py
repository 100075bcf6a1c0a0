"""Raw text -> facts: error messages, HTTP answers and known log lines.

Takes any text: an error line, a traceback with its chain, a log, JSON records, or a mixture of them
with prose. Reading is linear in the length of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ...facts.kinds import MAX_TEXT, Vocabulary
from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress, Step, go_on, interrupted
from ...reading.text.plain_text import Line, PlainText, is_binary, plain_text
from ..outcome import Collector, Outcome
from .advice import advice_of
from .checks_told import Checks
from .compiler_failure import compiler_failure
from .events import find_events, table
from .failing_line import FailingLine, failing_line, raised_there
from .happenings import Happenings
from .http_statuses import Response
from .message import Message, unwrapped
from .owners import Origins, origins_of, owner_values, site_of
from .scan import scan_until, tidied

MAX_CHARACTERS = 2_000_000
MAX_MESSAGES = 200
MAX_SURROUNDINGS = 200_000
MAX_SURROUNDING_LINES = 20_000
# Messages that differ only in their digits (times, ids) and are shown one by one.
MAX_SIMILAR = 5
_NO_DIGITS = str.maketrans("", "", "0123456789")
Place = Callable[[int], str]
"""Turns a line number into a place."""


def read_messages(
    text: str, vocabulary: Vocabulary, *, name: str = "pasted", limit: int = MAX_CHARACTERS,
    progress: Progress = UNWATCHED,
) -> Outcome:  # fmt: skip
    """The ``error_message``, ``http_response`` and ``log_event`` facts in ``text``, and the
    software that it is about (``text_subject``), by its command lines, versions and frames.

    ``name`` precedes the line number in provenance (``pasted:12``). Messages come with the error
    that ended the program first, then causes, then log lines by level; equal ones are merged with
    their ``count``. Text in which nothing looks like an error is one message as a whole, so that
    error tables can try it; a log without any error gives no facts.

    Problems: MM410 nothing to read, MM411 text was left out, MM412 messages were left out,
    MM413 no text, MM407 interrupted.
    Never raises on any text.
    """
    collector = Collector(vocabulary, "probe:messages")
    plain = plain_text(text, limit)
    if not any(line.text.strip() for line in plain.lines):
        hint = "paste the error message, the traceback or the log"
        collector.problem("MM410", "there is no text to read", Location(name), hint)
        return collector.outcome()
    if is_binary(text):
        hint = "give the text of the error; `diagnose inspect` reads files of data"
        collector.problem("MM413", "this is binary data, not text", Location(name), hint)
        return collector.outcome()
    _report_cut(collector, plain, name)
    with progress.part(name, len(plain.lines), "lines", ends_early=True) as step:
        add_text(collector, plain.lines, lambda number: f"{name}:{number}", Location(name), step)
    return collector.outcome()


def add_text(
    collector: Collector, plain: Sequence[Line], place: Place, source: Location,
    step: Step = go_on, *, alone: bool = True,
) -> list[Message]:  # fmt: skip
    """Add all that the lines of a text say, and return their messages. ``source`` is named if
    something is left out (MM412, MM407). A text ``alone`` is a message if nothing in it is one."""
    lines = tidied(plain)
    messages, unread = scan_until(lines, step, alone=alone)
    if unread:
        behind = f"what follows {place(unread)} was not read"
        collector.extend([interrupted(behind, source)])
    surroundings = "\n".join(line.text for line in plain)[:MAX_SURROUNDINGS]
    about = origins_of(collector.vocabulary.owners).spoken_of(surroundings)
    standing = _standing(lines) if _may_be_neuron(surroundings) else None
    raised = raised_there(standing) if standing else None
    said = [*messages, raised] if raised else messages
    if not alone:  # of a log, only what failed
        said = [replace(m, responses=_failed(m)) for m in said]
    add_messages(collector, said, place, source, about=about, standing=standing)
    for owner, sign in about.items():
        number = 1 + surroundings.count("\n", 0, surroundings.index(sign))
        collector.add("text_subject", place(number), owner=owner, sign=sign)
    failed = compiler_failure(surroundings.split("\n"))
    if failed:
        collector.add(
            "compiler_failure", place(failed.number), stage=failed.stage or None,
            operation=failed.operation or None, reason=failed.reason or None,
            model_line=failed.model_line or None,
        )  # fmt: skip
    if standing:
        _add_place(collector, standing, place)
    return messages


def _failed(message: Message) -> tuple[Response, ...]:
    """The HTTP answers in a message that report a failure."""
    return tuple([answer for answer in message.responses if answer.status >= 400])


def _standing(lines: Sequence[Line]) -> FailingLine | None:
    """The failing line of the last traceback, with its line number in the input."""
    found = failing_line([line.text for line in lines[:MAX_SURROUNDING_LINES]])
    return found._replace(number=lines[found.number - 1].number) if found else None


def _may_be_neuron(text: str) -> bool:
    """Whether a traceback may be from Neuron software, whose rules need its failing line."""
    return "neuron" in text or "Neuron" in text or "NEURON" in text


def _add_place(collector: Collector, standing: FailingLine, place: Place) -> None:
    collector.add(
        "failing_line", place(standing.number), place=standing.place, line=standing.line,
        function=standing.function or None, code=standing.code or None,
        exception=standing.exception or None, calls=standing.calls, cut=standing.cut,
    )  # fmt: skip


gather_messages = read_messages  # under the name that all probes have


def add_messages(
    collector: Collector, messages: Sequence[Message], place: Place, source: Location, *,
    about: Collection[str] = (), standing: FailingLine | None = None,
) -> None:  # fmt: skip
    """Add the facts of ``messages``, in any order. ``place`` turns a line number into a place;
    ``source`` is named if messages are left out (MM412); the text is ``about`` the software of
    these owners; ``standing`` is the failing line of its last traceback."""
    origins = origins_of(collector.vocabulary.owners)
    happenings = Happenings(origins, messages, about)
    kept = [each for each in messages if each.keep]
    _add_errors(collector, kept, happenings, Checks(origins, standing), place, source)
    _add_responses(collector, messages, origins, place)
    _add_events(collector, messages, origins, place)


def _report_cut(collector: Collector, plain: PlainText, name: str) -> None:
    if plain.left_out:
        message = (f"the text is long: {plain.left_out:,} of {plain.total:,} lines were left out "
                   "between its start and its end")  # fmt: skip
        hint = "give the part around the error, if the answer misses it"
        collector.problem("MM411", message, Location(name), hint)


def _add_errors(
    collector: Collector, messages: Sequence[Message], happenings: Happenings, checks: Checks,
    place: Place, source: Location,
) -> None:  # fmt: skip
    merged = _merge(messages)
    # The last error of a run is the one that ended it.
    merged.sort(key=lambda pair: (pair[0].rank, -pair[0].number))
    for message, count in merged[:MAX_MESSAGES]:
        owner = happenings.owner(message)
        site = site_of(message, owner)
        collector.add(
            "error_message", place(message.number), text=message.text[: MAX_TEXT + 1],
            exception=message.exception or None, module=message.module or None,
            source=message.source, chain=message.chain or None, logger=message.logger or None,
            level=message.level or None, file=message.file or None, line=message.line or None,
            count=count, advice=advice_of(unwrapped(message.text)) or None,
            goes_on=message.exception.endswith("Warning") or (site and site.goes_on) or None,
            **owner_values(owner, site),
        )  # fmt: skip
        checks.add(collector, message, owner, site, place)
    if len(merged) > MAX_MESSAGES:
        text = f"{len(merged):,} different messages; the {MAX_MESSAGES} weightiest are kept"
        hint = "give the part around the error, if the answer misses it"
        collector.problem("MM412", text, source, hint)


def _merge(messages: Iterable[Message]) -> list[tuple[Message, int]]:
    """Equal messages with their count, in order of appearance; further ones of a kind that
    differs only in digits count for the first of that kind."""
    counts: dict[tuple[str, ...], int] = {}
    first: dict[tuple[str, ...], Message] = {}
    variants: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for message in messages:
        key = message.identity()
        if key not in counts:
            similar = variants.setdefault((key[0].translate(_NO_DIGITS), *key[1:]), [])
            if len(similar) >= MAX_SIMILAR:
                key = similar[0]
            else:
                similar.append(key)
                first[key] = message
        counts[key] = counts.get(key, 0) + message.count
    return [(message, counts[key]) for key, message in first.items()]


def _add_responses(
    collector: Collector, messages: Sequence[Message], origins: Origins, place: Place
) -> None:
    """Add HTTP answers by status, operation and owner; a chain of exceptions reports an answer
    once."""
    told: dict[tuple[int, int, str], tuple[Message, str, str]] = {}
    for message in messages:
        for response in message.responses:
            owner = origins.of_response(message, response)
            of_group = (message.group, response.status, response.operation)
            first, known, body = told.get(of_group, (message, "", ""))
            told[of_group] = (first, known or owner, body or response.body)
    counts: dict[_Answer, int] = {}
    bodies: dict[_Answer, str] = {}
    places: dict[_Answer, int] = {}
    for (_, status, operation), (message, owner, body) in told.items():
        key = (status, operation, owner)
        counts[key] = counts.get(key, 0) + message.count
        places.setdefault(key, message.number)
        if body:
            bodies.setdefault(key, body)
    named = {(status, owner) for status, operation, owner in counts if operation}
    for key in sorted(counts):
        status, operation, owner = key
        if not operation and ((status, owner) in named or (not owner and _has(named, status))):
            continue  # the same answers once more, without their operation
        collector.add(
            "http_response", place(places[key]), status=status, operation=operation or None,
            body=bodies.get(key), count=counts[key], owner=owner or None,
        )  # fmt: skip


_Answer = tuple[int, str, str]
"""Status, operation and owner; "" if the text does not say."""


def _has(named: set[tuple[int, str]], status: int) -> bool:
    return any(known == status for known, _ in named)


def _add_events(
    collector: Collector, messages: Sequence[Message], origins: Origins, place: Place
) -> None:
    counts = Counter[str]()
    first: dict[str, Message] = {}
    longest: dict[str, float] = {}
    operations: dict[str, set[str]] = {}
    for message in messages:
        if not message.may_be_event:
            continue
        found = list(find_events(message.text))
        if not found or _is_foreign(origins, message):
            continue
        for event, duration_s, operation in found:
            counts[event] += message.count
            first.setdefault(event, message)
            if duration_s is not None:
                longest[event] = max(duration_s, message.longest_s, longest.get(event, 0.0))
            operations.setdefault(event, set()).add(operation)
    for event in sorted(counts):
        named = operations[event]
        collector.add(
            "log_event", place(first[event].number), event=event, present=True, count=counts[event],
            text=first[event].text[:4096], duration_s=longest.get(event),
            operation=(named.pop() or None) if len(named) == 1 else None,
        )  # fmt: skip


def _is_foreign(origins: Origins, message: Message) -> bool:
    """Whether a message is known to come from other software than the log lines of the events."""
    found = origins.of(message)
    known = found is not None and not origins.passes_on(found.owner)
    return known and found is not None and found.owner not in table().owners
