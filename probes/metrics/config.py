"""Reads config.json of a cookbook run: hyperparameters, renderer, kind of training.

Only the settings named here are read, and of texts only short plain names, so that no key, token
or address of the file gets into the facts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, ModelMedicError, Problem
from ...reading.text.files import read_text
from ...reading.text.values import parse_json
from ..outcome import Collector
from ..shared.recommended_rates import against_recommendation

MAX_BYTES = 5_000_000
_PLAIN = re.compile(r"[A-Za-z0-9][\w./+-]{0,119}(?::peft:\d{1,9})?\Z", re.ASCII)
# Places that hold settings of the run itself; others (evaluators, references) have their own.
_PLACES = ((), ("dataset_builder",), ("dataset_builder", "common_config"))
# Name in the file -> name of the hyperparameter.
_NUMBERS = {
    name: name
    for name in (
        "learning_rate", "lora_rank", "num_epochs", "max_length", "group_size", "temperature",
        "max_tokens", "adam_beta1", "adam_beta2", "adam_eps", "submit_ahead", "num_substeps",
        "grad_clip_norm", "weight_decay", "save_every", "eval_every", "max_steps", "test_size",
        "groups_per_batch",
    )
} | {"kl_penalty_coef": "kl_coef", "batch_size": "batch_size"}  # fmt: skip
_TEXTS = ("loss_fn", "lr_schedule")
# Recipes whose loop is that of SFT or RL but whose purpose, and so whose usual settings, differ.
_OTHER_PURPOSE = re.compile(r"distil|rlhf|dpo|preference|reward|self_?play|arena|judge|evaluat")


class RunConfig(NamedTuple):
    """Settings that other parts of the probe need; None if the file lacks them."""

    submit_ahead: float | None = None
    num_epochs: float | None = None
    tracker: bool | None = None
    model: str | None = None
    max_tokens: float | None = None
    substeps: float | None = None


def add_config(collector: Collector, path: Path) -> RunConfig:
    """Add ``hyperparameter``, ``renderer``, ``workload`` and the tracker; MM440 if the file
    cannot be read, MM452 if it is not a JSON object."""
    try:
        text, cut = read_text(path, MAX_BYTES)
        data = parse_json(text)
    except ModelMedicError as error:
        collector.extend(error.problems)
        return RunConfig()
    if cut or not isinstance(data, dict):
        collector.extend([Problem("MM452", "this is not a JSON object; its settings are left out",
                                  Location(str(path), 1))])  # fmt: skip
        return RunConfig()
    return _Config(collector, str(path), text, data).add()


def add_settings(collector: Collector, name: str, settings: Mapping[str, Any]) -> None:
    """Add ``hyperparameter`` and ``renderer`` for settings that a tracker has kept."""
    if settings:
        plain = {key.replace(".", "/").rpartition("/")[2]: v for key, v in settings.items()}
        _Config(collector, name, "", plain).add()


class _Config:
    """Adds the facts of one file."""

    def __init__(self, collector: Collector, name: str, text: str, data: dict[str, Any]) -> None:
        self._collector, self._name, self._text = collector, name, text
        self._places = [place for keys in _PLACES if (place := _inside(data, keys)) is not None]
        self._top = data

    def add(self) -> RunConfig:
        model = self._text_of("model_name")
        is_rl = self._find("group_size") is not None or "kl_penalty_coef" in self._top
        numbers: dict[str, float] = {}
        for key, name in _NUMBERS.items():
            value = self._find(key)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            if not math.isfinite(value) or abs(value) > 1e300:
                continue
            # The batch of an RL loop is counted in groups, each of many samples.
            known = "groups_per_batch" if is_rl and name == "batch_size" else name
            if known not in numbers:
                numbers[known] = value
                rate = known == "learning_rate"
                advised = against_recommendation(value, model) if rate else {}
                self._collector.add("hyperparameter", self._at(key), name=known, value=value,
                                    model=model if rate else None, **advised)  # fmt: skip
        for key in _TEXTS:
            if text := self._text_of(key):
                self._collector.add("hyperparameter", self._at(key), name=key, text=text)
        if model:
            self._collector.add("renderer", self._at("model_name"), model=model,
                                name=self._text_of("renderer_name"))  # fmt: skip
        self._add_workload(is_rl)
        named = ("wandb_project", "neptune_project")
        trackers = [self._top[key] for key in named if key in self._top]
        tracker = any(trackers) if trackers else None
        return RunConfig(
            numbers.get("submit_ahead"), numbers.get("num_epochs"), tracker, model,
            numbers.get("max_tokens"), numbers.get("num_substeps"),
        )  # fmt: skip

    def _add_workload(self, is_rl: bool) -> None:
        names = (self._text_of("recipe_name"), self._text_of("log_path"))
        if any(_OTHER_PURPOSE.search(name.lower()) for name in names if name):
            return
        if is_rl:
            self._collector.add("workload", self._at("group_size"), type="rl")
        elif self._find("num_epochs") is not None and "dataset_builder" in self._top:
            self._collector.add("workload", self._at("num_epochs"), type="sft")

    def _find(self, key: str) -> Any:
        return next((place[key] for place in self._places if place.get(key) is not None), None)

    def _text_of(self, key: str) -> str | None:
        value = self._find(key)
        return value if isinstance(value, str) and _PLAIN.match(value) else None

    def _at(self, key: str) -> str:
        at = self._text.find(json.dumps(key))
        return f"{self._name}:{self._text.count(chr(10), 0, at) + 1}" if at >= 0 else self._name


def _inside(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any] | None:
    place: Any = data
    for key in keys:
        place = place.get(key) if isinstance(place, dict) else None
    return place if isinstance(place, dict) else None
