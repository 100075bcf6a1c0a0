"""Credentials in clear text, recognised in three ways. By their form and by the text around them:
the detectors of ``issuers.yaml`` and ``contexts.yaml``, and key blocks. By the name before them:
``WANDB_API_KEY=...``, ``"password": "..."``; tokens and keys are everyday words in machine
learning, so the value must look like a secret, too, and how much depends on the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .checks import NO_START, is_mixed, is_placeholder, looks_random
from .detectors import Span, compiled, shipped, spans_of
from .look import Look

API_KEY, TOKEN, PASSWORD, PRIVATE_KEY = "API_KEY", "TOKEN", "PASSWORD", "PRIVATE_KEY"

_BLOCKS = (
    r"(?s)(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z))",
    r"Private-Lines: [0-9]{1,3}(?:\r?\n|\\n)((?:[A-Za-z0-9+/=]{4,100}(?:\r?\n|\\n|\z))+"
    r"(?:Private-(?:MAC|Hash): [0-9a-f]+)?)",
)

_CERTAIN = (
    "password|passwd|passphrase|passwort|kennwort|senha|contrase[n?]a|mot[_-]?de[_-]?passe|pwd|"
    "secret|secrets|credential|credentials|secret[_-]?key[_-]?base|identity[_-]?header|"
    "client[_-]?key[_-]?data|private[_-]?key[_-]?id|pre[_-]?shared[_-]?key|"
    "api[_-]?key|access[_-]?key|access[_-]?key[_-]?id|account[_-]?key|private[_-]?key|"
    "secret[_-]?key|signing[_-]?key|encryption[_-]?key|amz-signature|cookie|authorization|"
    "(?:api|auth|access|refresh|bearer|session|security|secret|hf|hub|huggingface|git|github|"
    "gitlab|slack|bot|oauth|deploy|registry|npm|pypi|wandb|tinker|client)[_-]?token"
)
_NAME = (
    rf"[A-Za-z0-9_.-]{{0,80}}?(?:(?P<certain>{_CERTAIN})|(?P<weak>token|key|auth|pass))"
    r"(?:_?\d{1,2})?"
)
_QUOTE = r"""\\{0,3}["']"""
_QUOTED = (
    r"""(?:\\{0,3}"(?P<double>(?:[^"\\\n]|\\[^"\n])+)\\{0,3}"?"""
    r"""|\\{0,3}'(?P<single>(?:[^'\\\n]|\\[^'\n])+)\\{0,3}'?)"""
)
_BARE = r"""(?P<bare>[^\s"'\\&,;)\]}<>(]+)"""
_PATTERNS = (
    # name = value, name: "value", "name": "value", name=\n"value"
    rf"(?i)(?:^|[^A-Za-z0-9])(?P<name>{_NAME})(?:{_QUOTE})?\]?"
    rf"(?:\s{{0,3}}(?:=>|:=|=|:)(?:[\s\\(]{{0,80}}[rbf]?{_QUOTED}|[ \t]{{0,8}}{_BARE}))",
    # environ.setdefault("NAME", "value"), name='NAME', value='...'
    rf"(?i)[\"'](?P<name>{_NAME}){_QUOTE}\s{{0,3}},\s{{0,3}}(?:value\s?=\s?)?{_QUOTED}",
    # --api-key value
    rf"(?i)(?:^|\s)--?(?P<name>{_NAME})[ =](?:{_QUOTED}|{_BARE})",
)
_CODE = ("os.", "self.", "args.", "config.", "settings.", "cfg.", "secrets.", "env.", "options.")
_CODE_WORD = re.compile(r"(?:[a-z_]\w*|[A-Za-z_]+[0-9]{0,2})\Z")
_MARK = re.compile(r"<secret:[A-Z_]{1,20}(?::[0-9a-f]{4})?>")
_RESTARTS = 4  # where a harmless value may contain another name


def issuer_spans(look: Look) -> Iterator[Span]:
    """Every credential that is recognised by its form."""
    issuers, _ = shipped()
    for number in look.issuers:
        yield from spans_of(issuers[number], look.text, look.data)
    if "blocks" in look.code:
        for pattern in _BLOCKS:
            for found in compiled(pattern).finditer(look.data):
                start, end = found.span(1)
                yield Span(start, end, PRIVATE_KEY, look.text[start:end])


def context_spans(look: Look) -> Iterator[Span]:
    """Every credential that is recognised by what stands around it."""
    _, contexts = shipped()
    for number in look.contexts:
        yield from spans_of(contexts[number], look.text, look.data)


def assigned_spans(look: Look) -> Iterator[Span]:
    """Every value that is given to a sensitive name and looks like a secret."""
    if "names" in look.code or "options" in look.code:
        for pattern in _PATTERNS:
            yield from _assigned(compiled(pattern), look)


def _assigned(pattern: Any, look: Look) -> Iterator[Span]:
    """The matches of a pattern. In ``cookie: Cookie: session=...`` the value of the first name is
    not a secret, but contains the second name: the search continues after the name, a few times for
    each value, so that it stays linear."""
    group = {name.decode(): number for name, number in pattern.groupindex.items()}
    at = behind = restarts = 0
    while (found := pattern.search(look.data, at)) is not None:
        span = _secret_of(found, look.text, group)
        if span is not None:
            yield span
            at = span.end
            continue
        restarts = restarts + 1 if found.start() < behind else 0
        behind = max(behind, found.end())
        at = found.end() if restarts >= _RESTARTS else found.end(group["name"])


def _secret_of(found: Any, text: str, number: dict[str, int]) -> Span | None:
    parts = (
        p for p in ("double", "single", "bare") if p in number and found[number[p]] is not None
    )
    part = next(parts, None)
    if part is None:
        return None
    start, end = found.span(number[part])
    name_start, name_end = found.span(number["name"])
    if _MARK.match(text, max(name_start - 1, 0)):
        return None  # it was masked before
    name, value = text[name_start:name_end], text[start:end].rstrip("`")
    if part == "bare" and text[start + len(value) :][:1] in ("(", "["):
        return None  # a call or a lookup
    operator = text[name_end:start]
    if not _is_secret(name, value, found[number["certain"]] is not None, part != "bare", operator):
        return None
    secret = value.rstrip(".")
    return Span(start, start + len(secret), _kind(name), secret)


PLAIN = (issuer_spans, context_spans, assigned_spans)
"""All three ways."""


def secret_value(name: str, value: str) -> str | None:
    """The kind of secret that ``value`` is under ``name``, or None."""
    quote = "'" if '"' in value else '"'
    for span in assigned_spans(Look(f"{name}={quote}{value}{quote}")):
        return span.kind
    return None


def _kind(name: str) -> str:
    low = name.lower()
    if "pass" in low or "pwd" in low:
        return PASSWORD
    return TOKEN if any(w in low for w in ("token", "cookie", "authorization")) else API_KEY


def _is_secret(name: str, value: str, certain: bool, quoted: bool, operator: str) -> bool:
    if is_placeholder(value):
        return False
    low = value.lower()
    bare = value[6 * low.startswith("basic ") or 7 * low.startswith("bearer ") :]
    if bare[:1] in NO_START or value.startswith(_CODE) or _is_lookup(name, value, quoted):
        return False
    if quoted and _is_name_or_title(name, value):
        return False
    if "]" in operator and value.isalpha():
        return False  # `kinds[secret] = kind`
    if not certain:
        if name.lower().endswith("pass"):
            return len(value) >= 6 and is_mixed(value) and value[-1:] != "%"
        words = all(part.isalpha() or part.isdigit() for part in re.split(r"[./_-]", value))
        return not words and looks_random(value, 12 if _is_variable(name) else 16)
    if (not quoted and ":" in operator and "=" not in operator) or operator == " ":
        return any(not c.isalpha() for c in value.rstrip(".!?:")) and not _is_number(name, value)
    return not (quoted and " " in value and _reads_like_prose(value)) and not _is_number(
        name, value
    )


def _is_variable(name: str) -> bool:
    return name.upper() == name


def _is_number(name: str, value: str) -> bool:
    """Whether the value is a plain number, which only a password can be."""
    return "pass" not in name.lower() and value.replace(".", "").replace("_", "").isdigit()


def _is_lookup(name: str, value: str, quoted: bool) -> bool:
    """``api_key=api_key``, ``api_key=args.key``: code that passes a secret on, not the secret."""
    if quoted:
        return False
    if value.endswith("...") and len(value) < 12:
        return True  # "tml-..." in documentation
    parts = value.split(".")
    random = any("_" not in part and looks_random(part, 12) for part in parts)
    dotted = len(parts) > 1 and not random and all(map(_CODE_WORD.match, parts))
    words = any(w in value.lower() for w in ("key", "token", "secret", "passw", "credential"))
    return dotted or (value.isidentifier() and (words or value.lower() in name.lower()))


def _is_name_or_title(name: str, value: str) -> bool:
    """``("HF_TOKEN", "BASE_URL")``, ``["BaseCookie", "SimpleCookie"]``, ``{"API_KEY": "API key"}``:
    what is spelled as names are, or, for a key, has a space in it."""
    if " " in value:
        return "key" in name.lower()
    plain = value.isidentifier() and not any(map(str.isdigit, value))
    camel = value[:1].isupper() and name[:1].isupper() and not name.isupper()
    return plain and (value.isupper() or (camel and not value[1:].islower()))


def _reads_like_prose(value: str) -> bool:
    words = value.split()
    return len(words) > 3 and all(w.strip(".,;:!?()`'\"").isalpha() for w in words)
