"""Heavy work inside the training loop: conversions, tokenizing, reading files, computing.

Sizes cannot be seen in code. Work counts where it is repeated inside a step (a loop or a
comprehension within the loop), or where its kind is heavy by itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...reading.python.nodes import COMPREHENSIONS, FUNCTIONS, constant, dotted, keyword, last_name
from .findings import Finding, Script
from .loops import TrainingLoop, calls_in
from .reading.values import words

_LARGE = re.compile(
    r"all_|batch|data|images?\b|frames|features|embeddings|matrix|pixels|audio|wave|hidden|corpus"
)
_SMALL = re.compile(r"reward|adv|loss|score|logprob|lp|weight|metric|nll|target|mask|token|ids")


def find_loop_work(script: Script, loop: TrainingLoop | None) -> Iterator[Finding]:
    """The patterns of work in the loop, in the order of the text."""
    if loop is None:
        return
    calls = calls_in(loop.nodes)
    on_gpu = any(_on_gpu(call) for call in calls) or "device_map" in script.words
    repeated = _repeated_calls(script, loop, calls)
    for call in calls:
        pattern = _kind_of_work(script, call, id(call) in repeated, on_gpu)
        if pattern:
            yield Finding(pattern, call)


def _kind_of_work(script: Script, call: ast.Call, repeated: bool, on_gpu: bool) -> str:
    path, name = dotted(call.func), last_name(call.func)
    root = path.partition(".")[0]
    if path in words("conversions") or (name == "tolist" and not call.args):
        return "list-tensor-conversion-in-loop" if _is_large(call) else ""
    if path in words("json") or (name in words("json") and path != name):
        return "json-or-pickle-in-loop" if repeated else ""
    if path in ("json.load", "pickle.load"):
        return "file-read-in-loop"
    if root == "re" and name in words("regex"):
        return "heavy-regex-in-loop" if repeated else ""
    if root in ("np", "numpy") and name in words("numpy"):
        return "numpy-in-loop"
    if name in words("torch") and root in ("torch", "F", "nn"):
        return "torch-gpu-in-loop" if on_gpu else "torch-cpu-in-loop"
    if _on_gpu(call):
        return "torch-gpu-in-loop"
    if _tokenizes(script, call):
        return "tokenizing-in-loop" if repeated or name == "batch_encode_plus" else ""
    return "file-read-in-loop" if name in words("readers") and _reads(call, path, name) else ""


def _repeated_calls(script: Script, loop: TrainingLoop, calls: list[ast.Call]) -> set[int]:
    """The ids of the calls that run several times within one step."""
    around = {id(node) for node in (loop.step, loop.outer, *script.above(loop.step))}
    direct = {id(c) for c in calls if any(id(a) not in around for a in script.loops_of(c))}
    # A function that is called in an inner loop repeats everything in it.
    functions = {last_name(c.func) for c in calls if id(c) in direct}
    for call in calls:
        function = script.function_of(call)
        if isinstance(function, FUNCTIONS) and function.name in functions:
            direct.add(id(call))
    return direct


def _is_large(call: ast.Call) -> bool:
    """Whether a conversion takes a whole batch, data set, picture or the like. Tokens, rewards and
    log-probabilities of single examples, which every loop converts, are small."""
    given = call.args[0] if call.args else getattr(call.func, "value", None)
    if given is None:
        return False
    nodes = list(ast.walk(given))
    names = [last_name(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute))]
    if any(_SMALL.search(name) for name in names):
        return False
    return any(isinstance(n, COMPREHENSIONS) for n in nodes) or any(map(_LARGE.match, names))


def _on_gpu(call: ast.Call) -> bool:
    name = last_name(call.func)
    if name == "cuda" and isinstance(call.func, ast.Attribute):
        return dotted(call.func) != "torch.cuda"
    given = [*call.args, *(k.value for k in call.keywords)]
    return name in ("to", "device") and any(
        str(constant(a) or "").startswith("cuda") for a in given
    )


def _tokenizes(script: Script, call: ast.Call) -> bool:
    name = last_name(call.func)
    if name in ("build_supervised_example", "batch_encode_plus", "conversation_to_datum"):
        return True
    if isinstance(call.func, ast.Name):
        return script.machine.kind(call.func) == "tokenizer"
    receiver = script.machine.kind(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return name in ("encode", "apply_chat_template") and receiver in ("tokenizer", "unknown")


def _reads(call: ast.Call, path: str, name: str) -> bool:
    if name != "open":
        return True
    if path not in ("open", "gzip.open", "io.open"):
        return False
    mode = keyword(call, "mode") or (call.args[1] if len(call.args) > 1 else None)
    return mode is None or "r" in str(constant(mode) or "")
