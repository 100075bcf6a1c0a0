"""Times the serialization of one large request of the installed tinker package.

This file is run as a script by the interpreter under test, hence: standard library only at the top,
Python 3.9 and later, no relative imports. It answers in lines of JSON that follow a mark.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from typing import Any

# Stands before each answer on standard output: packages and start-up hooks may print, too.
MARK = "modelmedic-serialization:"
_ENOUGH_S = 1.0


def _say(**answer: Any) -> None:
    sys.stdout.write("\n" + MARK + json.dumps(answer) + "\n")
    sys.stdout.flush()


def _training(batch_size: int, seq_len: int) -> Any:
    """A forward_backward request as the training client builds it."""
    from tinker import types

    tokens = [token % 50_000 for token in range(seq_len)]
    data = [
        types.Datum(
            model_input=types.ModelInput.from_ints(tokens),
            loss_fn_inputs={"target_tokens": tokens, "weights": [1.0] * seq_len},
        )
        for _ in range(batch_size)
    ]
    given = types.ForwardBackwardInput(data=data, loss_fn="cross_entropy")
    return types.ForwardBackwardRequest(forward_backward_input=given, model_id="model", seq_id=1)


def _sampling(batch_size: int, seq_len: int) -> Any:
    """A sampling request with a long prompt."""
    from tinker import types

    tokens = [token % 50_000 for token in range(seq_len)]
    return types.SampleRequest(
        prompt=types.ModelInput.from_ints(tokens),
        sampling_params=types.SamplingParams(max_tokens=16), num_samples=1, base_model="model",
    )  # fmt: skip


_BUILDERS = {"training": _training, "sampling": _sampling}


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in ("tinker", "pydantic", "pydantic-core"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _measure(payload: str, batch_size: int, seq_len: int) -> None:
    request = _BUILDERS[payload](batch_size, seq_len)
    dump = getattr(request, "model_dump", None)
    if dump is None:
        _say(step="done", applies=False)
        return
    _say(step="start")
    best = None
    for _ in range(3):
        begin = time.perf_counter()
        dump(exclude_unset=True, mode="json")
        took = time.perf_counter() - begin
        best = took if best is None else min(best, took)
        if took > _ENOUGH_S:
            break
    _say(step="done", applies=True, seconds=best)


def _main() -> None:
    payload, batch_size, seq_len = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    _say(step="versions", versions=_versions())
    try:
        import tinker  # noqa: F401
    except ModuleNotFoundError as error:
        mine = (error.name or "").partition(".")[0] == "tinker"
        _say(step="missing" if mine else "broken", reason=f"ModuleNotFoundError: {error}")
        return
    except Exception as error:  # noqa: BLE001 - whatever the import of a broken install raises
        _say(step="broken", reason=f"{type(error).__name__}: {error}"[:400])
        return
    try:
        _measure(payload, batch_size, seq_len)
    except Exception as error:  # noqa: BLE001 - an SDK with other classes is an answer, too
        _say(step="broken", reason=f"{type(error).__name__}: {error}"[:400])


if __name__ == "__main__":
    _main()
