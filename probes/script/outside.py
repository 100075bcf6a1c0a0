"""Checkpoints, merging, downloads, inference, and code around the SDK's own error handling."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...reading.python.nodes import FUNCTIONS, LOOPS, argument, constant, dotted, keyword, last_name
from ..checkpoint.probe import type_of
from .findings import Finding, Script, at_first, literal
from .reading.values import words
from .running import callers, reaches

_SAVES = {
    "save_state": "weights",
    "save_weights_for_sampler": "sampler_weights",
    "save_weights_external": "external_weights",
}
_TURN_MARKS = ("<|", "[INST]", "<start_of_turn>")
_RETRIERS = frozenset({"retry", "backoff", "on_exception", "tenacity", "retrying"})


class Checkpoint(NamedTuple):
    """A checkpoint path that the script uses."""

    path: str
    type: str
    used_for: str
    saved_by: str
    node: ast.AST


def find_checkpoints(script: Script) -> Iterator[Checkpoint]:
    """Checkpoint paths with their use: literal ones, and those of saves in the same script."""
    for call in script.calls():
        name = last_name(call.func).removesuffix("_async")
        if name == "create_sampling_client":
            given, used_for = keyword(call, "model_path"), "sampling"
        elif name in words("resumes"):
            given, used_for = argument(call, "path", 0), "resume"
        elif name == "download" and keyword(call, "tinker_path") is not None:
            given, used_for = keyword(call, "tinker_path"), "export"
        elif name == "get_checkpoint_archive_url_from_tinker_path":
            given, used_for = argument(call, "tinker_path", 0), "export"
        else:
            continue
        found = _checkpoint(script, given, used_for, call) if given is not None else None
        if found is not None:
            yield found


def _checkpoint(
    script: Script, given: ast.expr, used_for: str, call: ast.Call
) -> Checkpoint | None:
    path = literal(script, given)
    if path.startswith("tinker://"):
        return Checkpoint(path, type_of(path), used_for, "", call)
    value = script.machine.value(given)
    saver, _, field = value.op.partition(".")
    if value.kind == "result-field" and field == "path" and saver in _SAVES:
        # Before the program runs, only the part of the path with the type is known.
        path = f"tinker://<run>/{_SAVES[saver]}/<name>"
        return Checkpoint(path, type_of(path), used_for, saver, call)
    return None


def find_merge(script: Script) -> tuple[str, ast.AST] | None:
    """Find how the script merges adapter weights: method and place, or None."""
    for call in script.calls_of({"build_hf_model", "merge_and_unload"}):
        return "cookbook" if last_name(call.func) == "build_hf_model" else "peft", call
    if not {"save_file", "save_pretrained", "save_model"} & script.words:
        return None
    product = next(filter(_multiplies_adapter, script.all((ast.BinOp, ast.Call))), None)
    return ("custom", product) if product is not None else None


def _multiplies_adapter(node: ast.AST) -> bool:
    """A product of the two adapter matrices, ``B @ A``, under any names."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call) and last_name(node.func) in ("matmul", "mm", "bmm", "einsum"):
        sides = list(node.args)
    else:
        return False
    words = " ".join(
        last_name(n) or str(getattr(n, "value", "")) for side in sides for n in ast.walk(side)
        if isinstance(n, (ast.Name, ast.Attribute, ast.Constant))
    ).lower()  # fmt: skip
    return "lora" in words or ("lora_a" in words and "lora_b" in words)


def find_outside(script: Script) -> Iterator[Finding]:
    """The patterns of this module."""
    yield from _download(script)
    yield from _raw_prompt(script)
    yield from _own_retry(script)
    yield from _own_timeout(script)
    yield from _chunk_lists(script)
    yield from _batch_encoding(script)
    yield from _wrong_handler(script)


def _download(script: Script) -> Iterator[Finding]:
    """A response body that is written to a file without a check of the status."""
    if {"raise_for_status", "status_code", "ok", "status"} & script.words:
        return
    fetched = any(dotted(c.func) in ("requests.get", "httpx.get", "client.get", "session.get")
                  for c in script.calls_of({"get"}))  # fmt: skip
    for call in script.calls_of({"write", "write_bytes"}) if fetched else ():
        if call.args:
            names = {last_name(n) for n in ast.walk(call.args[0])}
            if names & {"content", "chunk", "iter_content", "body"}:
                yield Finding("download-unchecked", call)


def _raw_prompt(script: Script) -> Iterator[Finding]:
    """An exported model that generates from plain text: without words of a template, without token
    ids."""
    local = {"AutoModelForCausalLM", "LLM", "PeftModel"} & script.words
    templates = (words("templates") | {"build_hf_model"}) & script.words
    if local and not templates and _reads_plain_text(script):
        yield from at_first("raw-prompt-inference", (
            call for call in script.calls()
            if last_name(call.func) == "generate" and isinstance(call.func, ast.Attribute)
        ))  # fmt: skip


def _reads_plain_text(script: Script) -> bool:
    """The script itself tokenises text, or leaves that to vLLM; the text has no turns that are
    written by hand."""
    texts = (n.value for n in script.nodes if isinstance(n, ast.Constant))
    if any(isinstance(text, str) and any(m in text for m in _TURN_MARKS) for text in texts):
        return False
    if "LLM" in script.words:
        return not {"prompt_token_ids", "TokensPrompt"} & script.words
    called = (c.func.value if isinstance(c.func, ast.Attribute) and c.func.attr == "encode"
              else c.func for c in script.calls())  # fmt: skip
    return any(last_name(each) in ("tokenizer", "tok") for each in called)


def _own_retry(script: Script) -> Iterator[Finding]:
    """A loop or a decorator that repeats SDK calls; the SDK repeats them itself."""
    sdk = {id(event.node) for event in script.machine.events}
    calling = callers(script, sdk)
    for node in script.all((ast.Try, *FUNCTIONS)):
        if isinstance(node, ast.Try):
            again = any(_repeats(handler) for handler in node.handlers)
            if again and any(isinstance(a, LOOPS) for a in script.loops_of(node)[:1]):
                tried = (n for s in node.body for n in script.below(s))
                if any(reaches(script, n, sdk, calling) for n in tried):
                    yield Finding("own-retry-around-sdk", node)
        elif any(last_name(n) in _RETRIERS for d in getattr(node, "decorator_list", [])
                 for n in ast.walk(d)) and id(node) in calling:  # fmt: skip
            yield Finding("own-retry-around-sdk", node)


def _repeats(handler: ast.ExceptHandler) -> bool:
    names = {last_name(n.func) for n in ast.walk(handler) if isinstance(n, ast.Call)}
    last = handler.body[-1]
    leaves = isinstance(last, (ast.Raise, ast.Break, ast.Return))
    return "sleep" in names and not leaves


def _own_timeout(script: Script) -> Iterator[Finding]:
    """asyncio.wait_for or a short result(timeout=) around an SDK call."""
    kinds = ("future", "client-future", "coroutine")
    for call in script.calls():
        name = last_name(call.func)
        if name == "wait_for" and call.args and script.machine.kind(call.args[0]) in kinds:
            yield Finding("own-timeout-around-sdk", call)
        owner = getattr(call.func, "value", None)
        given = keyword(call, "timeout") or (call.args[0] if call.args else None)
        limited = given and not (isinstance(given, ast.Constant) and given.value is None)
        if name in ("result", "result_async") and script.machine.kind(owner) in kinds and limited:
            yield Finding("own-timeout-around-sdk", call)


def _chunk_lists(script: Script) -> Iterator[Finding]:
    """``[c.tokens for c in x.chunks]`` in a comparison: a list of lists, never equal to ids."""
    lists = {id(n) for n in script.all(ast.ListComp) if last_name(n.elt) == "tokens"
             and [last_name(g.iter) for g in n.generators] == ["chunks"]}  # fmt: skip
    names = {
        last_name(t) for n in script.all(ast.Assign) if id(n.value) in lists for t in n.targets
    }
    for node in script.all(ast.Compare):
        sides = [node.left, *node.comparators]
        if any(id(s) in lists or (isinstance(s, ast.Name) and s.id in names) for s in sides):
            yield Finding("api-compare-chunk-lists", node)


def _batch_encoding(script: Script) -> Iterator[Finding]:
    """``list(apply_chat_template(...))`` without return_dict=False."""
    for call in script.calls_of({"list"}):
        if len(call.args) != 1:
            continue
        inner = call.args[0]
        if isinstance(inner, ast.Call) and last_name(inner.func) == "apply_chat_template":
            given = {k.arg for k in inner.keywords}
            tokens = constant(keyword(inner, "tokenize")) is not False
            if tokens and not given & {"return_dict", None}:
                yield Finding("api-chat-template-batch-encoding", call)


def _wrong_handler(script: Script) -> Iterator[Finding]:
    """Find ``except AuthenticationError`` handlers that mention a missing permission."""
    for node in script.all(ast.ExceptHandler):
        if last_name(node.type) != "AuthenticationError":
            continue
        texts = " ".join(str(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant))
        denied = any(word in texts.lower() for word in ("403", "permission", "forbidden"))
        if denied:
            yield Finding("api-authentication-error-403", node)
