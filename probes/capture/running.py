"""Runs a model and writes the inputs and outputs of each module, prefill first, then decoding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.progress import UNWATCHED, Progress
from ..trace.recorder import Recorded, Recorder, record
from .writing import Writer

SOURCE_MODULES = (
    r"embed|rotary|layernorm|(^|\.)norm$|self_attn$|attention$|[qkvo]_proj$|(^|\.)mlp$|lm_head$|"
    r"layers\.\d+$|logits"
)
"""The modules that the published workflow captures."""


class Plan(NamedTuple):
    """The run to capture: token ids of (batches, positions), the number of further tokens to
    decode one by one from a cache (those of ``ids`` after the prompt), and the modules to
    capture: ``all``, ``source`` (those of the published workflow), or a regular expression over
    their names."""

    ids: Any
    decode: int = 0
    modules: str = "all"
    attention_mask: Any = None

    @property
    def prompt(self) -> int:
        """Positions of the prefill."""
        return int(self.ids.shape[1]) - self.decode


def capture_run(
    model: Any, plan: Plan, folder: Path, role: str, *, progress: Progress = UNWATCHED,
    gather: Callable[[str, Any], Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run ``model`` and write ``folder/ROLE/captures-NNNNN.safetensors``; ``role`` is ``ref_fp32``,
    ``ref_bf16`` or ``target``. Returns the entry of the run in ``capture.json``.

    If the model is one of several ranks, ``gather`` must turn the name of a module and its shard of
    the output into the whole output (an all-gather of the user's): shards are not compared.
    """
    import torch

    names = dict(_chosen(model, plan.modules))
    with Writer(folder / role, "captures") as writer, torch.no_grad():
        recorder = _Recorder(writer, gather)
        with _hooks(names, recorder), progress.part(role, 1 + plan.decode) as step:
            cache = _pass(model, plan, recorder, 0, plan.prompt, None)
            step(1)
            for at in range(plan.decode):
                if cache is None:
                    break
                place = plan.prompt + at
                recorder.phase, recorder.step = "tg", at
                cache = _pass(model, plan, recorder, place, place + 1, cache)
                step(1)
    return {
        "class": type(model).__name__, "dtype": _dtype(model), "modules": len(names),
        "tensors": writer.tensors, "positions": int(plan.ids.shape[1]),
        "decoded": plan.decode if plan.decode and cache is not None else 0,
        "hashes": writer.hashes,
    }  # fmt: skip


def trace_run(
    model: Any, plan: Plan, entry: str = "", *, formats: bool = False,
    recorder: Recorder | None = None, progress: Progress = UNWATCHED,
) -> Recorded:  # fmt: skip
    """Run ``model`` on the same tokens, and record each operation: in FP32, or ``formats`` alone in
    low precision. ``entry`` is the file of the port, whose lines are the ones to
    show; ``recorder`` the one that saw the model being built."""

    def run(recorder: Recorder) -> None:
        with torch.no_grad(), progress.part("operations", 1 + plan.decode) as step:
            output = _call(model, plan, 0, plan.prompt, None)
            recorder.output(logits_of(output))
            step(1)
            for at in range(plan.decode):
                cache = getattr(output, "past_key_values", None)
                if cache is None:
                    break
                recorder.phase = at + 1
                output = _call(model, plan, plan.prompt + at, plan.prompt + at + 1, cache)
                recorder.output(logits_of(output))
                step(1)

    import torch

    return record(model, run, entry, formats, recorder)


def _pass(model: Any, plan: Plan, recorder: _Recorder, start: int, end: int, cache: Any) -> Any:
    output = _call(model, plan, start, end, cache)
    recorder.keep("logits", "output", logits_of(output))
    return getattr(output, "past_key_values", None)


def _call(model: Any, plan: Plan, start: int, end: int, cache: Any) -> Any:
    options: dict[str, Any] = {}
    if plan.decode:
        options = {"use_cache": True}
    if cache is not None:
        options["past_key_values"] = cache
    if plan.attention_mask is not None:
        options["attention_mask"] = plan.attention_mask[:, :end]
    device = next((each.device for each in model.parameters()), None)
    return model(plan.ids[:, start:end].to(device), **options)


def logits_of(output: Any) -> Any:
    """The logits in the output of a model."""
    if isinstance(output, Mapping) or hasattr(output, "logits"):
        return output["logits"] if isinstance(output, Mapping) else output.logits
    return output[0] if isinstance(output, tuple | list) else output


def _dtype(model: Any) -> str:
    kinds = [str(each.dtype).removeprefix("torch.") for each in model.parameters()]
    return max(sorted(set(kinds)), key=kinds.count) if kinds else ""


def _chosen(model: Any, modules: str) -> Iterator[tuple[str, Any]]:
    wanted = re.compile({"all": "", "source": SOURCE_MODULES}.get(modules, modules))
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if not name or type(module).__name__ in ("ModuleList", "ModuleDict", "Dropout"):
            continue
        if re.search(r"experts\.", name) or ("." not in name and last in _ROOTS):
            continue  # experts see tokens of their own; a root is seen through its parts
        if wanted.search(name):
            yield name, module


_ROOTS = ("model", "transformer", "gpt_neox", "language_model")


class _Recorder:
    """Writes tensors under the names that captures use."""

    def __init__(self, writer: Writer, gather: Callable[[str, Any], Any] | None) -> None:
        self._writer, self._gather = writer, gather
        self._seen: set[str] = set()
        self.phase, self.step = "cte", 0

    def keep(self, module: str, end: str, tensor: Any) -> None:
        """Keep the first tensor of a name: a module may be called more than once."""
        key = f"captured_tensors_{self.phase}_step_{self.step}_module_{module}_{end}"
        if tensor is None or key in self._seen:
            return
        self._seen.add(key)
        if self._gather is not None and end.startswith("output"):
            tensor = self._gather(module, tensor)
        self._writer.add(key, tensor.detach().float().cpu().contiguous().clone())

    def given(self, module: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        found = next((each for each in (kwargs.get("hidden_states"), *args, *kwargs.values())
                      if hasattr(each, "is_floating_point")), None)  # fmt: skip
        self.keep(module, "input", found)

    def gave(self, module: str, output: Any) -> None:
        parts = output if isinstance(output, tuple | list) else (output,)
        kept = [each for each in parts
                if hasattr(each, "is_floating_point") and each.is_floating_point()]  # fmt: skip
        for at, part in enumerate(kept):
            self.keep(module, f"output_{at}" if len(kept) > 1 else "output", part)


@contextmanager
def _hooks(names: Mapping[str, Any], recorder: _Recorder) -> Iterator[None]:
    handles = []
    for name, module in names.items():

        def before(_: Any, args: Any, kwargs: Any, name: str = name) -> None:
            recorder.given(name, args, kwargs)

        def after(_: Any, args: Any, kwargs: Any, output: Any, name: str = name) -> None:
            recorder.gave(name, output)

        handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
        handles.append(module.register_forward_hook(after, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
