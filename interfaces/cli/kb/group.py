"""The group ``diagnose kb``, and access to the knowledge as written."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ....engine.compiler.build import Built
    from ....engine.diagnosis.diagnoser import Diagnoser
    from ....facts import Fact, Vocabulary


@click.group(no_args_is_help=False)
def kb() -> None:
    """Check, test and browse the knowledge."""
    gc.disable()  # one large, long-lived heap: collecting it would only cost time


def built_knowledge(overlays: Sequence[str]) -> Built:
    """The shipped knowledge and the overlays, compiled with their tests. No silences apply: cases
    test the entries themselves."""
    from ....engine.compiler.build import build
    from ....engine.compiler.knowledge_base import shipped_layer
    from ....engine.compiler.store.document_cache import DocumentCache
    from ....engine.compiler.store.files import overlay_layer
    from ...context import cache_folder

    base = shipped_layer(tests=True).texts()
    others = [overlay_layer(folder, tests=True).texts() for folder in overlays]
    read = DocumentCache(cache_folder())
    with busy("compiling the knowledge"):
        built = build(*base, others, tests=True, read=read, applied="tested")
    read.save()
    return built


def named_by(paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether the path of a file of knowledge contains one of these; true without any. A file of
    entries stands for its test file too."""
    words = [path.removeprefix("./").removesuffix("/") for path in paths]
    entries = [w.removesuffix(".yaml") for w in words if w.endswith(".yaml")]
    words += [f"{word}.test.yaml" for word in entries if not word.endswith(".test")]
    return lambda path: not words or any(word in path for word in words)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Shows on a terminal what is being done, while it runs."""
    from ...waiting import Gauge, shown

    gauge = Gauge()
    with shown(gauge), gauge.part(what):
        yield


def tell_interrupted(what: str) -> None:
    """Say on stderr what Ctrl-C left undone."""
    import sys

    from ...reports.layout import Line, write

    write([Line(what, mark="interrupted: ", style="warning")], sys.stderr)


def doctor_of(built: Built) -> Diagnoser:
    """A diagnoser over knowledge under test."""
    from ....engine.compiler.knowledge_base import KnowledgeBase
    from ....engine.diagnosis.diagnoser import Diagnoser

    return Diagnoser.of(KnowledgeBase.of(built.compiled, "under test"))


def decoder(vocabulary: Vocabulary) -> Callable[[str], Sequence[Fact]]:
    """Reads the messages in a text."""
    from ....probes.messages.probe import read_messages

    return lambda text: read_messages(text, vocabulary).facts
