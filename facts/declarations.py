"""Reads the vocabulary from YAML files and checks it; the result is plain data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from .fact import Value, normal
from .owner_declarations import OwnerDeclaration, declare_owners
from .problems import ModelMedicError, Problem, did_you_mean, excerpt
from .statement_declarations import (
    StatementDeclaration,
    check_statements,
    declare_statements,
)
from .strict_models import Strict, check
from .strict_yaml import Document, Read, load

SCHEMA = "modelmedic/vocabulary/1"
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_PLACE = re.compile(r"\{[a-z][a-z0-9_]*\}")


class AttributeDeclaration(Strict):
    """An attribute of a fact kind."""

    type: Literal["string", "text", "path", "version", "integer", "number", "boolean"]
    description: str
    unit: str = ""
    required: bool = False
    values: list[str] | dict[str, str] | None = Field(
        None, description="Allowed values, or a mapping from each value to its meaning."
    )
    minimum: float | int | None = None
    maximum: float | int | None = None
    default: str | bool | int | float | None = None
    secret: bool = Field(False, description="May hold a secret; never shown in clear.")
    ask: str = Field("", description="Question text; {name} stands for another attribute.")
    placeholder: str = Field("", description="Word in commands that the only known value replaces.")

    @field_validator("ask")
    @classmethod
    def _plain_places(cls, ask: str) -> str:
        """Refuse format specs and attribute access, such as {name:9999999} or {name.x}."""
        if set(_PLACE.sub("", ask)) & set("{}"):
            raise ValueError("braces hold the name of an attribute and nothing else")
        return ask


class KindDeclaration(Strict):
    """A fact kind."""

    description: str
    key: list[str] = []
    functional: bool = True
    polarity: str = ""
    assumption: str = Field("", description="Attribute that names the assumption of the probe.")
    derived: bool = False
    context: bool = Field(False, description="Describes the surroundings, suggests nothing alone.")
    probes: list[str] = []
    unasked: str = Field(
        "", description="Why there is no question about it while its key is unknown."
    )
    attributes: dict[str, AttributeDeclaration]


class ExtensionDeclaration(Strict):
    """Further attributes, and further allowed values, of a kind declared elsewhere."""

    attributes: dict[str, AttributeDeclaration] = {}
    values: dict[str, dict[str, str]] = {}
    probes: list[str] = []


class ArgumentDeclaration(Strict):
    """The input of a probe: the argument of its command, and the first one of its function."""

    name: str
    takes: Literal["one", "each", "all", "text"] = Field(
        description="One path; paths read one by one; paths read together; a text."
    )
    required: bool = True


class OptionDeclaration(Strict):
    """An option of a probe's command: a keyword of its function, under the same name."""

    type: Literal["path", "paths", "text", "number", "flag", "off"] = Field(
        "path", description="A flag passes true, an off passes false."
    )
    option: str = Field("", description="Name on the command line, if it differs.")
    metavar: str = ""
    help: str = ""


class ArtefactDeclaration(Strict):
    """A kind of file or folder that a probe recognises and reads."""

    title: str
    precedence: int = Field(description="Of the artefacts that fit, the lowest wins.")
    of: Literal["file", "folder", "any"] = "file"
    claims: list[str] = Field(
        [],
        description="Files, and folders with a slash, below or beside it that need no other probe; "
        "* matches any part of a name.",
    )
    together: bool = Field(False, description="All of one run are read in one call.")
    packed: bool = Field(False, description="The probe reads it packed by gzip, too.")
    stated: bool = Field(False, description="People state figures in it in their own words, too.")


class ProbeDeclaration(Strict):
    """A probe: what the plan offers, its command, and what it recognises."""

    title: str
    command: str
    seconds: float | int
    network: bool = False
    domain: str = Field("", description="The domain, if it serves diagnoses of one domain only.")
    gathers: list[str] = []
    gives: list[str] = Field(
        [], description="Attributes and values that its code composes and does not spell out."
    )
    offered_for: list[str] | None = Field(
        None, description="Kinds for which the plan offers it; default: all that it gathers."
    )
    about: str = Field("", description="Help text of its command.")
    prompt: str = Field("", description="Its input, in the words of a consultation.")
    alone: bool = Field(False, description="It can run without being told what to read.")
    executes: bool = Field(False, description="It runs code that is not ours.")
    placeholder: str = Field("", description="Word in commands for the path of its input.")
    argument: ArgumentDeclaration | None = None
    options: dict[str, OptionDeclaration] = {}
    needs: list[str] = Field([], description="Options, at least one of which must be given.")
    artefacts: dict[str, ArtefactDeclaration] = {}


class QuestionDeclaration(Strict):
    """A question that sets one attribute of one fact."""

    text: str
    kind: str
    attribute: str
    where: dict[str, str | bool | int | float] = {}
    help: str = ""
    seconds: float | int = 10.0


class VocabularyFile(Strict):
    """One file below ``facts/vocabulary``, or the declaration of a probe in its folder."""

    schema_: Literal["modelmedic/vocabulary/1"] = Field(alias="schema")
    kinds: dict[str, KindDeclaration] = {}
    extend: dict[str, ExtensionDeclaration] = {}
    probes: dict[str, ProbeDeclaration] = {}
    questions: dict[str, QuestionDeclaration] = {}
    owners: dict[str, OwnerDeclaration] = {}
    statements: dict[str, StatementDeclaration] = {}

    @field_validator("kinds")
    @classmethod
    def _names(cls, kinds: dict[str, KindDeclaration]) -> dict[str, KindDeclaration]:
        for name, kind in kinds.items():
            for word in (name, *kind.attributes):
                if not _NAME.match(word) or word in ("kind", "provenance"):
                    raise ValueError(f"{word!r} is not a name like 'step_timing'")
        return kinds


def load_vocabulary(sources: Iterable[tuple[str, str]], read: Read = load) -> dict[str, Any]:
    """The vocabulary as plain data, from (path, text) pairs in any order, parsed by ``read``.

    Raises :class:`ModelMedicError` with all problems of all files.
    """
    problems: list[Problem] = []
    files: list[tuple[Document, VocabularyFile]] = []
    for path, text in sorted(sources):
        try:
            document = read(text, path)
        except ModelMedicError as error:
            problems.extend(error.problems)
            continue
        model, found = check(document, VocabularyFile, "MM210")
        problems.extend(found)
        if model:
            files.append((document, model))
    sections = ("kinds", "probes", "questions", "owners", "statements")
    plain: dict[str, Any] = {section: {} for section in sections}
    for document, model in files:
        problems.extend(_declare(plain, document, model))
        problems.extend(declare_statements(plain, document, model.statements))
    problems.extend(declare_owners(plain["owners"], [(d, m.owners) for d, m in files]))
    for document, model in files:
        problems.extend(_extend(plain, document, model))
    for document, model in files:
        problems.extend(_references(plain, document, model))
        problems.extend(check_statements(plain, document, model.statements))
    if problems:
        raise ModelMedicError(problems)
    kinds = plain["kinds"]
    _offer(kinds, plain["probes"])
    defaults = {name: _defaults(kind) for name, kind in kinds.items()}
    plain["derived"] = [name for name, kind in kinds.items() if kind.get("derived")]
    plain["defaults"] = {name: values for name, values in defaults.items() if values}
    return plain


def _defaults(kind: Mapping[str, Any]) -> dict[str, Value]:
    attributes = kind["attributes"].items()
    return {name: normal(a["default"]) for name, a in attributes if a.get("default") is not None}


def _declare(plain: dict[str, Any], document: Document, model: VocabularyFile) -> list[Problem]:
    problems = []
    for section in ("kinds", "probes", "questions"):
        declared: Mapping[str, Strict] = getattr(model, section)
        for name, entry in declared.items():
            if name in plain[section]:
                message = f"{section[:-1]} {excerpt(name)} is declared twice"
                hint = "rename one, or add to the other with 'extend'"
                problems.append(Problem("MM211", message, document.where((section, name)), hint))
            plain[section][name] = _dump(entry)
    return problems


def _extend(plain: dict[str, Any], document: Document, model: VocabularyFile) -> list[Problem]:
    problems = []
    for name, extension in model.extend.items():
        where = document.where(("extend", name))
        kind = plain["kinds"].get(name)
        if kind is None:
            problems.append(_unknown("kind", name, plain["kinds"], where))
            continue
        for attribute, declared in extension.attributes.items():
            if attribute in kind["attributes"]:
                message = f"{name} already has an attribute {excerpt(attribute)}"
                problems.append(Problem("MM211", message, where))
            kind["attributes"][attribute] = _dump(declared)
        for attribute, values in extension.values.items():
            if attribute not in kind["attributes"]:
                problems.append(_unknown("attribute", attribute, kind["attributes"], where))
                continue
            known = kind["attributes"][attribute].setdefault("values", {})
            for value, meaning in values.items():
                if value in known:
                    message = f"{name}.{attribute} already lists the value {excerpt(value)}"
                    problems.append(Problem("MM211", message, where))
                known[value] = meaning
        merged = [*kind.get("probes", []), *extension.probes]
        kind["probes"] = sorted(set(merged))
    return problems


def _offer(kinds: Mapping[str, Any], probes: Mapping[str, Any]) -> None:
    """Name, for each kind, the probes that the plan offers for it."""
    for name, probe in probes.items():
        for kind in probe.pop("offered_for", probe.get("gathers", ())):
            kinds[kind]["probes"] = sorted({*kinds[kind].get("probes", ()), name})


def _references(plain: dict[str, Any], document: Document, model: VocabularyFile) -> list[Problem]:
    """Names of attributes, probes and kinds that are declared nowhere."""
    problems: list[Problem] = []
    kinds, probes = plain["kinds"], plain["probes"]

    def check_names(what: str, names: Iterable[str], known: Iterable[str], *path: str) -> None:
        where = document.where(path)
        problems.extend(_unknown(what, n, known, where) for n in names if n not in known)

    for name, kind in model.kinds.items():
        about = [*kind.key, *filter(None, [kind.polarity, kind.assumption])]
        check_names("attribute", about, kind.attributes, "kinds", name)
        check_names("probe", kind.probes, probes, "kinds", name)
    for name, probe in model.probes.items():
        gathered = (*probe.gathers, *(probe.offered_for or ()))
        check_names("kind", gathered, kinds, "probes", name)
    for name, question in model.questions.items():
        check_names("kind", [question.kind], kinds, "questions", name)
        if question.kind in kinds:
            attributes = kinds[question.kind]["attributes"]
            asked = (question.attribute, *question.where)
            check_names("attribute", asked, attributes, "questions", name)
    return problems


def _unknown(what: str, name: str, known: Iterable[str], where: Any) -> Problem:
    hint = did_you_mean(name, known) or "mend the spelling, or declare it"
    return Problem("MM212", f"unknown {what} {excerpt(name)}", where, hint)


def _dump(entry: Strict) -> dict[str, Any]:
    plain = entry.model_dump(exclude_defaults=True, exclude={"unasked"})
    for attribute in (plain, *plain.get("attributes", {}).values()):
        if isinstance(attribute.get("values"), list):
            attribute["values"] = dict.fromkeys(attribute["values"], "")
    return plain
