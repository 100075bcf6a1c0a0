"""Actions and steps know the facts: a command names the user's files in place of what stands for
them, and what has been done is not proposed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ....facts import Fact, Probe, Value, Vocabulary
from ....facts.records import cached_property, lazy
from ...compiler.knowledge_base import KnowledgeBase
from ..report import Diagnosis, NextStep, Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    from .installable import Installations

_MODULE_ENDS = lazy(r"[a-z_]{0,40}\.py\b")
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_IN_WORD = frozenset(_CAPITALS + _CAPITALS.lower())
_IN_NAME = _IN_WORD.union("./:@+-")
_UNQUOTED = _IN_NAME.union("%=,")
_BEFORE, _AFTER = _IN_WORD.union("./${-"), _IN_WORD.union(".=-")
_IN_WORDS = {"train.py", "job.log", "LOG_PATH"}
"""Names of files that were read and can be part of a sentence."""


def with_known_facts(report: Report, base: KnowledgeBase) -> Report:
    """The report without the actions that its facts show as done, and with the values that its
    facts give in the commands of the others and of the next steps."""
    if not report.diagnoses and not report.next:
        return report
    given: dict[str, Fact] = {}
    staged: set[object] = set()  # of a stage, the facts say by number which action is due
    for name, fact, derived in report.facts:
        if fact.kind == "stage_step":
            staged.add(fact.get("finding"))
        elif not derived:
            given[name] = fact
    commands = _Commands(given, base.vocabulary)
    diagnoses = []
    for d in report.diagnoses:
        done = None if d.id in staged else base.diagnosis(d.id).get("done_by", ())
        diagnoses.append(commands.of_diagnosis(d, done))
    steps = map(commands.of_step, report.next) if commands.known else report.next
    return report._replace(diagnoses=tuple(diagnoses), next=tuple(steps))


class _Commands:
    """Puts values into commands, quoted for a shell; what has no value stays. ``known`` are the
    values by what stands for them: the inputs of a workflow, by their names, and what the probes
    have read and attributes say, by their placeholders."""

    def __init__(self, facts: Mapping[str, Fact], vocabulary: Vocabulary) -> None:
        self._given = given = list(facts.values())
        self._facts = facts
        self._vocabulary = vocabulary
        self._installs = any(fact.kind == "requirement" for fact in given)
        self._variables = _inputs(given)
        read = _read(given, vocabulary.probes.values())
        values = _said(given, vocabulary)
        said = _single(values)
        self._several = values.keys() - said.keys()
        self._names = _plain(said)
        self._again = set()
        for placeholder in read:
            self._again.add(f"diagnose inspect {placeholder}")
            if placeholder in _IN_WORDS:
                self._names.update(_plain({placeholder: read[placeholder]}))
        self.known = {**said, **self._variables, **read}

    @cached_property
    def _installed(self) -> Installations:
        from .installable import Installations  # where requirements are known

        return Installations(self._given)

    def of_diagnosis(self, d: Diagnosis, done_by: Sequence[Any] | None) -> Diagnosis:
        """The diagnosis without the actions whose facts are known, or that read what has been read;
        ``done_by`` has the facts that each of its own actions brings, None keeps all actions."""
        left = []
        evidence = self._of_evidence(d)
        known, names = {**evidence, **self.known}, {**_plain(evidence), **self._names}
        own = len(d.actions) - len(done_by or ())  # the fix of a row of an error table comes first
        for number, action in enumerate(d.actions):
            command = action.get("command")
            if done_by is not None:
                reads_again = command in self._again and action.get("risk") == "none"
                brings = done_by[number - own] if done_by and number >= own else ()
                if reads_again or self._are_known(brings):
                    continue
            if command and known:
                action = {**action, "command": self._filled(command, known)}
            if names:
                action = {**action, "do": _named(action["do"], names)}
                if action.get("verify"):
                    action["verify"] = _named(action["verify"], names)
            if command and self._installs:
                action = self._installed.fitting(action)
            left.append(action)
        return d._replace(actions=tuple(left))

    def of_step(self, step: NextStep) -> NextStep:
        """The step with its command filled."""
        if not step.command:
            return step
        return step._replace(command=self._filled(step.command, self.known))

    def _of_evidence(self, d: Diagnosis) -> dict[str, str]:
        """Placeholders of the actions that have several values in all facts, and one in the
        evidence of the diagnosis."""
        open_words = self._several - self.known.keys()
        if not open_words or not any(map(str(d.actions).__contains__, open_words)):
            return {}
        used = dict.fromkeys(_leaves(d.explanation["how"]))
        facts = [self._facts[name] for name in used if name in self._facts]
        return _single(_said(facts, self._vocabulary))

    def _are_known(self, forms: Iterable[Any]) -> bool:
        """Whether a given fact matches one of ``forms``: pairs of a kind and attribute values."""
        for kind, where in forms:
            for fact in self._given:
                # The items of a mapping hold those of another where it has the same values.
                if fact.kind == kind and where.items() <= dict(fact.values).items():
                    return True
        return False

    def _filled(self, command: str, known: Mapping[str, str]) -> str:
        if "$" not in command and not any(word in command for word in known):
            return command
        parts, end = [], 0
        for start, stop in _places(command, known):
            value = self._value(command[start:stop], command[stop:], known)
            # Inside double quotes, quotes around the value would be part of it.
            inside = command.count('"', 0, start) % 2 == 1
            if value is None or (inside and not _UNQUOTED.union(" ").issuperset(value)):
                continue
            parts += [command[end:start], value if inside else _quoted(value)]
            end = stop
        return "".join([*parts, command[end:]])

    def _value(self, word: str, rest: str, known: Mapping[str, str]) -> str | None:
        if word.startswith("$"):
            return self._variables.get(word.strip("${}"))
        found = known[word]
        is_file = "." in found.rpartition("/")[2].strip(".")
        return None if rest.startswith("/") and is_file else found


# Written out, since the main job runs without `re`, which takes as long to import as ten modules.
def _places(command: str, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Start and end of a variable, or of one of the words by itself."""
    at = 0
    while at < len(command):
        stop = _end_of_variable(command, at) or _end_of_word(command, at, words)
        if stop:
            yield at, stop
        at = stop or at + 1


def _end_of_variable(command: str, at: int) -> int:
    """The end of a ``$NAME`` or ``${NAME}`` that begins at a position; 0 if there is none."""
    if command[at] != "$":
        return 0
    braced = command.startswith("{", at + 1)
    begun = command[at + 1 + braced :]
    name = begun[: len(begun) - len(begun.lstrip(_CAPITALS))]
    if not name[:1].isalpha() or (braced and begun[len(name) : len(name) + 1] != "}"):
        return 0
    return at + 1 + len(name) + 2 * braced


def _end_of_word(command: str, at: int, words: Iterable[str]) -> int:
    """The end of the first of these words by itself at a position; 0 if there is none."""
    if at and command[at - 1] in _BEFORE:
        return 0
    for word in words:
        stop = at + len(word)
        if command.startswith(word, at) and (command[stop : stop + 1] or " ") not in _AFTER:
            return stop
    return 0


def _quoted(value: str) -> str:
    """The value as one word of a shell."""
    if value and _UNQUOTED.issuperset(value):
        return value
    import shlex

    return shlex.quote(value)


def _named(text: str, names: Mapping[str, str]) -> str:
    """The action in words. Nothing is quoted, so only plain names are inserted."""
    if not any(name in text for name in names):
        return text
    import re

    words = "|".join(map(re.escape, names))

    def put(match: re.Match[str]) -> str:
        # A module of Python has no dots in its name.
        value = names[match[0]]
        return value.replace(".", "_") if _MODULE_ENDS.match(text, match.end()) else value

    return re.sub(rf"(?<![A-Za-z$/.])(?:{words})(?![A-Za-z])", put, text)


def _plain(values: Mapping[str, str]) -> dict[str, str]:
    plain = dict(values)
    for name, value in values.items():
        if not 0 < len(value) <= 80 or not _IN_NAME.issuperset(value):
            del plain[name]
    return plain


def _leaves(how: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The names of the facts at the bottom of a derivation."""
    for step in how:
        for premise in step["because"]:
            yield from _leaves(premise.get("how", ()))
            yield from () if premise.get("how") else premise["facts"]


def _inputs(given: Iterable[Fact]) -> dict[str, str]:
    """The inputs of a workflow that have one known value."""
    pairs = []
    for fact in given:
        if fact.kind == "workflow_input":
            pairs.append((str(fact.get("name")), fact.get("value")))
    return _single(_values(pairs))


def _said(given: Iterable[Fact], vocabulary: Vocabulary) -> dict[str, set[str]]:
    """The values of attributes with a placeholder, except those of components that passed."""
    places: dict[str, list[tuple[str, str]]] = {}
    pairs: list[tuple[str, Value | None]] = []
    for fact in given:
        if fact.kind not in places:
            declared = vocabulary.kinds[fact.kind].attributes.values()
            places[fact.kind] = [(a.placeholder, a.name) for a in declared if a.placeholder]
        if places[fact.kind] and fact.get("status") != "pass":
            for placeholder, name in places[fact.kind]:
                pairs.append((placeholder, fact.get(name)))
    return _values(pairs)


def _values(pairs: Iterable[tuple[str, Value | None]]) -> dict[str, set[str]]:
    """All values of each name."""
    values: dict[str, set[str]] = {}
    for name, value in pairs:
        if value is not None:
            values.setdefault(name, set()).add(str(value))
    return values


def _single(values: Mapping[str, set[str]]) -> dict[str, str]:
    """The values of the names that have one."""
    single = {}
    for name, found in values.items():
        if len(found) == 1:
            (single[name],) = found
    return single


def _without_lines(location: str) -> str:
    """A place without its line, or its first and last line."""
    place, colon, lines = location.rpartition(":")
    first, dash, last = lines.partition("-")
    lined = colon and first.isdecimal() and (not dash or last.isdecimal())
    return place if lined else location


def _read(given: Iterable[Fact], probes: Iterable[Probe]) -> Mapping[str, str]:
    """For each placeholder the one file or folder that its probe has read."""
    named = {f"probe:{probe.name}": probe.placeholder for probe in probes if probe.placeholder}
    places: dict[str, set[str]] = {}
    for fact in given:
        for source, location, *_ in fact.provenance:
            if source in named and location and location[0] != "<":
                places.setdefault(named[source], set()).add(_without_lines(location))
    read = {}
    for placeholder, found in places.items():
        whole = min(found, key=len)
        if not any(place != whole and not place.startswith(f"{whole}/") for place in found):
            read[placeholder] = whole
    return read
