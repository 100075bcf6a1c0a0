"""Plausible values for placeholders, told from how the source names what it fills in."""

from __future__ import annotations

import re
from collections.abc import Callable

from .spelling import Spelling

_LONGEST = 300  # characters of an expression that are read, from its end, which names it
Value = Callable[[int], str]
"""Makes the value of the placeholder with this number; different ones for different numbers."""


def plausible(expression: str, number: int, spelling: Spelling | None = None) -> str:
    """A value for the placeholder ``expression``, which is the ``number``-th of its message; none
    for one that nothing names: further arguments of the exception, most often."""
    spelling = spelling or Spelling()
    if spelling.number:
        return str(6 + number)
    if not expression:
        return ""
    key = _KEY.search(expression)
    expression = (key[1] if key else expression)[-_LONGEST:]
    found = (each for each in _VALUES if each[0].search(expression))
    _, value, is_text = next(found, (None, _word, True))
    made = value(number)
    return repr(made) if spelling.quoted and is_text else made


_KEY = re.compile(r"\[['\"](\w+)['\"]\]$")
"""A value looked up by a key is named by that key."""


def _word(number: int) -> str:
    return f"value{number}"


def _named(words: str) -> re.Pattern[str]:
    """Finds an expression whose last name (but for an index or a call) is made of these words."""
    return re.compile(rf"(?i)(?:^|[._])(?:{words})(?:\[[\d:]*\]|\(\))?(?: *[-+] *\d+)?$")


_COUNTS = (
    "n|i|j|k|num|idx|index|indices|count|total|size|len|length|step|steps|epoch|epochs|rank|dim|"
    "ndim|axis|width|height|lineno|line_num|line|retries|attempt|attempts|batch|bits|port|pid|min|"
    "max|limit|capacity|offset|position|start|end|stop|seconds|elapsed|timeout|time|rate|ratio|"
    "floor|prob|probability|tokens|degree|workers|chunks|rc|returncode|exit_code|year|layers|heads"
)
# The first row whose pattern matches counts; the last field: whether `repr` puts quotes round it.
_VALUES: tuple[tuple[re.Pattern[str], Value, bool], ...] = (
    (re.compile(r"type\(.*\)\.__name__$"), lambda n: "str", True),
    (re.compile(r"__class__\.__name__$|__name__$|__qualname__$"), lambda n: f"Worker{n}", True),
    (re.compile(r"^type\("), lambda n: "<class 'str'>", False),
    (re.compile(r"\.join\("), lambda n: f"left{n}, right{n}", True),
    (re.compile(r"^(?:len|int|round|float|sum|min|max|abs)\("), lambda n: str(6 + n), False),
    (re.compile(r"shape\[|size\("), lambda n: str(6 + n), False),
    (re.compile(r"shape|\.size$"), lambda n: f"({n}, {6 + n})", False),
    (re.compile(r"dtype"), lambda n: "torch.float32", False),
    (re.compile(r"^(?:sorted|list|tuple|set)\(|\.keys\(|\.values\(|^\["),
     lambda n: f"['left{n}', 'right{n}']", False),
    (_named("status_code|status"), lambda n: "422", False),
    (_named("e|ex|exc|err|error|exception|reason|cause|detail|details|stderr.*|msg|message"),
     lambda n: f"no such entry {n}", True),
    (_named(r"\w*version|__version__"), lambda n: f"1.2.{n}", True),
    (re.compile(r"(?i)(?:tinker|checkpoint)_path"),
     lambda n: f"tinker://run-{n}/weights/000{n}", True),
    (re.compile(r"(?i)ur[il]s?\b|endpoint"), lambda n: f"https://service.example/v{n}", True),
    (re.compile(r"(?i)path|dir(?:ectory)?\b|_dir|file|folder"),
     lambda n: f"/data/run{n}/items.jsonl", True),
    (re.compile(r"(?i)(?:base_)?model_name|model_id|base_model"),
     lambda n: f"example/model-{n}b", True),
    (_named(rf"(?:\w+_)?(?:{_COUNTS})|(?:num|n|max|min|total)_\w+|\w+_(?:per|to)_\w+"),
     lambda n: str(6 + n), False),
    (_named(r"len\(.*\)|\w*_id|id"), lambda n: f"id-{n}", True),
)  # fmt: skip
