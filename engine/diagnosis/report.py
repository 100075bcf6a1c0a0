"""The report: typed, frozen results and their JSON form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from ...facts import Fact, Problem
from ...facts.problems import OUT_OF_TIME
from ...facts.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..inference.program import Repair
else:
    Any = object


SCHEMA = "modelmedic/report/1"
SEVERITIES = ("info", "warning", "error", "blocker")


class Evidence(NamedTuple):
    """One fact that supports a diagnosis, and the rule by which it does."""

    fact: str
    text: str
    rule: str
    source: str = ""


class Unfolding(Mapping[str, Any]):
    """``{"how": ...}``, the derivation of a fact, unfolded when it is first read: many reports are
    not read so far. ``repairs`` has, where there is one, the message of each of its steps apart
    from the repair; the JSON form lacks it. Copies and pickles are plain."""

    def __init__(self, unfold: Callable[[], dict[str, Any]]) -> None:
        self._unfold: Callable[[], dict[str, Any]] | None = unfold
        self._plain: dict[str, Any] = {}

    def _read(self) -> dict[str, Any]:
        if (unfold := self._unfold) is not None:
            self._plain = unfold()
            self._unfold = None  # lets go of all that it came from
        return self._plain

    def __getitem__(self, name: str) -> Any:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(self._read())

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (self._read(),)


class Accepted(NamedTuple):
    """Why a diagnosis does not count for now, until when (last day, ISO 8601; empty if a comment
    in the code accepts it), and who owns that."""

    reason: str
    until: str
    owner: str = ""


class Diagnosis(NamedTuple):
    """A concluded diagnosis.

    ``confidence`` is certain, likely or possible. ``explains`` lists concluded symptoms that it
    accounts for, ``explained_by`` the causes that account for it. ``conflicting`` says that other
    evidence rules it out, ``accepted`` that a baseline does. ``detail`` and ``meaning`` are the
    title and the meaning of the row of an error table that alone concludes it; its fix is the first
    action then.
    """

    id: str
    title: str
    severity: str
    kind: str
    confidence: str
    summary: str
    evidence: tuple[Evidence, ...]
    explanation: Mapping[str, Any]
    actions: tuple[Mapping[str, Any], ...]
    explains: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()
    conflicting: bool = False
    packet: tuple[str, ...] = ()
    accepted: Accepted | None = None
    detail: str = ""
    meaning: str = ""

    @property
    def reasons(self) -> list[tuple[str, Repair | None]]:
        """The messages of the derivation, and the repair that fits these facts."""
        found = []
        for step, apart in zip_longest(
            self.explanation["how"], self.explanation.get("repairs", ())
        ):
            found.append(apart or (step.get("message", ""), None))
        return found

    @property
    def gist(self) -> str:
        """Its meaning; that of the message if one row alone concludes it."""
        return self.meaning or self.summary

    @property
    def headline(self) -> str:
        """The title, with that of the row that concludes it: a diagnosis is wider than a row."""
        return f"{self.title}: {self.detail}" if self.detail else self.title


class RuledOut(NamedTuple):
    """A diagnosis that positive evidence rules out; ``explanation`` as in :class:`Diagnosis`,
    ``explains`` what it would account for. Its JSON form has neither this nor the kind."""

    id: str
    title: str
    explanation: Mapping[str, Any]
    kind: str = ""
    explains: tuple[str, ...] = ()

    @property
    def because(self) -> Sequence[Mapping[str, Any]]:
        """The derivation of its being ruled out."""
        how: Sequence[Mapping[str, Any]] = self.explanation["how"]
        return how


class Candidate(NamedTuple):
    """A diagnosis that is partly supported: what is still unknown about it."""

    id: str
    title: str
    missing: tuple[str, ...]


class NextStep(NamedTuple):
    """A probe to run or a question to answer; ``separates`` lists the diagnoses that its result can
    confirm or exclude. For type ``action``, a step that a workflow requires now; ``id`` is the
    finding that requires it."""

    type: str
    id: str
    text: str
    command: str
    seconds: float
    separates: tuple[str, ...]
    why: str = ""
    choices: tuple[str, ...] = ()
    sets: Mapping[str, Any] | None = None


class Decider(NamedTuple):
    """The unknown condition that decides whether a message has the causes of its row, and the step
    that settles it, if there is one."""

    condition: str
    causes: tuple[str, ...]
    step: NextStep | None


class Message(NamedTuple):
    """An error message that a row of an error table recognises. ``causes`` are those concluded;
    where none is, ``decides`` says what to find out."""

    row: str
    title: str
    text: str
    meaning: str
    fix: str
    retry: str
    causes: tuple[str, ...]
    decides: Decider | None = None


class SimilarIssue(NamedTuple):
    """A known issue that a text resembles; not a diagnosis. ``share`` is the share of the text's
    information that it contains; ``differs`` lists contradicting and unknown conditions."""

    id: str
    title: str
    package: str
    link: str
    share: float
    differs: tuple[str, ...] = ()


class Unexplained(NamedTuple):
    """An error from which nothing is concluded. ``fact`` is its id, ``row`` the row that knows the
    text but cannot decide. ``owner`` says whose error it is, as far as that is known,
    ``owner_title`` as people call it, and ``owner_next`` where to look then; ``source`` what was
    read of it in source code, ``similar`` the known issues that it looks like."""

    fact: str
    text: str
    place: str = ""
    times: int = 1
    owner: str = ""
    owner_confidence: str = ""
    owner_evidence: str = ""
    row: str = ""
    source: Mapping[str, Any] | None = None
    owner_title: str = ""
    owner_next: str = ""
    similar: tuple[SimilarIssue, ...] = ()


class Report(NamedTuple):
    """The result of a diagnosis; equal inputs give equal reports. ``meanings`` says what listed
    values of the given facts stand for, by ``kind.attribute=value``; its JSON form lacks them."""

    tool: Mapping[str, str]
    knowledge: Mapping[str, Any]
    facts: tuple[tuple[str, Fact, bool], ...]
    diagnoses: tuple[Diagnosis, ...]
    ruled_out: tuple[RuledOut, ...]
    unknown: tuple[Candidate, ...]
    next: tuple[NextStep, ...]
    messages: tuple[Message, ...] = ()
    errors: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    unexplained: tuple[Unexplained, ...] = ()
    meanings: Mapping[str, str] = {}

    @property
    def status(self) -> str:
        """``error``; ``findings``: a problem is concluded; ``incomplete``: something could not be
        read; ``unknown``: nothing explains an error; or ``clear``."""
        if not self.facts and any(problem.code != OUT_OF_TIME for problem in self.errors):
            return "error"
        if any(d.kind != "benign" for d in self.diagnoses):
            return "findings"
        if self.errors:
            return "incomplete"
        return "unknown" if self.unexplained else "clear"

    @property
    def is_decided(self) -> bool:
        """Whether a cause is known that is likely at least, and neither accepted nor explained."""
        return any(
            d.kind not in ("benign", "symptom")
            and d.confidence != "possible"
            and not (d.accepted or d.explained_by)
            for d in self.diagnoses
        )

    def worst(self) -> str | None:
        """The highest severity of a concluded problem that no other evidence contradicts and that
        is not accepted."""
        found = [
            d.severity
            for d in self.diagnoses
            if d.kind != "benign" and not d.conflicting and d.accepted is None
        ]
        return max(found, key=SEVERITIES.index, default=None)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The verdict, for a notebook to show instead of the tuple."""
        from ..display import bundle

        return bundle(self)

    def _repr_html_(self) -> str | None:
        html: str | None = self._shown("text/html")
        return html

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._shown("text/plain") or repr(self))

    def __rich__(self) -> object:
        """The verdict, for rich to print."""
        found = self._shown("rich")
        return repr(self) if found is None else found

    def _shown(self, form: str) -> Any:
        from ..display import shown

        return shown(self, form)

    def plain(self) -> dict[str, Any]:
        """The JSON form (``modelmedic/report/1``)."""
        return {
            "schema": SCHEMA,
            "tool": dict(self.tool),
            "knowledge": dict(self.knowledge),
            "status": self.status,
            "facts": [_fact(*item) for item in self.facts],
            "diagnoses": [_diagnosis(d) for d in self.diagnoses],
            "ruled_out": [
                {"id": r.id, "title": r.title, "because": list(r.because)} for r in self.ruled_out
            ],
            "unknown": [_plain(c) for c in self.unknown],
            "next": [_step(s) for s in self.next],
            "messages": [_message(m) for m in self.messages],
            "errors": problems_plain(self.errors),
        } | self._optional()

    def _optional(self) -> dict[str, Any]:
        """The parts that the JSON form lacks if they are empty: notes and unexplained errors."""
        notes = {"notes": problems_plain(self.notes)} if self.notes else {}
        left = [_unexplained(u) for u in self.unexplained]
        return notes | ({"unexplained": left} if left else {})


def problems_plain(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Problems in their JSON form."""
    return [
        {"code": p.code, "message": p.message, "where": str(p.where or ""), "hint": p.hint}
        for p in problems
    ]


def error_plain(tool: Mapping[str, str], problems: Sequence[Problem]) -> dict[str, Any]:
    """The JSON document of a run that could not diagnose."""
    return {
        "schema": SCHEMA,
        "tool": dict(tool),
        "knowledge": {},
        "status": "error",
        **{part: [] for part in ("facts", "diagnoses", "ruled_out", "unknown", "next", "messages")},
        "errors": problems_plain(problems),
    }


def _fact(fact_id: str, fact: Fact, derived: bool) -> dict[str, Any]:
    plain = {"id": fact_id, **fact.plain()}
    return plain | {"derived": True} if derived else plain


def _diagnosis(d: Diagnosis) -> dict[str, Any]:
    plain = _plain(d) | {
        "explanation": {"how": d.explanation["how"]},
        "actions": [dict(a) for a in d.actions],
    }
    plain["evidence"] = [
        {"fact": e.fact, "text": e.text, "rule": e.rule}
        | ({"source": e.source} if e.source else {})
        for e in d.evidence
    ]
    if not d.packet:
        del plain["packet"]
    if plain.pop("detail"):
        plain["headline"] = d.headline
    if not d.meaning:
        del plain["meaning"]
    if d.accepted:
        plain["accepted"] = {name: text for name, text in d.accepted._asdict().items() if text}
    else:
        del plain["accepted"]
    return plain


def _message(m: Message) -> dict[str, Any]:
    plain = _plain(m)
    del plain["decides"]
    if m.decides:
        known = {"condition": m.decides.condition, "causes": list(m.decides.causes)}
        plain["decides"] = known | ({"step": _step(m.decides.step)} if m.decides.step else {})
    return plain


def _unexplained(u: Unexplained) -> dict[str, Any]:
    plain = {n: v for n, v in u._asdict().items() if v and n not in ("times", "similar")}
    similar = [_plain(issue) for issue in u.similar]
    return plain | {"count": u.times} | ({"similar": similar} if similar else {})


def _step(s: NextStep) -> dict[str, Any]:
    plain = _plain(s)
    always = {name: plain[name] for name in ("type", "id", "text", "seconds", "separates")}
    others = ("command", "why", "choices", "sets")
    return always | {name: plain[name] for name in others if plain[name]}


def _plain(item: Candidate | Message | Diagnosis | NextStep | SimilarIssue) -> dict[str, Any]:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in item._asdict().items()}
