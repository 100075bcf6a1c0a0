"""Finds names, modules and arguments that no allowed release has.

How certain a miss is:

- no release has it, and the requirements of the project name its releases (a version, or a bound
  above): certain. The same if they name none, but the program misses two or more things of the
  SDK that no release has: then they are invented rather than new. One such thing alone, or several
  arguments of one function, is a lead, since a release after those of the table may have it.
- everything that is missing in the cookbook is a lead: many users have a fork or a checkout of its
  repository, whose version looks like that of a release.
- some releases have it, but none of those that the requirements allow: certain if they name
  them. If they do not, and the newest release lacks it: a lead, whose words name that.
- what is guarded (``except AttributeError``, ``hasattr``, a test of the version), is in a test or
  has a stand-in: nothing. An import with a fallback, or a comment that silences another checker,
  leaves a lead.
- if a package that was not read is named like one that works with the SDK (a.training.sdk): a
  lead, since it may add to the SDK.

Packages that the project contains or installs from a repository are not judged, nor is anything
open: a class with ``__getattr__``, a base that is not in the table, ``**kwargs``.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from ....reading.python.nodes import FUNCTIONS
from ..api_table import keywords_of_rows
from ..findings import Finding, Script
from ..requirements import Required, required_versions
from ..running import callers, never_runs, started_together
from . import types as table
from .guards import asked_names, brings_path, extended_by, has_stand_ins, is_doubted, is_guarded
from .misses import Miss, against, find_misses, said, uses_sdk
from .proof import Proof
from .types import NONE, Known

_ALONE = "that other coroutines run at the same time"
_NEVER: frozenset[int] = frozenset()


def find_blocking(
    script: Script, proof: Proof, allowed: Collection[int], named: bool
) -> Iterator[Finding]:
    """The first blocking call in async code: the first that stops others, if there is one. None
    if a release that no longer waits may be installed."""
    newest = {max(allowed)} if allowed else set[int]()
    needed = set(allowed) if named else newest
    found = [
        call for call in script.calls()
        if needed and _in_async(script, call) and _waiting(proof, call) >= needed
    ]  # fmt: skip
    if found:
        shared = started_together(script)
        among = next((call for call in found if callers(script, {id(call)}) & shared), None)
        assumed = "" if among is not None else _ALONE
        yield Finding("sync-call-in-async", among or found[0], assumed=assumed)


def _in_async(script: Script, call: ast.Call) -> bool:
    """Whether a call runs on the event loop: a lambda or a plain function may run in a thread."""
    above = next((a for a in script.above(call) if isinstance(a, (*FUNCTIONS, ast.Lambda))), None)
    awaited = isinstance(script.parents.get(id(call)), ast.Await)
    return isinstance(above, ast.AsyncFunctionDef) and not awaited


def _waiting(proof: Proof, call: ast.Call) -> frozenset[int]:
    """The releases in which a call waits."""
    types = proof.type_of(call.func) if isinstance(call.func, ast.Attribute) else NONE
    if any(each.form != "method" or each.name == "result" for each in types):
        return _NEVER
    return _NEVER.union(*map(blocking_releases, types))


def blocking_releases(known: Known) -> frozenset[int]:
    """The releases in which a method waits."""
    found: set[int] = set()
    for run in table.runs("classes", known.path, known.name):
        back = run.said.partition("-> ")[2].rstrip(")")
        for twin in table.runs("classes", known.path, f"{known.name}_async"):
            awaited = twin.said.partition("-> async ")[2].rstrip(")")
            if back and awaited == back and back[0] not in "@^":
                found.update(set(run.releases) & set(twin.releases))
    return frozenset(found)


PATTERNS = {
    "name": "api-unknown-name", "module": "api-unknown-name", "method": "api-unknown-name",
    "field": "api-unknown-field", "keyword": "api-unknown-keyword", "many": "api-unknown-keyword",
    "literal": "api-unknown-value", "missing": "api-argument-missing",
    "ignored": "api-keyword-ignored",
}  # fmt: skip
_NAMES = frozenset({"name", "module", "method", "field"})
MIN_INVENTED = 2
"""Things that no release has, from which on they count as invented."""
MAX_PLACES = 20


def find_interface(script: Script, told_of: Iterable[Finding] = ()) -> Iterator[Finding]:
    """The findings of a program, each place once. If ``told_of`` has one of a row that knows
    more, nothing is added."""
    if not script.words & table.PACKAGES.keys() or has_stand_ins(script) or brings_path(script):
        return
    proof, allowed = Proof(script), Allowed(script)
    if not uses_sdk(script, proof):
        return  # another package of that name, or a slip of the pen for one
    yield from _misses(script, proof, allowed, told_of)
    if not script.rehearses and "tinker" not in proof.local:
        yield from find_blocking(script, proof, allowed.releases("tinker"),
                                 allowed.is_named("tinker"))  # fmt: skip


def _misses(
    script: Script, proof: Proof, allowed: Allowed, told_of: Iterable[Finding]
) -> Iterator[Finding]:
    asked = asked_names(script) | set(proof.bindings.attributes)
    rows = _told(told_of)
    found = [
        miss for miss in find_misses(script, proof)
        if not _is_told(script, miss, rows) and not is_guarded(script, miss.node)
        and not (miss.what in _NAMES and miss.name in asked)
        and not never_runs(script, miss.node)
    ]  # fmt: skip
    numbers: dict[str, int] = defaultdict(int)
    told: set[tuple[int, str, str]] = set()
    sure, extended = _invented(found), extended_by(script) if found else ""
    for miss in found:
        place = getattr(miss.node, "lineno", 0), miss.what, miss.name
        package = table.package_of(miss.owner)
        releases = allowed.releases(package) & miss.owned
        if not releases or place in told:
            continue
        finding = _judged(script, miss, releases, allowed.is_named(package), sure)
        if finding is not None and extended and not finding.assumed:
            finding = finding._replace(assumed=f"that {extended} adds nothing to the SDK")
        if finding is not None and numbers[finding.pattern] < MAX_PLACES:
            told.add(place)
            yield finding._replace(number=numbers[finding.pattern])
            numbers[finding.pattern] += 1


def _told(findings: Iterable[Finding]) -> dict[int, frozenset[str]]:
    """The places that rows of the table of patterns already report, with the names that they are
    about."""
    about = keywords_of_rows()
    told: dict[int, frozenset[str]] = {}
    for finding in findings:
        names = about.get(finding.pattern)
        if finding.node is not None and names is not None:
            before = told.get(id(finding.node), names)
            told[id(finding.node)] = before | names if before and names else frozenset()
    return told


def _is_told(script: Script, miss: Miss, rows: dict[int, frozenset[str]]) -> bool:
    for node in (miss.node, *islice(script.above(miss.node), 3)):
        names = rows.get(id(node))
        if names is not None and (not names or miss.name in names or miss.what == "missing"):
            return True
    return False


def _invented(found: Sequence[Miss]) -> bool:
    """Whether the program uses several things that never existed. Wrong arguments of one function
    count once: a later release may have renamed one of them."""
    never = {
        (miss.owner, miss.name if miss.what in _NAMES else "") for miss in found
        if not miss.good and table.package_of(miss.owner) == "tinker"
    }  # fmt: skip
    return len(never) >= MIN_INVENTED


def _judged(
    script: Script, miss: Miss, releases: frozenset[int], named: bool, invented: bool
) -> Finding | None:
    """The finding, with its assumption."""
    package = table.package_of(miss.owner)
    versions = table.versions(package)
    assumed = ""
    if miss.good & releases and (named or max(releases) in miss.good):
        return None
    if miss.good & releases:
        since = min(at for at in releases if at > max(miss.good & releases))
        assumed = f"that {package} {versions[since]} or later is installed"
    elif not named and not (invented and package == "tinker"):
        assumed = f"that no later release of {package} than {versions[-1]} is meant"
    if not assumed and package != "tinker":
        assumed = f"that {package} is a release, no fork and no state of its repository"
    if not assumed and is_doubted(script, miss.node):
        assumed = "that the fallback is not what is meant"
    return Finding(PATTERNS[miss.what], miss.node, assumed=assumed, given=said(miss),
                   against=against(miss))  # fmt: skip


class Allowed:
    """The releases that the requirements of a project allow."""

    def __init__(self, script: Script) -> None:
        self._script = script

    @cached_property
    def _stated(self) -> dict[str, Required]:
        sources = [module.source for module in self._script.modules]
        stated = required_versions(sources) if self._script.in_project else ()
        return {each.name: each for each in stated}

    def is_named(self, package: str) -> bool:
        """Whether the requirements name the newest allowed release of the table."""
        stated = self._stated.get(package)
        if stated is None:
            return False
        return _is_known(stated.version or stated.below, table.versions(package)[-1], stated)

    def releases(self, package: str) -> frozenset[int]:
        """The allowed releases of the table; none if the package comes from elsewhere."""
        versions = table.versions(package)
        stated = self._stated.get(package)
        if stated is None:
            return frozenset(range(len(versions)))
        if stated.origin:
            return frozenset()
        from packaging.version import Version

        released = [(at, Version(v)) for at, v in enumerate(versions) if v.count("-") < 2]
        if stated.version:
            wanted = Version(stated.version)
            before = [at for at, v in released if v <= wanted]
            after = [at for at, v in released if v >= wanted]
            return frozenset([*before[-1:], *after[:1]])
        low = Version(stated.at_least or "0")
        fit = [at for at, v in released if v >= low
               and (not stated.below or v < Version(stated.below))]  # fmt: skip
        return frozenset(fit or [len(versions) - 1])


def _is_known(limit: str, newest: str, stated: Required) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        highest = Version(newest)
        return bool(limit) and Version(limit) <= highest
    except InvalidVersion:
        return False
