"""Hyperparameters in a script (literal arguments, constants, defaults), and its purpose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...reading.python.nodes import FUNCTIONS, constant, folded, keyword, last_name
from .blueprints import blueprints
from .data_code import losses_of
from .findings import Script
from .reading.values import BACKWARD, ELSEWHERE, OPERATIONS, SDK_PACKAGES, chosen, words

# Purposes whose loop is that of SFT or RL but whose usual settings differ.
_OTHER = re.compile(r"distil|teacher|rlhf|dpo|preference|reward_?model|self_?play|prompt_context")
_REWARDED = re.compile(r"reward|advantage|rollout")
_LOOPS = {"supervised.train.Config": "sft", "rl.train.Config": "rl"}


class Workload(NamedTuple):
    """A kind of training (``sft`` or ``rl``) and the call that shows it."""

    type: str
    node: ast.AST


def workload_of(script: Script) -> Workload | None:
    """The workload, if the code proves one: all of its losses are known, and no word points to a
    purpose with settings of its own."""
    if any(_OTHER.search(word.lower()) for word in script.words):
        return None
    return _of_losses(script) or _of_cookbook(script)


def _of_losses(script: Script) -> Workload | None:
    events = [e for e in script.machine.events if e.what == "submit" and e.op in BACKWARD]
    if not events or any(e.assumed or e.op != "forward_backward" for e in events):
        return None
    losses = losses_of(script)
    if losses and losses <= words("rl-losses"):
        return Workload("rl", events[0].node)
    rewarded = any(_REWARDED.search(word.lower()) for word in script.words)
    if losses == {"cross_entropy"} and not rewarded and script.complete:
        return Workload("sft", events[0].node)
    return None


def _of_cookbook(script: Script) -> Workload | None:
    made = [(script.machine.value(call.func), call) for call in script.calls()]
    named = [(target.op, call) for target, call in made if target.kind == "import"]
    for config, node in (*named, *((b.config, b.node) for b in script.kept(blueprints))):
        package, _, loop = config.partition(".")
        if package == "tinker_cookbook" and loop in _LOOPS:
            return Workload(_LOOPS[loop], node)
    return None


# Keyword of a call -> name of the hyperparameter, by the last name of the called function.
_CALLS: dict[str, dict[str, str]] = {
    "AdamParams": {
        "learning_rate": "learning_rate", "beta1": "adam_beta1", "beta2": "adam_beta2",
        "weight_decay": "weight_decay", "grad_clip_norm": "grad_clip_norm",
    },
    "create_lora_training_client": {"rank": "lora_rank"},
    "SamplingParams": {
        "temperature": "temperature",
        "max_tokens": "max_tokens",
        "top_p": "top_p",
        "top_k": "top_k",
        "stop": "stop",
    },
}  # fmt: skip
_CONFIG = {
    "learning_rate": "learning_rate", "lora_rank": "lora_rank", "num_epochs": "num_epochs",
    "batch_size": "batch_size", "max_length": "max_length", "group_size": "group_size",
    "kl_penalty_coef": "kl_coef", "submit_ahead": "submit_ahead", "max_tokens": "max_tokens",
    "temperature": "temperature", "adam_beta1": "adam_beta1", "adam_beta2": "adam_beta2",
    "loss_fn": "loss_fn",
}  # fmt: skip
_CONFIG_CALLS = ("Config", "CommonConfig", "DatasetBuilder")
_NAMES = {
    "learning_rate": "learning_rate", "lr": "learning_rate", "base_lr": "learning_rate",
    "peak_lr": "learning_rate", "batch_size": "batch_size", "train_batch_size": "batch_size",
    "num_epochs": "num_epochs", "epochs": "num_epochs", "n_epochs": "num_epochs",
    "num_train_epochs": "num_epochs", "lora_rank": "lora_rank", "max_length": "max_length",
    "max_seq_length": "max_length", "group_size": "group_size", "kl_coef": "kl_coef",
    "kl_penalty_coef": "kl_coef", "submit_ahead": "submit_ahead",
    "num_iterations": "num_iterations",
}  # fmt: skip


# The meaning of a rank of 0 that reaches no call of Tinker.
_NO_ADAPTER = ("lora_rank", 0)
# Settings that are a fault with Tinker's service, and right with a trainer on this machine.
_OF_SERVICE = (_NO_ADAPTER, ("submit_ahead", 0))
_KNOWN = frozenset(_NAMES.values())


class Setting(NamedTuple):
    """A hyperparameter; ``assumed`` is the assumption behind it, such as that a default that
    reaches no call is used."""

    name: str
    value: float | str
    node: ast.AST
    assumed: str = ""


def find_settings(script: Script) -> Iterator[Setting]:
    """Hyperparameters with one value in the whole script, sorted by name. If the script holds
    several values for one, none is reported: the run decides which of them counts."""
    defaults = _defaults(script)
    given = list(_given(script, defaults))
    named = [s for s in defaults if s.name in _KNOWN and (s.name, s.value) != _NO_ADAPTER]
    named = [s._replace(assumed=s.assumed or _not_reached(script, s)) for s in named]
    found: dict[str, Setting] = {}
    for settings in (given, named):
        values: dict[str, set[float | str]] = {}
        for setting in settings:
            values.setdefault(setting.name, set()).add(setting.value)
        for setting in settings:
            if len(values[setting.name]) == 1:
                found.setdefault(setting.name, setting)
        for name, several in values.items():
            if len(several) > 1:  # ambiguous: a default does not settle it
                found.setdefault(name, Setting(name, "", script.tree))
    losses = losses_of(script)
    if len(losses) == 1 and "loss_fn" not in found:
        found["loss_fn"] = Setting("loss_fn", losses.pop(), _loss_node(script))
    yield from (found[name] for name in sorted(found) if found[name].value != "")


def _loss_node(script: Script) -> ast.AST:
    return next((c for c in script.calls() if last_name(c.func).startswith("forward_backward")),
                script.tree)  # fmt: skip


def _given(script: Script, defaults: list[Setting]) -> Iterator[Setting]:
    """The settings that are given to calls of Tinker. A default that reaches a call counts: the
    program uses it unless the user overrides it."""
    for call in script.calls():
        name = last_name(call.func).removesuffix("_async")
        table = _CALLS.get(name)
        if table is None and name.endswith(_CONFIG_CALLS):
            table = _CONFIG
        if table is None or _is_foreign(script, call, name):
            continue
        assumed = script.machine.value(call).assumed
        receiver = script.machine.value(getattr(call.func, "value", None))
        elsewhere = script.replaces_sdk or receiver.op == ELSEWHERE
        for setting in _of_keywords(script, call.keywords, table, defaults, assumed):
            if not elsewhere or (setting.name, setting.value) not in _OF_SERVICE:
                yield setting
    for blueprint in script.kept(blueprints):
        for setting in _of_keywords(script, blueprint.settings, _CONFIG, defaults, ""):
            if not script.replaces_sdk or (setting.name, setting.value) not in _OF_SERVICE:
                yield setting


def _of_keywords(
    script: Script, keywords: list[ast.keyword], table: dict[str, str], defaults: list[Setting],
    assumed: str,
) -> Iterator[Setting]:  # fmt: skip
    for given in keywords:
        name = table.get(given.arg or "")
        value = _value(script, given.value, defaults) if name else None
        if name and value is not None:
            stated = assumed or chosen(script.machine.value(given.value))
            stated = stated or _checked(script, given.value)
            if name == "submit_ahead" and not stated:
                stated = _of_one_step(script, keywords)
            yield Setting(name, value, given.value, stated)


def _of_one_step(script: Script, keywords: list[ast.keyword]) -> str:
    """The assumption behind a finding about ``submit_ahead``, that the script trains for many
    steps; empty if ``max_steps`` is unset or above 1."""
    limits = [script.machine.value(k.value) for k in keywords if k.arg == "max_steps"]
    unset = all(v.kind == "const" and v.const is None for v in limits)
    many = all(type(v.const) is int and v.const > 1 for v in limits)
    return "" if unset or many else "that it trains for many steps"


def _checked(script: Script, given: ast.expr) -> str:
    """The assumption of a value that the program checks first: if the check fails, the program
    refuses or replaces it."""
    name = last_name(given)
    tests: list[ast.If | ast.Assert] = [*script.all(ast.If), *script.all(ast.Assert)]
    for node in tests if name and constant(given) is None else ():
        if name in {last_name(each) for each in ast.walk(node.test)}:
            below = {last_name(t) for n in ast.walk(node) for t in getattr(n, "targets", ())}
            ends = isinstance(node, ast.Assert) or any(map(_refuses, ast.walk(node)))
            if ends or name in below:
                return f"that the check of {name[:40]} lets it pass"
    return ""


def _refuses(node: ast.AST) -> bool:
    called = last_name(node.func) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Raise) or called in ("exit", "error", "fail", "abort")


def _not_reached(script: Script, setting: Setting) -> str:
    """The assumption that a learning rate found as a default is given to Tinker; empty for other
    settings, and for names from which the learning rate of AdamParams is computed."""
    if setting.name != "learning_rate" or getattr(setting.node, "default_of", "") in _rates(script):
        return ""
    return "that this learning rate is given to Tinker"


def _rates(script: Script) -> set[str]:
    """The names, in lower case, that the learning rate of AdamParams is computed from."""
    adam = script.calls_of({"AdamParams"})
    given = [node for c in adam if (node := keyword(c, "learning_rate")) is not None]
    found: set[str] = set()
    for _ in range(3):
        found |= {last_name(n).lower() for node in given for n in ast.walk(node)} - {""}
        given = [n.value for n in script.all(ast.Assign)
                 if any(last_name(t).lower() in found for t in n.targets)]  # fmt: skip
    return found


def _is_foreign(script: Script, call: ast.Call, name: str) -> bool:
    """Whether a call is that of another package, or of the user's own class."""
    if name in OPERATIONS:
        return script.machine.kind(call) not in ("client-future", "coroutine")
    target = script.machine.value(call.func)
    if target.kind == "import":
        return target.op.lstrip(".").partition(".")[0] not in SDK_PACKAGES
    return target.kind in ("class", "function", "method")


def _value(script: Script, node: ast.expr, defaults: list[Setting]) -> float | str | None:
    """The value of an expression."""
    value = constant(node)
    if value is None:
        value = script.machine.value(node).const
    if isinstance(node, ast.BinOp) and value is None:
        left, right = script.machine.value(node.left).const, script.machine.value(node.right).const
        value = folded(node.op, left, right)
    if isinstance(node, ast.List) and len(node.elts) == 1:
        value = constant(node.elts[0])
    usable = _usable(value)
    if usable is not None:
        return usable
    last = last_name(node)
    same = {s.value for s in defaults if getattr(s.node, "default_of", "") == last and last}
    return same.pop() if len(same) == 1 else None


def _usable(value: object) -> float | str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)) and -1e100 < value < 1e100:
        return value
    return value if isinstance(value, str) and 0 < len(value) < 200 else None


class _Default(ast.AST):
    """A place of a default value, with the name it is the default of."""

    def __init__(self, node: ast.AST, name: str) -> None:
        super().__init__()
        self.of = node
        self.lineno = getattr(node, "lineno", 1)
        self.end_lineno = getattr(node, "end_lineno", self.lineno)
        self.default_of = name


def _defaults(script: Script) -> list[Setting]:
    """Constants, parameter defaults, fields with defaults and argparse options, by name."""
    found: list[Setting] = []

    def add(name: str, value: ast.expr | None, node: ast.AST, stated: bool) -> None:
        usable = _usable(constant(value))
        if usable is not None:
            short = name.lstrip("-").replace("-", "_").lower()
            place = _Default(node, short)
            assumed = "" if stated else f"that {short} reaches the training unchanged"
            found.append(Setting(_NAMES.get(short, short), usable, place, assumed))

    for name, assigned in _assigned(script):
        add(name, assigned.value, assigned, True)
    for node in script.all((ast.AnnAssign, *FUNCTIONS, ast.Call)):
        if isinstance(node, ast.AnnAssign):
            add(last_name(node.target), node.value, node, False)
        elif isinstance(node, FUNCTIONS):
            plain = [*node.args.posonlyargs, *node.args.args]
            values = node.args.defaults
            for parameter, value in zip(plain[len(plain) - len(values) :], values, strict=True):
                add(parameter.arg, value, parameter, False)
            for parameter, given in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                add(parameter.arg, given, parameter, False)
        elif isinstance(node, ast.Call) and last_name(node.func) in ("add_argument", "option"):
            for option in node.args:
                if isinstance(option, ast.Constant) and str(option.value).startswith("--"):
                    add(str(option.value), keyword(node, "default"), node, False)
    return found


def _assigned(script: Script) -> Iterator[tuple[str, ast.Assign]]:
    """Names with the value they keep: a value computed from an earlier one starts with that one, no
    more."""
    moved = {last_name(node.target) for node in script.all(ast.AugAssign)}
    single = [node for node in script.all(ast.Assign) if len(node.targets) == 1]
    for node in single:
        name = last_name(node.targets[0])
        if any(last_name(each) == name for each in script.below(node.value)):
            moved.add(name)
    for node in single:
        name = last_name(node.targets[0])
        if name not in moved:
            yield name, node
