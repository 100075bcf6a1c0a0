"""Reads Python symbolically: the results of functions of a modeling file, as terms.

Nothing of the file runs: this walks its syntax tree. Tests that are unknown take both ways, loops
whose length is unknown are read once, calls into the file are followed, all of it up to a limit
of steps.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import cast

from ....reading.python.nodes import FUNCTIONS, FunctionNode, dotted, last_name
from ....reading.python.sources import Code
from ..port_code import words
from .calls import call_builtin, call_foreign, call_method
from .expressions import Expressions
from .statements import Frame
from .values import (
    UNKNOWN,
    Bound,
    Config,
    Foreign,
    Function,
    Instance,
    Parent,
    Settings,
    Term,
    Value,
    alternatives,
    either,
)  # fmt: skip

MAX_DEPTH = 12


class Evaluator(Expressions):
    """Reads one file under the settings of one configuration."""

    def __init__(self, code: Code, settings: Settings) -> None:
        super().__init__(settings)
        self.code = code
        self.functions = {n.name: n for n in code.tree.body if isinstance(n, FUNCTIONS)}
        self._globals: dict[str, Value] = {}
        self._depth = 0
        self.built: list[Instance] = []  # also those that only a base class is given
        self.config_class = _config_class(code)

    # ---- classes -----------------------------------------------------------------------------

    def lineage(self, definition: ast.ClassDef) -> tuple[list[ast.ClassDef], list[str]]:
        """A class and its bases in the file, nearest first, and the names of those outside."""
        inside, outside, todo = [definition], [], list(definition.bases)
        while todo and len(inside) < 50:
            base = todo.pop(0)
            other = self.code.classes.get(last_name(base))
            if other is None:
                outside.append(last_name(base))
            elif other not in inside:
                inside.append(other)
                todo.extend(other.bases)
        return inside, [each for each in outside if each not in words("plain-bases")]

    def method(
        self, instance: Instance, name: str, after: ast.ClassDef | None = None
    ) -> Function | None:
        """A method of an instance, or of the bases after ``after``."""
        if instance.definition is None:
            return None
        inside, _ = self.lineage(instance.definition)
        if after in inside:
            inside = inside[inside.index(after) + 1 :]
        for owner in inside:
            found = self.code.methods(owner).get(name)
            if found is not None:
                return Function(found, instance, owner)
        return None

    def build(
        self, name: str, args: Sequence[Value], given: dict[str, Value], node: ast.AST | None
    ) -> Instance:
        """An instance of a class; that of a class of the file has the attributes it sets."""
        definition = self.code.classes.get(name)
        made = Instance(name, definition, tuple(args), given, node, self.code)
        self.built.append(made)
        if definition is not None:
            made.outside = tuple(self.lineage(definition)[1])
            for method in ("__init__", "setup_attr_for_model", "init_model"):
                found = self.method(made, method)
                if found is not None:
                    own = (list(args), given) if method == "__init__" else ([Config()], {})
                    self.call_function(found, *own)
        return made

    # ---- calls -------------------------------------------------------------------------------

    def call_function(
        self, function: Function, args: Sequence[Value], given: dict[str, Value],
        symbolic: bool = False,
    ) -> Value:  # fmt: skip
        """Compute the result of a function of the file. With ``symbolic``, arguments that are not
        given are inputs, even if they have a default."""
        if self._depth >= MAX_DEPTH:
            return Term("opaque", (*args, *given.values()))
        self._depth += 1
        try:
            frame = Frame(dict(function.names or {}), function.owner, function.within)
            self._bind(frame, function, list(args), dict(given), symbolic)
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body, frame)
            ended = self.execute(function.node.body, frame)
            if frame.yields:
                return list(frame.yields)
            found = frame.returns if ended or not frame.returns else [*frame.returns, None]
            return either(found) if found else None
        finally:
            self._depth -= 1

    def _bind(
        self, frame: Frame, function: Function, args: list[Value], given: dict[str, Value],
        symbolic: bool,
    ) -> None:  # fmt: skip
        spec = function.node.args
        names = [each.arg for each in (*spec.posonlyargs, *spec.args)]
        if function.owner is not None and not _is_static(function.node):
            args.insert(0, function.owner)
        defaults = dict(zip(reversed(names), reversed(spec.defaults), strict=False))
        defaults |= {each.arg: default for each, default in
                     zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default}  # fmt: skip
        for name in [*names, *(each.arg for each in spec.kwonlyargs)]:
            if name in names and args:
                value = args.pop(0)
            elif name in given:
                value = given.pop(name)
            elif name == "config":
                value = Config()
            elif name in defaults and not symbolic:
                value = self.evaluate(defaults[name], frame)
            else:
                value = Term("input", name=name)
            frame.names[name] = value
        if spec.vararg:
            frame.names[spec.vararg.arg] = args
        if spec.kwarg:
            frame.names[spec.kwarg.arg] = given

    def call(self, func: Value, args: list[Value], given: dict[str, Value], node: ast.AST) -> Value:
        """Compute the result of calling a value."""
        if isinstance(func, Function):
            return self.call_function(func, args, given)
        if isinstance(func, Foreign):
            return call_foreign(self, func, args, given, node)
        if isinstance(func, Instance):
            return Term("apply", (func, *args, *given.values()), func.cls, node, self.code)
        if isinstance(func, Bound):
            return call_method(self, func, args, given, node)
        if isinstance(func, Term) and func.op == "phi":
            return either([self.call(each, args, given, node) for each in alternatives(func)])
        if isinstance(func, Term) and func.op == "activation":
            return Term("activated", (*args[:1], func), "", node, self.code)
        return self.opaque(args, given, node)

    def opaque(self, args: list[Value], given: dict[str, Value], node: ast.AST) -> Value:
        """A call of something unseen, or of a function of the file that is handed over."""
        values = [*args, *given.values()]
        unseen = Term("opaque", tuple(values), "", node, self.code)
        handed = [each for each in values for each in alternatives(each)
                  if isinstance(each, Function)]  # fmt: skip
        return either([unseen, *(self.call(each, args, given, node) for each in handed)])

    # ---- expressions -------------------------------------------------------------------------

    def evaluate(self, node: ast.expr | None, frame: Frame) -> Value:
        """The value of an expression."""
        if node is None:
            return None
        self.count_step()
        rule = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        return UNKNOWN if rule is None else rule(node, frame)

    def _of_constant(self, node: ast.Constant, _: Frame) -> Value:
        return node.value

    def _of_name(self, node: ast.Name, frame: Frame) -> Value:
        name = node.id
        if name in frame.names:
            return frame.names[name]
        if name in self.functions:
            return Function(self.functions[name])
        if name in self.code.classes:
            return Foreign(name)
        if name in self.code.imports:
            return Foreign(self.code.imports[name])
        if name in self.code.values and name not in self._globals:
            self._globals[name] = UNKNOWN
            self._globals[name] = self.evaluate(self.code.values[name], Frame({}))
        return self._globals.get(name, Foreign(name))

    def _of_attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        return self.attribute(self.evaluate(node.value, frame), node.attr, node)

    def attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        """An attribute of a value."""
        if isinstance(value, Config):
            return self.setting(name, node)
        if isinstance(value, Instance):
            return self._of_instance(value, name, node)
        if isinstance(value, Parent):
            found = self.method(value.owner, name, value.within)
            return found or Term("parent", (), name, node)
        if isinstance(value, Foreign):
            return Foreign(f"{value.name}.{name}")
        if isinstance(value, Term) and value.op == "phi":
            return either([self.attribute(each, name, node) for each in alternatives(value)])
        if isinstance(value, Term) and value.op == "neuron":
            return Term("neuron", (), name, node)
        if name in ("T", "mT") and isinstance(value, Term):
            return Term("transpose", (value, 0, 1), "", node, self.code)
        if name in ("data",):
            return value
        if name in ("shape", "dtype", "device", "ndim"):
            return Term("shape", (), name)
        return Bound(value, name)

    def setting(self, name: str, node: ast.AST) -> Value:
        """A value of the configuration, through the properties of the port's class."""
        if name in ("get_text_config", "text_config"):
            return Bound(Config(), name) if name[0] == "g" else Config()
        if name == "neuron_config":
            return Term("neuron", (), name, node)
        if self.config_class is not None:
            if name in self.config_class.attrs:
                return self.config_class.attrs[name]
            found = self.method(self.config_class, name)
            if found is not None:
                return self.call_function(found, [], {})
        return Term("config", (), name, node, self.code)

    def _of_instance(self, value: Instance, name: str, node: ast.AST) -> Value:
        if name in value.attrs:
            return value.attrs[name]
        found = self.method(value, name)
        if found is not None:
            prop = any(last_name(each) in ("property", "cached_property")
                       for each in cast(FunctionNode, found.node).decorator_list)  # fmt: skip
            return self.call_function(found, [], {}) if prop else found
        if value is self.config_class:
            return Term("config", (), name, node, self.code)
        if name == "config":
            return Config()
        if value.definition is None or not value.outside:
            return Bound(value, name)
        return Term("inherited", (), name, node, self.code)

    def _of_call(self, node: ast.Call, frame: Frame) -> Value:
        if dotted(node.func) == "super" and frame.owner is not None and frame.within is not None:
            return Parent(frame.owner, frame.within)
        func = self.evaluate(node.func, frame)
        args: list[Value] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                more = self.evaluate(each.value, frame)
                args.extend(more if isinstance(more, (list, tuple)) else [UNKNOWN])
            else:
                args.append(self.evaluate(each, frame))
        given: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, frame)
            if keyword.arg:
                given[keyword.arg] = value
            elif isinstance(value, dict):
                given.update({k: v for k, v in value.items() if isinstance(k, str)})
        if isinstance(func, Foreign) and func.short in ("getattr", "hasattr", "isinstance"):
            return call_builtin(self, func.short, args, node)
        return self.call(func, args, given, node)


def _is_static(node: FunctionNode | ast.Lambda) -> bool:
    marks = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return any(last_name(each) == "staticmethod" for each in marks)


def _config_class(code: Code) -> Instance | None:
    """The class of the port's configuration; its derived values are still to be read."""
    for name, owner in code.classes.items():
        bases = {last_name(base) for base in owner.bases}
        if bases & words("config-bases"):
            return Instance(name, owner, code=code, outside=("InferenceConfig",))
    return None
