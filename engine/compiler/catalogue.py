"""The catalogue: the texts of entries for reports, plans and explanations, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...facts.owners import Owner
from .beginnings import beginnings_of
from .issue_index import index_of
from .row_match import speaks_for
from .source import entries as e
from .source.issues import Issue
from .source.knowledge_source import Item, KnowledgeSource
from .source.lexicon_file import LISTS, LexiconFile


def catalogue(source: KnowledgeSource, owners: Mapping[str, Owner]) -> dict[str, dict[str, Any]]:
    """``diagnoses``, ``entries`` and ``trees`` by id; ``words`` holds the lexicon, ``beginnings``
    how the messages of rows begin, ``issues`` the known issues, ``issue_terms`` their index."""
    diagnoses = [item.entry for item in source.of("diagnosis")]
    issues = [d for d in diagnoses if isinstance(d, Issue) and d.id not in source.silenced]
    return {
        "diagnoses": {d.id: _diagnosis(d) for d in diagnoses},
        "entries": {i.id: _entry(i, owners) for i in source.items},
        "trees": {i.id: _tree(i.entry) for i in source.of("tree")},
        "words": words(source),
        "beginnings": beginnings_of(source.items, owners),
        **index_of(issues),
    }


def words(source: KnowledgeSource) -> dict[str, Any]:
    """The lexicons as one: ``concepts`` by name, ``topics`` with the phrases of trees first, and
    ``lists`` of other words; ``leads_to`` and ``weights``
    by symptom. Files may add words to a concept of another file."""
    files = [file for _, file in source.lexicons]
    concepts: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, said in file.concepts.items():
            known = concepts.setdefault(name, said.model_dump() | {"words": []})
            known["words"] += said.words
    trees = [[t.entry.symptom.name, "", t.entry.symptom.phrases] for t in source.of("tree")]
    topics = [[t.symptom, t.diagnosis or "", t.phrases] for file in files for t in file.topics]
    lists = {name: [word for file in files for word in getattr(file, name)] for name in LISTS}
    return {
        "concepts": concepts,
        "topics": trees + topics,
        "lists": lists,
        "leads_to": {name: tree for file in files for name, tree in file.leads_to.items()},
        "weights": _weights(files),
    }


def _weights(files: Iterable[LexiconFile]) -> dict[str, Any]:
    """The weights of the last file that has any."""
    found = [file.weights.model_dump() for file in files if file.weights]
    return found[-1] if found else {}


def _diagnosis(entry: e.Diagnosis) -> dict[str, Any]:
    said = entry.model_dump(include={"title", "severity", "kind", "summary", "explains", "details"})
    actions = [action.model_dump(include=_SHOWN) for action in entry.actions]
    return {
        **said,
        "actions": [{name: x for name, x in action.items() if x} for action in actions],
        "packet": entry.packet_texts,
        "packet_found_in": {
            p.item: [[f.fact, dict(f.where)] for f in p.found_in]
            for p in entry.packet
            if not isinstance(p, str)
        },
        "status": entry.status,
    } | ({"done_by": done} if (done := _done_by(entry)) else {})


def _done_by(entry: e.Diagnosis) -> list[list[list[Any]]]:
    """The facts that each action brings, as kinds and values; empty if no action declares any."""
    found = [[[f.fact, dict(f.where)] for f in action.done_by] for action in entry.actions]
    return found if any(found) else []


_SHOWN = {"do", "command", "effort", "risk", "verify"}


def _entry(item: Item, owners: Mapping[str, Owner]) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "form": item.form,
        "title": item.entry.title,
        "status": item.entry.status,
        "sources": [s.model_dump(exclude_defaults=True) for s in item.sources()],
        "where": str(item.where("id")),
    }
    if item.entry.conflicts:
        plain["conflicts"] = [conflict.model_dump() for conflict in item.entry.conflicts]
    if item.entry.note:
        plain["note"] = item.entry.note
    if isinstance(item.entry, e.ErrorEntry):
        row = item.entry
        plain |= row.model_dump(include={"meaning", "fix", "retry"})
        plain["causes"] = [
            cause.model_dump(include={"diagnosis", "likelihood"}) for cause in row.causes
        ]
        if row.emitter.wording == "common":
            plain["speaks_for"] = speaks_for(item, owners)
        if modules := sorted({anchor.module for anchor in row.anchored if anchor.module}):
            plain["modules"] = modules
    return plain


def _tree(tree: e.Tree) -> dict[str, Any]:
    return {
        "title": tree.title,
        "symptom": tree.symptom.name,
        "phrases": list(tree.symptom.phrases),
        "root": tree.root,
        "strict_order": tree.strict_order,
        "nodes": {name: _node(node) for name, node in tree.nodes.items()},
    }


def _node(node: e.Node) -> dict[str, Any]:
    leads = {"answer", "goto", "conclude", "tree", "healthy", "undecided", "strength"}
    branches = {name: b.model_dump(include=leads) for name, b in node.branches.items()}
    return {
        **node.model_dump(include={"ask", "why", "help", "probe", "seconds", "gate"}),
        "branches": {name: {**b, "answer": b["answer"] or name} for name, b in branches.items()},
    }
