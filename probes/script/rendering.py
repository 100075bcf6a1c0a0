"""Renderers, chat templates, images and tools in a script."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...reading.python.nodes import argument, constant, keyword, last_name
from .data_code import base_models, sampled_models
from .findings import Finding, Script, always, at_first
from .given import is_given
from .reading.values import words

# Two sides of a conversation, or the control tokens of a family, written out by hand.
_CONTROL = re.compile(
    r"(?P<chatml><\|im_start\|>)|(?P<llama3><\|start_header_id\|>)|(?P<llama2>\[INST\])"
    r"|(?P<marked_roles><\|(?:user|assistant|system)\|>)|(?P<gemma><start_of_turn>)"
    r"|(?P<deepseek><｜(?:User|Assistant)｜>)"
)
_NOT_GIVEN = "that the model that is trained is given this text"
_ROLES = (("User:", "Assistant:"), ("Human:", "Assistant:"), ("### Instruction", "### Response"),
          ("USER:", "ASSISTANT:"), ("user:", "assistant:"))  # fmt: skip
MIN_RULER = 10
_ENCODERS = frozenset({"encode", "tokenize", "encode_plus", "batch_encode_plus"})
_SEARCHES = frozenset({"split", "rsplit", "partition", "rpartition", "find", "rfind", "index",
                       "replace", "startswith", "endswith", "removeprefix", "removesuffix",
                       "count", "search", "match", "sub", "findall", "compile"})  # fmt: skip
_PREFIX = "create_conversation_prefix_with_tools"
_RENDERS = frozenset({_PREFIX, "build_generation_prompt", "build_supervised_example",
                      "build_supervised_examples"})  # fmt: skip
_TOOL_KEYS = frozenset({"tool_calls", "tool_call_id"})


def find_rendering(script: Script) -> Iterator[Finding]:
    """The renderer patterns of a script."""
    yield from _names(script)
    images = list(at_first("image-content", filter(_is_image, script.all((ast.Call, ast.Dict)))))
    yield from images
    # The renderer of the Inkling models brings its own image processing.
    own = any("inkling" in word.lower() or word == "tml_v0" for word in script.words)
    if images and not own:
        where = script.module_of(images[0].node or script.tree)
        made = (c for c in script.calls_of({"get_renderer"}) if script.module_of(c) is where)
        call = next((call for call in made if _has_no_processor(call)), None)
        if call is not None:
            assumed = "that the images are rendered with this renderer"
            yield Finding("image-processor-not-passed", call, assumed=assumed)
    yield from at_first("tools-in-messages", _tools(script))
    if not script.rehearses:
        yield from _templates(script)
    yield from _parse_results(script)


def named_renderers(script: Script) -> Iterator[tuple[str, ast.Call]]:
    """Literal renderer names with the calls that they are given to."""
    for call in script.calls():
        if last_name(call.func) == "get_renderer":
            given = argument(call, "name", 0)
        else:
            given = keyword(call, "renderer_name")
        name = always(script, call, given)
        if name and not script.machine.value(given).assumed:
            yield name, call


def is_for_another(script: Script, call: ast.Call, model: str) -> bool:
    """Whether a renderer is made with the tokenizer of another model than the trained one."""
    given = argument(call, "tokenizer", 1) if last_name(call.func) == "get_renderer" else None
    term = script.machine.trace.of(given)
    if term.op != "call" or term.const[0] not in ("from_pretrained", "get_tokenizer"):
        return False
    names = [arg.const for arg in term.args[1:] if arg.op == "const" and isinstance(arg.const, str)]
    return bool(names) and names[0].partition(":")[0] != model.partition(":")[0]


def _names(script: Script) -> Iterator[Finding]:
    literal = next((call for _, call in named_renderers(script)), None)
    if literal is not None:
        yield Finding("hardcoded-renderer-name", literal)
    elif script.complete and "get_recommended_renderer_name" in script.words:
        yield Finding("hardcoded-renderer-name", None)


def _has_no_processor(call: ast.Call) -> bool:
    hidden = any(k.arg is None for k in call.keywords)
    given = keyword(call, "image_processor")
    is_none = isinstance(given, ast.Constant) and given.value is None
    return not hidden and len(call.args) < 3 and (given is None or is_none)


def _is_image(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) == "ImagePart"  # chunks need no rendering
    if not isinstance(node, ast.Dict):
        return False
    pairs = {constant(k): constant(v) for k, v in zip(node.keys, node.values, strict=True)}
    return pairs.get("type") in ("image", "image_url") or "image_url" in pairs


def _tools(script: Script) -> Iterator[ast.AST]:
    """Tools and their calls that are proven to reach a renderer of Tinker. Others are for another
    program, or for the client of another model."""
    trace = script.machine.trace
    for call in trace.calls:
        renderer = call.receiver
        if call.name not in _RENDERS or renderer.kind != "renderer" or renderer.assumed:
            continue
        if call.name == _PREFIX:
            yield call.node
            continue
        given = [v.term for v in (*call.args, *call.named.values()) if v.term is not None]
        nodes = (part.node for term in given for part in trace.walk(term, fed=True))
        yield from (node for node in nodes if node is not None and _is_tool(node))


def _is_tool(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) == "ToolSpec"
    if not isinstance(node, ast.Dict):
        return False
    pairs = {constant(k): constant(v) for k, v in zip(node.keys, node.values, strict=True)}
    return bool(_TOOL_KEYS & set(pairs)) or pairs.get("role") == "tool"


def _templates(script: Script) -> Iterator[Finding]:
    """Texts that are filled in, with control tokens of a chat format, or with the names of roles
    where they become tokens."""
    control: list[Finding] = []
    names: list[Finding] = []
    others = {*script.kept(sampled_models)} - {name for name, _ in script.kept(base_models)}
    for node in script.all((ast.JoinedStr, ast.BinOp, ast.Call)):
        text = _filled_text(script, node)
        form = _CONTROL.search(text)
        if form is None and not (_has_roles(node, text) and _is_encoded(script, node)):
            continue
        if _is_shown(script, node) or _is_spare(script, node) or _renders(script, node):
            continue
        given = not others and is_given(script, script.machine.trace.of(node))
        assumed = "" if given else _NOT_GIVEN
        if form is None:
            names.append(Finding("handrolled-role-names", node, assumed=assumed))
        else:
            kind = str(form.lastgroup).replace("_", "-")
            control.append(Finding("handrolled-chat-template", node, assumed=assumed, given=kind))
    for found in (control, names):
        yield from sorted(found, key=lambda finding: bool(finding.assumed))[:1]


def _has_roles(node: ast.AST, text: str) -> bool:
    by_name = any(all(role in text for role in roles) for roles in _ROLES)
    return by_name or (isinstance(node, ast.JoinedStr) and _joins_role_and_content(node))


def _is_encoded(script: Script, node: ast.AST) -> bool:
    """Whether a text becomes tokens here. Any other text may be for a grader, a log or a person,
    who also read names of roles."""
    return id(script.machine.trace.of(node)) in script.kept(_encoded)[0]


def _encoded(script: Script) -> Iterator[frozenset[int]]:
    """The terms that become tokens, by identity."""
    found: set[int] = set()
    for call in script.machine.trace.calls:
        takes = call.name in _ENCODERS or script.machine.kind(call.node.func) == "tokenizer"
        if takes and not _is_counted(script, call.node):
            given = (value.term for value in call.args if value.term is not None)
            found.update(id(part) for t in given for part in script.machine.trace.walk(t, True))
    yield frozenset(found)


def _is_counted(script: Script, call: ast.Call) -> bool:
    """Whether tokens are counted only: ``len(tokenizer.encode(text))``."""
    above = script.parents.get(id(call))
    return isinstance(above, ast.Call) and last_name(above.func) == "len"


def _filled_text(script: Script, node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        if not any(isinstance(v, ast.FormattedValue) for v in node.values):
            return ""
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        if isinstance(script.parents.get(id(node)), ast.BinOp):
            return ""
        texts = [n.value for n in ast.walk(node)
                 if isinstance(n, ast.Constant) and isinstance(n.value, str)]  # fmt: skip
        return "{}".join(texts) if any(isinstance(n, (ast.Name, ast.Subscript, ast.Call))
                                       for n in ast.walk(node)) else ""  # fmt: skip
    if isinstance(node, ast.Call) and last_name(node.func) == "format":
        template = getattr(node.func, "value", None)
        value = script.machine.value(template).const if template is not None else None
        value = constant(template) if value is None else value
        return value if isinstance(value, str) else ""
    return ""


def _joins_role_and_content(node: ast.JoinedStr) -> bool:
    read = {constant(n.slice) for n in ast.walk(node) if isinstance(n, ast.Subscript)}
    return {"role", "content"} <= read


def _renders(script: Script, node: ast.AST) -> bool:
    """Whether code belongs to a renderer of the user, which is meant to do this: by its name, that
    of its base, or its methods."""
    classes = [each for each in script.above(node) if isinstance(each, ast.ClassDef)]
    named = [name for each in classes for name in (each.name, *map(last_name, each.bases))]
    can = {getattr(member, "name", "") for each in classes for member in each.body}
    return any(name.endswith("Renderer") for name in named) or bool(_RENDERS & can)


def _is_spare(script: Script, node: ast.AST) -> bool:
    """Whether the function around renders by a template if it can, or writes a report with
    ruled lines for people."""
    function = script.function_of(node)
    if function is None:
        return False
    return any(last_name(n) == "apply_chat_template" or _is_ruler(n) for n in ast.walk(function))


def _is_ruler(node: ast.AST) -> bool:
    """A line such as ``"-" * 60``."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
        return False
    sides = {constant(node.left), constant(node.right)}
    return any(isinstance(s, str) and len(s) == 1 for s in sides) and any(
        isinstance(s, int) and s >= MIN_RULER for s in sides
    )


def _is_shown(script: Script, node: ast.AST) -> bool:
    """Whether a text is for people, or searched for in another text."""
    for above in script.above(node):
        if isinstance(above, ast.Compare) or (
            isinstance(above, ast.Call) and last_name(above.func) in _SEARCHES
        ):
            return True
        if not isinstance(above, ast.expr):
            return isinstance(above, (ast.Raise, ast.Assert))
        if isinstance(above, ast.Call) and last_name(above.func) in words("shown"):
            return True
    return False


def _parse_results(script: Script) -> Iterator[Finding]:
    """The second value of parse_response, used as true or false."""
    if "parse_response" not in script.words:
        return
    own = any(node.name == "parse_response" for node in script.all(ast.FunctionDef))
    if own or script.carries("tinker_cookbook"):
        return  # the copy in the project decides what it returns
    bound: set[tuple[int, str]] = set()
    for node in script.all(ast.Assign):
        target = node.targets[0]
        if _parses(node.value) and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            second = target.elts[1]
            if isinstance(second, ast.Name):
                bound.add((id(script.function_of(node)), second.id))
    for place in script.nodes:
        for test in _tests(place):
            direct = isinstance(test, ast.Subscript) and _parses(test.value)
            name = (id(script.function_of(place)), test.id) if isinstance(test, ast.Name) else None
            if name in bound or (direct and constant(getattr(test, "slice", None)) == 1):
                yield Finding("parse-result-as-boolean", place)


def _parses(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "parse_response"


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if (
        isinstance(node, ast.Call)
        and last_name(node.func) in ("float", "int", "bool")
        and node.args
    ):
        return [node.args[0]]
    return []
