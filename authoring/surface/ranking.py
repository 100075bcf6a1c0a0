"""The likelihood that a user meets a message, in points: a rough order for writing rows."""

from __future__ import annotations

import re

from ...reading.packages.sites import Site
from ...reading.python.parts import has_words

BY_KIND = {"raise": 40, "exit": 35, "warn": 25, "assert": 10}
BY_LEVEL = {"CRITICAL": 30, "ERROR": 30, "WARNING": 20}
PUBLIC = 20
ON_ARGUMENT = 20
DEPTH = 12
A_LAYER = 4
ASIDE = -30
WORDLESS = -40

ASIDE_PARTS = frozenset({
    "recipes", "recipe", "examples", "example", "scripts", "tools", "experimental", "contrib",
    "internal", "_internal", "benchmarks", "benchmark", "vendor", "_vendor", "third_party", "dev",
})  # fmt: skip
ORDER = (
    ("exception raised / program exits / warning / assertion",
     " / ".join(str(points) for points in BY_KIND.values())),
    ("log line: error / warning", f"{BY_LEVEL['ERROR']} / {BY_LEVEL['WARNING']}"),
    ("the function is public, and so are its class and module", str(PUBLIC)),
    ("it is, and the innermost test before the site is on one of its arguments", str(ON_ARGUMENT)),
    ("few layers: less for each private name, inner function, and package below the second",
     f"{DEPTH}, -{A_LAYER} each, at least 0"),
    (f"the module lies in one of {', '.join(sorted(ASIDE_PARTS))}", str(ASIDE)),
    ("the message has no words of its own", str(WORDLESS)),
)  # fmt: skip
"""The criteria and their weights, in words."""
_NAME = re.compile(r"[^\W\d]\w*")
_TESTS = frozenset({"test", "tests", "testing", "conftest"})


def likelihood(site: Site) -> int:
    """The points of a site; they order sites and mean nothing else."""
    points = BY_LEVEL.get(site.level, 0) if site.kind == "log" else BY_KIND.get(site.kind, 0)
    hidden = _layers(site)
    if not hidden:
        points += PUBLIC + ON_ARGUMENT * _is_on_argument(site)
    depth = max(0, site.module.count(".") - 2)
    points += max(0, DEPTH - A_LAYER * (hidden + depth))
    points += ASIDE * bool(ASIDE_PARTS & set(site.module.split(".")))
    return points + WORDLESS * (not has_words(site.parts))


def is_test(file: str) -> bool:
    """Whether a file belongs to the tests of its package."""
    *folders, name = file.removesuffix(".py").split("/")
    return bool(_TESTS & {*folders, name}) or name.startswith("test_") or name.endswith("_test")


def _layers(site: Site) -> int:
    """Private names and inner functions on the way to a site."""
    names = [*site.module.split("."), *site.function.split(".")]
    return sum(name == "<locals>" or _is_private(name) for name in names)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _is_on_argument(site: Site) -> bool:
    arguments = set(site.parameters) - {"self", "cls"}
    return bool(arguments & set(_NAME.findall(site.guard)))
