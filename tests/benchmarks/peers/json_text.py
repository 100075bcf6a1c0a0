"""Facts out of JSON text and answers into it: the same reader and writer for every peer.

msgspec with a declared type is the quickest that each of them can use; without it, the standard
library. Text that goes in is bytes, text that comes out too.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

try:
    import msgspec
except ImportError:
    NAME = "json of the standard library"

    def read(data: bytes) -> Any:
        """The facts, with their values as attributes."""
        return json.loads(data, object_hook=lambda values: SimpleNamespace(**values))

    def write(answer: Any) -> bytes:
        """An answer as it leaves an engine."""
        return json.dumps(answer, separators=(",", ":")).encode()
else:
    NAME = f"msgspec {msgspec.__version__}, typed"
    _FIELDS = [("kind", str), ("name", str), ("group", int), ("level", int)]
    read = msgspec.json.Decoder(list[msgspec.defstruct("Row", _FIELDS, gc=False)]).decode
    write = msgspec.json.Encoder().encode
