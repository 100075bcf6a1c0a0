"""Checks that a pattern cannot express: whether a text with the form of a secret is one. Entropy
supports a form or a name; alone it never makes a text a secret.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable

ORDINARY = frozenset((
    "none", "null", "nil", "true", "false", "yes", "no", "on", "off", "required", "optional",
    "missing", "invalid", "expired", "wrong", "incorrect", "unset", "unknown", "empty", "set",
    "not", "is", "are", "was", "the", "a", "an", "str", "string", "bytes", "bool", "int",
    "float", "any", "object", "type", "default", "example", "value", "name", "file", "path",
    "prompt", "changed", "given", "found", "used", "needed", "redacted", "hidden",
    "placeholder", "dummy", "test", "secret", "password", "token", "key", "credential",
    "credentials", "auto", "env", "environment", "keyring", "write", "read", "user", "admin",
    "basic", "bearer", "digest", "negotiate", "pass", "passw", "passphrase", "cookie", "auth",
    "authorization",
))  # fmt: skip
PLACEHOLDERS = ("your", "my-", "my_", "xxx", "***", "...", "…", "placeholder", "example", "insert")
NO_START = ("", *"<${%[*(,")
VARIED, RANDOM = 3.0, 12
_PERCENT = re.compile("%[0-9A-Fa-f]{2}")


def is_placeholder(text: str) -> bool:
    """Whether a text in the place of a secret is not one."""
    low = text.lower().strip()
    return (
        len(low) < 4
        or low in ORDINARY
        or low.startswith(PLACEHOLDERS)
        or len(set(low)) < 3
        or text[:1] in NO_START
    )


def is_mixed(text: str) -> bool:
    """Letters and digits, or upper and lower case within, as keys have and words do not."""
    inner = text[1:]
    cases = inner != inner.lower() and text != text.upper()
    return (any(map(str.isdigit, text)) and any(map(str.isalpha, text))) or cases


def looks_random(text: str, least: int) -> bool:
    """Long enough, letters and digits, and nearly as varied as random characters."""
    body = text.strip("=")
    if len(body) < least or not all(c.isalnum() or c in "+/=_.~-" for c in body):
        return False
    if not (any(map(str.isdigit, body)) and any(map(str.isalpha, body))):
        return False
    wordy = max((len(run) for run in letter_runs(body)), default=0) >= 8 and "/" in body
    return entropy(body) >= VARIED and not wordy


def entropy(text: str) -> float:
    """Bits a character, by how often each occurs."""
    shares = [number / len(text) for number in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def letter_runs(text: str) -> list[str]:
    """The runs of letters in a text."""
    return "".join(c if c.isalpha() else " " for c in text).split()


def _varied(text: str) -> bool:
    """Check for a form that is not unique to secrets: several kinds of characters, unordered."""
    body = [c for c in text if c.isalnum()]
    changes = sum(a.isdigit() != b.isdigit() for a, b in itertools.pairwise(body))
    return is_mixed(text) and changes >= 2 and entropy("".join(body)) >= VARIED


def _tinker(text: str) -> bool:
    """``tml-`` keys have no published length; ``tml-renderers`` is a package and prose says
    ``tml-prefix``."""
    body = text[4:].rstrip(".-")
    if body.startswith("renderers"):
        return False
    runs = body.replace("_", "-").replace(".", "-").split("-")
    keylike = any(len(r) >= 6 and any(map(str.isdigit, r)) for r in runs)
    return keylike or len(body) >= 16


def _header(text: str) -> bool:
    return not is_placeholder(text) and (len(text) >= 24 or is_mixed(text))


def _no_port(text: str) -> bool:
    """In ``http://host:8000/a@b`` there is no password before the "@"."""
    before, slash, _ = text.partition("/")
    return not (slash and before.isdigit())


def _password(text: str) -> bool:
    """Whatever people choose: anything but words that stand for one."""
    return not is_placeholder(text)


def _strong(text: str) -> bool:
    """Check for a password where ordinary text may stand as well: at least six characters, letters
    mixed with digits or of both cases."""
    return not is_placeholder(text) and len(text) >= 6 and is_mixed(text)


def _random(text: str) -> bool:
    plain = _PERCENT.sub("", text)
    return not is_placeholder(text) and looks_random(plain, RANDOM)


CHECKS: dict[str, Callable[[str], bool]] = {
    "none": lambda text: True,
    "mixed": is_mixed,
    "varied": _varied,
    "tinker": _tinker,
    "header": _header,
    "no-port": _no_port,
    "password": _password,
    "strong": _strong,
    "random": _random,
}
