"""Settings that a recipe of the cookbook gives to ``chz.Blueprint(train.Config).apply({...})``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...reading.python.nodes import constant, last_name
from .findings import Script
from .reading.values import SDK_PACKAGES


class Blueprint(NamedTuple):
    """A call of ``apply``: the dotted name of the configuration, and the settings as keywords."""

    config: str
    settings: list[ast.keyword]
    node: ast.Call


def blueprints(script: Script) -> Iterator[Blueprint]:
    """Every use of a configuration of the cookbook through a blueprint."""
    for call in script.calls():
        made = getattr(call.func, "value", None)
        if last_name(call.func) != "apply" or not isinstance(made, ast.Call) or not made.args:
            continue
        config = script.machine.value(made.args[0])
        of_sdk = config.kind == "import" and config.op.partition(".")[0] in SDK_PACKAGES
        given = call.args[0] if call.args else None
        if last_name(made.func) == "Blueprint" and of_sdk and isinstance(given, ast.Dict):
            pairs = zip(given.keys, given.values, strict=True)
            settings = [ast.keyword(str(constant(key)), value) for key, value in pairs]
            yield Blueprint(config.op, settings, call)
