"""What a text must hold for the detectors that are code to have a chance in it; ``build.py`` puts
it beside what those that are data ask for."""

from __future__ import annotations

NAMES = (
    "key|token|secret|secrets|password|passwd|passphrase|passwort|kennwort|senha|pass|pwd|"
    "contrase[n?]a|mot[_-]?de[_-]?passe|credentials?|amz-signature|cookie|auth|authorization|"
    "secret[_-]?key[_-]?base|key[_-]?data|key[_-]?id|identity[_-]?header"
)
ESCAPES = (
    r"%[2-7][0-9A-Fa-f]|\\u00[2-7]|\\x[2-7]|\\[01][0-7][0-7]|&#x?[0-9A-Fa-f]{2,3};"
    r"|\\\\\\[\"']|\\[nt]"
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
    # What stands for a text, be it of UTF-16, is not any letters: see _TEXT64. Hex of a text begins
    # each byte with 2 to 7. Names and digests differ.
    "runs": (
        rf"(?:{_TEXT64}){{3}}|{_WIDE64}|[A-Z2-7]{{24}}|(?:[2-7][0-9A-Fa-f]){{12}}"
        r"|(?:[2-7][0-9A-Fa-f][ :,-]){11}"
    ),
}
