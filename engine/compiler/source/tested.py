"""Models of versions that were verified together in YAML, and the rules that they stand for.

A rule for each combination concludes that the facts have it; rules for each package compare another
version with the verified ones. All conclude the fact ``tested_versions``; what follows from it,
ordinary rules say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from ....facts.strict_models import Strict
from ...inference.versions import version_key
from . import conditions as c
from . import entries as e
from .cases import Case, Expectation, TestsFile
from .issues import Day

SCHEMA = "modelmedic/tested/1"
Check = Literal["import", "tokenizer", "renderer", "serialization", "loopback"]
_FACT = "tested_versions"
_SAID: dict[str, str] = {
    "import": "imports",
    "tokenizer": "a tokenizer's round trip",
    "renderer": "a renderer against the tokenizer's template",
    "serialization": "serialization time",
    "loopback": "the SDK against a local server",
}


class Combination(Strict):
    """Versions that were installed together, and what was checked with them."""

    id: c.Id
    packages: dict[str, str] = Field(min_length=1, description="Version by name of the package.")
    verified: Day = Field(description="Day of the checks.")
    how: dict[Check, str] = Field(
        min_length=1, description="Checks that passed, and their inputs if they matter."
    )
    note: str = Field("", description="Other packages present, and checks not made.")
    sources: list[e.Source] = []
    status: e.Status = "stable"


class TestedFile(Strict):
    """``modelmedic/tested/1``. A combination that does not name a package which another one names
    is of environments without it."""

    schema_: Literal["modelmedic/tested/1"] = Field(alias="schema")
    domain: str
    sources: list[e.Source] = []
    note: str = ""
    core: list[str] = Field(min_length=1, description="Packages whose versions must be known.")
    combinations: list[Combination] = Field(min_length=1)

    @model_validator(mode="after")
    def _sound(self) -> TestedFile:
        seen: dict[tuple[Any, ...], str] = {}
        for one in self.combinations:
            for version in one.packages.values():
                if version_key(version) is None:
                    raise ValueError(f"{version!r} is not a version")
            if missing := sorted(set(self.core) - set(one.packages)):
                raise ValueError(f"{one.id} does not name {missing[0]}")
            key = tuple(version_key(one.packages.get(name, "")) for name in self.packages)
            if key in seen:
                raise ValueError(f"{one.id} has the versions of {seen[key]}")
            seen[key] = one.id
        return self

    @property
    def packages(self) -> list[str]:
        """All packages that a combination names."""
        return list(dict.fromkeys(name for one in self.combinations for name in one.packages))

    def versions(self, package: str) -> list[str]:
        """The versions of a package in some combination, the oldest first."""
        named = [one.packages[package] for one in self.combinations if package in one.packages]
        found = {version_key(version): version for version in named}
        return [found[key] for key in sorted(key for key in found if key is not None)]


class Part(NamedTuple):
    """A rule, the combination that it comes from, and the cases that show it."""

    rule: e.Rule
    number: int
    cases: list[Case]


def parts_of(file: TestedFile) -> Iterator[Part]:
    """The rules that a file stands for: of its combinations, then of its packages."""
    for number, one in enumerate(file.combinations):
        if one.status != "deprecated":
            yield Part(_together(file, one), number, _cases_together(file, one))
    for package in file.packages:
        versions = file.versions(package)
        for state, low, high in _places(versions):
            rule = _elsewhere(file, package, state, low, high)
            number = next(
                n for n, one in enumerate(file.combinations)
                if version_key(one.packages.get(package, "")) == version_key(low or high)
            )  # fmt: skip
            core = {name: file.versions(name)[-1] for name in file.core}
            yield Part(rule, number, _cases_elsewhere(rule.id, package, (state, low, high), core))


def tests_of(parts: list[Part]) -> TestsFile:
    """The test cases of the rules."""
    cases = [case for part in parts for case in part.cases]
    return TestsFile.model_validate({"schema": "modelmedic/tests/1", "cases": cases})


def _places(versions: list[str]) -> Iterator[tuple[str, str, str]]:
    """The positions of a version that was not verified: its place, the next version below, and the
    one above."""
    yield "older", "", versions[0]
    for low, high in pairwise(versions):
        yield "between", low, high
    yield "newer", versions[-1], ""


def _together(file: TestedFile, one: Combination) -> e.Rule:
    parts: list[Any] = [_has(name, c.Test(eq=one.packages[name])) for name in file.core]
    for name in (name for name in file.packages if name not in file.core):
        version = one.packages.get(name)
        other = c.Test(ne=version) if version else c.Test(known=True)
        parts.append(c.Absent(absent=_has(name, other)))
    named = ", ".join(f"{name} {version}" for name, version in one.packages.items())
    checks = ", ".join(
        f"{_SAID[check]} ({used})" if used else _SAID[check] for check, used in one.how.items()
    )
    return e.Rule(
        id=one.id,
        title="These versions were verified together",
        status=one.status,
        sources=one.sources,
        note=one.note,
        when=c.All(all=parts),
        conclude=[_concluded("together", on=one.verified, versions=named, checks=checks)],
        message=f"{named} were verified together on {one.verified}: {checks}.",
    )


def _elsewhere(file: TestedFile, package: str, state: str, low: str, high: str) -> e.Rule:
    place = {"older": f"before-{high}", "between": f"after-{low}", "newer": f"after-{low}"}[state]
    name = f"{package}-{place}".lower()
    plain = "".join(sign if sign.isalnum() else "-" for sign in name)
    bounds = {"gt": low} if low else {}
    bounds |= {"lt": high} if high else {}
    version = c.Test.model_validate({**bounds, "bind": "$installed"})
    about = {"newest": low, "oldest": high} if state != "between" else {}
    about |= {"below": low, "above": high} if state == "between" else {}
    said = {
        "older": f"is older than what was verified ({high})",
        "between": f"is between what was verified ({low} and {high})",
        "newer": f"is newer than what was verified ({low})",
    }[state]
    return e.Rule(
        id=f"{file.domain}.tested.{plain}",
        title=f"A version of {package} that was not verified",
        when=c.All(
            all=[
                _has(package, version, named="p"),
                *(_has(name, c.Test(known=True)) for name in file.core if name != package),
            ]
        ),
        conclude=[_concluded(state, package=package, installed="$installed", **about)],
        message=f"{package} {{p.version}} {said}.",
    )


def _concluded(state: str, **values: str) -> e.Conclusion:
    told: Mapping[str, c.Scalar] = {"state": state, **{k: v for k, v in values.items() if v}}
    return e.Conclusion(fact=_FACT, set=dict(told))


def _has(package: str, test: c.Test, named: str | None = None) -> c.Pattern:
    where = {"name": package, "version": test}
    return c.Pattern.model_validate({"fact": "package", "as": named, "where": where})


def _installed(packages: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"kind": "package", "name": n, "version": v} for n, v in packages.items()]


def _cases_together(file: TestedFile, one: Combination) -> list[Case]:
    """All of its packages, only those of the core, another version of each, no core."""
    core = {name: one.packages[name] for name in file.core}
    derived = Expectation.model_validate(
        {"derives": [{"kind": _FACT, "state": "together", "on": one.verified}]}
    )
    found = [
        Case(name="all of it", kind="fires", entry=one.id, facts=_installed(one.packages),
             expect=derived),
        Case(name="the core of it", kind="fires", entry=one.id, facts=_installed(core),
             expect=derived),
    ]  # fmt: skip
    for name in file.packages:
        other = {**one.packages, name: "0.0.1"}
        found.append(Case(name=f"another {name}", kind="silent", entry=one.id,
                          facts=_installed(other)))  # fmt: skip
    found.append(
        Case(name="version not known", kind="unknown", entry=one.id,
             facts=[{"kind": "package", "name": name} for name in core])
    )  # fmt: skip
    return found


def _cases_elsewhere(
    entry: str, package: str, place: tuple[str, str, str], core: dict[str, str]
) -> list[Case]:
    state, low, high = place
    inside = "0.0.1.dev1" if state == "older" else f"{low}.post1"
    derived = {"kind": _FACT, "state": state, "package": package}
    return [
        Case(name=f"{package} {inside}", kind="fires", entry=entry,
             facts=_installed({**core, package: inside}),
             expect=Expectation.model_validate({"derives": [derived]})),
        *(Case(name=f"{package} {edge}", kind="silent", entry=entry,
               facts=_installed({**core, package: edge})) for edge in (low, high) if edge),
        Case(name="version not known", kind="unknown", entry=entry,
             facts=_installed({n: v for n, v in core.items() if n != package})),
        *(Case(name=f"no {name}", kind="unknown", entry=entry, facts=_installed({package: inside}))
          for name in core if name != package),
    ]  # fmt: skip
