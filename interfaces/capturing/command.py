"""``diagnose capture`` runs reference and port; ``diagnose ratios`` computes from captures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from ...facts.problems import Location, ModelMedicError, Problem
from ...facts.progress import Progress
from .. import output
from ..cli.follow_up import Case, conclude
from ..cli.options import FAIL_ON, PATH, command, common, common_reading, detail
from ..context import Context

MAX_IDS_BYTES = 16 << 20


class _Wish(NamedTuple):
    """The captures to make, from the options."""

    folder: Path
    hf: str
    port: str
    dtype: str
    device: str
    seed: int
    batch: int
    tokens: int
    decode: int
    modules: str
    ids: Path | None


@command(name="capture")
@click.argument("folder", type=PATH)
@click.option(
    "--hf",
    required=True,
    metavar="MODEL",
    help="Reference: a transformers model folder or "
    "name, a config.json (random weights), or FILE:FUNCTION that returns a model.",
)
@click.option(
    "--port",
    required=True,
    metavar="FILE:CLASS",
    help="The port; it is called with those of config, state_dict and dtype that it accepts.",
)
@click.option(
    "--dtype",
    type=click.Choice(("bfloat16", "float16", "float32")),
    default="bfloat16",
    help="Number format of the port and of the low-precision reference.",
)
@click.option("--device", default="cpu", metavar="DEVICE", help="Where models run, such as cuda.")
@click.option("--seed", type=int, default=0, help="Of random weights and random tokens.")
@click.option("--batch", type=click.IntRange(1, 64), default=2)
@click.option(
    "--positions",
    "tokens",
    type=click.IntRange(4, 8192),
    default=64,
    help="Token positions, decoded ones too.",
)
@click.option(
    "--decode",
    type=click.IntRange(0, 64),
    default=4,
    help="Number of positions computed one by one, from a cache.",
)
@click.option(
    "--modules",
    default="all",
    metavar="WHICH",
    help="all, source (those of the published workflow), or a regular expression.",
)
@click.option(
    "--ids", type=PATH, default=None, help="JSON: token numbers, a list for each batch row."
)
@click.option("--diagnose/--no-diagnose", "judge", default=True, help="Also diagnose the captures.")
@FAIL_ON
@detail
@common_reading
def capture(context: Context, judge: bool, **given: Any) -> int:
    """Run a reference (FP32 and low precision) and its PORT on the same tokens, save the inputs and
    outputs of each module in FOLDER, and diagnose them. `inspect` reads FOLDER later.

    This runs the code of the port and of the model: use it only with code that you trust.
    """
    wish = _Wish(**given)
    _say(f"Running code that is not ours: {wish.port}, and the model {wish.hf}.")
    _captured(wish)
    if not judge:
        _say(f"Written to {wish.folder}; `diagnose inspect {wish.folder}` reads it.")
        return output.OK
    from ..inspection import gather

    facts, problems, read = gather(
        [wish.folder], context.base.vocabulary, deadline=context.deadline, intake=context.intake
    )
    return conclude(context, Case(tuple(facts), tuple(problems), tuple(read)), None)


def _captured(wish: _Wish) -> None:
    from ...probes.capture import Plan, capture_run, lowered, trace_run, write_reference
    from ...probes.trace.recorder import Recorder
    from ..deadline import NEVER
    from ..waiting import watched

    with watched(NEVER) as watch:
        recorder = Recorder()
        model = recorder.build(lambda: _reference(wish))
        plan = Plan(_ids(wish, model.config), wish.decode, wish.modules)
        runs = {"ref_fp32": capture_run(model, plan, wish.folder, "ref_fp32", progress=watch)}
        runs["target"], formats = _target(wish, model, plan, watch)
        traces = _traced(wish, model, plan, recorder, watch)
        decoded = min(runs[role]["decoded"] for role in runs)
        start, kept = plan.prompt if decoded else None, _kept(wish)
        write_reference(model, wish.folder, {}, seed=wish.seed, decode_from=start, weights=kept)
        import torch

        low = lowered(model, getattr(torch, wish.dtype))  # in place: one model at a time
        runs["ref_bf16"] = capture_run(low, plan, wish.folder, "ref_bf16", progress=watch)
        if traces:
            lows = formats, trace_run(low, plan, formats=True, progress=watch).trace
            _write_traces(wish.folder, traces, lows)
        _add_runs(wish.folder, runs)


def _target(wish: _Wish, model: Any, plan: Any, watch: Progress) -> tuple[dict[str, Any], Any]:
    """The entry of the port's run and the number formats of its operations; in FP32 if an operation
    of it exists in that format only."""
    from ...probes.capture import capture_run, load_port, trace_run

    for dtype in dict.fromkeys((wish.dtype, "float32")):
        try:
            port = load_port(wish.port, model, dtype=dtype).to(wish.device)
            with _of_the_port(wish):
                run = capture_run(port, plan, wish.folder, "target", progress=watch)
                return run, trace_run(port, plan, formats=True, progress=watch).trace
        except ModelMedicError as error:
            if dtype == "float32" or error.problems[0].code != "MM533":
                raise
            _say(f"The port is captured in FP32, as it does not run in {dtype}: {error}")
    raise AssertionError


@contextmanager
def _of_the_port(wish: _Wish) -> Iterator[None]:
    try:
        yield
    except ModelMedicError:
        raise
    except Exception as error:  # of the user's code
        text = f"the port failed while running: {type(error).__name__}: {error}"
        raise ModelMedicError(Problem("MM533", text[:600], Location(wish.port), "")) from error


def _traced(wish: _Wish, model: Any, plan: Any, recorder: Any, watch: Progress) -> Sequence[Any]:
    """Record the operations of both models in FP32, if the port runs in it."""
    from ...probes.capture import load_port, trace_run
    from ...probes.trace.recorder import Recorder, beside_each_other
    from ...probes.trace.stored import remove_traces

    remove_traces(wish.folder)
    try:
        with _of_the_port(wish):
            building = Recorder(str(Path(wish.port.rpartition(":")[0]).resolve()))
            port = building.build(lambda: load_port(wish.port, model, dtype="float32"), model)
            mine = trace_run(port.to(wish.device), plan, recorder=building, progress=watch)
    except ModelMedicError as error:
        _say(f"Operations are not compared, as the port does not run in FP32: {error}")
        return ()
    return beside_each_other(mine, trace_run(model, plan, recorder=recorder, progress=watch))


def _write_traces(folder: Path, traces: Sequence[Any], lows: Sequence[Any]) -> None:
    from ...probes.trace.recorder import in_low_precision
    from ...probes.trace.stored import write_trace

    for role, trace, low in zip(("port", "reference"), traces, lows, strict=True):
        write_trace(folder, role, in_low_precision(trace, low))


def _add_runs(folder: Path, runs: dict[str, dict[str, Any]]) -> None:
    """The notes of the runs, after those on the reference."""
    file = folder / "capture.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    hashes = document["sha256"]
    for role, run in sorted(runs.items()):
        hashes |= {f"{role}/{name}": found for name, found in run.pop("hashes").items()}
    document["runs"] = dict(sorted(runs.items()))
    document["sha256"] = dict(sorted(hashes.items()))
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _reference(wish: _Wish) -> Any:
    """The FP32 model."""
    from ...probes.capture import load_made, load_reference

    made = ".py:" in wish.hf
    model = load_made(wish.hf) if made else load_reference(wish.hf, seed=wish.seed)
    return model.to(wish.device)


def _kept(wish: _Wish) -> str:
    """The folder where the weights of the reference lie already, or empty."""
    given = Path(wish.hf)
    kept = ".py:" not in wish.hf and given.is_dir() and any(given.glob("*.safetensors"))
    return str(given.resolve()) if kept else ""


def _ids(wish: _Wish, config: Any) -> Any:
    import torch

    if wish.ids is not None:
        try:
            rows = json.loads(wish.ids.read_bytes()[:MAX_IDS_BYTES])
            return torch.tensor(rows, dtype=torch.long).reshape(len(rows), -1)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            text = f"these are not token numbers: {error}"
            raise ModelMedicError(Problem("MM534", text, Location(str(wish.ids)), "")) from error
    generator = torch.Generator().manual_seed(wish.seed)
    find = getattr(config, "get_text_config", None)
    size = int(getattr(find() if callable(find) else config, "vocab_size", 1_000))
    return torch.randint(min(3, size - 1), size, (wish.batch, wish.tokens), generator=generator)


@command(name="ratios")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--write",
    type=PATH,
    default=None,
    metavar="DIR",
    help="Write stage2.json, stage3.json, teacher_forced.json and stage6.json there.",
)
@common
def ratios(context: Context, folder: Path, write: Path | None) -> int:
    """Compute R-ratio, cosine, KL divergence and agreement of the best tokens from the captures in
    FOLDER, as the stages of the workflow define them."""
    from ...probes.ratios import stage_files, write_stages
    from ..deadline import NEVER
    from ..reports.layout import Line, problem_lines
    from ..reports.layout import write as show
    from ..waiting import watched

    with watched(NEVER) as watch:
        found, problems = stage_files(folder, context.base.vocabulary, watch)
    if write is not None:
        files = write_stages(found, write)
        show([Line(f"{len(files)} files written to {write}")], sys.stderr)
    context.emit(found, _lines(found))
    show(problem_lines(problems), sys.stderr)
    return output.gathered_code(problems, found=bool(found))


def _lines(found: dict[str, Any]) -> Sequence[Any]:
    from ..reports.layout import Line

    lines = []
    if second := found.get("stage2.json"):
        lines.append(Line(f"Stage 2: {second['passed']} of {second['total']} modules pass"))
        worst = sorted(
            (row for row in second["results"] if not row["passed"]), key=lambda row: -row["r_ratio"]
        )
        lines += [Line(f"  {row['component']}: R {row['r_ratio']:.4g}") for row in worst[:12]]
    if forced := found.get("teacher_forced.json"):
        whole = forced["aggregate"]
        r, kl = whole["r_ratio"], whole["kl"]
        lines.append(
            Line(f"Stage 5: R mean {r['mean']:.4g}, p95 {r['p95']:.4g}, max {r['max']:.4g}")
        )
        lines.append(
            Line(
                f"Stage 6: cosine p5 {whole['cosine']['p5']:.5f}, KL mean {kl['mean']:.3g}, "
                f"p95 {kl['p95']:.3g}, max {kl['max']:.3g}"
            )
        )
    return lines or [Line("nothing to compute: there are no captures of three runs")]


def _say(text: str) -> None:
    from ..reports.layout import Line, write

    write([Line(text, style="dim")], sys.stderr)
