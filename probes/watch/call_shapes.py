"""Describes the arguments and results of the SDK's calls by their shapes: numbers, and never texts.

It is loaded by *other* interpreters, hence: standard library only, Python 3.8 and later, no
relative imports. It raises if arguments are malformed; its caller catches that.
"""

from __future__ import annotations

from typing import Any

MAX_DATUMS = 64  # that are read in one call
MAX_VALUES = 65_536  # that are read in one tensor


def shape_of(op: str, args: Any, kwargs: Any, token_ids: bool) -> dict[str, Any]:
    """Numbers that describe the arguments of a call."""
    first = args[0] if args else None
    if op in ("forward", "forward_backward", "forward_backward_custom"):
        return _datums(kwargs.get("data", first), token_ids)
    if op == "optim_step":
        params = kwargs.get("adam_params", first)
        rate = getattr(params, "learning_rate", None)
        return {"learning_rate": float(rate)} if rate is not None else {}
    if op == "sample":
        return _sampling(args, kwargs)
    return {}


def weight_of(args: Any, kwargs: Any) -> int:
    """How many samples a sampling call asks for."""
    return int(kwargs.get("num_samples", args[1] if len(args) > 1 else 1))


def _sampling(args: Any, kwargs: Any) -> dict[str, Any]:
    named = {**dict(zip(("prompt", "num_samples", "sampling_params"), args)), **kwargs}  # noqa: B905
    params = named.get("sampling_params")
    shape: dict[str, Any] = {"samples": int(named.get("num_samples", 1))}
    shape["prompt_tokens"] = int(named["prompt"].length)
    for name in ("max_tokens", "temperature"):
        value = getattr(params, name, None)
        if isinstance(value, (int, float)):
            shape[name] = value
    return shape


def _datums(data: Any, token_ids: bool) -> dict[str, Any]:
    data = list(data)
    shape: dict[str, Any] = {"datums": len(data), "tokens": 0, "longest": 0}
    for datum in data[:MAX_DATUMS]:
        length = int(datum.model_input.length)
        shape["tokens"] += length
        shape["longest"] = max(shape["longest"], length)
        for problem in _problems(datum, length):
            shape[problem] = shape.get(problem, 0) + 1
    shape["looked_at"] = min(len(data), MAX_DATUMS)
    if token_ids and data:
        shape["first_ids"] = [int(x) for x in data[0].model_input.to_ints()[:16]]
    return shape


def _problems(datum: Any, length: int) -> list[str]:
    """The problems of one example, by the names of ``datum_problem``."""
    found = ["empty-chunk"] if length == 0 else []
    inputs = datum.loss_fn_inputs
    weights, targets = _values(inputs.get("weights")), _values(inputs.get("target_tokens"))
    if weights is not None:
        total = float(weights.sum() if hasattr(weights, "sum") else sum(weights))
        if total != total or total in (float("inf"), float("-inf")):
            found.append("non-finite")
        elif not (weights.any() if hasattr(weights, "any") else any(weights)):
            found.append("weights-all-zero")
        if len(weights) not in (length, 0):
            found.append("weights-length")
    if targets is not None and length > 3 and len(targets) == length:
        ids = datum.model_input.to_ints() if hasattr(datum.model_input, "to_ints") else []
        if list(ids) == [int(x) for x in targets]:
            found.append("targets-unshifted")
    if targets is not None and len(targets) and min(targets) < 0:
        found.append("id-out-of-vocabulary")
    return found


def _values(tensor: Any) -> Any:
    """The values of a tensor of the SDK, or of a list; None if they are too many."""
    if tensor is None:
        return None
    plain = tensor.to_numpy() if hasattr(tensor, "to_numpy") else getattr(tensor, "data", tensor)
    plain = plain.reshape(-1) if hasattr(plain, "reshape") else plain
    return plain if len(plain) <= MAX_VALUES else None


def shape_of_result(op: str, result: Any) -> dict[str, Any]:
    """Numbers that describe the result of a call."""
    sequences = getattr(result, "sequences", None)
    if op != "sample" or sequences is None:
        return {}
    stops = [str(getattr(each, "stop_reason", "")) for each in sequences]
    return {
        "sampled": len(sequences),
        "sampled_tokens": sum(len(_tokens(each)) for each in sequences),
        "stopped_for_length": sum(stop.endswith("length") for stop in stops),
    }


def _tokens(sequence: Any) -> Any:
    """The tokens as the SDK keeps them: to turn them into a list would cost time."""
    kept = getattr(sequence, "tokens_np", None)
    return sequence.tokens if kept is None else kept
