"""Reads the source of a component test; undecidable values are left out."""

from __future__ import annotations

import ast

from ...reading.python.nodes import assignments, constant, dotted, keywords, last_name
from ...reading.python.sources import Code
from .patterns import find_patterns
from .port_code import words

_COMPARE = frozenset({"compare_3tensors", "compare_2tensors"})


def test_facts(code: Code) -> dict[str, bool | str]:
    """Attributes of ``component_test``."""
    found: dict[str, bool | str] = {}
    linears = words("parallel-linears")
    layers = [call for call in code.all(ast.Call) if last_name(call.func) in linears]
    if layers:
        found["parallel_layer"] = True
        copied = any(f.pattern == "copy-into-parallel-weight" for f in find_patterns(code))
        found["copies_parameter"] = copied
        # The layers make FP32 weights by default, and copy_ keeps their type.
        if copied and all("dtype" not in keywords(c) for c in layers) and not _lowers(code):
            found["weight_dtype"] = "float32"
    if _is_padded(code):
        found["padded"] = True
        found["eval_called"] = _calls_eval(code)
    cast = _casts_outputs(code)
    if cast is not None:
        found["casts_float"] = cast
    return found


def _is_padded(code: Code) -> bool:
    layers = words("parallel-layers")
    return any(constant(keywords(call).get("pad")) is True and last_name(call.func) in layers
               for call in code.all(ast.Call))  # fmt: skip


def _calls_eval(code: Code) -> bool:
    for call in code.all(ast.Call):
        name = last_name(call.func)
        if isinstance(call.func, ast.Attribute) and name == "eval" and not call.args:
            return True
        if name == "train" and call.args and constant(call.args[0]) is False:
            return True
    return False


def _lowers(code: Code) -> bool:
    """Whether a module is brought to low precision as a whole: ``target.to(torch.bfloat16)``."""
    for call in code.all(ast.Call):
        if last_name(call.func) in ("bfloat16", "half"):
            return True
        if last_name(call.func) == "to" and isinstance(call.func, ast.Attribute):
            names = {last_name(each) for each in (*call.args, *keywords(call).values())}
            if names & {"bfloat16", "float16", "dtype"} and "weight" not in dotted(call.func.value):
                return True
    return False


def _casts_outputs(code: Code) -> bool | None:
    """Whether everything that is compared was brought to float; None if that is not to be seen."""
    known: list[bool] = []
    for call in code.all(ast.Call):
        if last_name(call.func) not in _COMPARE:
            continue
        for value in call.args[:3]:
            is_cast = _is_cast(code, value)
            if is_cast is None:
                return None
            known.append(is_cast)
    return all(known) if known else None


def _is_cast(code: Code, value: ast.expr) -> bool | None:
    if _casts(value):
        return True
    name = dotted(value)
    if not name:
        return None
    values = [given for node in code.nodes for target, given in assignments(node)
              if dotted(target) == name]  # fmt: skip
    if any(_casts(each) for each in values):
        return True
    return False if values and all(_calls_module(code, each) for each in values) else None


def _casts(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in ("float", "double", "to")


def _calls_module(code: Code, value: ast.expr) -> bool:
    """Whether a value is a call ``target(x)`` of a local name: its result has the module's
    number format."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return False
    name = value.func.id
    is_function = name in code.imports or any(f.name == name for f in code.all(ast.FunctionDef))
    return not is_function and not name.startswith(("_", "to_", "run"))
