"""Methods of the SDK that wait for the service, called where a coroutine should go on.

A method waits where its twin with ``_async`` awaits what it gives itself, and that is not a future:
``create_sampling_client()`` did so until it came to return a future. ``result()`` is not among
them: whether it waits depends on what was done before, which the reading of events knows.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from ....reading.python.nodes import FUNCTIONS
from ..findings import Finding, Script
from ..reaching import callers, started_together
from . import table
from .proof import Proof
from .types import NONE, Known

_ALONE = "that other coroutines run at the same time"
_NEVER: frozenset[int] = frozenset()


def find_blocking(
    script: Script, proof: Proof, allowed: Collection[int], named: bool
) -> Iterator[Finding]:
    """The first blocking call in async code: the first that stops others, if there is one. Nothing
    is said where a release that no longer waits may be installed."""
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
