"""Shared by all tests: the tree they test, one compiled knowledge, and a run that does not depend
on the machine: its seeds, its home folder, its environment and its signals are the tests' own."""

import contextlib
import fcntl
import importlib
import importlib.util
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler import build, knowledge_base
from modelmedic.engine.compiler.changes import Applied
from modelmedic.engine.compiler.store.files import Texts
from modelmedic.engine.inference.derivation import Work
from modelmedic.facts.strict_yaml import Read

ROOT = Path(__file__).resolve().parent.parent
# Takes the knowledge in the folder argv[1] for the shipped one.
ON_KNOWLEDGE = """
import sys
from modelmedic.engine.compiler import knowledge_base
folder = sys.argv.pop(1)
knowledge_base.SHIPPED_KNOWLEDGE = folder
knowledge_base.SHIPPED_FOLDERS = (folder, *knowledge_base.SHIPPED_FOLDERS[1:])
"""
# Runs the command line in argv[1:].
RUN = """
from modelmedic.interfaces.cli.main import main
main(sys.argv[1:])
"""

LARGE = 100  # files: the shipped knowledge has hundreds
SHARE = 40  # without --deep, a property is tried on one example in so many
OF_A_SWEEP = 4  # without --deep, one in so many of its cases is tried

# Time limits are pytest-timeout's. Every run tries the same examples, so that a change is judged by
# what it changes; --deep looks for new ones.
settings.register_profile("same", deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("deep", deadline=None, print_blob=True)

# Settings that a machine may have and that would show in outputs.
NOT_OURS = ("CLICOLOR", "COLUMNS", "FORCE_COLOR", "GITHUB_", "LINES", "MODELMEDIC_", "NO_COLOR",
            "PYTHONWARNINGS", "XDG_")  # fmt: skip
OURS = {"MODELMEDIC_UNDER_TEST", "MODELMEDIC_UPDATE"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="all examples of properties, new seeds")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test another copy of ModelMedic than the one in this tree, or the one that
    MODELMEDIC_UNDER_TEST names (a built one, with compiled modules)."""
    wanted = Path(os.environ.get("MODELMEDIC_UNDER_TEST") or ROOT).resolve()
    spec = importlib.util.find_spec("modelmedic")
    places = (spec and spec.submodule_search_locations) or ()
    # The package has no file of its own, so an editable install stays a second place behind.
    if [Path(place, "engine").resolve() for place in places][:1] != [wanted / "engine"]:
        raise pytest.UsageError("these tests need the editable install of this tree: make dev")
    settings.load_profile("deep" if config.getoption("deep") else "same")
    # Its client keeps the standard error that it is first imported under; inside a test that would
    # be one that captures, and has no file number.
    with contextlib.suppress(ImportError):
        importlib.import_module("mcp")
    _compile_once()
    # Under nohup, or in the background of a script, SIGINT is ignored, and so by every child.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _compile_once() -> None:
    """In a process, the same large knowledge is compiled once: what is compiled does not change."""
    compile_ = build._build
    kept: dict[object, build.Built] = {}

    def compiled_once(
        vocabulary_texts: Texts,
        knowledge_texts: Texts,
        overlays: Sequence[tuple[Texts, Texts]],
        today: str,
        tests: bool,
        read: Read,
        work: Work,
        applied: Applied,
    ) -> build.Built:
        rest = (today, tests, read, work, applied)
        if overlays or work._is_up or len(knowledge_texts) < LARGE:
            return compile_(vocabulary_texts, knowledge_texts, overlays, *rest)
        key = tuple(vocabulary_texts), tuple(knowledge_texts), today, tests
        if key not in kept:
            while len(kept) > 1:
                del kept[next(iter(kept))]
            kept[key] = compile_(vocabulary_texts, knowledge_texts, (), *rest)
        return kept[key]

    build._build = compiled_once


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Use fewer examples, of fixed seeds, also for properties that set their own number; of the
    formats that a slow test is given, use one for people and one for programs; of a sweep, some
    cases. The tests of a file run in one worker, so that anything they share is made once."""
    seen: Counter[object] = Counter()
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(ROOT))))
        given = getattr(item, "callspec", None)
        format_ = given.params.get("format_", "text") if given else "text"
        if item.get_closest_marker("slow") and format_ not in ("text", "json"):
            item.add_marker(pytest.mark.deep)
        if item.get_closest_marker("sweep"):
            of = item.nodeid.partition("[")[0]
            if seen[of] % OF_A_SWEEP:
                item.add_marker(pytest.mark.deep)
            seen[of] += 1
    if config.getoption("deep"):
        return
    for function in {getattr(item, "function", None) for item in items}:
        own = getattr(function, "_hypothesis_internal_use_settings", None)
        if own is not None:
            few = max(own.max_examples // SHARE, min(own.max_examples, 4))
            fixed = settings(own, max_examples=few, derandomize=True, database=None)
            function._hypothesis_internal_use_settings = fixed  # type: ignore[union-attr]


@pytest.fixture(scope="session", autouse=True)
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Hides the home folder and the settings of whoever runs the tests; what they were."""
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as changed:
        for name in before.keys() - OURS:
            if name.startswith(NOT_OURS):
                changed.delenv(name)
        changed.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        changed.setenv("SOURCE_DATE_EPOCH", "1795305600")  # 2026-11-22: no test looks at the clock
        yield before


@pytest.fixture(scope="session")
def small_knowledge() -> Path:
    """Two diagnoses with a rule each. In place of the shipped knowledge it makes quick what is done
    to all of the knowledge."""
    return ROOT / "tests" / "small_knowledge"


@pytest.fixture(scope="session")
def small_command(small_knowledge: Path) -> tuple[str, ...]:
    """``diagnose`` upon the small knowledge."""
    return (sys.executable, "-c", ON_KNOWLEDGE + RUN, str(small_knowledge))


@pytest.fixture
def small_base(small_knowledge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small knowledge is the shipped one, in this process."""
    shipped = (str(small_knowledge), *knowledge_base.SHIPPED_FOLDERS[1:])
    monkeypatch.setattr(knowledge_base, "SHIPPED_KNOWLEDGE", str(small_knowledge))
    monkeypatch.setattr(knowledge_base, "SHIPPED_FOLDERS", shipped)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the tree under test."""
    return ROOT


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with the shipped knowledge, compiled once for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "compiled"
    folder.mkdir(exist_ok=True)
    with (folder.with_suffix(".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Diagnoser.load(cache=folder)
    return folder


@pytest.fixture(scope="session")
def doctor(compiled: Path) -> Diagnoser:
    """A diagnoser on the shipped knowledge."""
    return Diagnoser.load(cache=compiled)
