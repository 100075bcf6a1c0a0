"""The folder of a logit validation of vLLM-Neuron -> how far the logits are off.

``reference_logits.pt`` and ``target_logits.pt`` hold a tensor of (positions, batch, vocabulary),
``baseline_logits.pt`` the same in FP32 of a three-way comparison. They are read without unpickling.
Problems: MM510 a file is missing, MM511 to MM513 from :mod:`..tensors.stored`, MM514 the positions
are unknown or some are missing, MM515 too large.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...reading.tensors import np
from ...reading.tensors.stored import Stored, list_stored
from ..outcome import Collector, Outcome, not_available
from .figures import Figures, Start, align, compare, least
from .recognition import BASELINE, REFERENCE, TARGET

SOURCE = "probe:logits"
MAX_ELEMENTS = 1 << 28
"""Numbers of a file; 1 GB of them at a time."""
NOISE_RATIO, NOISE_OVERLAP = 1.0, 0.99
"""Three-way limits within which the validation passes whatever the errors are."""
_AGAIN = "validate again, and keep both files of one run"
_TABLE = "the table that the validation printed has all tokens"


def gather_logits(
    path: Path | str, vocabulary: Vocabulary, *, max_elements: int = MAX_ELEMENTS
) -> Outcome:
    """The ``logit_comparison`` of a folder that ``logit_validation(visualize=True)`` wrote, and a
    ``port_run`` that names the stack. Never raises over its input."""
    collector = Collector(vocabulary, SOURCE)
    folder = Path(path)
    missing = [name for name in (REFERENCE, TARGET) if not (folder / name).is_file()]
    if missing:
        hint = "run logit_validation with visualize=True and save_logits=True"
        text = f"{' and '.join(missing)} of the validation {'is' if len(missing) == 1 else 'are'}"
        collector.problem("MM510", f"{text} not there", Location(str(folder)), hint)
        return collector.outcome()
    if find_spec("numpy") is None:
        return not_available("numpy", "logits")
    reference, target, baseline = (
        _read(folder / name, max_elements, collector) for name in (REFERENCE, TARGET, BASELINE)
    )
    if reference is None or target is None:
        return collector.outcome()
    if reference.shape[1:] != target.shape[1:] or len(target) > len(reference):
        text = f"its shape is {target.shape}, that of the reference {reference.shape}"
        collector.problem("MM514", text, Location(str(folder / TARGET)), _AGAIN)
        return collector.outcome()
    if baseline is not None and baseline.shape != reference.shape:
        baseline = None
    with np.errstate(all="ignore"):
        start = align(reference, target)
        _tell(start, folder, collector)
        found = compare(reference, target, baseline, start) if start else least(reference, target)
        _add(collector, folder, found)
    return collector.outcome()


def _tell(start: Start | None, folder: Path, collector: Collector) -> None:
    """Report the parts that the file lacks."""
    where = Location(str(folder / TARGET))
    if start is None:
        text = ("its beginning is unknown, as its tokens agree with the reference nowhere; "
                "the errors are the smallest that are possible")  # fmt: skip
        collector.problem("MM514", text, where, _TABLE)
    elif start.first:
        text = (f"it begins at token {start.first}: the port chose another token right before, "
                "and the validation prompted again; earlier tokens are not in it")  # fmt: skip
        collector.problem("MM514", text, where, _TABLE)


def _read(file: Path, most: int, collector: Collector) -> Any:
    """The tensor of a file; None if it is not there or is not a tensor of three dimensions."""
    if not file.is_file():
        return None
    problems: list[Any] = []
    found = list_stored(file, problems)
    collector.extend(problems)
    if not found:
        return None
    stored = found[0]
    if len(found) > 1 or len(stored.shape) != 3 or not stored.size:
        text = f"{file.name} holds no single tensor of positions, batch and vocabulary"
        collector.problem("MM513", text, Location(str(file)))
        return None
    if stored.size > most:
        text = f"{file.name} has {stored.size:,} numbers; at most {most:,} are compared"
        collector.problem("MM515", text, Location(str(file)), "validate fewer positions")
        return None
    return _numbers(stored, file, collector)


def _numbers(stored: Stored, file: Path, collector: Collector) -> Any:
    try:
        with stored.open() as reader:
            return np.array(reader.read(stored.size)).reshape(stored.shape)
    except Exception as error:  # noqa: BLE001 - archives of others raise what they like
        text = f"{file.name} is damaged or cannot be read: {str(error)[:200]}"
        collector.problem("MM511", text, Location(str(file)), "save it again")
        return None


def _add(collector: Collector, folder: Path, found: Figures) -> None:
    ratio, overlap = found.ratio, found.overlap
    noise = (ratio is not None and ratio <= NOISE_RATIO) or (
        overlap is not None and overlap >= NOISE_OVERLAP
    )
    failing = None if noise and not found.not_finite else found.first_failing
    values = {name: _rounded(error) for name, error in found.errors.items()}
    collector.add("port_run", str(folder), target_stack="vllm-neuron")
    collector.add("logit_comparison", str(folder), first_failing=failing, ratio=_rounded(ratio),
                  bc=_rounded(overlap), gap_steps=_rounded(found.gap_steps), **values)  # fmt: skip


def _rounded(value: float | None) -> float | None:
    """Five digits; None if the value is not a number."""
    if value is None or not np.isfinite(value):
        return None
    return float(f"{value:.5g}")
