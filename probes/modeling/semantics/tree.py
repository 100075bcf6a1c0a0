"""The modules of a model, found by building it symbolically, and the parameters they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ....reading.python.nodes import last_name
from ....reading.python.sources import Code
from ..port_code import is_port, words
from .evaluator import Evaluator
from .statements import TooLong
from .values import Config, Instance, Settings, Term, Value, alternatives, concrete, instances

_LINEAR = frozenset({"Linear", "ColumnParallelLinear", "RowParallelLinear"})
_EMBEDDINGS = frozenset({"Embedding", "ParallelEmbedding"})
_SILENT = frozenset({"Dropout", "Identity", "SiLU", "GELU", "ReLU", "Tanh", "Sigmoid", "Softmax",
                     "RotaryEmbedding", "LlamaRotaryEmbedding", "SPMDRank"})  # fmt: skip
_NORMS = frozenset({"RMSNorm", "CustomRMSNorm", "LlamaRMSNorm", "LayerNorm"})
_HEADS = ("ForCausalLM", "LMHeadModel", "LMHead")


@dataclass(slots=True)
class Model:
    """A model that was built symbolically; ``prefix`` is the common start of its keys."""

    reader: Evaluator
    root: Instance
    head: ast.ClassDef | None  # the class around it that loads the checkpoint
    parameters: dict[str, Parameter] = field(default_factory=dict)
    open_parts: list[str] = field(default_factory=list)

    @property
    def layer(self) -> Instance | None:
        """The first decoder layer."""
        return next((each for each in self.modules() if is_layer(each)), None)

    def part(self, what: str) -> Instance | None:
        """The attention or the feed-forward network of the first layer."""
        layer = self.layer
        if layer is None:
            return None
        for name, value in layer.attrs.items():
            for each in instances(value):
                if kind_of(each, name) == what:
                    return each
        return None

    def modules(self) -> Iterator[Instance]:
        """Every module, from the root down."""
        yield from (module for _, module in below(self.root, ""))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tensor that a module holds: weight, bias or its own."""

    key: str
    kind: str  # linear, conv1d, norm, embedding or own
    module: Instance
    sure: bool


def read_model(code: Code, settings: Settings) -> Model | None:
    """The model of a file; None if it has none, or it cannot be followed."""
    reader = Evaluator(code, settings)
    head = _head(code)
    name = _model_class(code, head) if is_port(code) else (head.name if head else None)
    if name is None:
        return None
    try:
        if reader.config_class is not None:
            derived = reader.method(reader.config_class, "add_derived_config")
            if derived is not None:
                reader.call_function(derived, [], {})
        root = reader.build(name, [Config()], {}, None)
        model = Model(reader, root, head)
        _collect(model, root, "", set())
    except TooLong:
        return None
    return model


def _head(code: Code) -> ast.ClassDef | None:
    of_port = is_port(code)
    for name, owner in code.classes.items():
        bases = {last_name(base) for base in owner.bases}
        if of_port and any("ForCausalLM" in base for base in bases):
            return owner
        if not of_port and name.endswith(_HEADS):
            return owner
    return None


def _model_class(code: Code, head: ast.ClassDef | None) -> str | None:
    for statement in head.body if head else ():
        if isinstance(statement, ast.Assign) and last_name(statement.targets[0]) == "_model_cls":
            name = last_name(statement.value)
            return name if name in code.classes else None
    found = [name for name, owner in code.classes.items()
             if "NeuronBaseModel" in {last_name(base) for base in owner.bases}]  # fmt: skip
    return found[0] if len(found) == 1 else None


def kind_of(module: Instance, name: str = "") -> str:
    """The kind of a module, by its class and the attribute that holds it."""
    cls = module.cls
    if "Norm" in cls:
        return "norm"
    if "Rotary" in cls:
        return "rotary"
    if "Attention" in cls or name in ("self_attn", "attn", "attention", "self_attention"):
        return "attention"
    if any(word in cls for word in ("MLP", "FeedForward", "MoE", "SparseMoe")) or name == "mlp":
        return "mlp"
    return "layer" if is_layer(module) else "other"


def is_layer(module: Instance) -> bool:
    """Whether a module is a decoder layer: it holds an attention and at least one other module."""
    if module.definition is None:
        return False
    inner = [each for name, value in module.attrs.items() for each in instances(value)
             if ("Attention" in each.cls) or name in ("self_attn", "attn")]  # fmt: skip
    return bool(inner) and module.cls.endswith(("Layer", "Block"))


def below(module: Instance, path: str, depth: int = 0) -> Iterator[tuple[str, Instance]]:
    """(path, module) of a module and of all that it holds."""
    yield path, module
    if depth > 8:
        return
    for name, value in module.attrs.items():
        for key, each in _named(name, value):
            yield from below(each, f"{path}.{key}" if path else key, depth + 1)


def _named(name: str, value: Value) -> Iterator[tuple[str, Instance]]:
    if isinstance(value, (list, tuple)):
        for place, each in enumerate(value):
            yield from _named(f"{name}.{place}", each)
        return
    for each in alternatives(value):  # the classes of CPU and device hold the same
        if isinstance(each, Instance):
            yield name, each
            return


def _collect(model: Model, module: Instance, path: str, around: set[int]) -> None:
    """The parameters of a module and of those below it."""
    if id(module) in around or len(around) > 10:
        return
    dot = f"{path}." if path else ""
    kind = linear_kind(module)
    if kind in ("linear", "conv1d"):
        _add(model, f"{dot}weight", kind, module)
        bias = True if kind == "conv1d" else bias_of(module, model.reader)
        if bias is not False:
            _add(model, f"{dot}bias", kind, module, sure=bias is True)
    elif kind in ("norm", "embedding"):
        _add(model, f"{dot}weight", kind, module)
        if module.cls == "LayerNorm":
            _add(model, f"{dot}bias", kind, module, sure="bias" not in module.keywords)
    elif kind == "open" or module.outside or model.reader.method(module, "preshard_hook"):
        model.open_parts.append(path)
    if module.definition is None:
        return
    for name, value in module.attrs.items():
        if isinstance(value, Term) and value.op == "parameter":
            _add(model, f"{dot}{name}", "norm" if "Norm" in module.cls else "own", module)
        for key, each in _named(name, value):
            _collect(model, each, f"{dot}{key}", around | {id(module)})


def _add(model: Model, key: str, kind: str, module: Instance, sure: bool = True) -> None:
    model.parameters[key] = Parameter(key, kind, module, sure)


def linear_kind(module: Instance) -> str:
    """linear, conv1d, norm or embedding of the libraries; empty for a class of the file, open
    for one that is unknown."""
    names = {module.cls}
    if module.definition is not None:
        names = {last_name(base) for base in module.definition.bases}
    if names & _LINEAR:
        return "linear"
    if names & _EMBEDDINGS:
        return "embedding"
    if module.definition is not None:
        return ""
    if "Conv1D" in names:
        return "conv1d"
    if names & _NORMS or names & words("plain-norms"):
        return "norm"
    return "" if names & _SILENT or "Rotary" in module.cls else "open"


def bias_of(module: Instance, reader: Evaluator) -> bool | None:
    """Whether a linear layer has a bias; None if unknown."""
    given = module.keywords.get("bias", module.args[2] if len(module.args) > 2 else True)
    known = concrete(given, reader.settings)
    return known if isinstance(known, bool) else None
