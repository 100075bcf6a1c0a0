"""Commands that install packages, checked against what the installed ones require of each other.

pip itself does not: it installs what is asked for and warns afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....facts import Fact
from ....facts.records import NamedTuple

_INSTALL = re.compile(r"^(?:python3? -m |uv )?pip install\b")
_WANTED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)((?:[<>=!~]=?=?[^,<>=!~\s]+,?)+)$")
_BOUND = re.compile(r"[0-9][0-9.]*")


class Requirement(NamedTuple):
    """The versions of another package that ``package`` in its ``version`` allows."""

    package: str
    version: str
    specifier: str


class Installations:
    """The installed packages, as far as the facts tell."""

    def __init__(self, given: Iterable[Fact]) -> None:
        facts = tuple(given)
        versions = {
            f.get("name"): str(f.get("version") or "") for f in facts if f.kind == "package"
        }
        self._requirements: dict[str, list[Requirement]] = {}
        for fact in facts:
            if fact.kind == "requirement":
                package = str(fact.get("package"))
                known = self._requirements.setdefault(str(fact.get("requires")), [])
                version = versions.get(package, "")
                known.append(Requirement(package, version, str(fact.get("specifier"))))

    def fitting(self, action: Mapping[str, Any]) -> Mapping[str, Any]:
        """The action with versions that the requirements allow, or with what has to move with
        them."""
        command = str(action.get("command", ""))
        if not self._requirements or not _INSTALL.match(command):
            return action
        words = _words(command)
        named = {_normal(_WANTED.sub(r"\1", word)) for word in words}
        moving: list[tuple[str, Requirement]] = []
        changed = []
        for word in words:
            fitted, against = self._fitted(word, named)
            changed.append(fitted)
            moving += [(word, requirement) for requirement in against]
        changed += dict.fromkeys(requirement.package for _, requirement in moving)
        if changed == words:
            return action
        upgrade = ["--upgrade"] if moving and not {"--upgrade", "-U"} & {*changed} else []
        start = changed.index("install") + 1
        text = " ".join(map(_quoted, [*changed[:start], *upgrade, *changed[start:]]))
        said = "".join(
            f" {r.package} {r.version} allows {r.specifier} only and has to move with it."
            for _, r in dict.fromkeys(moving)
        )
        return {**action, "command": text, "do": f"{action.get('do', '')}{said}"}

    def _fitted(self, word: str, named: set[str]) -> tuple[str, Sequence[Requirement]]:
        """A word of the command with the versions that may be installed, or the requirements that
        allow none of them. A package that is ``named``, too, can move."""
        match = _WANTED.match(word)
        known = self._requirements.get(_normal(match[1]), ()) if match else ()
        allowed = [r for r in known if r.package not in named]
        if match is None or not allowed:
            return word, ()
        against = [r for r in allowed if not some_version(match[2], r.specifier)]
        rest = [r.specifier for r in allowed if r not in against]
        both = ",".join([match[2], *rest])
        if not some_version(both):
            return word, allowed
        narrowing = [s for s in rest if any(sign in s for sign in ("<", "!", "==", "~"))]
        wanted = ",".join(dict.fromkeys([match[2], *narrowing]))
        return f"{match[1]}{wanted}", against


def some_version(*specifiers: str) -> bool:
    """Whether some version may pass all of them: one of those they name, or next to one."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        every = SpecifierSet(",".join(specifiers))
    except InvalidSpecifier:
        return True  # what cannot be read rules nothing out
    bounds = {bound.strip(".") for each in specifiers for bound in _BOUND.findall(each)}
    near = ("0", "999999", *(v for bound in bounds for v in _around(bound)))
    return any(every.contains(version) for version in near)


def _around(bound: str) -> tuple[str, ...]:
    """A version, one a little above and one a little below it."""
    *first, last = bound.split(".")
    above = [f"{bound}.0.0.1", ".".join([*first, str(int(last) + 1)])]
    below = [".".join([*first, str(int(last) - 1), "9999"])] if int(last) else []
    if not int(last) and first and int(first[-1]):
        below = [".".join([*first[:-1], str(int(first[-1]) - 1), "9999"])]
    return (bound, *above, *below)


def _words(command: str) -> list[str]:
    import shlex

    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _quoted(word: str) -> str:
    return f'"{word}"' if any(sign in word for sign in "<>!=~* [") else word


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
