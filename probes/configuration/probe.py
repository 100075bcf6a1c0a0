"""neuron_config.json (and config.json) -> facts, before anything is compiled.

The probe computes remainders and an estimate of memory; rules interpret them. Problems: MM440 a
file cannot be read, MM441 it is not a configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ..outcome import Collector, Outcome
from .defaults import with_defaults
from .instances import instance_of
from .memory import ASSUMES, estimate
from .settings import FILE, Configuration, configuration_of, read_json, whole
from .splits import sound_degrees, splits

SOURCE = "probe:configuration"
MAX_SETTINGS = 400
_BUCKETS = ("context_encoding_buckets", "token_generation_buckets", "prefix_buckets", "buckets")
_CASTS = ("none", "matmult", "all")


def gather_configuration(
    path: Path | str, vocabulary: Vocabulary, *, model: Path | str | None = None, instance: str = ""
) -> Outcome:
    """The facts of a configuration: ``path`` is neuron_config.json or a folder that holds it,
    ``model`` the config.json of the model, by default the one next to it. Never raises."""
    collector = Collector(vocabulary, SOURCE)
    path = Path(path)
    place = path / FILE if path.is_dir() else path
    found = _read(collector, place)
    if found is None:
        return collector.outcome()
    beside = Path(model) if model else place.parent / "config.json"
    if beside.is_dir():
        beside /= "config.json"
    described = _read(collector, beside) if model or _is_file(beside) else None
    configuration = configuration_of(found, described)
    settings = with_defaults(configuration.settings)
    _add_summary(collector, str(place), configuration, settings)
    _add_settings(collector, str(place), configuration, settings)
    _add_splits(collector, str(place), configuration, settings)
    _add_memory(collector, str(place), configuration, settings, instance)
    return collector.outcome()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _read(collector: Collector, place: Path) -> dict[str, Any] | None:
    try:
        return read_json(place)
    except OSError as error:
        message, code = f"{place.name} cannot be read: {error.strerror or error}", "MM440"
    except ValueError as error:
        message, code = f"{place.name} is not a configuration: {error}", "MM441"
    collector.problem(code, message, Location(str(place)))
    return None


def _add_summary(
    collector: Collector, at: str, found: Configuration, settings: Mapping[str, Any]
) -> None:
    names = ("tp_degree", "cp_degree", "attention_dp_degree", "pp_degree", "ep_degree",
             "world_size", "batch_size", "seq_len", "max_context_length", "max_new_tokens",
             "logical_nc_config")  # fmt: skip
    numbers = {name: whole(settings.get(name)) for name in names}
    flags = {name: settings[name] for name in ("vocab_parallel", "on_cpu", "skip_warmup")
             if type(settings.get(name)) is bool}  # fmt: skip
    capture = settings.get("tensor_capture_config")
    modules = capture.get("modules_to_capture") if isinstance(capture, dict) else None
    collector.add(
        "neuron_config", at, **numbers, **flags,
        kv_batch_size=whole(settings.get("kv_cache_batch_size")),
        dtype=_text(settings.get("torch_dtype")),
        quantization_dtype=_text(settings.get("quantization_dtype"))
        if settings.get("quantized") is True else None,
        auto_cast=_cast(found.settings), path=at,
        capture_wildcard=any(str(each).strip("^$") == ".*" for each in modules)
        if isinstance(modules, list) else None,
        **_buckets(settings),
    )  # fmt: skip


def _buckets(settings: Mapping[str, Any]) -> dict[str, Any]:
    lists = {name: settings[name] for name in _BUCKETS if isinstance(settings.get(name), list)}
    whole_lists = {name: found for name, found in lists.items()
                   if found and all(whole(each) for each in found)}  # fmt: skip
    if not whole_lists:
        return {}
    name = max(whole_lists, key=lambda each: max(whole_lists[each]))
    return {
        "largest_bucket": max(whole_lists[name]),
        "bucket_list": name,
        "buckets_sorted": all(found == sorted(set(found)) for found in whole_lists.values()),
    }


def _cast(given: Mapping[str, Any]) -> str | None:
    """The cast that compiler_args ask for; a cast that is not stated there may be set elsewhere."""
    text = given.get("compiler_args")
    if not isinstance(text, str):
        return None
    words = text.replace("=", " ").split()
    asked = [words[n + 1] for n, word in enumerate(words[:-1]) if word == "--auto-cast"]
    return asked[-1] if asked and asked[-1] in _CASTS else "default"


def _text(value: object) -> str | None:
    return value.removeprefix("torch.")[:60] if isinstance(value, str) else None


def _add_settings(
    collector: Collector, at: str, found: Configuration, settings: Mapping[str, Any]
) -> None:
    extra = {name: found.sizes[size] for name, size in
             (("attention_chunk_size", "chunk"), ("sliding_window", "window"))
             if size in found.sizes}  # fmt: skip
    for name, value in [*settings.items(), *extra.items()][:MAX_SETTINGS]:
        if not name.isidentifier() or len(name) > 80:
            continue
        collector.add("neuron_setting", at, name=name, on=_is_on(value), text=_text(value),
                      given=name in found.settings and found.settings[name] == value,
                      number=_number(value))  # fmt: skip


def _is_on(value: object) -> bool:
    return value is not None and value is not False


def _number(value: object) -> int | None:
    if type(value) is int and abs(value) < 1 << 53:
        return value
    numbers = [each for each in value if whole(each)] if isinstance(value, list) else []
    return max(numbers) if numbers else None


def _add_splits(
    collector: Collector, at: str, found: Configuration, settings: Mapping[str, Any]
) -> None:
    for split in splits(found, settings):
        remainder = split.size % split.degree
        collector.add(
            "dimension_split", at, dimension=split.dimension, degree_name=split.degree_name,
            size=split.size, degree=split.degree, remainder=remainder,
            inverse_remainder=split.degree % split.size, padded=split.padded,
            sound=", ".join(map(str, sound_degrees(split.size, split.degree))) or None,
        )  # fmt: skip


def _add_memory(
    collector: Collector, at: str, found: Configuration, settings: Mapping[str, Any], instance: str
) -> None:
    named = instance or str(settings.get("instance_type") or "")
    known = instance_of(named, whole(settings.get("logical_nc_config")))
    if known:
        name, machine = known
        world = whole(settings.get("world_size")) or whole(settings.get("tp_degree"))
        collector.add("instance_cores", at, instance_type=name,
                      cores=machine.chips * machine.cores, wanted=world)  # fmt: skip
    needs = estimate(found, settings)
    if needs is None:
        return
    core = known[1].core_gib if known else None
    collector.add(
        "memory_estimate", at, weights_gb=round(needs.weights, 4),
        kv_cache_gb=round(needs.kv_cache, 4), activations_gb=round(needs.activations, 4),
        total_gb=round(needs.total, 4), parameters=round(needs.parameters, 4), core_gb=core,
        share=round(needs.total / core, 4) if core else None,
        instance_type=known[0] if known else None, assumes=ASSUMES,
    )  # fmt: skip
