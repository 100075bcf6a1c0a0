"""The group ``diagnose kb`` and what its commands share: options, and the knowledge as written."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ...kb.build import Built

FORMAT = click.option(
    "--format", "-f", "format_", type=click.Choice(["text", "json"]), default="text"
)
OVERLAYS = click.option("--kb", "overlays", multiple=True, metavar="DIR", help="Add knowledge.")
DEBUG = click.option("--debug", is_flag=True, hidden=True)


@click.group(no_args_is_help=False)
def kb() -> None:
    """Check, test and look through the knowledge."""
    gc.disable()  # a run builds one large heap that stays: collecting would only walk it


def built_knowledge(overlays: Sequence[str]) -> Built:
    """The shipped knowledge and the overlays, compiled with their tests."""
    from ...files import read_folder
    from ...kb.build import build
    from ...kb.document_cache import DocumentCache
    from ...knowledge_base import SHIPPED_KNOWLEDGE, SHIPPED_VOCABULARY
    from ..setup import cache_folder

    vocabulary, knowledge = read_folder(SHIPPED_VOCABULARY), read_folder(SHIPPED_KNOWLEDGE)
    for folder in overlays:
        for name, text in read_folder(Path(folder)):
            (vocabulary if "/vocabulary/" in name else knowledge).append((name, text))
    read = DocumentCache(cache_folder())
    built = build(vocabulary, knowledge, tests=True, read=read)
    read.save()
    return built
