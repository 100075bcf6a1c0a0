"""Candidates for completion: ids, kinds, names of sessions and packs, files. Each function has the
form of click's ``shell_complete``. They run at every press of the Tab key, so they read the
compiled knowledge from the cache and import little; if the knowledge does not load, they complete
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click

    from ...engine.compiler.knowledge_base import KnowledgeBase

Items = list["CompletionItem[str]"]


def diagnosis_ids(context: click.Context, parameter: click.Parameter | None, typed: str) -> Items:
    """The ids of diagnoses, with their titles."""
    return _items(_titles(context, "diagnoses"), typed)


def entry_ids(context: click.Context, parameter: click.Parameter | None, typed: str) -> Items:
    """The ids of all entries of the knowledge, with their titles."""
    return _items(_titles(context, "entries") | _titles(context, "diagnoses"), typed)


def kinds(context: click.Context, parameter: click.Parameter | None, typed: str) -> Items:
    """The kinds of facts."""
    base = _base(context)
    known = base.vocabulary.kinds.values() if base else ()
    return _items({k.name: k.description for k in known if not k.derived}, typed)


def sessions(context: click.Context, parameter: click.Parameter | None, typed: str) -> Items:
    """The names of kept consultations."""
    from ..consult.session import state_folder

    folder = state_folder()
    found = (folder / "sessions").glob("*.json") if folder else ()
    return _items(dict.fromkeys(sorted(path.stem for path in found), ""), typed)


def codes(context: click.Context, parameter: click.Parameter | None, typed: str) -> Items:
    """The codes of problems of the knowledge."""
    from ...engine.compiler.source.problem_codes import problem_codes

    return _items({code: meaning.title for code, meaning in problem_codes().items()}, typed)


def files(context: click.Context, parameter: click.Parameter | None, typed: str) -> Items:
    """Files and folders; the shell knows them."""
    return [CompletionItem(typed, type="file")]


def knowledge(context: click.Context, parameter: click.Parameter | None, typed: str) -> Items:
    """Folders of knowledge, and installed packs."""
    from ...engine.compiler.store.packs import PREFIX

    if not typed.startswith(PREFIX[:1]):
        return [CompletionItem(typed, type="dir")]
    from importlib.metadata import entry_points

    from ...engine.compiler.store.packs import GROUP

    packs = {f"{PREFIX}{each.name}": "" for each in entry_points(group=GROUP)}
    return _items(packs, typed) or [CompletionItem(typed, type="dir")]


def _base(context: click.Context) -> KnowledgeBase | None:
    """The knowledge with the overlays that are named so far."""
    from ...facts import ModelMedicError
    from ..context import Context

    around = (each for each in (context, context.parent) if each)
    named = [folder for each in around for folder in each.params.get("overlays") or ()]
    try:
        return Context(overlays=tuple(named)).base
    except (ModelMedicError, OSError):
        return None


def _titles(context: click.Context, part: str) -> dict[str, str]:
    base = _base(context)
    entries: Mapping[str, Any] = base.catalogue[part] if base else {}
    return {name: str(entry.get("title", "")) for name, entry in entries.items()}


def _items(found: Mapping[str, str], typed: str) -> Items:
    names = sorted(name for name in found if name.startswith(typed))
    return [CompletionItem(name, help=" ".join(found[name].split()) or None) for name in names]
