"""The five forms of knowledge as written in YAML; their tests are in :mod:`.cases`.

Diagnoses, rules, decision trees, error tables and classifications. Field descriptions here are the
reference for maintainers; the JSON Schemas for editors come from these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ....facts.strict_models import Strict
from .cases import Severity, TestsFile
from .conditions import Condition, Id, Number, Pattern, Scalar, Where
from .error_rows import Anchor, Anchors, Emitter, ErrorMatch

Status = Literal["experimental", "stable", "deprecated"]
Strength = Literal["decisive", "strong", "weak", "lead"]
Likelihood = Literal["usual", "possible", "rare"]
Message = Annotated[
    str | list[str],
    Field(
        description="Template, or several: the first one whose placeholders are all known is used."
        " {p.version} is an attribute of 'as: p', {n} the number of a count or series 'as: n',"
        " {slow_s} a parameter of the file; numbers get their units."
    ),
]


class Repair(Strict):
    """The action if the facts decide it, in place of the first action of the diagnosis; with the
    same placeholders as the message."""

    do: str = Field("", description="Imperative sentences, in place of the action's.")
    command: str = Field("", description="Its command; none: no command; default: the action's.")
    verify: str = Field("", description="How to see that it worked; default: as the action says.")
    code: str = Field("", description="In place of `do`, for a line written wrongly: as is right.")
    note: str = Field("", description="What has to be said of the code.")

    @model_validator(mode="after")
    def _says_what(self) -> Repair:
        if bool(self.do) == bool(self.code or self.note):
            raise ValueError("a repair says either what to do or which code is right")
        return self


def _paired(part: Any) -> Any:
    if isinstance(part.repair, list) and len(part.repair) != len(part.message):
        raise ValueError("give one repair, or one for each message (null where there is none)")
    return part


Repairs = Annotated[
    Repair | list[Repair | None] | None,
    Field(description="What the facts say is to be done; several: one for each message."),
]
Covers = Annotated[list[str], Field(description="Ids of the inventory that this encodes.")]


class Source(Strict):
    """The origin of a statement: a guide and section, a public document, or a measurement."""

    ref: str = Field(description="Name of the guide, package@version:module, or 'measured'.")
    section: str = ""
    note: str = ""


class Conflict(Strict):
    """Two sources that disagree: what each says, which one is encoded, and why."""

    between: list[str] = Field(min_length=2)
    resolution: str
    reason: str


class Parameter(Strict):
    """A named threshold; conditions refer to it as '@name'."""

    value: Number
    unit: str = ""
    origin: str = Field(description="Who set this number, or how it was measured.")
    covers: Covers = []


class Envelope(Strict):
    """The fields that every entry has."""

    id: Id
    title: str = Field(max_length=100, description="The condition found, not the check.")
    status: Status = "stable"
    sources: list[Source] = Field([], description="Default: the sources of the file.")
    covers: Covers = []
    conflicts: list[Conflict] = []
    note: str = ""
    replaces: Id | None = Field(
        None, description="In an overlay: the entry below in whose place this one stands."
    )


class FactForm(Strict):
    """A fact by its kind and some of its values."""

    fact: str = Field(description="Kind of the fact.")
    where: dict[str, Scalar] = Field({}, description="Values that it must have.")


class Action(Strict):
    """One thing to do."""

    do: str = Field(max_length=300, description="Imperative sentence.")
    command: str = Field("", description="Exact command to show; never run by us.")
    effort: str = Field("", description="Rough time, such as '2 min'.")
    risk: Literal["none", "rerun", "data-loss", ""] = ""
    verify: str = Field("", description="How to see that it worked.")
    verified_by: Condition | None = Field(None, description="The same as a condition.")
    done_by: list[FactForm] = Field(
        [],
        description="What it brings, or what shows that another one is right: where any of these "
        "is known, it is not proposed.",
    )
    covers: Covers = []


class PacketItem(Strict):
    """Something to hand over, and the facts in which it can be found."""

    item: str = Field(max_length=300, description="What is needed, in words.")
    found_in: list[FactForm] = Field(
        min_length=1, description="Any of these is enough; their probes and questions get it."
    )


class Diagnosis(Envelope):
    """An entry of the catalogue of diagnoses."""

    severity: Severity
    kind: Literal["root-cause", "symptom", "benign", "user-code", "escalation"]
    summary: str = Field(max_length=700)
    explains: list[Id] = Field([], description="Symptoms and effects that this accounts for.")
    actions: list[Action] = []
    details: str = Field("", description="Background shown by `diagnose explain`.")
    packet: list[str | PacketItem] = Field(
        [], description="What to hand over when this is escalated; text alone: by hand."
    )

    @property
    def packet_texts(self) -> list[str]:
        """Describe in words the data to hand over."""
        return [p if isinstance(p, str) else p.item for p in self.packet]


class Conclusion(Strict):
    """A diagnosis with a strength, or a derived fact."""

    diagnosis: Id | None = None
    strength: Strength = "strong"
    fact: str | None = None
    set: dict[str, Scalar] = Field({}, description="Attributes: constants or '$variables'.")

    @model_validator(mode="after")
    def _one(self) -> Conclusion:
        if (self.diagnosis is None) == (self.fact is None):
            raise ValueError("a conclusion names either a diagnosis or a fact")
        return self


class Rule(Envelope):
    """If the condition is true, conclude."""

    when: Condition
    conclude: list[Conclusion] = []
    rules_out: list[Id] = []
    message: Message = ""
    repair: Repairs = None
    _one_each = model_validator(mode="after")(_paired)

    @model_validator(mode="after")
    def _says_something(self) -> Rule:
        if not self.conclude and not self.rules_out:
            raise ValueError("a rule needs 'conclude' or 'rules_out'")
        return self


class Cause(Strict):
    """One cause that an error message can have."""

    diagnosis: Id
    likelihood: Likelihood = "usual"
    when: Condition | None = Field(None, description="Facts that tell this cause from the others.")
    covers: Covers = []


class ErrorEntry(Envelope):
    """A row of an error table."""

    match: ErrorMatch
    emitter: Emitter = Emitter()
    samples: list[str] = Field(min_length=1, description="Verbatim texts that must match.")
    near_misses: list[str] = Field(min_length=1, description="Texts that must not match.")
    causes: list[Cause] = Field(min_length=1)
    meaning: str = Field("", description="What the message says, in plain words.")
    fix: str = Field("", description="What to do, if the diagnosis' actions do not say it.")
    retry: Literal["never", "sdk-does-it", "safe-once", "after-backoff"] = "never"
    anchors: Anchors = []

    @property
    def anchored(self) -> list[Anchor]:
        """The places in packages that make the message."""
        return [] if isinstance(self.anchors, str) else self.anchors


class Branch(Strict):
    """An answer of a tree node and where it leads: exactly one of goto, conclude, tree, healthy,
    undecided."""

    answer: str = Field("", description="The choice in words; default: the name of the branch.")
    when: Condition | None = Field(None, description="Facts that settle it without asking.")
    goto: str | None = None
    conclude: list[Id] = []
    strength: Strength = "strong"
    tree: Id | None = None
    healthy: str = Field("", description="What is fine; nothing is concluded.")
    undecided: str = Field(
        "", description="What would decide it; for `unknown`, where the triage ends with nothing."
    )
    rules_out: list[Id] = []
    message: Message = ""
    repair: Repairs = None
    _one_each = model_validator(mode="after")(_paired)
    covers: Covers = []

    @model_validator(mode="after")
    def _leads_on(self) -> Branch:
        ends = (self.conclude, self.healthy, self.undecided)
        if sum(map(bool, (self.goto is not None, self.tree is not None, *ends))) != 1:
            raise ValueError(
                "a branch leads to exactly one of goto, conclude, tree, healthy, undecided"
            )
        return self


class Node(Strict):
    """A question of a tree. Branches 'yes' and 'no' follow ``test``; others have their ``when``."""

    ask: str = Field(max_length=200)
    why: str = Field(description="What the answer separates.")
    help: str = ""
    test: Condition | None = None
    probe: str = ""
    seconds: Number = 20
    gate: bool = Field(
        False, description="What it concludes rests on the nodes before it: never asked ahead."
    )
    branches: dict[str, Branch] = Field(description="Must hold 'unknown'.")
    covers: Covers = []

    @model_validator(mode="after")
    def _complete(self) -> Node:
        if "unknown" not in self.branches:
            raise PydanticCustomError("MM254", "a node needs an 'unknown' branch")
        if len(self.branches) < 3:
            raise ValueError("a node needs at least two branches besides 'unknown'")
        if self.test is not None and not {"yes", "no"} <= set(self.branches):
            raise ValueError("a node with a test needs the branches yes, no and unknown")
        if any(branch.undecided for name, branch in self.branches.items() if name != "unknown"):
            raise ValueError("only the branch 'unknown' can be undecided")
        return self


class Symptom(Strict):
    """How people say it."""

    name: str = Field(description="A value of symptom.name in the vocabulary.")
    phrases: list[str] = Field(min_length=3)


class Tree(Envelope):
    """A decision tree from a symptom to diagnoses."""

    symptom: Symptom
    root: str
    strict_order: bool = Field(
        False, description="A consultation passes no node over, even if a later one tells more."
    )
    nodes: dict[str, Node]


class Band(Strict):
    """A half-open range [from, to) of a number; leave an end out for no bound."""

    label: str
    from_: Number | str | None = Field(None, alias="from")
    to: Number | str | None = None
    conclude: list[Conclusion] = []
    rules_out: list[Id] = []
    message: Message = ""
    repair: Repairs = None
    _one_each = model_validator(mode="after")(_paired)
    covers: Covers = []


class Classification(Envelope):
    """Bands of a numeric observable. Each band derives ``classified`` for its subject."""

    observe: Pattern = Field(description="The facts whose attribute is classified.")
    attribute: str
    subject: str = Field("", description="Attribute that names what the value is about.")
    bands: list[Band] = Field(min_length=1)
    undefined: Band | None = Field(None, description="Label where the value is not a number.")
    undefined_where: Where = Field(
        {}, description="Tests of the same fact that name the case, such as {state: nan}."
    )
    gaps: str = Field("", description="Why not every number has a band, if that is intended.")


class _File(Strict):
    domain: str
    sources: list[Source] = []
    note: str = ""


class DiagnosesFile(_File):
    """``modelmedic/diagnoses/1``."""

    schema_: Literal["modelmedic/diagnoses/1"] = Field(alias="schema")
    diagnoses: list[Diagnosis]


class RulesFile(_File):
    """``modelmedic/rules/1``."""

    schema_: Literal["modelmedic/rules/1"] = Field(alias="schema")
    parameters: dict[str, Parameter] = {}
    rules: list[Rule]


class ErrorsFile(_File):
    """``modelmedic/errors/1``."""

    schema_: Literal["modelmedic/errors/1"] = Field(alias="schema")
    emitter: str | Emitter = Field(
        description="Package whose messages these are, or what its rows have in common."
    )
    anchors: Anchors = []
    marks: str = Field(
        "",
        description="Derived kind of fact, with `known`, that a row concludes beside its diagnosis:"
        " rules for messages that no row knows ask for its absence.",
    )
    parameters: dict[str, Parameter] = {}
    errors: list[ErrorEntry]

    def whole(self, row: ErrorEntry) -> ErrorEntry:
        """A row with what it leaves to its file."""
        of_file = self.emitter
        common = Emitter(package=of_file) if isinstance(of_file, str) else of_file
        own = {name: getattr(row.emitter, name) for name in row.emitter.model_fields_set}
        anchors = row.anchors if "anchors" in row.model_fields_set else self.anchors
        return row.model_copy(update={"emitter": common.model_copy(update=own), "anchors": anchors})


class TreesFile(_File):
    """``modelmedic/trees/1``."""

    schema_: Literal["modelmedic/trees/1"] = Field(alias="schema")
    parameters: dict[str, Parameter] = {}
    trees: list[Tree]


class ClassificationsFile(_File):
    """``modelmedic/classifications/1``."""

    schema_: Literal["modelmedic/classifications/1"] = Field(alias="schema")
    parameters: dict[str, Parameter] = {}
    classifications: list[Classification]


FILES: dict[str, type[Strict]] = {
    "modelmedic/diagnoses/1": DiagnosesFile,
    "modelmedic/rules/1": RulesFile,
    "modelmedic/errors/1": ErrorsFile,
    "modelmedic/trees/1": TreesFile,
    "modelmedic/classifications/1": ClassificationsFile,
    "modelmedic/tests/1": TestsFile,
}
