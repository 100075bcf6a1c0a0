"""Compares the tensors of two models one after the other, and finds the update that each
received."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from ...facts.problems import Location, excerpt
from ...facts.progress import Progress, Step, go_on, interrupted
from ...reading.tensors.safetensors_files import Tensor
from ..outcome import Collector
from .adapters import Adapter
from .comparison import Verdict, compare
from .comparison_facts import Found
from .displaced import Search
from .form.alignment import Aligned
from .targets import Plan, Target, canonical
from .untouched import Untouched, compare_untouched

# Of tensors that tell about the base model, this share has to differ for it to count as another.
FOREIGN_SHARE = 0.5
UNTOUCHED_ELEMENTS = 2**20
# A tensor with an update costs as much as so many without: more of it is compared.
_TARGET_WORK = 8


class _Pace:
    """Yields names of tensors until the progress step asks to stop; ``left`` counts the rest."""

    def __init__(self) -> None:
        self.left = 0
        self.step: Step = go_on

    def through(self, names: Collection[str], work: int = 1) -> Iterator[str]:
        goes_on = not self.left
        for at, name in enumerate(names):
            if not goes_on:
                self.left += len(names) - at
                return
            yield name
            goes_on = self.step(work)


class Comparing:
    """Base and merged model, the place of each update, and the parts that are left unread."""

    def __init__(
        self, aligned: Aligned, adapter: Adapter | None, plan: Plan, place: Path, *,
        elements: int, per_tensor: int,
    ) -> None:  # fmt: skip
        self._aligned, self._adapter, self._plan, self._place = aligned, adapter, plan, place
        self._each = max(2**12, min(per_tensor, elements // max(1, len(plan.targets))))
        self._pace = _Pace()
        self._unread: list[str] = []
        self._zero: list[str] = []
        self._search = Search(plan.targets)
        whole = adapter.whole if adapter else {}
        self._whole = {canonical(name): tensor for name, tensor in whole.items()}

    def run(self, collector: Collector, progress: Progress) -> list[Found]:
        """Every difference, and every target with the update that it received; nothing if the user
        interrupted: the form of a merge shows in all of its tensors only."""
        aligned, targets = self._aligned, self._plan.targets
        untouched = [name for name in aligned.names if name not in targets]
        total = len(untouched) + _TARGET_WORK * len(targets)
        with progress.part(self._place.name, total, ends_early=True) as step:
            self._pace.step = step
            found = [*self._strays(), *self._all(untouched)]
        if self._pace.left:
            left = f"{self._pace.left:,} of {len(aligned.base):,} tensors were not compared"
            collector.extend([interrupted(left, Location(str(self._place)))])
            return []
        self._report(collector)
        return found

    def _strays(self) -> Iterator[Found]:
        """Tensors that only one of the two models has."""
        by_short = {canonical(name): name for name in self._aligned.base}
        for name in self._aligned.missing:
            yield Found(name, "missing", target=name in self._plan.targets)
        for name in self._aligned.extra:
            yield Found(name, "extra", source=by_short.get(canonical(name), ""))

    def _all(self, untouched: list[str]) -> Iterator[Found]:
        rest, foreign = self._untouched(untouched)
        yield from rest
        for name in self._pace.through(self._plan.targets, _TARGET_WORK):
            if name not in self._aligned.names:
                continue
            target = self._plan.targets[name]
            merged = self._aligned.merged[self._aligned.names[name]]
            verdict = self._verdict(target, merged, foreign)
            if verdict is not None and verdict.signature == "invisible":
                self._zero.append(name)
            elif verdict is not None:
                yield Found(name, verdict.signature, verdict)

    def _untouched(self, names: list[str]) -> tuple[list[Found], bool]:
        """Tensors without an update that differ all the same, and whether there are enough of
        them to show that the merged model has another base."""
        different: list[Found] = []
        telling = odd = 0
        for name in self._pace.through(names):
            left = self._aligned.base[name]
            right = self._aligned.merged[self._aligned.names[name]]
            trained = self._whole.get(canonical(name))
            if left.shape != right.shape:
                different.append(Found(name, "other"))
            elif trained is not None and trained.shape == right.shape:
                different += self._trained(name, trained, left, right)
            elif (seen := self._seen(name, left, right)) is not None:
                telling += seen.tells
                odd += seen.tells and not seen.same
                different += [] if seen.same else [Found(name, _unlike(seen), None, seen)]
        foreign = odd > 0 and odd >= FOREIGN_SHARE * telling
        if foreign:
            different = [_as_foreign(each) for each in different]
        return (different if self._plan.targets else []), foreign

    def _trained(self, name: str, trained: Tensor, base: Tensor, merged: Tensor) -> list[Found]:
        """The fault of a tensor that was trained as a whole, if the merged model has another."""
        seen = self._seen(name, trained, merged)
        if seen is None or seen.same:
            return []
        still = self._seen(name, base, merged)
        return [Found(name, "untaken" if still and still.same else "other")]

    def _seen(self, name: str, left: Tensor, right: Tensor) -> Untouched | None:
        try:
            seen = compare_untouched(left, right, UNTOUCHED_ELEMENTS)
        except (OSError, ValueError):
            seen = None
        if seen is None:
            self._unread.append(name)
        return seen

    def _verdict(self, target: Target, merged: Tensor, foreign: bool) -> Verdict | None:
        if merged.shape != target.tensor.shape:
            return Verdict("other", 0)
        left_out = target.magnitude is None and any(p.lora.magnitude for p in target.pieces)
        if left_out or not (target.tensor.comparable and merged.comparable):
            self._unread.append(target.name)
            return None
        try:
            verdict = compare(target, merged, self._each, foreign)
            if verdict.signature in ("wrong-adapter", "other"):
                origin = self._search.origin(target, merged)
                verdict = verdict if origin is None else \
                    verdict._replace(signature="misplaced", origin=origin)  # fmt: skip
        except (OSError, ValueError, MemoryError):
            self._unread.append(target.name)
            return None
        return verdict

    def _report(self, collector: Collector) -> None:
        where = Location(str(self._place))
        unread = self._unread + sorted(self._aligned.whole & set(self._aligned.base))
        if unread:
            text = f"{len(unread):,} tensors could not be compared, such as {excerpt(unread[0])}"
            collector.problem(
                "MM438", text, where, "quantized weights have to be dequantized first"
            )
        if self._zero:
            text = f"the update of {len(self._zero):,} tensors is too small to change a stored "
            text += f"number, such as {excerpt(self._zero[0])}; nothing is said on them"
            place = Location(str(self._adapter.files.path)) if self._adapter else where
            collector.problem("MM438", text, place, "was the adapter trained?")


def _unlike(seen: Untouched) -> str:
    return "zeroed" if seen.zeroed else "rounded" if seen.rounded else "other"


def _as_foreign(found: Found) -> Found:
    told = found.untouched is not None and found.untouched.tells
    return found._replace(signature="wrong-base") if told else found
