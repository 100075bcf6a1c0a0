"""Finds how a script builds its training data and rewards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from ...reading.python.nodes import argument, constant, dotted, keyword, last_name
from .blueprints import blueprints
from .findings import Finding, Script, always, at_first, literal
from .given import is_given
from .loops import TrainingLoop
from .reading.values import BACKWARD, ELSEWHERE, chosen, words

_END_MARKS = ("eos", "im_end", "eot", "end_of", "endoftext", "</s>", "end_token", "stop_token",
              "return|>", "<|end", "add_special_tokens=True")  # fmt: skip
_BASELINES = frozenset({"advantage", "advantages", "baseline"})
_REFERENCES = frozenset({"compute_logprobs", "compute_logprobs_async", "ref_logprobs",
                         "base_logprobs"})  # fmt: skip
_NOT_GIVEN = "that the text it encodes is given to Tinker"
_ONE_MODEL = "that the samples come from the model being trained"
_GUARDS = frozenset({"ValueError", "TypeError", "Exception", ""})


_CLIENT_OF = ("create_lora_training_client", "create_lora_training_client_async")
_CONFIGS = ("Config", "ChatDatasetBuilderCommonConfig", "CLIConfig")


def find_data_code(script: Script, loop: TrainingLoop | None) -> Iterator[Finding]:
    """The data and reward patterns of a script."""
    losses = losses_of(script)
    yield from _reencoded(script, losses)
    yield from _raw_rewards(script)
    if loop is not None and losses & words("rl-losses"):
        yield from _kl(script, loop)
    yield from _tail_reward(script)
    yield from _no_end(script)
    yield from _foreign_tokenizer(script)
    yield from _streaming(script)
    yield from _unguarded_score(script)


def losses_of(script: Script) -> set[str]:
    """The literal names of the losses that the script trains with."""
    found: set[str] = set()
    for call in script.calls():
        if script.machine.value(call).op in BACKWARD and not script.machine.value(call).assumed:
            given = argument(call, "loss_fn", 1)
            value = script.machine.value(given).const
            value = constant(given) if value is None else value
            if isinstance(value, str):
                found.add(value)
    return found


def _reencoded(script: Script, losses: set[str]) -> Iterator[Finding]:
    """Ids that were decoded and encoded again, in a loop that trains on log-probabilities."""
    if losses & words("rl-losses"):
        yield from at_first("sampled-text-reencoded", (
            call for call in script.calls() if script.machine.kind(call) == "reencoded-ids"
            and not _is_asked(script, call) and not _is_cut_down(script, call)
        ))  # fmt: skip


def _is_cut_down(script: Script, call: ast.Call) -> bool:
    """Whether ids only measure or shorten a text: each use of their name is inside of len() or
    decode()."""
    above = script.parents.get(id(call))
    if not (isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name)):
        return False
    scope = script.function_of(call) or script.module_of(call).tree
    name = above.targets[0].id
    loads = [n for n in script.all(ast.Name, scope) if n.id == name and isinstance(n.ctx, ast.Load)]
    return bool(loads) and all(
        any(isinstance(a, ast.Call) and last_name(a.func) in ("len", "decode")
            for a in islice(script.above(n), 3))
        for n in loads
    )  # fmt: skip


def _is_asked(script: Script, call: ast.Call) -> bool:
    """Whether ids become the prompt of another sampling: then its tokens are trained on, and the
    ids only precede them."""
    assigned = next((a for a in script.above(call) if isinstance(a, ast.Assign)), None)
    function = script.function_of(call)
    names = {last_name(t) for t in assigned.targets} if assigned is not None else set()
    if function is None or not names:
        return False
    calls = (n for n in ast.walk(function) if isinstance(n, ast.Call))
    asks = (c for c in calls if last_name(c.func).removesuffix("_async") == "sample")
    return any(isinstance(n, ast.Name) and n.id in names for c in asks for n in ast.walk(c))


def _raw_rewards(script: Script) -> Iterator[Finding]:
    node = next(filter(_weights_from_reward, script.all((ast.Call, ast.Dict))), None)
    baseline = next(filter(_is_baseline, script.all(ast.BinOp)), None)
    if node is not None and "cross_entropy" in script.words:
        yield Finding("raw-reward-weights", node)
    if baseline is not None:
        yield Finding("advantage-computed", baseline)
    elif node is not None and script.complete and not _BASELINES & script.words:
        yield Finding("advantage-computed", None)


def _weights_from_reward(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and last_name(node.func) == "dict":
        pairs = [(k.arg, k.value) for k in node.keywords]
    elif isinstance(node, ast.Dict):
        pairs = [(constant(k), v) for k, v in zip(node.keys, node.values, strict=True)]
    else:
        return False
    for key, value in pairs:
        if key == "weights":
            names = {last_name(n) for n in ast.walk(value)}
            return any("reward" in name for name in names) and not any(
                "adv" in name for name in names
            )
    return False


def _is_baseline(node: ast.AST) -> bool:
    """A difference of a reward and a mean or baseline."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    left = {last_name(n).lower() for n in ast.walk(node.left)}
    if left == {""}:
        return False
    right = {last_name(n).lower() for n in ast.walk(node.right)}
    return any(name in ("r", "ret") or "reward" in name or "return" in name for name in left) and (
        any("mean" in name or "baseline" in name or "avg" in name for name in right)
    )


def _kl(script: Script, loop: TrainingLoop) -> Iterator[Finding]:
    samples = any(event.op == "sample" for event in loop.events)
    named = _REFERENCES & script.words or any("kl" in word.lower() for word in script.words)
    if samples and not named and script.complete:
        yield Finding("no-kl-term", loop.step)


def _tail_reward(script: Script) -> Iterator[Finding]:
    """A sum over the last log-probabilities of a completion that has one token."""
    short = any(
        last_name(call.func) == "SamplingParams" and constant(keyword(call, "max_tokens")) == 1
        for call in script.calls()
    )
    for call in script.calls():
        if not (short and last_name(call.func) == "sum" and call.args):
            continue
        given = call.args[0]
        tail = isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice)
        if tail and _is_of_completion(script, getattr(given, "value", None)):
            yield Finding("reward-from-logprob-tail", call)


def _is_of_completion(script: Script, node: ast.expr | None) -> bool:
    """Whether log-probabilities are those of sampled tokens, not of a prompt that is scored."""
    name = last_name(node).lower()
    if "logprob" not in name or "prompt" in name:
        return False
    parts = list(script.machine.trace.walk(script.machine.trace.of(node)))
    scored = any(p.op == "call" and p.const[0] == "compute_logprobs" for p in parts)
    return not scored and not any("prompt" in str(p.const) for p in parts if p.op == "attr")


def _no_end(script: Script) -> Iterator[Finding]:
    """Prompt and completion are encoded separately and joined, with no end token in sight."""
    if not ({"Datum"} & script.words and {"weights", "target_tokens"} & script.words):
        return
    whole = " ".join(script.words)
    marks = ("\n", *_stops(script))  # a line's end marks it, as base models are often taught
    if any(_ends(script, c, marks) for c in script.calls() if last_name(c.func) == "encode"):
        return
    if any(mark in whole for mark in _END_MARKS) or "get_renderer" in script.words:
        return
    kind = script.machine.kind
    yield from at_first("completion-without-end-token", (
        node for node in script.all(ast.BinOp)
        if isinstance(node.op, ast.Add) and kind(node.left) == kind(node.right) == "ids"
        and not _is_scored(script, node) and not _is_cut(node.right)
    ))  # fmt: skip


def _is_cut(node: ast.AST) -> bool:
    """Whether a sequence is left without its last token, as inputs are whose targets are shifted:
    the token that ends it is not an input."""
    cut = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(cut, ast.Slice) and constant(cut.upper) == -1


def _is_scored(script: Script, node: ast.AST) -> bool:
    """Whether code requests the log-probabilities of a text; then it does not train where to
    end."""
    function = script.function_of(node)
    if function is None:
        return False
    names = [last_name(n) for n in ast.walk(function)]
    return any("logprob" in name or name in ("forward", "forward_async") for name in names)


def _stops(script: Script) -> set[str]:
    """The texts at which the program lets sampling stop."""
    given = (keyword(call, "stop") for call in script.calls())
    parts = (part for stop in given if stop is not None for part in _parts(script, stop))
    return {text for text in parts if isinstance(text, str) and text}


def _parts(script: Script, node: ast.expr) -> list[object]:
    value = script.machine.value(node)
    return [value.const, *(part.const for part in value.parts)]


def _ends(script: Script, call: ast.Call, marks: tuple[str, ...]) -> bool:
    """Whether the text that a call takes ends with a mark, where it stands or where its name is
    assigned."""
    texts = [*call.args]
    names = {argument.id for argument in call.args if isinstance(argument, ast.Name)}
    within = script.function_of(call) or script.tree
    for node in script.below(within) if names else ():
        if isinstance(node, ast.Assign) and any(last_name(t) in names for t in node.targets):
            texts.append(node.value)
    parts = [n for text in texts for n in ast.walk(text)]
    stands = any(isinstance(n, ast.Constant) and str(n.value).endswith(marks) for n in parts)
    named = (script.machine.value(n).const for n in parts if isinstance(n, ast.Name))
    return stands or any(isinstance(text, str) and text.endswith(marks) for text in named)


def _foreign_tokenizer(script: Script) -> Iterator[Finding]:
    """A tokenizer loaded by a name that differs from the only base model of the script, and is no
    other model that it samples from."""
    models = {name for name, _ in script.kept(base_models)}
    if len(models) != 1:
        return
    (model,) = models
    models |= {*script.kept(sampled_models)}
    for call in script.calls():
        if not dotted(call.func).endswith(("AutoTokenizer.from_pretrained", "get_tokenizer")):
            continue
        name = always(script, call, call.args[0] if call.args else None)
        if not name or name in models or name.partition(":")[0] in models:
            continue
        if chosen(script.machine.value(call.args[0])):  # one name of several
            continue
        if not _is_asked_about(script, call, name):
            assumed = "" if is_given(script, script.machine.trace.of(call)) else _NOT_GIVEN
            assumed = assumed or (_ONE_MODEL if _samples_others(script) else "")
            yield Finding("foreign-tokenizer", call, assumed=assumed, given=name, against=model)


def _samples_others(script: Script) -> bool:
    """Whether the program samples from weights that it did not save itself: their model may be
    another one."""
    made = script.calls_of({"create_sampling_client", "create_sampling_client_async"})
    paths = [given for call in made if (given := keyword(call, "model_path")) is not None]
    return any(script.machine.value(path).kind != "result-field" for path in paths)


def _is_asked_about(script: Script, node: ast.AST, name: str) -> bool:
    """Whether a condition around checks for a part of a name: the code below it is for those
    models."""
    tests = (a.test for a in script.above(node) if isinstance(a, (ast.If, ast.IfExp)))
    texts = (constant(part) for test in tests for part in ast.walk(test))
    return any(isinstance(text, str) and text and text.lower() in name.lower() for text in texts)


def base_models(script: Script) -> Iterator[tuple[str, ast.AST]]:
    """Base models that the script names when it makes a training client or configures training."""
    for call in script.calls_of((*_CLIENT_OF, *_CONFIGS)):
        name = last_name(call.func)
        if name in _CLIENT_OF:
            owner = script.machine.value(getattr(call.func, "value", None))
            if owner.op == ELSEWHERE:  # what it serves is up to that service
                continue
            given = argument(call, "base_model", 0)
        else:
            given = keyword(call, "model_name") or keyword(call, "model_name_for_tokenizer")
        model = always(script, call, given)
        if model and not chosen(script.machine.value(given)):
            yield model, call
    for blueprint in script.kept(blueprints):
        names = (k.value for k in blueprint.settings if k.arg == "model_name")
        if model := next((literal(script, name) for name in names), ""):
            yield model, blueprint.node


def sampled_models(script: Script) -> set[str]:
    """Models that the script samples from without training them."""
    made = script.calls_of({"create_sampling_client", "create_sampling_client_async"})
    return {name for call in made if (name := literal(script, keyword(call, "base_model")))}


def _streaming(script: Script) -> Iterator[Finding]:
    streams: set[str] = set()
    for node in script.all(ast.Assign):
        made = node.value
        if isinstance(made, ast.Call) and constant(keyword(made, "streaming")) is True:
            streams.update(t.id for t in node.targets if isinstance(t, ast.Name))
    yield from at_first("streaming-random-access", (
        read for read in script.all(ast.Subscript) if isinstance(read.ctx, ast.Load)
        and last_name(read.value) in streams and not isinstance(constant(read.slice), str)
    ))  # fmt: skip


def _unguarded_score(script: Script) -> Iterator[Finding]:
    """Sampled text that is passed to ``float()`` or ``int()`` outside of any ``try``."""
    yield from at_first("evaluator-float-unguarded", (
        call for call in script.calls()
        if last_name(call.func) in ("float", "int") and len(call.args) == 1
        and script.machine.kind(call.args[0]) == "sampled-text" and not _guarded(script, call)
    ))  # fmt: skip


def _guarded(script: Script, node: ast.AST) -> bool:
    for above in script.above(node):
        if isinstance(above, ast.Try) and any(
            n is node for statement in above.body for n in ast.walk(statement)
        ):
            caught = {last_name(t) for h in above.handlers
                      for t in (ast.walk(h.type) if h.type else [ast.Name("")])}  # fmt: skip
            if caught & _GUARDS:
                return True
    return False
