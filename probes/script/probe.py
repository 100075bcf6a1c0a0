"""Scripts and notebooks -> facts: the way the code uses the Tinker API. Nothing is executed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...facts.fact import Fact
from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...facts.uncollected import uncollected
from ...reading.python.nodes import constant, last_name
from ...reading.python.project import Module, Project
from ...reading.python.sources import Place, Source, parse, source_of
from ..outcome import Collector, Outcome
from ..shared.recommended_rates import against_recommendation
from .api_table import find_api, patterns_of_api
from .data_code import base_models, find_data_code
from .findings import Finding, Script, assumption, is_rehearsed
from .harmless import Doubts, is_apart, is_harmless
from .hyperparameters import find_settings, workload_of
from .interface import find_interface
from .loops import find_loop_work, training_loop
from .order import find_order
from .outside import find_checkpoints, find_merge, find_outside
from .reading.values import SDK_PACKAGES, words
from .rendering import find_rendering, is_for_another, named_renderers
from .requirements import required_versions
from .suggestions import fingerprint, ignored, suggestion
from .training.find import find_training
from .usage import find_usage

SOURCE = "probe:script"
MAX_WORK = 1_500_000
"""Nodes of syntax trees, and steps of following them, of all programs of a project."""
WORK_OF_ONE = 40_000
"""The same limit for each given file, with the programs next to it that import it."""
_OF_RESULTS = frozenset({"loss-inputs-missing", "parse-result-as-boolean"})
_OF_RENDERER = frozenset({"image-content", "tools-in-messages"})
MAX_ENTANGLED = 5
"""Number of programs too large to follow that are named."""


def gather_script(
    paths: Path | str | Sequence[Path | str], vocabulary: Vocabulary, *, text: str | None = None
) -> Outcome:
    """The facts that the scripts and notebooks of a project show: ``code_pattern`` with file, line
    and snippet, ``hyperparameter``, ``workload``, ``base_model``, ``renderer``, ``checkpoint`` and
    ``merge``.

    Files are read as the programs that they make up: with the modules of their project that they
    import, wherever those lie. ``text`` replaces the content of one file if it is at hand; its path
    is then only a name. A pattern is reported with ``present: false`` only if the whole program
    was read and the pattern can be decided. Assumptions of a finding, such as the type of an
    argument, are in ``assumes``.

    Problems: MM440 nothing to read, MM466 a part is not valid Python, MM442 lines left out,
    MM467 the program is too large to follow, MM468 nothing of Tinker in it,
    MM469 a comment that accepts nothing. Never raises.
    """
    given = [paths] if isinstance(paths, (str, Path)) else [*paths]
    with uncollected():
        return _gathered(given, vocabulary, text)


def _gathered(given: list[Path | str], vocabulary: Vocabulary, text: str | None) -> Outcome:
    collector = Collector(vocabulary, SOURCE)
    if text is not None:
        module, problems = _of_text(str(given[0]), text)
        collector.extend(problems)
        if module is not None:
            _read_program(collector, Script(module), len(given))
        return collector.outcome()
    project = Project([Path(path) for path in given], SDK_PACKAGES | words("packages"))
    outcomes: list[Outcome] = []
    left, entangled = min(MAX_WORK, WORK_OF_ONE * len(given)), 0
    for number, program in enumerate(programs := project.programs()):
        part = Collector(vocabulary, SOURCE)
        if left <= 0:
            _out_of_budget(part, program, len(programs) - number)
            outcomes.append(part.outcome())
            break
        script = Script(program, project)
        left -= script.size + script.machine.visits
        if _read_program(part, script, len(given)):
            _add_versions(part, script)
        outcome = part.outcome()
        entangled += script.machine.stopped
        if script.machine.stopped and entangled > MAX_ENTANGLED:
            outcome = Outcome(outcome.facts, _others(outcome.problems))
        outcomes.append(outcome)
    problems = [p for outcome in outcomes for p in outcome.problems] + project.problems
    return Outcome(_apart(outcomes), tuple(problems))


def gather_found(
    paths: Sequence[Path], vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """Scripts that were found, and the printed outputs of the notebooks among them."""
    from ..notebook.probe import gather_outputs

    return Outcome.joined(
        gather_script(paths, vocabulary), gather_outputs(paths, vocabulary, progress)
    )


def _out_of_budget(collector: Collector, program: Module, count: int) -> None:
    message = f"{count:,} further programs of the project are not read"
    where = Location(program.source.name)
    collector.problem("MM467", message, where, "read them on their own")


def _others(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(problem for problem in problems if problem.code != "MM467")


def _apart(outcomes: Sequence[Outcome]) -> tuple[Fact, ...]:
    """The facts of programs, without those that mean something only with others of their own
    program: images and tools if another program names another renderer, and the workload if
    another program with settings has another one."""
    named = [{f.get("name") for f in o.facts if f.kind == "renderer"} for o in outcomes]
    every = set[object]().union(*named)
    set_up = [o for o in outcomes if any(f.kind == "hyperparameter" for f in o.facts)]
    workloads = {
        next((f.get("type") for f in o.facts if f.kind == "workload"), None) for o in set_up
    }
    mixed = len(workloads) > 1
    return tuple(
        fact for outcome, own in zip(outcomes, named, strict=True) for fact in outcome.facts
        if (own == every or fact.get("pattern") not in _OF_RENDERER)
        and not (mixed and fact.kind == "workload")
    )  # fmt: skip


def _of_text(name: str, text: str) -> tuple[Module | None, list[Problem]]:
    source, problems = source_of(text.encode("utf-8", "replace"), name)
    if source is None:
        return None, problems
    tree, broken, whole = parse(source)
    problems += broken
    return Module(name, source, tree, whole and not problems), problems


def _read_program(collector: Collector, script: Script, count: int) -> bool:
    """Add the facts of a program; false if it does not use Tinker."""
    entry = script.modules[0]
    if not _uses_tinker(script):
        if count == 1:  # of many files, some are of other kinds
            collector.problem("MM468", "this code does not use Tinker", Location(entry.source.name),
                              "name the script that trains, samples or exports")  # fmt: skip
        return False
    try:
        _gather(collector, script)
    except RecursionError:
        _too_large(collector, entry.source)
    return True


def _add_versions(collector: Collector, script: Script) -> None:
    for stated in required_versions(module.source for module in script.modules):
        if stated.version:
            collector.add("package", stated.place, name=stated.name, version=stated.version)
        elif stated.at_least or stated.below or stated.origin:
            collector.add("required_version", stated.place, name=stated.name,
                          at_least=stated.at_least or None, below=stated.below or None,
                          origin=stated.origin or None)  # fmt: skip


def _uses_tinker(script: Script) -> bool:
    for node in script.all((ast.Import, ast.ImportFrom)):
        names = [getattr(node, "module", "") or "", *(a.name for a in getattr(node, "names", ()))]
        if any(name.partition(".")[0] in ("tinker", "tinker_cookbook", "peft") for name in names):
            return True
    if any(_loads_tinker(call) for call in script.calls()):
        return True
    if any(n.attr == "tinker" for n in script.all(ast.Attribute)):
        return True
    hints = {"forward_backward", "optim_step", "lora_", "lora_A", "lora_B", "PeftModel",
             "merge_and_unload", "create_lora_training_client",
             "create_sampling_client"}  # fmt: skip
    return bool(hints & script.words)


def _loads_tinker(call: ast.Call) -> bool:
    name = constant(call.args[0]) if call.args else None
    known = isinstance(name, str) and name.partition(".")[0] in ("tinker", "tinker_cookbook")
    return known and last_name(call.func) in ("__import__", "import_module", "importorskip")


def _gather(collector: Collector, script: Script) -> None:
    if script.machine.stopped:
        _too_large(collector, script.modules[0].source)
    found: dict[tuple[str, int], Finding] = {}
    doubts = Doubts(script)
    for finding in _findings(script):
        of_api = _is_of_api(finding)
        if is_rehearsed(script, finding) or is_harmless(script, finding, of_api):
            continue
        if of_api and not finding.assumed:
            finding = finding._replace(assumed=doubts.of(finding.node))
        key = finding.pattern, finding.number
        known = found.get(key)
        if known is None or (known.node is None and finding.node is not None):
            found[key] = finding
    alike: Counter[str] = Counter()
    for finding in sorted(found.values(), key=lambda f: _order(f, script)):
        _add_pattern(collector, finding, script, alike)
    _add_acceptances(collector, script)
    if not script.rehearses:
        _add_settings(collector, script, doubts)
        _add_models(collector, script)
    for point in () if script.rehearses else find_checkpoints(script):
        if is_apart(script, point.node) or doubts.of(point.node):
            continue
        collector.add("checkpoint", _at(script, point.node), path=point.path, type=point.type,
                      used_for=point.used_for, saved_by=point.saved_by or None)  # fmt: skip
    merge = find_merge(script)
    if merge is not None:
        collector.add("merge", _at(script, merge[1]), method=merge[0])


def _is_of_api(finding: Finding) -> bool:
    return finding.pattern in patterns_of_api() | _OF_RESULTS


def _findings(script: Script) -> Iterator[Finding]:
    if not script.rehearses:
        loop = training_loop(script)
        yield from find_order(script)
        yield from find_usage(script, loop)
        yield from find_loop_work(script, loop)
        yield from find_data_code(script, loop)
        yield from find_training(script)
    yield from find_rendering(script)
    yield from find_outside(script)
    of_table = [*find_api(script)]
    yield from of_table
    yield from find_interface(script, of_table)


def _order(finding: Finding, script: Script) -> tuple[bool, str, Place, str]:
    if finding.node is None:
        return True, "", Place(0), finding.pattern
    source = script.module_of(finding.node).source
    place = source.place(finding.node)
    return False, source.name, Place(place.cell, place.line), finding.pattern


def _add_pattern(
    collector: Collector, finding: Finding, script: Script, alike: Counter[str]
) -> None:
    if finding.node is None:
        name = script.modules[0].source.name
        file = Path(name).name
        collector.add("code_pattern", name, pattern=finding.pattern, present=False, file=file)
        return
    source = script.module_of(finding.node).source
    place = source.place(finding.node)
    file, snippet = Path(source.name).name, source.snippet(finding.node)
    span = source.span(getattr(finding.node, "of", finding.node))
    same = fingerprint(finding.pattern, file, snippet)
    alike[same] += 1
    collector.add(
        "code_pattern", place.location(source.name), pattern=finding.pattern, present=True,
        file=file, line=place.line, snippet=snippet,
        column=span and span.column, end_line=span and span.end_line,
        end_column=span and span.end_column,
        suggestion=suggestion(script, source, finding) or None,
        fingerprint=same if alike[same] == 1 else f"{same}-{alike[same]}",
        assumes=assumption(script, finding) or None,
        given=finding.given or None, against=finding.against or None,
        **_other_end(finding, script),
    )  # fmt: skip


def _other_end(finding: Finding, script: Script) -> dict[str, str | int]:
    if finding.other is None:
        return {}
    source = script.module_of(finding.other).source
    return {
        "other_file": Path(source.name).name,
        "other_line": source.place(finding.other).line,
    }


def _add_acceptances(collector: Collector, script: Script) -> None:
    for source in {module.key: module.source for module in script.modules}.values():
        accepted, problems = ignored(source)
        collector.extend(problems)
        for each in accepted:
            place = source.places[each.line - 1]
            collector.add("code_acceptance", place.location(source.name), id=each.id,
                          reason=each.reason, file=Path(source.name).name,
                          line=place.line)  # fmt: skip


def _add_settings(collector: Collector, script: Script, doubts: Doubts) -> None:
    models = {name for name, _ in script.kept(base_models)}
    model = models.pop() if len(models) == 1 else None
    for setting in find_settings(script):
        if is_apart(script, setting.node):
            continue
        text = setting.value if isinstance(setting.value, str) else None
        number = None if isinstance(setting.value, str) else setting.value
        rate = {}
        if setting.name == "learning_rate" and number is not None:
            rate = against_recommendation(number, model)
        assumes = setting.assumed or doubts.of(setting.node) or None
        collector.add("hyperparameter", _at(script, setting.node), name=setting.name, value=number,
                      text=text, model=model, assumes=assumes, **rate)  # fmt: skip
    workload = workload_of(script)
    if workload is not None:
        collector.add("workload", _at(script, workload.node), type=workload.type)


def _add_models(collector: Collector, script: Script) -> None:
    models = dict(script.kept(base_models))
    for name, node in models.items():
        collector.add("base_model", _at(script, node), name=name)
    named = dict(named_renderers(script))
    if len(models) == 1 and len(named) == 1:
        (model,), ((name, node),) = models, named.items()
        if is_for_another(script, node, model):
            return
        collector.add("renderer", _at(script, node), model=model, name=name)


def _at(script: Script, node: ast.AST) -> str:
    source = script.module_of(node).source
    return source.place(node).location(source.name)


def _too_large(collector: Collector, source: Source) -> None:
    message = "the script is too large or too entangled to follow to its end"
    hint = "give the part with the training loop"
    collector.extend([Problem("MM467", message, Location(source.name), hint)])
