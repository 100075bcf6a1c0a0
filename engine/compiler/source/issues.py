"""Models of known issues of packages in YAML, and the ordinary entries that they stand for.

An issue is a fault of certain versions, with its symptoms. It stands for a diagnosis, for a row of
an error table for each of its messages, and for rules: one that concludes it, one that rules it
out. So all other code handles issues already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from ....facts.strict_models import Strict
from ...inference.versions import version_key
from . import conditions as c
from . import entries as e
from .cases import Case, Expectation, TestsFile
from .error_rows import Emitter, ErrorMatch, template_pattern

SCHEMA = "modelmedic/issues/1"
Confirmation = Literal["reproduced", "maintainers", "reported"]
_STRENGTHS: dict[str, e.Strength] = {
    "reproduced": "decisive",
    "maintainers": "strong",
    "reported": "weak",
}
_TOP = "999999"


def _day(text: str) -> str:
    if date.fromisoformat(text).isoformat() != text:
        raise ValueError("a date looks like 2026-11-22")
    return text


def _address(text: str) -> str:
    if not text.startswith("https://"):
        raise ValueError("a link starts with https://")
    return text


Day = Annotated[str, AfterValidator(_day)]
Link = Annotated[str, AfterValidator(_address)]


class IssueMessage(Strict):
    """A message in which an issue shows; the same as in a row of an error table."""

    match: ErrorMatch
    samples: list[str] = Field(min_length=1, description="Verbatim texts that must match.")
    near_misses: list[str] = Field(min_length=1, description="Texts that must not match.")
    emitter: Emitter = Field(Emitter(), description="Whose it is; default: the package's.")


class Example(Strict):
    """Facts under which it shows, with a version that has it. Tests come from it."""

    version: str
    facts: list[dict[str, Any]] = Field(min_length=1)


class Issue(e.Diagnosis):
    """A fault of some versions of a package. It becomes a diagnosis; its ``summary`` is the
    cause."""

    kind: Literal["root-cause"] = "root-cause"
    package: str = Field(description="Name under which it is installed.")
    versions: list[c.VersionEvent] = Field(
        [],
        description="Affected versions, an event for each release line; others are fine.",
    )
    reported_in: list[str] = Field([], description="Versions in reports; others are unknown.")
    when: c.Condition | None = Field(
        None, description="Further conditions under which an affected version shows it."
    )
    example: Example | None = Field(None, description="Facts that pass `when`.")
    messages: list[IssueMessage] = []
    seen: list[str] = Field(
        min_length=1, description="Symptoms in the words of users, for the search by text."
    )
    workaround: str = Field("", max_length=300, description="Remedy without a new release.")
    link: Link = Field(description="The thread, release note or change that describes it.")
    confirmed: Confirmation = Field(
        description="reproduced: run with the versions. maintainers: they name the cause or fixed"
        " it. reported: by users only."
    )
    reported: Day | None = Field(None, description="Day of the report.")
    verified: Day | None = Field(None, description="Last check; default: that of the file.")

    @model_validator(mode="after")
    def _sound(self) -> Issue:
        if (self.when is None) != (self.example is None):
            raise ValueError("'when' and 'example' go together")
        if self.replaces is not None:
            raise ValueError("an issue replaces nothing: silence the other one")
        if self.explains and self.when is None and not self.messages:
            raise ValueError("what is never concluded explains nothing")
        if not (self.versions or self.reported_in) and (self.messages or self.when is not None):
            raise ValueError("name the versions that have it, or those of the reports")
        for event in self.affected:
            for version in (event.introduced, event.fixed, event.last_affected):
                _key(version or "0")
            if event.fixed and _key(event.fixed) <= _key(event.introduced):
                raise ValueError("'fixed' is no later than 'introduced'")
        return self

    @property
    def fixed(self) -> str:
        """The first version without the fault in the last release line; "" if there is none."""
        last = max(self.versions, key=lambda event: _key(event.introduced), default=None)
        return last.fixed or "" if last else ""

    @property
    def affected(self) -> list[c.VersionEvent]:
        """The affected versions, as events."""
        exact = [c.VersionEvent(introduced=v, last_affected=v) for v in self.reported_in]
        return [*self.versions, *exact]


class IssuesFile(Strict):
    """``modelmedic/issues/1``."""

    schema_: Literal["modelmedic/issues/1"] = Field(alias="schema")
    domain: str
    verified: Day = Field(description="Day on which the issues of this file were last looked up.")
    marks: str = Field("", description="As in an error table: a fact that its rows derive.")
    note: str = ""
    issues: list[Issue]


class Part(NamedTuple):
    """An entry that stands for a part of an issue; ``path`` leads there from the issue."""

    form: str
    entry: e.Envelope
    path: tuple[str | int, ...]


class OfPackage(NamedTuple):
    """The common fields of the entries of an issue, in place of their file."""

    domain: str
    sources: Sequence[e.Source] = ()
    parameters: dict[str, e.Parameter] = {}  # never changed
    note: str = ""
    marks: str = ""


def parts_of(issue: Issue, verified: str) -> Iterator[Part]:
    """The entries that an issue stands for, the diagnosis first."""
    source = e.Source(ref=issue.link, note=f"{issue.confirmed}; looked up {verified}")
    sources = list(issue.sources or [source])
    changed = {"actions": [*_actions(issue)], "sources": sources, "verified": verified}
    yield Part("diagnosis", issue.model_copy(update=changed), ())
    if issue.status == "deprecated":
        return
    about: dict[str, Any] = {"status": issue.status, "sources": sources}
    for number, message in enumerate(issue.messages):
        yield Part("error", _row(issue, message, number, about), ("messages", number))
    if issue.when is not None:
        rule = e.Rule(
            id=f"{issue.id}.here",
            title=issue.title,
            when=c.All(all=[_installed(issue, affected=True), issue.when]),
            conclude=[e.Conclusion(diagnosis=issue.id, strength=_STRENGTHS[issue.confirmed])],
            message=f"{issue.package} {{p.version}} is one of the versions that have this.",
            **about,
        )
        yield Part("rule", rule, ())
    shown = [*map(_said, issue.messages), *([issue.when] if issue.when is not None else [])]
    if shown and _other_version(issue):
        rule = e.Rule(
            id=f"{issue.id}.elsewhere",
            title=f"Another version: {issue.title}"[:100],
            when=c.All(
                all=[
                    _installed(issue),
                    c.Not.model_validate({"not": _installed(issue, affected=True)}),
                    c.Any_(any=shown) if len(shown) > 1 else shown[0],
                ]
            ),
            rules_out=[issue.id],
            message=f"{issue.package} {{p.version}} is outside of the versions that have this.",
            **about,
        )
        yield Part("rule", rule, ())


def cases_of(issue: Issue) -> TestsFile:
    """Test cases of the rules: each fires, is silent for the nearest version on the other side, and
    unknown without a version."""
    found: list[Case] = []
    other = _other_version(issue)
    if issue.example is not None:
        here, facts = issue.example.version, issue.example.facts
        concluded = Expectation(concludes=[issue.id])
        if other:
            found += _three(f"{issue.id}.here", (issue.package, here, other), facts, concluded)
    elif issue.messages:
        here, facts = _version_of(issue), [_error(issue.messages[0])]
    if found or (issue.messages and other):
        out = Expectation(ruled_out=[issue.id])
        found += _three(f"{issue.id}.elsewhere", (issue.package, other, here), facts, out)
    return TestsFile.model_validate({"schema": "modelmedic/tests/1", "cases": found})


def _three(
    entry: str, versions: tuple[str, str, str], facts: list[dict[str, Any]], expect: Expectation
) -> list[Case]:
    package, inside, outside = versions
    installed = [{"kind": "package", "name": package, "version": v} for v in (inside, outside)]
    return [
        Case(name=f"{package} {inside}", kind="fires", entry=entry,
             facts=[installed[0], *facts], expect=expect),
        Case(name=f"{package} {outside}", kind="silent", entry=entry, facts=[installed[1], *facts]),
        Case(name=f"version of {package} unknown", kind="unknown", entry=entry, facts=facts),
    ]  # fmt: skip


def _error(message: IssueMessage) -> dict[str, Any]:
    named = {"exception": message.match.exception[0]} if message.match.exception else {}
    return {"kind": "error_message", "text": message.samples[0], **named}


def _row(issue: Issue, message: IssueMessage, number: int, about: dict[str, Any]) -> e.ErrorEntry:
    unknown = c.Absent(
        absent=c.Pattern(
            fact="package", where={"name": issue.package, "version": c.Test(known=True)}
        )
    )
    sure: e.Likelihood = "rare" if issue.confirmed == "reported" else "usual"
    return e.ErrorEntry(
        id=f"{issue.id}.message" + (f"-{number + 1}" if number else ""),
        title=issue.title,
        causes=[
            e.Cause(diagnosis=issue.id, likelihood=sure, when=_installed(issue, affected=True)),
            e.Cause(diagnosis=issue.id, likelihood="rare", when=unknown),
        ],
        meaning=f"Known of {issue.package}: {issue.title}.",
        anchors="it shows in some versions only",
        emitter=message.emitter.model_copy(update={"package": issue.package}),
        match=message.match,
        samples=message.samples,
        near_misses=message.near_misses,
        **about,
    )


def _installed(issue: Issue, *, affected: bool = False) -> c.Pattern:
    test = c.Test(affected=issue.affected) if affected else c.Test(known=True)
    return c.Pattern.model_validate(
        {"fact": "package", "as": "p", "where": {"name": issue.package, "version": test}}
    )


def _said(message: IssueMessage) -> c.Pattern:
    """The condition that such a message is there, from any owner."""
    match = message.match
    where: dict[str, c.Test | c.Scalar] = {}
    if match.exception:
        where["exception"] = c.Test.model_validate({"in": match.exception})
    if text := match.pattern or (match.template and template_pattern(match.template)):
        more = {"not_matches": match.not_pattern} if match.not_pattern else {}
        where["text"] = c.Test.model_validate({"matches": text, **more})
    return c.Pattern(fact="error_message", where=where)


def _actions(issue: Issue) -> Iterator[e.Action]:
    yield from issue.actions
    if issue.fixed:
        yield e.Action(
            do=f"Install {issue.package} {issue.fixed} or later.",
            command=f'pip install "{issue.package}>={issue.fixed}"',
            effort="5 min",
            risk="rerun",
            verify=f"`pip show {issue.package}` names {issue.fixed} or later, and it is gone.",
        )
    if issue.workaround:
        worked = "The same command runs past it: 0 lines with this message."
        yield e.Action(do=issue.workaround, verify=worked)


def _version_of(issue: Issue) -> str:
    """A version that has it."""
    event = issue.affected[-1]
    return event.last_affected or (event.introduced if event.introduced != "0" else "0.0.1")


def _other_version(issue: Issue) -> str:
    """A version known not to have the fault; "" if unknown."""
    if not issue.versions:
        return ""
    for event in reversed(issue.versions):
        if event.fixed:
            return event.fixed
        if event.last_affected:
            return _TOP
    first = min((event.introduced for event in issue.versions), key=_key)
    return "0" if first != "0" else ""


def _key(text: str) -> Any:
    key = version_key(text)
    if key is None:
        raise ValueError(f"{text!r} is not a version")
    return key
