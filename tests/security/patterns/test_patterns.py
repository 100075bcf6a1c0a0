"""No regular expression of ours takes quadratic time over a text of any length.

Every pattern of a module is tried on texts made from itself (``attacks.py``), the way its module
uses it. ``bounded.yaml`` names those whose text is short, with the reason.
"""

import ast
import importlib
import math
import pkgutil
import re
import signal
import time
from pathlib import Path

import pytest
import yaml
from attacks import attacks

BOUNDED = yaml.safe_load(Path(__file__).with_name("bounded.yaml").read_text())
PACKAGES = ("facts", "reading", "probes", "engine", "authoring", "interfaces")
SEARCHES = ("search", "finditer", "findall", "sub", "subn", "split")
SHORT, LONG = 4_000, 40_000
# Of processor time. A linear pattern takes 40,000 characters in some 0.4 ms, a quadratic one 0.4 s.
SUSPICIOUS_S, MOST_S = 0.002, 0.2
MOST_TIMES = 25  # for ten times the text: linear: 10, quadratic: 100
OF_A_PATTERN_S = 20.0


def modules(package):
    top = importlib.import_module(f"modelmedic.{package}")
    yield top
    for each in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
        if each.name.rpartition(".")[2] != "__main__":
            yield importlib.import_module(each.name)


def patterns_in(value, depth=0):
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from patterns_in(each, depth + 1)
    elif depth < 3 and isinstance(value, dict):
        yield from patterns_in(list(value.values()), depth + 1)


def uses_of(name, value, source):
    """``search`` where the module searches with it, ``match`` where it only matches."""
    own = rf"\b{name}" if isinstance(value, re.Pattern) else r"\b(?!re\.)[a-z]\w*(?:\[\d\])?"
    return "search" if re.search(rf"{own}\.({'|'.join(SEARCHES)})\(", source) else "match"


def module_patterns(module):
    """(name, pattern, use) of those that a module keeps, and of literals given to ``re``."""
    source = Path(module.__file__).read_text("utf-8")
    for name, value in vars(module).items():
        for pattern in patterns_in(value):
            yield f"{module.__name__}.{name}", pattern, uses_of(name, value, source)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Attribute(ast.Name("re"), use), [ast.Constant(text), *_]) if (
                isinstance(text, (str, bytes)) and use not in ("compile", "escape")
            ):
                kind = "search" if use in SEARCHES else "match"
                yield f"{module.__name__}:{node.lineno}", re.compile(text), kind


def seconds(function, text):
    """The better of two tries; infinite if one takes a second."""
    best = 9.0
    for _ in range(2):
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 1.0)
        try:
            function(text)
        except TimeoutError:
            return math.inf
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        best = min(best, time.process_time() - begun)
        if best < MOST_S / 2:
            break
    return best


def slow_text(pattern, use):
    """(seconds, text) of the first text that takes too long, or None."""
    end = time.process_time() + OF_A_PATTERN_S
    function = getattr(pattern, use)
    for short, long in zip(attacks(pattern, SHORT), attacks(pattern, LONG), strict=True):
        if (before := seconds(function, short)) > SUSPICIOUS_S:
            took = before if before == math.inf else seconds(function, long)
            if took > MOST_S and (took == math.inf or took > MOST_TIMES * before):
                return took, long
        if time.process_time() > end:
            break
    return None


@pytest.fixture
def clock():
    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.filterwarnings("ignore")
def test_no_pattern_takes_quadratic_time(package, clock):
    slow, seen = [], set()
    for module in modules(package):
        for name, pattern, use in module_patterns(module):
            if (pattern.pattern, use) in seen or name in BOUNDED:
                continue
            seen.add((pattern.pattern, use))
            if found := slow_text(pattern, use):
                slow.append(
                    f"{name}.{use} takes {found[0]:.2f} s of a text like {found[1][:40]!r}..."
                )
    assert seen
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize(
    ("pattern", "use"),
    [(r"=====\s*(.*?)\s*task \[", "search"), (r"a(?: b=.*?)? +<", "match"), (r"\s+$", "search"),
     (r"(?m)^\s*'x'", "search"), (r"(a+)+b", "match"), (r"\w+-\w+", "search")],
)  # fmt: skip
def test_a_quadratic_pattern_is_found(pattern, use, clock):
    assert slow_text(re.compile(pattern), use)


@pytest.mark.parametrize("pattern", [r"a{1,9}b", r"\s*+x", r"[^:]*: ", r"\bab+c"])
def test_a_linear_pattern_is_not(pattern, clock):
    assert not slow_text(re.compile(pattern), "match")


def test_what_is_called_bounded_exists():
    for name in BOUNDED:
        module, _, attribute = name.rpartition(".")
        assert list(patterns_in(getattr(importlib.import_module(module), attribute))), name
