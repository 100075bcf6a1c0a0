"""Modeling files -> facts: diverging classes, code patterns, configuration values. Nothing runs.

Problems: MM440, MM442 and MM466 from the reading of Python files, MM520 there is no port among the
files, MM521 the configuration of the reference cannot be used, MM522 a file is too large to follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, ModelMedicError, Problem
from ...reading.python.sources import Code, code_of, read_source
from ..outcome import Collector, Outcome
from .call_rows import find_calls
from .device_code import find_device_code
from .divergence import Divergence, find_divergences
from .kernels import find_kernels
from .pairs import compare_classes, reference_of
from .parameters import compare_parameters
from .patterns import find_patterns
from .port_code import Finding, is_port
from .semantics.dropped import find_dropped
from .semantics.emission import add_semantics

SOURCE = "probe:modeling"
MAX_CONFIG_BYTES = 5_000_000
_OF_A_MODEL = {"model_type", "architectures"}


def gather_modeling(
    paths: Sequence[Path | str] | Path | str, vocabulary: Vocabulary, *,
    references: Sequence[Path | str] = (), config: Path | str | None = None,
    checkpoint: Path | str | None = None,
) -> Outcome:  # fmt: skip
    """The facts of modeling files of a port: ``class_divergence``, ``code_pattern``, and against
    the reference ``config_parameter``, ``formula_difference``, ``code_difference`` and
    ``weight_mapping``.

    Files that take nothing from the Neuron packages are references, as are ``references``; a port
    is compared with the one that shares the most class names. ``config`` is the reference's
    config.json, by default the one in its folder: only with it is a value said to be missing in the
    port. The conversion of weights starts from the keys of ``checkpoint``, by default from those
    that the reference would save. Never raises.
    """
    collector = Collector(vocabulary, SOURCE)
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    codes = [code for path in given if (code := _read(collector, Path(path))) is not None]
    known = [code for path in references if (code := _read(collector, Path(path))) is not None]
    known += [code for code in codes if not is_port(code)]
    ports = [code for code in codes if is_port(code)]
    settings = _settings(collector, Path(config)) if config is not None else None
    keys = _keys(collector, Path(checkpoint)) if checkpoint is not None else None
    if not ports and codes:
        hint = "name the modeling file of the port, which imports neuronx_distributed"
        collector.problem("MM520", "no file here takes anything from the Neuron packages",
                          Location(codes[0].name), hint)  # fmt: skip
    for port in ports:
        try:
            _add_port(collector, port)
            reference = reference_of(port, known)
            if reference is not None:
                beside = settings if config is not None else _settings_beside(reference)
                _add_comparison(collector, port, reference, beside)
                add_semantics(collector, reference, port, beside, keys)
        except RecursionError:
            collector.problem("MM522", "the file is nested too deep to follow to its end",
                              Location(port.name))  # fmt: skip
    return collector.outcome()


def _read(collector: Collector, path: Path) -> Code | None:
    source, problems = read_source(path)
    collector.extend(problems)
    if source is None:
        return None
    code, problems = code_of(source)
    collector.extend(problems)
    return code


def _add_port(collector: Collector, code: Code) -> None:
    known = find_divergences(code)
    for each in (*known, *find_kernels(code, known)):
        _add_divergence(collector, code, each)
    # The first place of each pattern, and how often it was seen.
    first: dict[str, Finding] = {}
    counts = Counter[str]()
    for finding in all_findings(code):
        first.setdefault(finding.pattern, finding)
        counts[finding.pattern] += 1
    for pattern, finding in first.items():
        _add_pattern(collector, code, finding, counts[pattern])


def all_findings(code: Code) -> list[Finding]:
    """Every code pattern of a file, in the order of the text."""
    found = [*find_patterns(code), *find_calls(code), *find_device_code(code), *find_dropped(code)]
    return sorted(found, key=lambda f: (f.node is None, code.line(f.node) if f.node else 0))


def _add_divergence(collector: Collector, code: Code, each: Divergence) -> None:
    line = code.line(each.node)
    collector.add(
        "class_divergence", code.at(each.node), component=each.component, category=each.category,
        cpu_class=each.cpu_class, device_class=each.device_class,
        source_location=f"{Path(code.name).name}:{line}",
        names_defined=True if each.cpu_class or each.device_class else None, factory=each.factory,
        detail=each.detail,
    )  # fmt: skip


def _add_pattern(collector: Collector, code: Code, finding: Finding, count: int) -> None:
    file, node = Path(code.name).name, finding.node
    if node is None:
        collector.add("code_pattern", code.name, pattern=finding.pattern, present=False, file=file)
        return
    collector.add("code_pattern", code.at(node), pattern=finding.pattern, present=True, file=file,
                  line=code.line(node), snippet=code.source.snippet(node), count=count)  # fmt: skip


def _add_comparison(
    collector: Collector, port: Code, reference: Code, config: dict[str, Any] | None
) -> None:
    for each in compare_parameters(reference, port, config):
        collector.add("config_parameter", reference.at(each.node), name=each.name,
                      reference_reads=True, in_target=each.known)  # fmt: skip
    for found in compare_classes(reference, port):
        collector.add("formula_difference", port.at(found.node), component=found.component,
                      difference=found.difference, present=found.present,
                      detail=found.detail)  # fmt: skip


def _keys(collector: Collector, path: Path) -> list[str] | None:
    """The keys of a checkpoint, from its index or its headers; None if none can be read."""
    from ...reading.tensors.safetensors_files import open_weights, read_json

    problems: list[Problem] = []
    index = path / "model.safetensors.index.json" if path.is_dir() else path
    named = index.name.endswith(".index.json") and index.is_file()
    found = (read_json(index, problems) or {}).get("weight_map") if named else None
    if not isinstance(found, dict):
        weights = open_weights(path)
        problems.extend(weights.problems)
        found = weights.tensors
    collector.extend(problems)
    return [each for each in found if isinstance(each, str)] or None


def _settings_beside(reference: Code) -> dict[str, Any] | None:
    """The configuration in the folder of the reference, if it is one of a model."""
    try:
        value = _config(Path(reference.name).parent / "config.json")
    except ModelMedicError:  # most references come without one
        return None
    return value if value and value.keys() & _OF_A_MODEL else None


def _settings(collector: Collector, path: Path) -> dict[str, Any] | None:
    path = path / "config.json" if path.is_dir() else path
    try:
        value = _config(path)
    except ModelMedicError as error:
        collector.extend(error.problems)
        return None
    if value is None:
        hint = "give the config.json of the reference"
        message = "this is not a readable configuration"
        collector.problem("MM521", message, Location(str(path)), hint)
    return value


def _config(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None if it is not an object or too long. Raises MM440 if the file
    cannot be read."""
    from ...reading.text.files import read_json

    value, _ = read_json(path, MAX_CONFIG_BYTES)
    return value if isinstance(value, dict) else None
