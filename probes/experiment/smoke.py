"""Stage 1: the smoke test in both revisions of its file."""

from __future__ import annotations

from typing import Any, NamedTuple

from .reading import Folder, cosine, entries, number, part, share, text_of

NAME = "results/stage1.json"


class Smoke(NamedTuple):
    """The content of stage1.json: ``passed`` (None in the older revision), ``compared`` tokens, the
    ``error`` of the device, and whether it is of the ``older`` revision."""

    passed: bool | None
    compared: bool
    error: str | None
    older: bool


def read_smoke(folder: Folder) -> Smoke | None:
    """Add the ``smoke_result`` fact; None if there is no file that can be used."""
    found = folder.json(NAME)
    if found is None:
        return None
    tokens, enhanced = part(found, "token_matching"), part(found, "enhanced_metrics")
    prompts = [each for each in entries(tokens, "per_prompt_results") if isinstance(each, dict)]
    rate, passed = share(tokens.get("match_rate")), found.get("passed")
    older = "enhanced_metrics" in found
    ok = passed if isinstance(passed, bool) else None
    error = text_of(found.get("error"))
    folder.collector.add(
        "smoke_result", folder.place(NAME), check="token-matching", ok=ok, match_rate=rate,
        prompts=len(prompts) or _count(tokens), full_share=_full_share(prompts),
        cosine_mean=cosine(enhanced.get("logit_cosine_similarity_mean")),
        first_divergence=_first_divergence(prompts), text_equal=_same_text(prompts, rate),
        error=error,
    )  # fmt: skip
    if older:
        available = enhanced.get("enhanced_metrics_available") is True
        folder.collector.add(
            "e2e_check", folder.place(NAME), check="enhanced-metrics", ok=available,
            detail=text_of(enhanced.get("enhanced_metrics_error")),
        )  # fmt: skip
    if rate is None and error is None:
        folder.form(NAME, "there should be token_matching with match_rate, or error")
    return Smoke(ok, rate is not None, error, older)


def _count(tokens: dict[str, Any]) -> int | None:
    value = number(tokens.get("num_prompts_tested"))
    return int(value) if value is not None and value >= 0 else None


def _full_share(prompts: list[dict[str, Any]]) -> float | None:
    rates = [rate for each in prompts if (rate := share(each.get("match_rate"))) is not None]
    return sum(rate == 1 for rate in rates) / len(rates) if rates else None


def _first_divergence(prompts: list[dict[str, Any]]) -> int | None:
    found = [each.get("first_divergence_idx") for each in prompts]
    return min((at for at in found if type(at) is int and at >= 0), default=None)


def _same_text(prompts: list[dict[str, Any]], rate: float | None) -> bool | None:
    """Whether all decoded texts agree although the rate is low; None if they are not there."""
    pairs = [(each.get("hf_output"), each.get("neuron_output")) for each in prompts]
    texts = [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str) and a != "..."]
    if not texts or len(texts) < len(prompts) or rate is None:
        return None
    return rate < 1 and all(a.strip() == b.strip() for a, b in texts)
