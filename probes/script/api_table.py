"""Outdated and misused API: the table ``api_patterns.json`` and how it is applied."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from ...reading.python.nodes import argument, constant, dotted, keyword, last_name
from ...reading.text.values import json_table
from .findings import OF_TINKER, Finding, Script
from .given import stays_as_built
from .reading.values import BACKWARD, SDK_PACKAGES, Value
from .running import is_asked_for, is_changed
from .training.clients import may_be_another

_LIST_KINDS = frozenset({"list", "tuple"})
# Definitions of the project itself are not an API of the SDK.
_OWN = frozenset({"object", "class", "module", "function", "method"})
# Names that other packages have, too; the row identifies their owner by other means.
_ANYONE = frozenset({
    "apply_chat_template", "check_call", "download", "from_pretrained", "get", "model_dump",
    "model_dump_json", "post", "run", "stream", "urlopen", "urlretrieve",
})  # fmt: skip
_NAMING: tuple[type[ast.AST], ...] = (ast.Attribute, ast.Name, ast.Import, ast.ImportFrom)
MAX_PLACES = 20
"""Places of one pattern that are reported."""
_UNUSED = "that the datum is trained on as it is built here"
Row = dict[str, Any]


def table() -> list[Row]:
    """The rows of the file."""
    rows: list[Row] = json_table(__file__, "api_patterns.json")["rows"]
    return rows


@lru_cache(maxsize=1)
def patterns_of_api() -> frozenset[str]:
    """The patterns of the table."""
    return frozenset(row["pattern"] for row in table())


@lru_cache(maxsize=1)
def keywords_of_rows() -> dict[str, frozenset[str]]:
    """Map each pattern about a missing name to the keywords that it is about; to an empty set if it
    is about the whole place."""
    found: dict[str, frozenset[str]] = {}
    for row in table():
        if row.get("instead"):
            found[row["pattern"]] = found.get(row["pattern"], frozenset()) | set(
                row.get("keywords", ())
            )
    return found


def find_api(script: Script) -> Iterator[Finding]:
    """Find the patterns of the table: their places, and those that are certainly absent."""
    found: dict[str, dict[int, Finding]] = {}
    texts, inputs = list(_texts(script)), list(_loss_inputs(script))
    said = "\0".join(text for text, _ in texts)
    for row in table():
        if not _wanted(row, script.words):
            continue
        if row.get("trained") and not _trains(script):
            continue
        if row.get("of_cookbook") and script.carries("tinker_cookbook"):
            continue  # the copy in the project decides what it writes
        if "reads" in row and not any(True for _ in script.attributes_of(row["reads"])):
            continue
        if not all(part in said for part in row.get("texts", ())):
            continue
        pattern, most = row["pattern"], 1 if row.get("once") else MAX_PLACES
        known = found.setdefault(pattern, {})
        for node in _seen(row, script, texts, inputs):
            if len(known) >= most:
                break
            assumed = _assumed(script, row, node)
            finding = Finding(pattern, node, _decisive(row, node), assumed, len(known))
            known.setdefault(id(node), finding)
    for pattern in dict.fromkeys(row["pattern"] for row in table()):
        if found.get(pattern):
            yield from found[pattern].values()
        elif script.complete and _nowhere(pattern, script.words):
            yield Finding(pattern, None)


def _trains(script: Script) -> bool:
    return any(event.op in (*BACKWARD, "forward") for event in script.machine.events)


def _assumed(script: Script, row: Row, node: ast.AST) -> str:
    """The assumption behind a finding: only the service knows which inputs of an example it
    accepts."""
    if not _is_used(script, row, node):
        return _UNUSED
    return OF_TINKER if "key" in row and may_be_another(script) else ""


def _is_used(script: Script, row: Row, node: ast.AST) -> bool:
    """Whether the inputs of an example are trained on exactly as they are built here."""
    if "number_value" in row:  # refused as soon as it is built
        return _trains(script)
    return "key" not in row or (_trains(script) and stays_as_built(script, node))


def _decisive(row: Row, node: ast.AST) -> ast.AST | None:
    """The argument that a row checks."""
    wanted = row.get("argument")
    if wanted is None or not isinstance(node, ast.Call):
        return None
    return argument(node, wanted["name"], wanted["position"])


def _wanted(row: Row, words: frozenset[str]) -> bool:
    if any(part in row and not words & set(row[part]) for part in ("call", "attribute", "name")):
        return False
    return all(words & set(group) for group in row.get("with", ())) and not (
        words & set(row.get("unless", ()))
    )


def _nowhere(pattern: str, words: frozenset[str]) -> bool:
    """Whether none of the words of a pattern occurs, so that the pattern cannot be present."""
    for row in table():
        if row["pattern"] != pattern:
            continue
        own = [*row.get("keywords", ()), *row.get("attribute", ()), *row.get("name", ()),
               *row.get("key", ())]  # fmt: skip
        triggers = row.get("words", own)
        if not triggers or words & set(triggers):
            return False
    return True


def _seen(
    row: Row, script: Script, texts: Sequence[tuple[str, ast.AST]], inputs: Sequence[ast.AST]
) -> Iterable[ast.AST]:
    """The places that match a row, in the order of the text."""
    if "call" in row:
        return (c for c in script.calls_of(row["call"]) if _call_fits(row, c, script))
    if "attribute" in row:
        named = script.attributes_of(row["attribute"])
        return (n for n in named if _attribute_fits(row, n, script))
    if "name" in row:
        names = set(row["name"])
        return (n for n in script.all(_NAMING) if _names(n) & names and not _is_own(script, n))
    if "subscript" in row:
        # `if key in metrics` guards itself.
        keys = set(row["subscript"]) - {constant(n.left) for n in script.all(ast.Compare)}
        read = (n for n in script.all(ast.Subscript) if isinstance(n.ctx, ast.Load))
        return (n for n in read if constant(n.slice) in keys)
    if "texts" in row:
        return (n for text, n in texts if _text_fits(row, text))
    return (d for d in inputs if _dict_fits(row, d))


def _call_fits(row: Row, call: ast.Call, script: Script) -> bool:
    if last_name(call.func) not in row["call"]:
        return False
    receiver = script.machine.value(getattr(call.func, "value", None))
    target = script.machine.value(call.func)
    if receiver.kind in _OWN or target.kind in _OWN or not _of_sdk(target, call):
        return False
    if "on" in row and receiver.assumed:
        return False  # arguments that do not fit contradict the kind that its name suggests
    kind = receiver.op if receiver.kind == "client-future" else receiver.kind
    if "on" in row and kind not in row["on"]:
        return False
    if "path" in row and dotted(call.func) not in row["path"]:
        return False
    given = {k.arg for k in call.keywords}
    hidden = None in given or any(isinstance(a, ast.Starred) for a in call.args)
    if "keywords" in row and not given & set(row["keywords"]):
        return False
    if "without" in row and (hidden or given & set(row["without"])):
        return False
    if "fewer" in row and len(call.args) >= row["fewer"]:
        return False
    if row.get("no_arguments") and (call.args or call.keywords):
        return False
    if any(keyword(call, name) is None or constant(keyword(call, name)) is not value
           for name, value in row.get("constants", {}).items()):  # fmt: skip
        return False
    return "argument" not in row or _argument_fits(row["argument"], call, script)


def _of_sdk(target: Value, call: ast.Call) -> bool:
    """Whether a name may be the SDK's: it was not imported from another package."""
    if target.kind != "import" or last_name(call.func) in _ANYONE:
        return True
    return not target.op.startswith(".") and target.op.partition(".")[0] in SDK_PACKAGES


def _argument_fits(wanted: Row, call: ast.Call, script: Script) -> bool:
    given = argument(call, wanted["name"], wanted["position"])
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return False
    value = script.machine.value(given)
    if not any(_is(value, given, what) for what in wanted["is"]):
        return False
    text = value.const if isinstance(value.const, str) else constant(given)
    if "equals" in wanted and text not in wanted["equals"]:
        return False
    if "not_equals" in wanted and (not isinstance(text, str) or text in wanted["not_equals"]):
        return False
    return all(part in str(text or _pieces(given)) for part in wanted.get("contains", ()))


def _is(value: Value, node: ast.AST, what: str) -> bool:
    if what == "any":
        return True
    if what == "text":
        return value.kind == "text" or isinstance(node, ast.JoinedStr)
    if what == "number":
        number = value.const if value.kind == "const" else constant(node)
        return isinstance(number, (int, float)) and not isinstance(number, bool)
    if what == "list":
        return value.kind in _LIST_KINDS
    kind, _, op = what.partition(":")
    return value.kind == kind and (not op or value.op == op)


def _attribute_fits(row: Row, node: ast.Attribute, script: Script) -> bool:
    value = script.machine.value(node.value)
    if node.attr not in row["attribute"] or (value.kind == "coroutine" and not value.op):
        return False
    if value.assumed and "unknown" not in row["of"]:
        return False  # a name that the SDK's value lacks contradicts the assumption
    if is_asked_for(script, node):
        return False
    return any(_is(value, node.value, what) for what in row["of"])


def _is_own(script: Script, node: ast.AST) -> bool:
    """Whether a name is the user's, or another package's."""
    if isinstance(node, ast.ImportFrom):
        return bool(node.level) or (node.module or "").partition(".")[0] not in SDK_PACKAGES
    value = script.machine.value(node)
    if value.kind == "import":
        return value.op.lstrip(".").partition(".")[0] not in SDK_PACKAGES
    return value.kind in _OWN or (value.kind == "unknown" and _bound_elsewhere(script, node))


def _bound_elsewhere(script: Script, node: ast.AST) -> bool:
    """Whether the file itself defines the type of a name that is not computed, as in an annotation:
    a class or function of its own, or something imported from elsewhere."""
    if not isinstance(node, ast.Name):
        return False
    if any(each.name == node.id for each in script.all(ast.ClassDef)):
        return True
    named = (
        f for f in script.all(ast.ImportFrom) for a in f.names if node.id in (a.asname, a.name)
    )
    return any(_is_own(script, each) for each in named)


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.name.rpartition(".")[2] for alias in node.names}
    return set()


def _text_fits(row: Row, text: str) -> bool:
    return all(part in text for part in row["texts"]) and not any(
        part in text for part in row.get("text_lacks", ())
    )


def _texts(script: Script) -> Iterator[tuple[str, ast.AST]]:
    """Literal texts, and lists of texts as one text; docstrings are left out."""
    for node in script.all((ast.List, ast.Tuple, ast.JoinedStr, ast.Constant)):
        if isinstance(node, (ast.List, ast.Tuple)):
            parts = [str(e.value) for e in node.elts if isinstance(e, ast.Constant)]
            if len(parts) > 1:
                yield " ".join(parts), node
        elif isinstance(node, ast.JoinedStr):
            yield _pieces(node), node
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_statement = isinstance(script.parents.get(id(node)), ast.Expr)
            if not (is_statement and "\n" in node.value):
                yield node.value, node


def _pieces(node: ast.AST) -> str:
    """The literal parts of an f-string."""
    if not isinstance(node, ast.JoinedStr):
        return ""
    return "{}".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))


def _loss_inputs(script: Script) -> Iterator[ast.AST]:
    """Dicts that are passed as loss_fn_inputs, written as {...} or dict(...), directly or through
    a variable."""
    if "loss_fn_inputs" not in script.words:
        return
    named: set[tuple[int, str]] = set()
    for call in script.calls():
        given = keyword(call, "loss_fn_inputs")
        if given is None or script.machine.value(call.func).kind in _OWN:
            continue
        if _is_dict(given):
            yield given
        elif isinstance(given, ast.Name) and not is_changed(script, given):
            named.add((id(script.function_of(call)), given.id))
    for node in script.all((ast.Assign, ast.AnnAssign)):
        assert isinstance(node, (ast.Assign, ast.AnnAssign))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {t.id for t in targets if isinstance(t, ast.Name)}
        scope = id(script.function_of(node))
        wanted = "loss_fn_inputs" in names or any((scope, name) in named for name in names)
        if wanted and node.value is not None and _is_dict(node.value):
            yield node.value


def _is_dict(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Dict) or (
        isinstance(node, ast.Call) and last_name(node.func) == "dict" and not node.args
    )


def _dict_fits(row: Row, node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        pairs = {k.arg: k.value for k in node.keywords}
    else:
        assert isinstance(node, ast.Dict)
        pairs = {constant(k): v for k, v in zip(node.keys, node.values, strict=True)}
    if None in pairs:  # another dict is unpacked into it
        return False
    if row.get("number_value"):
        return any(isinstance(v, ast.Constant) and isinstance(v.value, (int, float))
                   for v in pairs.values())  # fmt: skip
    given = {str(key) for key in pairs}
    return bool(given & set(row["key"])) and not given & set(row.get("without_key", ()))
