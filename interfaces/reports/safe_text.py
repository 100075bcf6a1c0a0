"""Makes untrusted text safe to show: control and invisible characters become visible."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# First and last code of each range: C0 (but tab and newline), DEL and C1, surrogates, private
# formats, bidirectional and zero-width characters. The last two codes of each plane come on top.
_HIDDEN = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C),
    (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E),
    (0x2060, 0x206F), (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFDD0, 0xFDEF), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0x1D173, 0x1D17A), (0xE0000, 0xE01FF),
)  # fmt: skip
_MAX_KEPT = 4_096


class _Shown(dict[int, str]):
    """How each character is shown; filled on first use."""

    def __missing__(self, code: int) -> str:
        hidden = code & 0xFFFE == 0xFFFE or any(first <= code <= last for first, last in _HIDDEN)
        shown = _escape(code) if hidden else chr(code)
        if len(self) < _MAX_KEPT:
            self[code] = shown
        return shown


_SHOWN = _Shown()


def safe(text: str) -> str:
    """``text`` with every control character (but newline and tab) and every invisible one written
    as ``\\x1b`` or ``\\u202e``."""
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def one_line(text: str) -> str:
    """Safe text with newlines and tabs made visible too."""
    return safe(text).replace("\n", "\\n").replace("\t", " ")


def safe_plain(value: Any) -> Any:
    """Plain data in which every text is safe."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, Mapping):
        return {safe(name): safe_plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [safe_plain(part) for part in value]
    return value


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
