"""Tries installed packages: imports, a tokenizer, a renderer against the tokenizer's template.

The interpreter under test runs this file as a script, hence: standard library only at the top, no
relative imports. It answers in lines of JSON behind a mark. Nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

# Stands before each answer on standard output: packages and start-up hooks may print, too.
MARK = "modelmedic-verification:"
# The modules that are in use; an empty package at the top would show nothing.
MODULES = {
    "pydantic": ("pydantic",),
    "tinker": ("tinker", "tinker.types"),
    "transformers": ("transformers", "transformers.models.auto"),
    "tinker-cookbook": ("tinker_cookbook", "tinker_cookbook.renderers",
                        "tinker_cookbook.model_info", "tinker_cookbook.tokenizer_utils"),
}  # fmt: skip
TEXTS = (
    "How are you doing today?", "  two  spaces, and a tab\there\n\nand two lines",
    "def f(x):\n    return x ** 2  # 3.14", "naïve café, Größe 12 µm, 東京, Привет, 🙂",
)  # fmt: skip
_TOP = Path(__file__).resolve().parents[2]
# Not our own name: the environment under test may have another release of us.
_OURS = "verified_by"


def _say(**answer: Any) -> None:
    sys.stdout.write("\n" + MARK + json.dumps(answer) + "\n")
    sys.stdout.flush()


def _check(check: str, subject: str, problem: str = "") -> None:
    values = {"check": check, "subject": subject, "ok": not problem, "detail": problem or None}
    _say(kind="environment_check", values=values)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]


def _installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _imports() -> set[str]:
    """The packages that are installed and can be imported."""
    works = set()
    for package, modules in MODULES.items():
        if not _installed(package):
            continue
        problem = ""
        try:
            for module in modules:
                import_module(module)
        except Exception as error:  # noqa: BLE001 - whatever the import of a broken install raises
            problem = _told(error)
        _check("import", package, problem)
        if not problem:
            works.add(package)
    return works


def _tokenizer(name: str) -> bool:
    from transformers import AutoTokenizer

    values: dict[str, Any] = {"model": name, "ok": False}
    problem = ""
    try:
        loaded = AutoTokenizer.from_pretrained(name, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # noqa: BLE001 - whatever a broken folder leads to
        # One that is not here says nothing of the packages.
        _say(problem="MM442", reason=f"the tokenizer does not load: {_told(error)}", place=name)
        return False
    values |= {"ok": True, "class_name": type(loaded).__name__}
    try:
        for number, text in enumerate(TEXTS):
            ids = loaded.encode(text, add_special_tokens=False)
            back = str(loaded.decode(ids, clean_up_tokenization_spaces=False))
            if number == 0:
                values["keeps_spaces"] = back.strip().count(" ") == text.count(" ")
            if back.strip() != text.strip():
                problem = problem or f"{text!r} comes back as {back!r}"[:400]
    except Exception as error:  # noqa: BLE001 - as above
        problem = _told(error)
    _say(kind="tokenizer_load", values=values)
    _check("tokenizer", name, problem)
    return True


class _Anything:
    """Replaces the vocabulary: the process that started this one checks the facts."""

    kinds: dict[str, Any] = {}

    def problems(self, *_: object) -> list[Any]:
        return []


def _renderer(tokenizer: str, model: str, renderer: str) -> None:
    """The facts of our renderer probe, which needs nothing but the packages under test."""
    for name in ("", "facts", "reading", "probes"):  # without the imports of their own __init__
        package = ModuleType(f"{_OURS}.{name}" if name else _OURS)
        package.__path__ = [str(_TOP / name)]
        sys.modules[package.__name__] = package
    probe: Any = import_module(f"{_OURS}.probes.renderer.probe")
    found = probe.gather_renderer(tokenizer, _Anything(), model=model, renderer=renderer)
    for fact in found.facts:
        _say(kind=fact.kind, values=dict(fact.values))
    for each in found.problems:
        place = each.where.path if each.where else ""
        _say(problem=each.code, reason=each.message, place=place)
    compared = [dict(f.values) for f in found.facts if f.kind == "token_comparison"]
    used = [dict(f.values).get("name") for f in found.facts if f.kind == "renderer"]
    if used:
        reason = found.problems[0].message if found.problems else "nothing could be compared"
        _check("renderer", str(used[0]), "" if compared else reason)


def _main() -> None:
    asked = json.loads(sys.stdin.read())
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    works, tokenizer = _imports(), asked["tokenizer"]
    loads = bool(tokenizer) and "transformers" in works and _tokenizer(tokenizer)
    if loads and "tinker-cookbook" in works and (asked["model"] or asked["renderer"]):
        try:
            _renderer(tokenizer, asked["model"], asked["renderer"])
        except Exception as error:  # noqa: BLE001 - packages under test
            _say(problem="MM479", reason=f"the renderer could not be tried: {_told(error)}",
                 place=tokenizer)  # fmt: skip
    _say(end=True)


if __name__ == "__main__":
    _main()
