"""Checks ``issuers.yaml`` and ``contexts.yaml`` of ``facts/redaction``, and writes
``detectors.json`` and ``first_look.json`` there.

    python -m modelmedic.authoring.detectors

Fails with the place of each mistake: an unknown field, a pattern that RE2 does not take, a quick
look that is too short to be quick, an example that its own pattern misses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..facts.problems import ModelMedicError, Problem
from ..facts.redaction.checks import CHECKS
from ..facts.redaction.decoding import ESCAPES
from ..facts.redaction.detectors import COMPILED, START, Detector, compiled
from ..facts.redaction.look import LISTED, Asked, is_quick
from ..facts.required_text import required_texts
from ..facts.strict_models import Strict, check
from ..facts.strict_yaml import Document, load

FOLDER = Path(LISTED).parent
SOURCES = ("issuers.yaml", "contexts.yaml")
_LITERAL = re.compile(r"(?:[A-Za-z0-9_~/:-]|\\[.$+])+")
_LEAST = 3  # characters that a quick look must name
_CODE = "MM120"

NAMES = (
    "key|token|secret|secrets|password|passwd|passphrase|passwort|kennwort|senha|pass|pwd|"
    "contrase[n?]a|mot[_-]?de[_-]?passe|credentials?|amz-signature|cookie|auth|authorization|"
    "secret[_-]?key[_-]?base|key[_-]?data|key[_-]?id|identity[_-]?header"
)
# Four characters of base64 are three of a text (0x20 to 0x7e, tabs, breaks), whose bits are few.
_FIRST, _THIRD = "[CDI-Za-f]", "[ABEFIJMNQRUVYZcdghklopstwx014589]"
_TEXT64 = rf"{_FIRST}[AC-HQS-Xgi-nwy-z0-3]{_THIRD}[A-Za-z0-9+/_-]"
_WIDE64 = rf"A[AC-H][AEIMQUYcgkosw048]A{_FIRST}[AQgw][AB]"  # every other byte is 0
ASKED = {
    "blocks": r"PRIVATE KEY|Private-Lines:",
    "names": rf"""(?i)(?:{NAMES})[_0-9]*(?:\\*["']|\]|\s*[=:])""",
    "options": rf"(?i)(?:^|\s)--?[A-Za-z0-9_.-]*(?:{NAMES})[_0-9]*[ =]",
    "mail": r"@[A-Za-z0-9-]+\.",
    "homes": r"/home/|[Uu]sers[/\\]",
    "hosts": r"(?i)\.(?:internal|local|lan|corp|intra|private|home\.arpa)|(?:ip|ec2)-\d",
    "escapes": ESCAPES,
    # The code of a text, even of UTF-16, has no arbitrary letters: see _TEXT64. Hex of a text
    # begins each byte with 2 to 7. Names and digests differ.
    "runs": (
        rf"(?:{_TEXT64}){{3}}|{_WIDE64}|[A-Z2-7]{{24}}|(?:[2-7][0-9A-Fa-f]){{12}}"
        r"|(?:[2-7][0-9A-Fa-f][ :,-]){11}"
    ),
}
"""Words, one of which a text must contain for the detectors in code to match."""

Kind = Literal["API_KEY", "TOKEN", "PASSWORD", "PRIVATE_KEY"]


class Format(Strict):
    """How one kind of credential of an issuer looks."""

    name: str
    pattern: str
    quick: str = ""
    check: str = "mixed"
    example: tuple[str, ...] | list[str]

    @property
    def asked(self) -> str:
        """Words that a text must contain."""
        head = _LITERAL.match(self.pattern)
        return self.quick or (head[0] if head else "")

    def detector(self, kind: str) -> Detector:
        """The form as a detector for the program."""
        pattern = self.pattern if re.search(r"\((?!\?)", self.pattern) else f"({self.pattern})"
        return Detector(kind, START + pattern, self.check)


class Issuer(Strict):
    """An issuer of credentials, and its documentation."""

    issuer: str
    source: str
    kind: Kind
    formats: list[Format]


class Context(Strict):
    """The text around a credential."""

    name: str
    kind: Kind
    quick: str
    pattern: str
    within: str = ""
    check: str

    @property
    def asked(self) -> str:
        """Words that a text must contain."""
        return f"(?i){self.quick}"

    def detector(self) -> Detector:
        """The context as a detector for the program."""
        within = f"(?i){self.within}" if self.within else ""
        return Detector(self.kind, f"(?i){self.pattern}", self.check, within)


class Issuers(Strict):
    """The file of issuers."""

    schema_: Literal["modelmedic/issuers/1"] = Field(alias="schema")
    issuers: list[Issuer]


class Contexts(Strict):
    """The file of contexts."""

    schema_: Literal["modelmedic/contexts/1"] = Field(alias="schema")
    contexts: list[Context]


def build(folder: Path = FOLDER) -> dict[str, str]:
    """The texts of both files, by their paths. Raises :class:`ModelMedicError`."""
    issuers = _read(folder / SOURCES[0], Issuers)
    contexts = _read(folder / SOURCES[1], Contexts)
    problems: list[Problem] = []
    rows: dict[str, list[Detector]] = {"issuers": [], "contexts": []}
    asked: list[Asked] = []
    for number, issuer in enumerate(issuers[1].issuers):
        for place, each in enumerate(issuer.formats):
            found = each.detector(issuer.kind)
            wrong = [*_mistakes(found, each.asked), *_misses(each, found)]
            where = issuers[0].where(("issuers", number, "formats", place))
            problems += (Problem(_CODE, f"{issuer.issuer}, {each.name}: {w}", where) for w in wrong)
            asked.append(_asked("issuers", len(rows["issuers"]), each.asked))
            rows["issuers"].append(found)
    for number, context in enumerate(contexts[1].contexts):
        found = context.detector()
        where = contexts[0].where(("contexts", number))
        wrong = _mistakes(found, context.asked)
        problems += (Problem(_CODE, f"{context.name}: {w}", where) for w in wrong)
        asked.append(_asked("contexts", number, context.asked))
        rows["contexts"].append(found)
    if problems:
        raise ModelMedicError(problems)
    asked += (_asked("code", name, pattern) for name, pattern in ASKED.items())
    parts = (f"{json.dumps(name)}: {_lines(each)}" for name, each in rows.items())
    return {COMPILED: "{" + ",\n".join(parts) + "}\n", LISTED: _lines(asked) + "\n"}


def _asked(kind: str, name: int | str, pattern: str) -> Asked:
    needs = required_texts(pattern)
    return kind, name, pattern, list(needs) if all(map(is_quick, needs)) else []


def _lines(rows: Sequence[object]) -> str:
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"


def _read(path: Path, model: type[Any]) -> tuple[Document, Any]:
    document = load(path.read_text(encoding="utf-8"), path.name)
    made, problems = check(document, model, _CODE)
    if made is None:
        raise ModelMedicError(problems)
    return document, made


def _mistakes(detector: Detector, asked: str) -> list[str]:
    found = [f"there is no check {detector.check!r}"] if detector.check not in CHECKS else []
    for part in (asked, detector.pattern, *filter(None, [detector.within])):
        try:
            compiled(part)
        except Exception as error:  # noqa: BLE001 - RE2 has no exception class of its own
            found.append(f"RE2 does not take {part!r}: {error}")
    if len(re.findall(r"[A-Za-z0-9_:/]", asked)) < _LEAST:
        found.append("the pattern begins with less than three plain characters: add `quick`")
    return found


def _misses(given: Format, detector: Detector) -> list[str]:
    """Whether the detector does not find the format's own example."""
    example = "".join(given.example)
    data = example.encode("ascii")
    found = compiled(detector.pattern).search(data)
    if not compiled(given.asked).search(data):
        return ["the example lacks what the quick look asks for"]
    if found is None or not CHECKS[detector.check](example):
        return ["the pattern or the check does not take the example"]
    return []


def main() -> None:
    """Write the files."""
    for path, text in build().items():
        Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
