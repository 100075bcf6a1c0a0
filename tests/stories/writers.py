"""Files that the facts of a story come from: what a training loop, a log, a profiler, or the
scripts of a port check leave behind. Each writer gets all facts of the story and returns texts by
the names of their files; what no file tells (symptoms, what a person knows) has no writer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

Fact = Mapping[str, Any]
Files = Mapping[str, str]
LINE = "2026-08-01 12:{minute:02d}:{second:02d},000 {level} {logger}: {text}"
STEPS = 40


def all_files(facts: Sequence[Fact]) -> dict[str, str]:
    """Everything that the writers make of the facts."""
    return {name: text for writer in WRITERS for name, text in writer(facts).items()}


def of(facts: Sequence[Fact], *kinds: str) -> list[Fact]:
    """The facts of some kinds."""
    return [fact for fact in facts if fact["kind"] in kinds]


OTHERS = ("certifi==2026.1.4", "idna==3.10", "packaging==25.0", "typing_extensions==4.14.1")


def packages(facts: Sequence[Fact]) -> Files:
    """`pip freeze > requirements-freeze.txt`."""
    known = [f"{each['name']}=={each['version']}" for each in of(facts, "package")]
    return {"pip-freeze.txt": "\n".join([*known, *OTHERS]) + "\n"} if known else {}


def job_log(facts: Sequence[Fact]) -> Files:
    """The log of the job: events, HTTP answers, warnings, and the traceback at its end."""
    at = count()
    lines = [_line("INFO", "train", "starting", next(at)), *_events(facts, at)]
    errors = of(facts, "error_message")
    warned = [each for each in errors if not each.get("exception")]
    lines += [_line(each.get("level") or "INFO", each.get("logger") or "tinker", _plain(each),
                    next(at)) for each in warned]  # fmt: skip
    for each in errors:
        if each.get("exception"):
            lines += _traceback(each)
    return {"job.log": "\n".join(lines) + "\n"} if len(lines) > 1 else {}


def _plain(error: Fact) -> str:
    """A message without the level that it may begin with."""
    return str(error.get("text")).removeprefix("WARNING: ")


def _line(level: str, logger: str, text: str, second: int) -> str:
    minute, second = divmod(second, 60)
    return LINE.format(level=level, logger=logger, text=text, minute=minute % 60, second=second)


EVENTS = {
    "heartbeat-failed": ("WARNING", "tinker", "Session heartbeat failed for {seconds} seconds"),
    "billing-paused": ("WARNING", "tinker", "The job is paused due to billing status."),
    "rewards-uniform": ("WARNING", "tinker_cookbook.rl", "All rewards are uniform."),
    "deprecation": ("WARNING", "tinker", "Deprecation notice: an old name was used"),
}


def _events(facts: Sequence[Fact], at: Iterator[int]) -> Iterator[str]:
    for event in of(facts, "log_event"):
        known = EVENTS.get(str(event.get("event")))
        if known and event.get("present") is not False:
            level, logger, text = known
            for number in range(event.get("count") or 3):
                seconds = int((event.get("duration_s") or 120) * (number + 1) / 6)
                yield _line(level, logger, text.format(seconds=seconds), next(at))
    for answer in of(facts, "http_response"):
        call, status = answer.get("operation"), answer.get("status")
        reason = {409: "Conflict", 429: "Too Many Requests"}.get(int(str(status)), "")
        for _ in range(min(answer.get("count") or 1, 50)):
            text = f'HTTP Request: POST https://api.example/api/v1/{call} "HTTP/1.1 {status} '
            yield _line("INFO", "httpx", f'{text}{reason}"', next(at))


SDK = ("BadRequestError", "ConflictError", "NotFoundError", "RequestFailedError", "TinkerError",
       "APIConnectionError")  # fmt: skip


def _traceback(error: Fact) -> list[str]:
    file, line = error.get("file", "train.py"), error.get("line", 41)
    name = str(error["exception"])
    module = error.get("module", "tinker" if name in SDK else "")
    frames = [f'  File "{file}", line {line}, in <module>', "    main()"]
    package = error.get("owner") or module.partition(".")[0]
    if package and package != "user":
        frames += [f'  File "/env/lib/python3.11/site-packages/{package}/api.py", line 90, in call',
                   "    raise error"]  # fmt: skip
    said = f"{module}.{name}" if module else name
    return ["Traceback (most recent call last):", *frames, f"{said}: {error['text']}"]


def pending_calls(facts: Sequence[Fact]) -> Files:
    """A transcript: calls that had not come back when it was written."""
    rows = [
        {"call": each.get("operation"), "outcome": "pending", "seconds": each.get("pending_s"),
         "exception": None}
        for each in of(facts, "call_timing") if each.get("pending_s")
    ]  # fmt: skip
    return {"calls.jsonl": _jsonl(rows)} if rows else {}


def run_folder(facts: Sequence[Fact]) -> Files:
    """The log_path of a run: metrics of every step, and the settings."""
    courses = {str(f.get("name")): _course(f) for f in of(facts, "training_metric")}
    timed = _times(facts)
    files = {}
    if courses or timed:
        steps = max(map(len, (courses | timed).values()))
        rows = [{"step": n} | {name: values[min(n, len(values) - 1)]
                               for name, values in (courses | timed).items()}
                for n in range(steps)]  # fmt: skip
        files["run/metrics.jsonl"] = _jsonl(rows)
    settings = _settings(facts)
    if files and settings:
        files["run/config.json"] = json.dumps(settings, indent=1)
    return files


def _course(metric: Fact) -> list[float]:
    """Values with the figures of a metric."""
    number = max(int(metric.get("count") or STEPS), STEPS)
    first = metric.get("step0", metric.get("first", metric.get("mean", 0.0)))
    last, low = metric.get("last", first), metric.get("min")
    values = [first + (last - first) * n / (number - 1) for n in range(number)]
    if metric.get("trend") == "unstable":
        values = [value * (1.9 if n % 2 else 0.1) for n, value in enumerate(values)]
    if metric.get("trend") == "turning-up":
        half = number // 2
        values = [first + (low - first) * n / half for n in range(half)]
        values += [low + (last - low) * n / half for n in range(1, half + 1)]
    return values


def _times(facts: Sequence[Fact]) -> dict[str, list[float]]:
    """The time/ columns. Waits of the supervised loop are in time/step."""
    timed: dict[str, list[float]] = {}
    steps = [float(each["total_s"]) for each in of(facts, "step_timing")]
    known = {str(each.get("operation")): each for each in of(facts, "timing_summary")}
    whole = known.get("step")
    if steps:
        timed["time/total"] = steps
    call = known.get("forward_backward")
    if call is not None:
        submit, wait = float(call.get("submit_s") or 0.01), float(call["wait_s"])
        timed |= {"time/get_batch": [0.05] * STEPS, "train_mean_nll": [1.5] * STEPS,
                  "time/forward_backward_async": [submit] * STEPS,
                  "time/optim_step_async": [0.001] * STEPS,
                  "time/submit_batch": [submit + 0.06] * STEPS, "time/step": [wait] * STEPS,
                  "time/finish_batch": [wait + 0.01] * STEPS}  # fmt: skip
    elif whole is not None:
        median, data = float(whole["median_s"]), known.get("get_batch")
        spread = float(whole.get("variation") or 0.05)
        timed["time/total"] = [median * (1 + spread * (n % 5 - 2)) for n in range(STEPS)]
        timed["time/total"] = [max(value, median / 8) for value in timed["time/total"]]
        if data is not None:
            timed["time/get_batch"] = [float(data.get("median_s") or data["share"] * median)]
        if whole.get("correlation_data"):
            timed["time/get_batch"] = [value / 8 for value in timed["time/total"]]
            timed["time/train_step"] = [value * 0.8 for value in timed["time/total"]]
    elif "get_batch" in known:
        share = float(known["get_batch"]["share"])
        timed |= {"time/total": [12.0], "time/get_batch": [12.0 * share]}
        timed = {name: values * STEPS for name, values in timed.items()}
    return timed


def _settings(facts: Sequence[Fact]) -> dict[str, Any]:
    names = {"kl_coef": "kl_penalty_coef"}
    settings = {names.get(str(f.get("name")), str(f.get("name"))): f.get("value")
                for f in of(facts, "hyperparameter")}  # fmt: skip
    kinds = {each.get("type") for each in of(facts, "workload")}
    patterns = {f.get("pattern") for f in of(facts, "code_pattern") if f.get("present", True)}
    if "sft" in kinds or patterns & {"cookbook-train-loop", "submits-before-waiting"}:
        settings = {"dataset_builder": {"common_config": {}}, "num_epochs": 1, **settings}
    if patterns & {"cookbook-train-loop", "submits-before-waiting"}:
        settings["submit_ahead"] = 1
    if "rl" in kinds:
        settings.setdefault("group_size", 8)
    for each in of(facts, "renderer"):
        settings |= {"model_name": each.get("model"), "renderer_name": each.get("name")}
    return {name: value for name, value in settings.items() if value is not None}


def data(facts: Sequence[Fact]) -> Files:
    """The training data, with or without thinking."""
    profile = next(iter(of(facts, "dataset_profile")), None)
    places = {f.get("place"): f for f in of(facts, "think_blocks") if f.get("present")}
    if profile is None and "data" not in places:
        return {}
    thought = "<think>\nFirst, the rows.\n</think>\n" if places else ""
    rows = []
    for n in range(profile["examples"] if profile else 60):
        turns = [("user", f"Question {n} of {n * 7}?"), ("assistant", f"{thought}Answer {n * 3}.")]
        again = [("user", f"And {n + 1}?"), ("assistant", f"{thought}Then {n * 5}.")]
        turns += again if "data-history" in places else []
        rows.append({"messages": [{"role": role, "content": text} for role, text in turns]})
    return {"data.jsonl": _jsonl(rows)}


def dumps(facts: Sequence[Fact]) -> Files:
    """Two dumps of the stacks, as py-spy writes them."""
    states = of(facts, "thread_state")
    if not states:
        return {}
    blocks = [_thread(each, number) for number, each in enumerate(states, 1)]
    dump = "Process 9: python train.py\nPython v3.12.9 (/usr/bin/python3)\n\n" + "".join(blocks)
    return {"dump-1.txt": dump, "dump-2.txt": dump}


_STACKS = {
    "numeric": "    {where} (torch/_tensor.py:1)\n    loop (train.py:57)\n",
    "serialization": "    {where}\n    model_dump (pydantic/main.py:400)\n",
    "data-loading": "    read (pyarrow/parquet.py:210)\n    get_batch (train.py:30)\n",
    "": "    wait (threading.py:327)\n    result (concurrent/futures/_base.py:451)\n"
        "    result (tinker/lib/api_future_impl.py:90)\n    main (train.py:60)\n",
}  # fmt: skip
_SDK = ("    EpollSelector.select (selectors.py:468)\n"
        "    BaseEventLoop._run_once (asyncio/base_events.py:1884)\n")  # fmt: skip
_SDK_END = "    Singleton._background_thread_func (internal_client_holder.py:137)\n"
_MARKS = {"holding-gil": "active+gil", "serializing": "active+gil"}


def _thread(state: Fact, number: int) -> str:
    mark = _MARKS.get(str(state.get("state")), "idle")
    name = "MainThread" if state.get("thread") == "main" else "Thread-2 (_background_thread_func)"
    stack = _STACKS[str(state.get("work") or "")].format(where=state.get("where"))
    if state.get("state") == "selecting":
        stack = _SDK
    end = _SDK_END if state.get("thread") == "sdk" else ""
    return f'Thread {number} ({mark}): "{name}"\n{stack}{end}'


def kept_outcomes(facts: Sequence[Fact]) -> Files:
    """The outcomes of probes that look at something alive, kept with `-o`."""
    return {
        name: json.dumps({"schema": "modelmedic/facts/1", "facts": of(facts, *kinds)})
        for name, kinds in KEPT.items()
        if of(facts, kinds[0])
    }


KEPT = {
    "service.json": ("service_check", "base_model"),
    "watch.json": ("gil_jitter",),
    "serialization.json": ("serialization_benchmark",),
    "renderer.json": ("token_comparison", "renderer"),
    "machine.json": ("neuron_machine", "platform", "python", "env_var"),
}
"""The files of probes that read no artefact, and are run where something is alive: each with the
kinds that it gathers, the decisive one first."""


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


WRITERS: tuple[Callable[[Sequence[Fact]], Files], ...] = (
    packages, job_log, pending_calls, run_folder, data, dumps, kept_outcomes,
)  # fmt: skip
