"""Records the tensor operations of a model while it runs: that is, it runs code that is not
ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from .alignment import equal_ones
from .fingerprint import Print, fingerprint
from .quantity import Frame, Quantity, Trace
from .rows import MAX_ROWS, Parts, result_sides, shared_weights, weight_sides

MAX_QUANTITIES = 60_000
"""A model of 40 layers has about 4,000 in a pass. A longer run is not judged."""
MAX_FRAMES = 9
MAX_SETTINGS = 5_000
MAX_TABLE = 1 << 16
"""Larger tensors of the building of a reference are weights, which are given anyway."""
_CONVERSIONS = frozenset({"given", "written", "_to_copy", "detach", "alias", "lift_fresh"})
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Recorded(NamedTuple):
    """A trace, digests of the rows and columns of each given quantity, and fingerprints of those of
    the others, by number."""

    trace: Trace
    weights: Mapping[int, Sequence[Any]]
    results: Mapping[int, Sequence[Any]]


def beside_each_other(port: Recorded, reference: Recorded) -> tuple[Trace, Trace]:
    """Both traces, each with its parts of the other: weights that were fused, cut or permuted, and
    results of shards. A result that holds all of another one, as where each expert computes
    all tokens, counts as well."""
    mine, theirs = _parts(port, reference), _parts(reference, port)
    for own, run, other in ((mine, port, dict(theirs)), (theirs, reference, dict(mine))):
        for at, whole in other.items():
            if whole in run.results:
                own.setdefault(whole, at)
    return port.trace._replace(shared=mine), reference.trace._replace(shared=theirs)


def _parts(one: Recorded, other: Recorded) -> dict[int, int]:
    shared = shared_weights(one.weights, other.weights)
    twins = equal_ones(one.trace, other.trace)
    parts, quantities = Parts(other.results), other.trace.quantities
    for at, sides in one.results.items():
        owner = parts.owner(sides) if twins[at] is None else None
        if owner is not None and quantities[owner].phase <= one.trace.quantities[at].phase:
            shared[at] = owner
    return shared


class Recorder:
    """The quantities of one model, from its building on; ``entry`` is the file of the port, or
    empty; of ``formats`` alone there are no fingerprints."""

    def __init__(self, entry: str = "", formats: bool = False) -> None:
        import torch

        self._model: Any = None
        self._entry, self._formats = entry, formats
        self._framework = (os.path.dirname(torch.__file__), _OWN, "<")
        self._made: list[Quantity] = []
        self._where: dict[Any, tuple[int, int]] = {}
        self._version: dict[int, int] = {}
        self._writer: dict[int, int] = {}
        self._held: dict[int, Any] = {}
        self._names: dict[int, str] = {}
        self._modules: dict[int, str] = {}
        self._built = 0
        self._stack: list[str] = []
        self._called: set[str] = set()
        self._frames: dict[Frame, int] = {}
        self._weights: dict[int, Any] = {}
        self._results: dict[int, Any] = {}
        self._rows = 0
        self._outputs: list[int] = []
        self._last: dict[int, int] = {}
        self.phase = 0

    @property
    def full(self) -> bool:
        """Whether no more is recorded."""
        return len(self._made) >= MAX_QUANTITIES

    def build(self, make: Callable[[], Any], reference: Any = None) -> Any:
        """The port that ``make`` builds from the weights of ``reference``, or the reference: what
        weights and tables are made of is recorded as well."""
        if reference is not None:
            self._names = self._named(reference)
        with self.recording():
            model = make()
        if reference is None:
            own = {self._storage(each) for each in model.parameters()}
            self._where = {key: at for key, at in self._where.items() if key[0] not in own}
            self._version = {key: n for key, n in self._version.items() if key not in own}
        return model

    def take(self, model: Any) -> None:
        """Note what the parts of the model that runs are called."""
        self._model, self._built = model, len(self._made)
        self._modules = {id(module): name for name, module in model.named_modules()}
        self._names = self._named(model) | self._names
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            at, _ = self._where.get(self._key(value), (None, 0))
            if at is not None and not self._made[at].name:
                self._made[at] = self._made[at]._replace(name=name)

    def _named(self, model: Any) -> dict[int, str]:
        named = [*model.named_parameters(), *model.named_buffers()]
        return {self._storage(value): name for name, value in named}

    def _storage(self, tensor: Any) -> int:
        """A number for the memory of a tensor that no later memory is given."""
        from torch.multiprocessing.reductions import StorageWeakRef

        storage = tensor.untyped_storage()
        number = int(storage._cdata)
        if number not in self._held:
            self._held[number] = StorageWeakRef(storage)
        return number

    def _key(self, tensor: Any) -> tuple[Any, ...]:
        return (self._storage(tensor), tensor.storage_offset(), tuple(tensor.shape),
                tensor.stride(), tensor.dtype)  # fmt: skip

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what runs inside."""
        from torch.nn.modules import module as hooks
        from torch.utils._python_dispatch import TorchDispatchMode

        recorder = self

        class Mode(TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return recorder._operation(function, args, kwargs or {})

        handles = [hooks.register_module_forward_pre_hook(self._enter),
                   hooks.register_module_forward_hook(self._leave, always_call=True)]  # fmt: skip
        try:
            with Mode():
                yield
        finally:
            for handle in handles:
                handle.remove()

    def output(self, tensor: Any) -> None:
        """Note the logits of a phase."""
        self._outputs.append(self._quantity(tensor, ()))
        self._last[self._outputs[-1]] = self._quantity(tensor[:, -1:], ())

    def recorded(self) -> Recorded:
        """Return the trace so far, with the digests of the weights."""
        names = {one.name for one in self._made}
        uncalled = [name for name, module in self._model.named_modules()
                    if name not in self._called and name and not names & _weights(name, module)
                    and _weights(name, module)]  # fmt: skip
        used = set(range(self._built, len(self._made)))
        for at in range(len(self._made) - 1, -1, -1):
            used.update(self._made[at].inputs if at in used else ())
        for at in set(range(self._built)) - used:  # values that were written over
            self._made[at] = self._made[at]._replace(moments=None)
        found = Trace(self._made, list(self._frames), self._outputs, self._last, {},
                      uncalled, _settings(self._model), self._entry, not self.full,
                      built=self._built)  # fmt: skip
        return Recorded(found, self._weights, self._results)

    def _enter(self, module: Any, _: Any) -> None:
        name = self._modules.get(id(module))
        self._called.add(name or "")
        self._stack.append(name if name is not None else (self._stack or [""])[-1])

    def _leave(self, *_: Any) -> None:
        if self._stack:
            self._stack.pop()

    def _operation(self, function: Any, args: Any, kwargs: Any) -> Any:
        import torch

        if self.full or any(
            each.device.type == "meta" for each in args if isinstance(each, torch.Tensor)
        ):
            return function(*args, **kwargs)
        frames = () if self._formats else self._calling()
        given, constants = _arguments(function, args, kwargs, torch.Tensor)
        name = function.overloadpacket.__name__
        if name == "copy_":
            del given[0]  # it is written over
        inputs = tuple(self._quantity(each, frames) for each in given)
        out = function(*args, **kwargs)
        writes = name.endswith("_") or bool(function._schema.is_mutable)
        parts = out if isinstance(out, tuple | list) else (out,)
        for at, part in enumerate(each for each in parts if isinstance(each, torch.Tensor)):
            storage = self._storage(part)
            if writes:
                self._version[storage] = self._version.get(storage, 0) + 1
            told = constants | {"part": at} if len(parts) > 1 else constants
            new = self._add(name.rstrip("_"), inputs, told, frames, part)
            if writes:
                self._writer[storage] = new
        return out

    def _calling(self) -> tuple[int, ...]:
        found: list[int] = []
        frame: FrameType | None = sys._getframe(3)
        own = os.path.dirname(self._entry) + os.sep
        while frame is not None:
            code = frame.f_code
            wanted = len(found) < MAX_FRAMES or (self._entry and code.co_filename.startswith(own))
            if wanted and not code.co_filename.startswith(self._framework):
                name = getattr(code, "co_qualname", code.co_name)
                place = Frame(code.co_filename, frame.f_lineno, name)
                found.append(self._frames.setdefault(place, len(self._frames)))
            frame = frame.f_back
        return tuple(found)

    def _add(
        self, op: str, inputs: tuple[int, ...], constants: Mapping[str, Any],
        frames: tuple[int, ...], tensor: Any, name: str = "",
    ) -> int:  # fmt: skip
        large = self._model is None and not self._names and tensor.numel() > MAX_TABLE
        blank = self._formats or "empty" in op or large
        found = Print() if blank else fingerprint(tensor)
        at = len(self._made)
        self._made.append(
            Quantity(op, inputs, constants, frames, self._stack[-1] if self._stack else "",
                     tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."),
                     found.moments, found.value, self.phase, name, *found[2:])
        )  # fmt: skip
        if found.moments and self._model is not None and op != "given" and self._rows < MAX_ROWS:
            self._results[at] = result_sides(tensor)
            self._rows += sum(len(side) for side in self._results[at])
        key = self._key(tensor)
        self._where[key] = at, self._version.get(key[0], 0)
        return at

    def _quantity(self, tensor: Any, frames: tuple[int, ...]) -> int:
        """The quantity that a tensor holds now: also one that was given, or whose storage was
        written through another view."""
        key = self._key(tensor)
        now = self._version.get(key[0], 0)
        at, then = self._where.get(key, (None, -1))
        if at is not None and then == now:
            return at
        inputs = tuple(each for each in (at, self._writer.get(key[0]) if now else None)
                       if each is not None)  # fmt: skip
        if inputs:
            return self._add("written", inputs, {}, frames, tensor)
        found = self._add("given", (), {}, frames, tensor, self._names.get(key[0], ""))
        if tensor.is_floating_point() and tensor.numel() > 1 and not self._formats:
            self._weights[found] = weight_sides(tensor)
        return found


def in_low_precision(trace: Trace, low: Trace) -> Trace:
    """``trace`` with the number formats of a run in low precision, if that computes the same
    operations but for conversions."""
    mine, theirs = ([(at, one.op) for at, one in enumerate(run.quantities)
                     if one.op not in _CONVERSIONS] for run in (trace, low))  # fmt: skip
    if [op for _, op in mine] != [op for _, op in theirs]:
        return trace
    known = [""] * len(trace.quantities)
    for (at, _), (there, _) in zip(mine, theirs, strict=True):
        known[at] = low.quantities[there].dtype
    return trace._replace(low=known)


def record(
    model: Any,
    run: Callable[[Recorder], None],
    entry: str = "",
    formats: bool = False,
    recorder: Recorder | None = None,
) -> Recorded:
    """The trace of ``run(recorder)``, which sets ``phase`` and notes outputs; of ``formats`` alone
    there are no fingerprints."""
    recorder = recorder or Recorder(entry, formats)
    recorder.take(model)
    with recorder.recording():
        run(recorder)
    return recorder.recorded()


def _arguments(
    function: Any, args: Any, kwargs: Any, kind: type
) -> tuple[list[Any], dict[str, Any]]:
    """The tensors and, by the names of the parameters, the numbers of a call."""
    tensors: list[Any] = []
    constants: dict[str, Any] = {}
    named = [
        (each.name, value) for each, value in zip(function._schema.arguments, args, strict=False)
    ]
    for name, value in [*named, *kwargs.items()]:
        parts = value if isinstance(value, tuple | list) else (value,)
        tensors += [each for each in parts if isinstance(each, kind)]
        numbers = [plain(each) for each in parts if isinstance(each, int | float)]
        if numbers:
            constants[name] = numbers if isinstance(value, tuple | list) else numbers[0]
        elif isinstance(value, str):
            constants[name] = value
    return tensors, constants


def _weights(name: str, module: Any) -> set[str]:
    return {f"{name}.{key}" for key, _ in module.named_parameters(recurse=False)}


def plain(number: float) -> float | str:
    """A number as JSON may hold it."""
    return number if abs(number) < float("inf") else str(number)


def _settings(model: Any) -> dict[str, float]:
    """Numbers that modules hold as attributes, such as an epsilon."""
    found: dict[str, float] = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            if type(value) in (int, float) and len(found) < MAX_SETTINGS and abs(value) < 1e12:
                found[f"{name}.{key}".lstrip(".")] = value
    return found
