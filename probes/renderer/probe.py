"""A renderer, a tokenizer and conversations -> facts on how their tokens compare.

Problems: MM440 and MM441 from :mod:`.conversations`, MM442 the tokenizer does not load, MM443 it
has no chat template, MM444 neither renderer nor known model was named, or the name is not
accepted, MM445 a conversation could not be rendered by one of the sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem, excerpt
from ..outcome import Collector, Outcome, not_available
from .conversations import Conversation, built_in_conversations, read_conversations
from .reasons import compare_tokens, system_added
from .sides import Keywords, Sides, Tokens, template_keywords

_OWNER = "tinker_cookbook"
_THINKING = ("enable_thinking", "thinking", "thinking_mode", "reasoning_effort")


def gather_renderer(
    tokenizer: Path | str, vocabulary: Vocabulary, *, model: str = "", renderer: str = "",
    conversations: Path | str | None = None, template: Mapping[str, str | bool] | None = None,
    pass_tools: bool = True,
) -> Outcome:  # fmt: skip
    """The ``renderer`` in use, its ``generation_prompt``, and one ``token_comparison`` for each
    conversation: the renderer's tokens against those of the tokenizer's chat template.

    ``tokenizer`` is a local folder or a name in the local cache of the Hugging Face hub; nothing
    is downloaded and no code of it is run. ``model`` is the base model's name, by which the
    cookbook recommends renderers; without ``renderer`` the first recommended one is taken.
    ``conversations`` is a JSON file; without it a small built-in set is used. ``template`` gives
    the keywords of the template call as serving uses them; without it those are taken that
    belong to the renderer's mode. ``pass_tools`` off leaves tools out of that call.
    Never raises over its input.
    """
    for package, extra in (("tinker_cookbook", "tinker"), ("transformers", "tensors")):
        if find_spec(package) is None:
            return not_available(package.replace("_", "-"), extra)
    collector = Collector(vocabulary, "probe:renderer")
    loaded = _load_tokenizer(str(tokenizer), collector)
    names = _recommended(model)
    chosen = renderer or (names[0] if names else "")
    if loaded is None or not chosen:
        if not chosen:
            text = f"no renderer was named, and the cookbook knows no model {excerpt(model)}"
            collector.problem("MM444", text, Location("renderer"), "name the renderer in use")
        return collector.outcome()
    built = _build(chosen, loaded, model, collector)
    subject = model or Path(str(tokenizer)).name
    _add_renderer(collector, subject, chosen, names, built)
    if built is None:
        return collector.outcome()
    sides = Sides(built, loaded)
    _add_generation_prompt(collector, subject, sides)
    if not getattr(loaded, "chat_template", None):
        text = "the tokenizer has no chat template, so there is nothing to compare with"
        collector.problem("MM443", text, Location(str(tokenizer)))
        return collector.outcome()
    given: list[Conversation] = built_in_conversations()
    if conversations is not None:
        problems: list[Problem] = []
        given = read_conversations(Path(conversations), problems)
        collector.extend(problems)
    own = template_keywords(chosen)
    setting = _Setting(subject, chosen, own if template is None else dict(template), own,
                       pass_tools)  # fmt: skip
    failed = [_compare(collector, sides, setting, conversation) for conversation in given]
    if conversations is None and failed and all(failed):
        text = f"none of the built-in conversations can be rendered: {failed[0]}"
        collector.problem("MM445", text, Location(str(tokenizer)),
                          "do renderer and tokenizer belong to the same family?")  # fmt: skip
    return collector.outcome()


class _Setting(NamedTuple):
    """The settings of all comparisons; ``own`` are the keywords of the renderer's mode."""

    model: str
    renderer: str
    keywords: Keywords
    own: Keywords
    pass_tools: bool


def _load_tokenizer(name: str, collector: Collector) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # noqa: BLE001 - whatever a broken folder leads to
        reason = " ".join(str(error).split())[:300]
        text = f"the tokenizer does not load: {type(error).__name__}: {reason}"
        hint = "give a folder with tokenizer.json and tokenizer_config.json"
        collector.problem("MM442", text, Location(name), hint)
        return None


def _recommended(model: str) -> list[str]:
    from tinker_cookbook.model_info import get_recommended_renderer_names

    try:
        return [str(name) for name in get_recommended_renderer_names(model)] if model else []
    except Exception:  # noqa: BLE001 - the cookbook raises three kinds for an unknown model
        return []


def _build(name: str, tokenizer: Any, model: str, collector: Collector) -> Any:
    """The renderer, or None with the error as the user would see it."""
    from tinker_cookbook.renderers import get_renderer

    try:
        return get_renderer(name, tokenizer, model_name=model or None)
    except Exception as error:  # noqa: BLE001 - missing packages, image processors, assertions
        text = " ".join(str(error).split())
        if text:
            collector.add("error_message", f"get_renderer({name!r})", text=text[:2000],
                          exception=type(error).__name__, module=type(error).__module__,
                          source="traceback", owner=_OWNER, owner_confidence="likely",
                          owner_evidence="get_renderer raised it")  # fmt: skip
        shown = f"get_renderer({excerpt(name)}) fails: {type(error).__name__}: {text[:300]}"
        collector.problem("MM444", shown, Location("renderer"))
        return None


def _add_renderer(
    collector: Collector, model: str, name: str, names: list[str], built: Any
) -> None:
    from tinker_cookbook.renderers import get_registered_renderer_names

    strips = getattr(built, "strip_thinking_from_history", None)
    module = type(built).__module__.rpartition(".")[2]
    collector.add(
        "renderer",
        f"get_renderer({name!r})",
        model=model,
        name=name,
        recommended=names[0] if names else None,
        is_recommended=name in names if names else None,
        accepted=built is not None,
        # The list holds custom renderers only; a built-in name is never in it.
        listed=name in get_registered_renderer_names() or None,
        family=module if built is not None else None,
        thinking=_thinks(name),
        strips_history=strips if isinstance(strips, bool) else None,
    )


def _thinks(name: str) -> bool | None:
    """Whether a built-in renderer asks for thinking; None for others."""
    plain = name in ("role_colon", "llama3", "deepseekv3")
    if plain or name.endswith(("instruct", "_disable_thinking")):
        return False
    known = ("qwen3", "deepseekv", "kimi_k", "nemotron3", "gpt_oss", "glm5_3", "tml_v")
    return True if name.startswith(known) else None


def _add_generation_prompt(collector: Collector, model: str, sides: Sides) -> None:
    tokens = sides.ours(Conversation("prompt", ({"role": "user", "content": "Hello"},)))
    if tokens.error or not tokens.ids:
        return
    end = sides.decode(tokens.ids[-16:]).rstrip()
    tail = "open" if end.endswith("<think>") else "closed" if end.endswith("</think>") else "none"
    collector.add("generation_prompt", "build_generation_prompt()", model=model, tail=tail)


def _parts(conversation: Conversation) -> Iterator[tuple[Conversation, bool]]:
    """The parts of a conversation to compare: a conversation that ends with an answer is a training
    example."""
    if conversation.messages[-1]["role"] == "assistant":
        yield conversation._replace(name=f"{conversation.name}-supervised"), True
        if len(conversation.messages) > 1 and not conversation.built_in:
            yield conversation._replace(messages=conversation.messages[:-1]), False
    else:
        yield conversation, False


def _compare(
    collector: Collector, sides: Sides, setting: _Setting, conversation: Conversation
) -> str:
    """Compare a conversation; the error if a side cannot render any part of it."""
    if conversation.has_images:
        text = f"{conversation.name}: conversations with images are not compared"
        collector.problem("MM445", text, Location(conversation.place),
                          "they need the full processor")  # fmt: skip
        return ""
    errors: list[str] = []
    parts = 0
    for part, supervised in _parts(conversation):
        ours = sides.ours(part, supervised=supervised)
        theirs = sides.theirs(part, setting.keywords, supervised=supervised,
                              tools=setting.pass_tools)  # fmt: skip
        parts += 1
        if ours.error or theirs.error:
            errors.append(ours.error or theirs.error)
            if not part.built_in:
                who = "renderer" if ours.error else "template"
                text = f"{part.name}: the {who} cannot render it: {ours.error or theirs.error}"
                collector.problem("MM445", text, Location(part.place))
            continue
        _add_comparison(collector, sides, setting, part, (ours, theirs, supervised))
    return errors[0] if len(errors) == parts else ""


def _add_comparison(
    collector: Collector, sides: Sides, setting: _Setting, part: Conversation,
    tokens: tuple[Tokens, Tokens, bool],
) -> None:  # fmt: skip
    ours, theirs, supervised = tokens
    found = compare_tokens(sides, part, ours, theirs, setting.keywords, supervised=supervised,
                           tools=setting.pass_tools)  # fmt: skip
    keyword = next((name for name in _THINKING if name in setting.keywords), "")
    value = setting.keywords.get(keyword)
    differs = not found.match
    # Tokens of another family, or none at all, show nothing.
    told = theirs.is_list and found.reason != "wrong-family"
    collector.add(
        "token_comparison",
        part.place,
        case=part.name,
        match=found.match,
        model=setting.model,
        renderer=setting.renderer,
        reason=found.reason or None,
        first_diff=found.first if differs else None,
        ours=len(ours.ids),
        theirs=len(theirs.ids),
        keyword=keyword or "none",
        keyword_value=value if isinstance(value, bool) else
        value == "thinking" if keyword == "thinking_mode" else None,
        aligned=dict(setting.keywords) == dict(setting.own)
        and (setting.pass_tools or not part.tools),
        tail_only=found.tail_only if differs else None,
        tail_text=(found.tail_text or None) if differs else None,
        our_text=(found.our_text or None) if differs else None,
        their_text=(found.their_text or None) if differs else None,
        supervised=supervised,
        system_added=(system_added(sides, part, ours, theirs) or None) if told else None,
        tools_in_conversation=part.has_tools,
        tools_passed=(setting.pass_tools and bool(part.tools)) if part.has_tools else None,
        images=False,
        reference="tokenizer",
    )  # fmt: skip
