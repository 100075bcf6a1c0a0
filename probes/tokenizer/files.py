"""The files of a tokenizer folder, as transformers 4 and 5 write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, ModelMedicError, Problem
from ...reading.text.files import read_json, read_text
from .recognition import CONFIG

MAX_BYTES = 8_000_000
MAX_VOCABULARY = 64_000_000
_MAX_NAME = 300
_MARKS = (
    ("llama3", ("<|start_header_id|>",)),
    ("harmony", ("<|channel|>", "<|start|>")),
    ("kimi", ("<|im_user|>",)),
    ("deepseek", ("<\uff5cUser\uff5c>",)),
    ("glm", ("[gMASK]", "<|user|>")),
    ("chatml", ("<|im_start|>",)),
)


class Vocabulary(NamedTuple):
    """Tokens with their ids: how many, and a digest of them all."""

    tokens: int
    digest: str


class TokenizerFolder(NamedTuple):
    """A folder; an empty text or None means unknown, ``template`` is None if it could not be
    read."""

    path: Path
    config: Mapping[str, Any]
    template: str | None
    vocabulary: Vocabulary | None
    model: str
    architecture: str
    is_adapter: bool
    problems: tuple[Problem, ...]

    @property
    def family(self) -> str:
        """The family whose marks the chat template has."""
        text = self.template or ""
        return next((name for name, marks in _MARKS if all(m in text for m in marks)), "")

    @property
    def eos(self) -> str:
        """The token that ends a turn."""
        return _text(self.config.get("eos_token"))

    @property
    def tokenizer_class(self) -> str:
        """The class that loads it."""
        return _text(self.config.get("tokenizer_class"))


def read_folder(
    path: Path, *, told: Callable[[int], object] = lambda size: None
) -> TokenizerFolder:
    """Read a folder, or that of a file in it. Never raises; ``told`` is called with the bytes
    read."""
    folder = path if path.is_dir() else path.parent
    problems: list[Problem] = []
    config = _mapping(folder / CONFIG, MAX_BYTES, problems)
    adapter = _mapping(folder / "adapter_config.json", MAX_BYTES, problems)
    model = _mapping(folder / "config.json", MAX_BYTES, problems)
    whole = _mapping(folder / "tokenizer.json", MAX_VOCABULARY, problems)
    told(1)
    name = adapter.get("base_model_name_or_path") or model.get("_name_or_path")
    architectures = model.get("architectures")
    return TokenizerFolder(
        folder, config, _template(folder, config, problems), _vocabulary(whole),
        name[:_MAX_NAME] if isinstance(name, str) else "",
        _text(architectures[0]) if isinstance(architectures, list) and architectures else "",
        bool(adapter), tuple(problems),
    )  # fmt: skip


def _mapping(path: Path, limit: int, problems: list[Problem]) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        value, cut = read_json(path, limit)
    except ModelMedicError as error:
        problems.extend(error.problems)
        return {}
    if isinstance(value, dict):
        return value
    what = "the file is too long" if cut else "this is not a JSON object"
    hint = "copy it again from the base model"
    problems.append(Problem("MM441", f"{what}; it is left out", Location(str(path)), hint))
    return {}


def _template(folder: Path, config: Mapping[str, Any], problems: list[Problem]) -> str | None:
    """The chat template: of its own file, of a folder of several, or of the configuration."""
    for path in (
        folder / "chat_template.jinja",
        folder / "additional_chat_templates" / "default.jinja",
    ):
        if path.is_file():
            try:
                return read_text(path, MAX_BYTES)[0]
            except ModelMedicError as error:
                problems.extend(error.problems)
                return None
    older = _mapping(folder / "chat_template.json", MAX_BYTES, problems)
    value = older.get("chat_template") or config.get("chat_template")
    if isinstance(value, list):  # several, with names
        named = {
            _text(each.get("name")): each.get("template")
            for each in value
            if isinstance(each, dict)
        }
        value = named.get("default") or next(iter(named.values()), "")
    if not config and not value:
        return None
    return value if isinstance(value, str) else ""


def _vocabulary(whole: Mapping[str, Any]) -> Vocabulary | None:
    model = whole.get("model")
    listed = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(listed, list):  # of a unigram model: pairs of token and score, in order
        found = {
            str(each[0]): at for at, each in enumerate(listed) if isinstance(each, list) and each
        }
    elif isinstance(listed, dict):
        found = {str(token): each for token, each in listed.items() if isinstance(each, int)}
    else:
        return None
    added = whole.get("added_tokens")
    for each in added if isinstance(added, list) else ():
        if isinstance(each, dict) and isinstance(each.get("id"), int):
            found[str(each.get("content"))] = each["id"]
    digest = blake2b(digest_size=16)
    for token in sorted(found):
        digest.update(f"{token}\0{found[token]}\n".encode("utf-8", "replace"))
    return Vocabulary(len(found), digest.hexdigest())


def _text(value: Any) -> str:
    """A text, or the content of a token."""
    if isinstance(value, dict):
        value = value.get("content")
    return value[:_MAX_NAME] if isinstance(value, str) else ""
