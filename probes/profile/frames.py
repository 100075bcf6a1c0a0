"""Classifies stack frames by kind of work, from the names of function and file."""

from __future__ import annotations

import re
import sys
from functools import lru_cache

# The first match decides. These are names of packages and functions, not verdicts: the knowledge
# interprets a large share of some kind of work.
_KINDS = (
    ("waiting", r"result|result_async|__await__|wait_for_result",
     r"tinker/lib/public_interfaces/(api_future|\w*client_future)\.py"),
    ("waiting", r"(Future\.)?result", r"concurrent/futures/_base\.py"),
    ("sleeping", r"(time\.)?sleep", r"asyncio/tasks\.py|<built-in>|time\b.*"),
    ("event-loop", r"epoll\.poll|select\.\w+|kqueue\.control|poll\.poll|(\w*Selector\.)?select",
     r"<built-in>|(.*/)?selectors\.py"),
    ("serialization", r"(.*\.)?(model_dump\w*|to_python|to_json\w*|__repr__|_?serialize\w*|"
     r"_?\w*serializer\w*)", r"(.*/)?(pydantic|pydantic_core)/.*|(.*/)?tinker/_compat\.py"),
    ("serialization", r"(.*\.)?SerializeToString|.*", r"(.*/)?tinker/(proto|lib/proto\w*)/.*"),
    ("tokenization", r"(.*\.)?(apply_chat_template|encode_plus|_?batch_encode\w*|_encode_plus|"
     r"encode_batch\w*)", r".*"),
    ("tokenization", r".*", r"(.*/)?(tokenizers|tiktoken|sentencepiece)/.*|"
     r"(.*/)?transformers/tokenization_\w+\.py|(.*/)?transformers/.*/tokenization_\w+\.py"),
    ("data-loading", r"(.*\.)?(get_batch|load_dataset|read_parquet|read_csv|read_json)", r".*"),
    ("data-loading", r".*",
     r"(.*/)?(datasets|pyarrow|pandas|webdataset|blobfile|fsspec|torch/utils/data)/.*"),
    ("data-loading", r"(Buffered\w+|FileIO|TextIOWrapper|io)\.(read\w*|open)", r"<built-in>"),
    ("collation", r".*", r"(.*/)?tinker/types/(datum|tensor_data|_pydantic_types/model_input)\.py"),
    ("collation", r"(.*\.)?(collate\w*|datum_from\w+|conversation_to_datum|assemble_training_data|"
     r"build_supervised_example)", r".*"),
    ("tensor-work", r".*", r"(.*/)?(numpy|torch|scipy|jax)/.*"),
    ("tensor-work", r"((ndarray|Tensor|_TensorBase)\.\w+|asarray|tensor|tolist|array)",
     r"<built-in>"),
    ("network", r".*", r"(.*/)?(httpx|httpcore|h11|h2|pyqwest|aiohttp|requests|urllib3)/.*|"
     r"(.*/)?(ssl|socket)\.py"),
)  # fmt: skip
_COMPILED = [(kind, re.compile(f"(?:{function})\\Z"), re.compile(f"(?:{file})\\Z"))
             for kind, function, file in _KINDS]  # fmt: skip
_LIBRARY = re.compile(r"<(site-packages|stdlib)>|(.*/)?(site-packages|dist-packages)/|"
                      r"(.*/)?lib/python\d[^/]*/|<frozen |<built-in>|<string>")  # fmt: skip
_PACKAGES = frozenset((
    "tinker", "tinker_cookbook", "numpy", "torch", "scipy", "pandas", "datasets", "pyarrow",
    "transformers", "tokenizers", "pydantic", "pydantic_core", "httpx", "httpcore", "anyio",
    "aiohttp", "chz", "blobfile", "fsspec", "wandb",
))  # fmt: skip


@lru_cache(maxsize=65_536)
def kind_of(function: str, file: str) -> str:
    """The kind of work in the words of the vocabulary (``profile_hotspot.category``), or ''."""
    short = file.replace("\\", "/").removeprefix("<site-packages>/").removeprefix("<stdlib>/")
    for kind, by_function, by_file in _COMPILED:
        if by_function.match(function) and by_file.match(short):
            return kind
    return ""


@lru_cache(maxsize=65_536)
def is_import(function: str, file: str) -> bool:
    """Whether the frame belongs to importing a module."""
    return "importlib" in file or function.startswith("_find_and_load") or (
        function == "<module>" and not is_users(file)
    )  # fmt: skip


@lru_cache(maxsize=65_536)
def is_users(file: str) -> bool:
    """Whether a file is the user's own code: neither a library's nor the interpreter's.

    Short paths, as profilers print them, begin with the package: ``asyncio/tasks.py``.
    """
    if not file or _LIBRARY.match(file):
        return False
    first, slash, _ = file.replace("\\", "/").partition("/")
    name = first.removesuffix(".py")
    if file.startswith(("/", "<", "~", ".")) or ":" in first:
        return True
    return name not in sys.stdlib_module_names and not (slash and name in _PACKAGES)


# thread_state.work for a kind of work.
WORK = {
    "serialization": "serialization", "data-loading": "data-loading", "waiting": "waiting",
    "tokenization": "tokenization", "tensor-work": "numeric", "collation": "numeric",
}  # fmt: skip
