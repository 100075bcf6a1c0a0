"""Kernels of the device that a class calls: the CPU runs something else in their place."""

from __future__ import annotations

import ast

from ...reading.python.nodes import assignments, dotted, last_name
from ...reading.python.sources import Code
from .call_rows import on_cpu
from .divergence import Divergence, component_name
from .port_code import words


def find_kernels(code: Code, known: list[Divergence]) -> list[Divergence]:
    """One divergence for each class that uses kernels; ``known`` are those found by conditions,
    whose classes are not named again."""
    told = {name for each in known for name in (each.cpu_class, each.device_class)}
    kernels = _kernel_names(code)
    found: dict[str, Divergence] = {}
    for name in sorted(kernels):
        for use in code.all(ast.Name):
            is_read = use.id == name and isinstance(use.ctx, ast.Load)
            owner = code.class_of(use) if is_read else None
            if owner is None or name in told or on_cpu(code, use):
                continue
            if code.class_name(ast.Name(name)) and name not in code.classes:
                component = component_name(_target(code, use) or owner.name)
                found.setdefault(component, Divergence(component, "nki_kernel", use, None, name))
            elif _is_called(code, use):
                called = Divergence(owner.name, "kernel_call", use, detail=f"kernel {name}")
                found.setdefault(owner.name, called)
    ordered = sorted(found.values(), key=lambda each: (code.line(each.node), each.component))
    components = {each.component for each in known}
    return [each for each in ordered if each.component not in components]


def _kernel_names(code: Code) -> set[str]:
    """Imported kernels, functions compiled as one, and names for either."""
    modules, language = words("kernel-modules"), words("kernel-language-modules")
    found = set()
    for name, full in code.imports.items():
        parts = full.strip(".").split(".")
        inside = set(parts[:-1])
        if inside & modules and not inside & language and parts[-1] not in modules | language:
            found.add(name)
    jits = words("kernel-decorators")
    for function in code.all(ast.FunctionDef):
        names = (d.func if isinstance(d, ast.Call) else d for d in function.decorator_list)
        if any(dotted(each) in jits for each in names):
            found.add(function.name)
    # _flash_fwd_call = nki_jit()(attention_isa_kernel)
    for node in code.tree.body:
        for target, value in assignments(node):
            used = {each.id for each in code.all(ast.Name, value)}
            if isinstance(target, ast.Name) and isinstance(value, ast.Call) and used & found:
                found.add(target.id)
    return found


def _is_called(code: Code, use: ast.Name) -> bool:
    """``kernel(...)`` or ``kernel[grid](...)``."""
    parent = code.parents.get(id(use))
    if isinstance(parent, ast.Subscript) and parent.value is use:
        use, parent = parent, code.parents.get(id(parent))  # type: ignore[assignment]
    return isinstance(parent, ast.Call) and parent.func is use


def _target(code: Code, use: ast.AST) -> str:
    for each in code.above(use):
        for target, _ in assignments(each):
            return dotted(target)
        if isinstance(each, ast.stmt):
            return last_name(getattr(each, "value", None)) if isinstance(each, ast.Return) else ""
    return ""
