"""Reads the lines in which a server describes itself. The forms of the lines are those of vLLM
0.4 to 0.2x (with ``args: Namespace(...)`` and ``non-default args: {...}``) and of SGLang 0.4
and 0.5."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..logs.files import Piece
from .settings import plain, settings, truth, whole

_HEAD = (
    rb"(?:\([A-Za-z_]\w{0,40} pid=\d+\) )?"
    rb"(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w.]+\.py:\d+\] |"
    rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]\n]{0,40}\] "
)
_MARKS = (
    rb"vLLM API server version|Initializing an? |non-default args: |args: Namespace\(|"
    rb"Using max model len |GPU KV cache size: |Casting torch|Loaded new LoRA adapter: |"
    rb"LoRA module '|"
    rb"server_args=ServerArgs\(|Load weight end\.|max_total_num_tokens=|KV Cache is allocated\.|"
    rb"LoRA adapter loading |No chat template found|"
    rb"Using default HuggingFace chat template|Loading chat template from argument"
)
_LINE = re.compile(rb"^(?:" + _HEAD + rb")?(" + _MARKS + rb")([^\n]*)", re.MULTILINE)
_FORMATS = {"bfloat16": "bfloat16", "float16": "float16", "half": "float16", "float": "float32",
            "float32": "float32"}  # fmt: skip
_VERSION = re.compile(
    r"(?<!\d)(\d{1,9}(?:\.\d{1,9}){1,3}(?:rc\d{1,9}|\.?post\d{1,9}|\.?dev\d{1,9})?)"
)
_VLLM_MODULE = re.compile(r"\w\(name='([^']{1,200})',\s?path='([^']{1,1000})'")
_SGLANG_REF = re.compile(r"lora_name='?([^',)]{1,200})'?,\s?lora_path='?([^',)]{1,1000})'?")
_PAIR = re.compile(r"'([^'=:]{1,200})(?:=|':\s?')([^']{1,1000})'")
_IGNORED = re.compile(
    r"([^']{1,400})' in adapter '([^']{1,1000})' is not in the model's supported LoRA target "
    r"modules \[([^\]]{0,4000})\]"
)
# vLLM fuses projections, and some releases warn of their parts although it applies them.
_FUSED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
_DEFAULT_RANK = 16  # of vLLM, which prints no argument that has its default
MAX_ADAPTERS = 50
MAX_IGNORED = 10_000


class Adapter:
    """An adapter; ``ignored`` are the modules of it that the engine does not apply."""

    def __init__(self, name: str, path: str, line: int) -> None:
        self.name, self.path, self.line = name, path, line
        self.loaded: bool | None = None
        self.ignored: set[str] = set()


class Server:
    """The last start of a server."""

    def __init__(self) -> None:
        self.engine = ""
        self.line = 0
        self.adapters: dict[str, Adapter] = {}
        self._values: dict[str, Any] = {}
        self._told = False  # whether its arguments were read

    def values(self) -> dict[str, Any]:
        """The known attributes of the server, for ``serving``."""
        values = dict(self._values)
        if self.adapters:
            values["unmerged_adapter"] = True
            values["lora"] = True
        if self.engine == "vllm" and self._told and values.get("lora"):
            values.setdefault("max_lora_rank", _DEFAULT_RANK)
        return values

    def feed(self, piece: Piece) -> None:
        """Read the lines of interest of a piece of the log."""
        at, line = 0, piece.line
        for match in _LINE.finditer(piece.data):
            line += piece.data.count(b"\n", at, match.start())
            at = match.start()
            mark = match[1].decode("utf-8", "replace")
            take = next(each for start, each in _TAKERS if mark.startswith(start))
            take(self, match[2].decode("utf-8", "replace").rstrip("\r"), line)

    def _start(self, engine: str, line: int) -> None:
        self.engine, self.line = engine, line
        self.adapters, self._values, self._told = {}, {}, False

    def _set(self, **values: Any) -> None:
        self._values |= {name: value for name, value in values.items() if value not in (None, "")}

    def _belongs(self, engine: str, line: int) -> None:
        if not self.engine:
            self.engine, self.line = engine, line

    def adapter(self, name: str, path: str, line: int) -> Adapter | None:
        """The adapter of a name; None if there are too many."""
        if name not in self.adapters and len(self.adapters) >= MAX_ADAPTERS:
            return None
        return self.adapters.setdefault(name, Adapter(name, path, line))

    def version(self, text: str, line: int) -> None:
        """Read the version that vLLM prints when it starts."""
        self._start("vllm", line)
        self._set(engine_version=_version(text))

    def arguments(self, text: str, line: int) -> None:
        """Read the arguments that vLLM was started with."""
        self._belongs("vllm", line)
        self._told = True
        given = settings(text.strip("{}"))
        self._common(given, plain(given.get("model_tag")) or plain(given.get("model")))
        self._set(context_window=whole(given.get("max_model_len")))
        for name, path in _VLLM_MODULE.findall(given.get("lora_modules", "")):
            self.adapter(name, path, line)

    def engine_config(self, text: str, line: int) -> None:
        """vLLM lists the settings that its engine takes."""
        head, mark, rest = text.partition("with config:")
        if not mark or "LLM engine" not in head:
            return
        self._belongs("vllm", line)
        self._set(engine_version=_version(head))
        given = settings(rest)
        self._set(
            model=plain(given.get("model")), dtype=_format(given.get("dtype")),
            context_window=whole(given.get("max_seq_len")),
        )  # fmt: skip
        self._quantized(given)
        if given.get("quantization") == "None":
            self._set(quantized=False)

    def sglang_arguments(self, text: str, line: int) -> None:
        """Read the arguments that SGLang was started with."""
        self._start("sglang", line)
        given = settings(text)
        self._common(given, plain(given.get("model_path")))
        self._set(context_window=whole(given.get("context_length")))
        listed = given.get("lora_paths", "")
        for name, path in _SGLANG_REF.findall(listed) or _PAIR.findall(listed):
            self.adapter(name, path, line)

    def _common(self, given: dict[str, str], model: str) -> None:
        template = plain(given.get("chat_template"))
        self._set(
            model=model, dtype=_format(given.get("dtype")), lora=truth(given.get("enable_lora")),
            max_lora_rank=whole(given.get("max_lora_rank")),
            chat_template="option" if template else None,
        )  # fmt: skip
        self._quantized(given)

    def _quantized(self, given: dict[str, str]) -> None:
        method = plain(given.get("quantization"))
        if method:
            self._set(quantized=True, quantization=method)

    def longest(self, text: str, line: int) -> None:
        """The longest sequence that vLLM accepts."""
        self._belongs("vllm", line)
        self._set(context_window=whole(_first(text)))

    def cache_size(self, text: str, line: int) -> None:
        """The size of vLLM's KV cache."""
        self._belongs("vllm", line)
        self._set(kv_cache_tokens=whole(_first(text)))

    def cast(self, text: str, line: int) -> None:
        """vLLM converts the weights to another number format."""
        source, mark, target = text.removeprefix(".").rstrip(".").partition(" to torch.")
        if mark:
            self._belongs("vllm", line)
            self._set(cast_from=_FORMATS.get(source), dtype=_FORMATS.get(target))

    def loaded(self, text: str, line: int) -> None:
        """vLLM has taken an adapter."""
        match = re.match(r"name '([^']{1,200})', path '([^']{1,1000})'", text)
        found = self.adapter(match[1], match[2], line) if match else None
        if found:
            self._belongs("vllm", line)
            found.loaded = True

    def ignored(self, text: str, line: int) -> None:
        """vLLM does not apply a module of an adapter."""
        match = _IGNORED.match(text)
        if not match or _is_fused(match[1], match[3].split(", ")):
            return
        self._belongs("vllm", line)
        path = match[2]
        named = next(
            (a for a in self.adapters.values() if a.path.rstrip("/") == path.rstrip("/")), None
        )
        found = named or self.adapter(path.rstrip("/").rpartition("/")[2] or path, path, line)
        if found and len(found.ignored) < MAX_IGNORED:
            found.line = found.line if found.ignored else line
            found.ignored.add(match[1])

    def weights(self, text: str, line: int) -> None:
        """SGLang has loaded the model."""
        self._belongs("sglang", line)
        found = re.search(r"\bdtype=torch\.(\w{1,20})", text)
        self._set(dtype=_FORMATS.get(found[1]) if found else None)

    def sizes(self, text: str, line: int) -> None:
        """Read the size of SGLang's cache and its longest sequence."""
        self._belongs("sglang", line)
        found = re.search(r"\bcontext_len=(\d{1,12})", text)
        self._set(
            kv_cache_tokens=whole(_first(text)), context_window=whole(found[1]) if found else None
        )

    def allocated(self, text: str, line: int) -> None:
        """The size of SGLang's KV cache, of one of its processes."""
        self._belongs("sglang", line)
        found = re.search(r"#tokens: (\d{1,12})", text)
        if found:
            self._values.setdefault("kv_cache_tokens", int(found[1]))

    def sglang_adapter(self, text: str, line: int) -> None:
        """Note that SGLang begins or ends to load an adapter; it prints both also if it refuses
        it."""
        match = _SGLANG_REF.search(text)
        if match:
            self._belongs("sglang", line)
            self.adapter(match[1], match[2], line)

    def template(self, text: str, line: int) -> None:
        """SGLang has a chat template of the model."""
        self._belongs("sglang", line)
        self._set(chat_template="model")

    def given_template(self, text: str, line: int) -> None:
        """SGLang has a chat template of its command line."""
        self._belongs("sglang", line)
        self._set(chat_template="option")

    def no_template(self, text: str, line: int) -> None:
        """Note that SGLang finds no chat template; some releases write this after they have found
        one."""
        self._belongs("sglang", line)
        self._values.setdefault("chat_template", "none")


_Taker = Callable[[Server, str, int], None]
_TAKERS: tuple[tuple[str, _Taker], ...] = (
    ("vLLM API server version", Server.version),
    ("Initializing a", Server.engine_config),
    ("non-default args: ", Server.arguments),
    ("args: Namespace(", Server.arguments),
    ("Using max model len ", Server.longest),
    ("GPU KV cache size: ", Server.cache_size),
    ("Casting torch", Server.cast),
    ("Loaded new LoRA adapter: ", Server.loaded),
    ("LoRA module '", Server.ignored),
    ("server_args=ServerArgs(", Server.sglang_arguments),
    ("Load weight end.", Server.weights),
    ("max_total_num_tokens=", Server.sizes),
    ("KV Cache is allocated.", Server.allocated),
    ("LoRA adapter loading ", Server.sglang_adapter),
    ("No chat template found", Server.no_template),
    ("Using default HuggingFace chat template", Server.template),
    ("Loading chat template from argument", Server.given_template),
)


def _first(text: str) -> str:
    return re.split(r"[^\d,]", text.strip(), maxsplit=1)[0].rstrip(",") if text.strip() else ""


def _format(value: str | None) -> str | None:
    return _FORMATS.get(plain(value).removeprefix("torch."))


def _version(text: str) -> str | None:
    found = _VERSION.search(text)
    return found[1] if found else None


def _is_fused(module: str, supported: list[str]) -> bool:
    """Whether a module is a part of one that the engine knows by another name."""
    last = module.rpartition(".")[2]
    return any(whole in supported and last in parts for whole, parts in _FUSED.items())
