"""Recognises the description of a tokenizer by its name and first bytes."""

from __future__ import annotations

from pathlib import Path

CONFIG = "tokenizer_config.json"
_KEYS = (b'"tokenizer_class"', b'"added_tokens_decoder"', b'"eos_token"', b'"model_max_length"')


def looks_like_tokenizer(path: Path, head: bytes) -> bool:
    """Whether a file is the tokenizer_config.json of transformers."""
    return path.name == CONFIG and head.lstrip()[:1] == b"{" and any(key in head for key in _KEYS)
