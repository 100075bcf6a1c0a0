"""The public surface: names and signatures as they were recorded.

``MODELMEDIC_UPDATE=1`` records them again; a change belongs into the changelog.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import modelmedic.engine
import modelmedic.engine.diagnosis.live
import modelmedic.facts
import modelmedic.interfaces.cli.aio

RECORDED = Path(__file__).with_name("signatures.txt")
MODULES = (modelmedic.engine, modelmedic.facts, modelmedic.engine.diagnosis.live,
           modelmedic.interfaces.cli.aio)  # fmt: skip


def surface() -> Iterator[str]:
    for module in MODULES:
        names = getattr(module, "__all__", None) or [
            name for name, found in vars(module).items()
            if inspect.isclass(found) and found.__module__ == module.__name__
        ]  # fmt: skip
        for name in sorted(names):
            yield from described(f"{module.__name__}.{name}", getattr(module, name))


def described(name: str, found: Any) -> Iterator[str]:
    if not inspect.isclass(found):
        # A compiled function is of a type of its own.
        kind = type(found).__name__
        yield f"{name}: {'function' if 'function' in kind else kind}"
        return
    fields = getattr(found, "_fields", None)
    yield f"{name}{fields if fields is not None else signature(found)}"
    for member, value in sorted(vars(found).items()):
        if member.startswith("_") or (fields and member in fields):
            continue
        if isinstance(value, (property,)) or type(value).__name__ == "cached_property":
            yield f"{name}.{member}"
        elif callable(value) or isinstance(value, (staticmethod, classmethod)):
            yield f"{name}.{member}{signature(getattr(found, member))}"


def signature(found: Any) -> str:
    try:
        return str(inspect.signature(found))
    except (TypeError, ValueError):
        return "(...)"


def test_the_public_surface_is_as_recorded():
    now = list(surface())
    if os.environ.get("MODELMEDIC_UPDATE"):
        RECORDED.write_text("\n".join(now) + "\n", encoding="utf-8")
    recorded = RECORDED.read_text(encoding="utf-8").splitlines()
    assert "(...)" not in "".join(recorded)
    if os.environ.get("MODELMEDIC_UNDER_TEST"):  # a structure of C does not tell how it is made
        hidden = {line.removesuffix("(...)") for line in now if line.endswith("(...)")}
        assert hidden <= {"modelmedic.facts.Fact"}
        recorded = [f"{line.partition('(')[0]}(...)" if line.partition("(")[0] in hidden else line
                    for line in recorded]  # fmt: skip
    assert now == recorded
