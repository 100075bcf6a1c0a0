"""Applies overlays to the knowledge below: what they add, change, tighten and silence.

Overlays are not trusted: they change what is known and asked, and bring nothing that runs.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ...facts import ModelMedicError, Problem
from ...facts.problems import did_you_mean
from ...facts.strict_yaml import Document
from ..inference.program import Conclusion, Rule
from .alternatives import Alternatives
from .changes import Applied, effects, without
from .normal_form import Lowering
from .source.knowledge_source import Item, KnowledgeSource
from .source.overlay_file import Change, Silence, Tightening

_REFERRED_TO = ("diagnosis", "tree", "classification")


def validity_of(uses: Iterable[Mapping[str, Any]], today: str) -> tuple[str, str]:
    """The days on which the overlays do the same as ``today``: after the first and up to and
    including the second; empty if there is no bound."""
    named = ("silenced", "changed", "tightened", "expired")
    dates = sorted({change["until"] for use in uses for name in named for change in use[name]})
    after = max((day for day in dates if day < today), default="")
    return after, min((day for day in dates if day >= today), default="")


def refuse_probes(documents: Iterable[Document]) -> None:
    """Raises :class:`ModelMedicError` if the vocabulary of an overlay declares a probe: probes come
    with commands that run."""
    problems = [
        Problem(
            "MM291",
            "an overlay cannot declare probes",
            document.where(("probes",)),
            "name a probe that there is in `probes` of the kind, or let a question gather the fact",
        )
        for document in documents
        if isinstance(document.data, dict) and document.data.get("probes")
    ]
    if problems:
        raise ModelMedicError(problems)


class Placed(NamedTuple):
    """An entry below; only its form and place are known."""

    form: str
    place: str

    def where(self, *path: str | int) -> str:
        """The place of its id, whatever the part."""
        return self.place


Known = Mapping[str, Item | Placed]
"""Entries by id."""


def lay_over(
    base: KnowledgeSource,
    layer: KnowledgeSource,
    today: str,
    applied: Applied = "valid",
    below: Known | None = None,
) -> dict[str, Any]:
    """Apply an overlay to ``base``; return its changes as plain data. A change whose last day is
    before ``today`` does not apply; ``applied`` may leave out further ones. ``below`` are entries
    that lie below ``base``, and that the overlay neither replaces nor tightens."""
    base.problems.extend(layer.problems)
    base.lost |= layer.lost
    base.tests.extend(layer.tests)
    base.lexicons.extend(layer.lexicons)
    use: dict[str, Any] = {"name": "", "version": "", "added": 0}
    use |= {name: [] for name in ("replaced", "changed", "tightened", "silenced", *_IDLE)}
    known: Known = ChainMap({item.id: item for item in base.items}, below or {})  # type: ignore[arg-type]
    validity = _Validity(today, applied, use)
    _add_entries(base, _changed(base, layer, known, validity), known, use)
    if layer.overlay is not None:
        document, said = layer.overlay
        use |= {"name": said.name, "version": said.version}
        known = ChainMap({item.id: item for item in base.items}, known)  # type: ignore[arg-type]
        for index, silence in enumerate(said.silence):
            if silence.id not in known:
                base.problems.append(_unknown(silence.id, known, document, ("silence", index)))
            elif validity.holds(silence, "silences") and applied != "tested":
                use["silenced"].append(silence.model_dump())
                base.silenced.add(silence.id)
        for index, tightening in enumerate(said.tighten):
            item = Item("tighten", tightening, document, ("tighten", index), said)
            base.problems.extend(_tightening_problems(item, known))
            if validity.holds(tightening, "tightens"):
                base.tightened.setdefault(item.id, []).append(item)
                use["tightened"].append(tightening.model_dump(include={"id", "reason", "until"}))
    return use


_IDLE = ("expired", "withheld")
"""Changes that do not apply: their last day is over, or they are not wanted."""


class _Validity(NamedTuple):
    """The changes of an overlay that apply; notes the others in ``use``."""

    today: str
    applied: Applied
    use: dict[str, Any]

    def holds(self, change: Change | Silence | Tightening, how: str) -> bool:
        """Whether a change that is there applies."""
        if self.applied == "tested":
            return True
        over = bool(self.today) and change.until < self.today
        if over or self.applied == "none":
            plain = change.model_dump(include={"id", "reason", "until"})
            noted = plain if how == "silences" else plain | {"how": how}
            self.use["expired" if over else "withheld"].append(noted)
            return False
        return True


def _changed(
    base: KnowledgeSource, layer: KnowledgeSource, known: Known, validity: _Validity
) -> list[Item]:
    """The entries of an overlay, with the changes of entries below that apply; each must be
    declared, with a reason and a last day."""
    if not known:
        return layer.items
    document, said = layer.overlay or (None, None)
    declared = {change.id: change for change in said.changes} if said else {}
    used: set[str] = set()
    items = []
    for item in layer.items:
        refused: set[tuple[str, str]] = set()
        if item.entry.replaces is not None and _replacement_problem(item, known):
            used.update(effect.id for effect in effects(item, known))
            items.append(item)  # which is told when it is added
            continue
        for how, name, path in effects(item, known):
            change = declared.get(name)
            if change is None:
                base.problems.append(_undeclared(item, how, name, path))
                continue
            used.add(name)
            if validity.holds(change, how):
                about = {"id": name, "how": how, "by": item.id}
                validity.use["changed"].append(
                    about | {"reason": change.reason, "until": change.until}
                )
            else:
                refused.add((how, name))
        left = without(item, refused) if refused else item
        items += [left] if left is not None else []
    for index, change in enumerate(said.changes if said else ()):
        if document is not None and change.id not in used:
            base.problems.append(_idle_change(change, known, document, index))
    return items


def _undeclared(item: Item, how: str, name: str, path: tuple[str | int, ...]) -> Problem:
    verb = how.replace("_", " ")
    message = f"{item.id} {verb} {name!r}, which lies below, and nothing says why and until when"
    hint = (
        "declare it in the file of schema modelmedic/overlay/1:"
        f" changes: [{{id: {name}, reason: ..., until: 2027-01-31}}]"
    )
    return Problem("MM229", message, item.where(*path), hint)


def _idle_change(change: Change, known: Known, document: Document, index: int) -> Problem:
    if change.id not in known:
        return _unknown(change.id, known, document, ("changes", index))
    message = f"no entry of the overlay changes {change.id!r}"
    where = document.where(("changes", index))
    return Problem("MM229", message, where, "remove it, or write the entry that needs it")


def _add_entries(
    base: KnowledgeSource, items: Iterable[Item], known: Known, use: dict[str, Any]
) -> None:
    gone: set[str] = set()
    added = []
    for item in items:
        target = item.entry.replaces
        if target is not None:
            problem = _replacement_problem(item, known)
            if problem:
                base.problems.append(problem)
                continue
            gone.add(target)
            use["replaced"].append({"id": target, "by": item.id})
        if item.id in known and item.id != target:
            message = f"the id {item.id!r} is already used at {known[item.id].where('id')}"
            hint = f"choose another id, or say 'replaces: {item.id}' to replace it"
            base.problems.append(Problem("MM223", message, item.where("id"), hint))
            continue
        use["added"] += target is None
        added.append(item)
    base.items = [item for item in base.items if item.id not in gone] + added


def _replacement_problem(item: Item, known: Known) -> Problem | None:
    target = item.entry.replaces
    if target not in known:
        return _unknown(target, known, item.document, (*item.path, "replaces"))
    old = known[target]
    if old.form != item.form:
        message = f"{item.id} is a {item.form} and cannot replace {target}, a {old.form}"
        return Problem("MM293", message, item.where("replaces"), "replace like by like")
    if item.id != target and item.form in _REFERRED_TO:
        message = f"{item.id} cannot take the place of {target}: others refer to it by this id"
        return Problem("MM293", message, item.where("id"), f"keep the id {target}")
    return None


def _tightening_problems(item: Item, known: Known) -> Iterator[Problem]:
    if item.id not in known:
        yield _unknown(item.id, known, item.document, item.path)
    elif known[item.id].form == "diagnosis":
        message = f"{item.id} is a diagnosis and has no condition"
        hint = "tighten the entries that conclude it: `diagnose explain` names them"
        yield Problem("MM294", message, item.where("id"), hint)


def _unknown(
    name: str, known: Iterable[str], document: Document, path: tuple[str | int, ...]
) -> Problem:
    hint = did_you_mean(name, known) or "`diagnose kb list` shows all ids"
    return Problem("MM292", f"there is no entry {name!r} below", document.where(path), hint)


def further_conditions(
    item: Item, source: KnowledgeSource, lowering: Lowering
) -> list[tuple[Lowering, Alternatives]]:
    """The further conditions of an entry from overlays, each with what lowered it."""
    found = []
    for tightening in source.tightened.get(item.id, ()):
        own = replace(lowering, item=tightening)
        found.append((own, own.condition(tightening.entry.only_if, ("only_if",))))
    return found


def spoken(rules: list[Rule], silenced: Collection[str]) -> list[Rule]:
    """The rules without silenced rules and conclusions."""
    if not silenced:
        return rules
    heard = (
        rule._replace(conclusions=tuple([c for c in rule.conclusions if not _hushed(c, silenced)]))
        for rule in rules
        if rule.entry not in silenced
    )
    return [rule for rule in heard if rule.conclusions]


def _hushed(conclusion: Conclusion, silenced: Collection[str]) -> bool:
    values = dict(conclusion.values)
    return bool(conclusion.kind == "diagnosis" and values["holds"] and values["name"] in silenced)
