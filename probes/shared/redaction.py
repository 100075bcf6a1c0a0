"""Takes credentials and session ids out of texts before they become facts."""

from __future__ import annotations

import re

KEY_MARK = "<redacted>"
# API keys and JWTs (the bare prefix, as in "must start with the 'tml-' prefix", is not a key), and
# where the line ends within one, what looks like its rest on the next line.
_RUN = r"[ \t>|#*]{0,40}(?!\d{4}-\d\d)(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w.-]{8,}"
_FIRST_RUN = re.compile(_RUN)
_KEY = re.compile(
    rf"(?:\btml-[\w.-]{{4,}}|\beyJ[\w-]{{8,}}(?:\.[\w-]*){{0,2}}"
    rf"|(?<=[Bb]earer )(?=\S{{0,200}}[\dA-Z])[\w.~+/-]{{8,}}=*)(?:(?:\\n|\\?\r?\n){_RUN})?"
)
_URL_USER = re.compile(r"(?<=://)[^/@\s'\"]{1,200}@")
# `session <id>`, `session ID: <id>`, `<id>:train:0`, `sessionless-<id>`; an id holds a digit and
# a hyphen, so that words are left alone.
_SESSION = re.compile(
    r"(?:(?<=[Ss]ession )|(?<=[Ss]ession ID: )|(?<=session_id=)|(?<=session_id': ')"
    r"|(?<=session_id\": \")|(?<=session_id=')|(?<=sessions/)|(?<=tinker://))"
    r"(?=[\w]*-)(?=[A-Za-z-]*\d)[\w-]{8,80}"
    r"|\b(?=\w{0,40}-)(?=[A-Za-z-]{0,40}\d)[\w-]{8,80}(?=:(?:train|sample):\d)"
)


def without_keys(text: str) -> str:
    """``text`` with :data:`KEY_MARK` where an API key, token or user name of a URL stood."""
    if "tml-" in text or "eyJ" in text or "earer " in text:
        text = _KEY.sub(KEY_MARK, text)
    return _URL_USER.sub(KEY_MARK + "@", text) if "@" in text else text


def without_rest(line: str, before: str) -> str:
    """``line`` without the probable rest of the key at the end of the line ``before`` it, which is
    cleaned."""
    if not before.endswith((KEY_MARK, KEY_MARK + "\\")):
        return line
    return _FIRST_RUN.sub(KEY_MARK, line, count=1) if _FIRST_RUN.match(line) else line


class SessionNames:
    """Replaces session ids by ``session-1``, ``session-2`` ..., in order of appearance.

    Texts about one session still name the same session, but without the id by which it could be
    looked up.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def hide(self, text: str) -> str:
        """``text`` with names instead of session ids."""
        if "ession" not in text and ":train:" not in text and ":sample:" not in text:
            return text
        return _SESSION.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        return self._names.setdefault(found[0], f"session-{len(self._names) + 1}")
