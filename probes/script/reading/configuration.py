"""Values that come from outside the code: options of a command line, the environment, files."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....facts.problems import ModelMedicError
from ....reading.python.nodes import dotted
from .machine import Machine
from .values import UNKNOWN, Value

MAX_BYTES = 1_000_000
MAX_PARTS = 2_000
MAX_DEPTH = 8
_LOADERS = frozenset({
    "yaml.safe_load", "yaml.load", "yaml.full_load", "json.load", "json.loads", "tomllib.load",
    "tomllib.loads", "toml.load", "toml.loads", "OmegaConf.load", "omegaconf.OmegaConf.load",
})  # fmt: skip
_SUFFIXES = (".yaml", ".yml", ".json", ".toml")


def configured(
    machine: Machine, node: ast.Call, name: str, receiver: Value,
    args: list[Value], named: dict[str, Value],
) -> Value | None:  # fmt: skip
    """The value of a call that declares or reads a configuration; None for other calls."""
    path = dotted(node.func)
    if name in ("add_argument", "option"):
        _declare(machine, args, named)
        return UNKNOWN if name == "add_argument" else None
    if name in ("parse_args", "parse_known_args") and not isinstance(node.func, ast.Name):
        options = Value("options")
        return options if name == "parse_args" else Value("tuple", parts=(options, UNKNOWN))
    if path in ("os.environ.get", "os.getenv", "environ.get", "getenv") and len(args) == 2:
        which = args[0].const if isinstance(args[0].const, str) else "the variable"
        return replace(args[1], assumed=f"that {which[:40]} is not set in the environment")
    if path == "open" and args and isinstance(args[0].const, str):
        return Value("file", const=args[0].const)
    if name in ("open", "read_text", "read") and receiver.kind == "file":
        return receiver
    if path in ("Path", "pathlib.Path") and args and isinstance(args[0].const, str):
        return Value("file", const=args[0].const)
    if path in _LOADERS and args:
        return _loaded(machine, args[0])
    if path in ("float", "int") and args and args[0].const is not None:
        return _number(args[0], path)
    return None


def _number(value: Value, kind: str) -> Value:
    try:
        number = float(value.const) if kind == "float" else int(value.const)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
    return Value("const", const=number, assumed=value.assumed)


def _declare(machine: Machine, args: list[Value], named: dict[str, Value]) -> None:
    flags = [a.const for a in args if isinstance(a.const, str)]
    target = named.get("dest", UNKNOWN).const
    if not isinstance(target, str):
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        target = long.lstrip("-").replace("-", "_")
    default = named.get("default", UNKNOWN)
    if target and default.const is not None:
        assumed = f"that --{target.replace('_', '-')} keeps its default"
        machine.options[target] = replace(default, assumed=assumed)


def _loaded(machine: Machine, given: Value) -> Value:
    """The content of a configuration file of the project that the code names."""
    name = given.const
    if given.kind not in ("file", "text") or not isinstance(name, str):
        return UNKNOWN
    if not name.endswith(_SUFFIXES) or Path(name).is_absolute() or ".." in Path(name).parts:
        return UNKNOWN
    for folder in dict.fromkeys((Path(machine.entry.key).parent, Path(machine.module.key).parent)):
        data = _data(folder / name)
        if data is not None:
            return as_value(data)
    return UNKNOWN


def _data(path: Path) -> Any:
    """The content of a YAML, JSON or TOML file; None if it is malformed or too large."""
    from ....facts.regular_files import read_regular

    try:
        raw = read_regular(path, MAX_BYTES)
        if len(raw) > MAX_BYTES:
            return None
        text = raw.decode("utf-8")
        if path.suffix == ".toml":
            from ....reading.text.values import read_toml

            return read_toml(text)
        if path.suffix == ".json":
            import json

            return json.loads(text)
        from ....facts.strict_yaml import load

        return load(text, str(path)).data
    except (OSError, ValueError, RecursionError, ModelMedicError):
        return None


def as_value(data: Any, depth: int = 0) -> Value:
    """Plain data as a value."""
    if depth > MAX_DEPTH:
        return UNKNOWN
    if isinstance(data, dict):
        pairs = [*data.items()][:MAX_PARTS]
        parts = tuple(as_value(value, depth + 1) for _, value in pairs)
        return Value("dict", parts=parts, const=tuple(str(key) for key, _ in pairs))
    if isinstance(data, list):
        return Value("list", parts=tuple(as_value(each, depth + 1) for each in data[:16]))
    return Value("text" if isinstance(data, str) else "const", const=data)
