"""How well causes of broken ports are named: ``python -m tests.ports.faulty.measure``.

Each fault is tried on several architectures and seeds. A case counts as ``component`` if the first
finding is about the component at which the fault shows first, as ``cause`` if the first root cause
is the right one and firm, and as ``false`` if any firm root cause is another one.
"""

import argparse
import contextlib
import hashlib
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.ports.faulty import faults_attention, faults_model  # noqa: F401
from tests.ports.faulty.architectures import ARCHITECTURES
from tests.ports.faulty.making import fits, write_references, write_target
from tests.ports.faulty.port import FAULTS
from tests.ports.faulty.sets import choose, half_of

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.inspection import gather
from modelmedic.probes.replay import hypotheses, trials

NOT_CAUSES = {"neuron.e2e.porting-bug-propagates"}


def order(fault, seeds):
    """Architectures and seeds of a fault, mixed by a hash: a prefix is a fair sample."""
    pairs = [(name, seed) for name in ARCHITECTURES for seed in seeds]
    return sorted(pairs, key=lambda pair: hashlib.sha256(f"{fault}{pair}".encode()).hexdigest())


def judge(doctor, folder, fault, layer, plan):
    facts, problems, _ = gather([folder], doctor.base.vocabulary)
    report = doctor.diagnose(facts, problems)
    roots = [d for d in report.diagnoses if d.kind == "root-cause" and d.id not in NOT_CAUSES]
    firm = [d.id.rpartition(".")[2] for d in roots if d.confidence != "possible"]
    wanted = fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)
    text = report.diagnoses[0].evidence[0].text if report.diagnoses else ""
    found = re.search(r"component='([^']+)'", text)
    trials = [str(f) for f in facts if f.kind == "replay_hypothesis"][:4]
    return {
        "component": found is not None and fits(found[1], fault, layer, plan),
        "cause": bool(firm) and firm[0] in wanted,
        "among": any(d.id.rpartition(".")[2] in wanted for d in roots),
        "false": any(each not in wanted for each in firm),
        "at": found[1] if found else None,
        "firm": firm,
        "trials": trials,
        "problems": [str(problem) for problem in problems],
    }


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=3, help="architectures and seeds of a fault")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--only", default="", help="a regular expression over faults")
    options.add_argument("--arch", default="")
    options.add_argument("--apart", action="store_true", help="the faults that were written apart")
    options.add_argument("--further", action="store_true", help="those of another author")
    options.add_argument("--seen", action="store_true", help="those written with the hypotheses")
    options.add_argument("--fourth", action="store_true", help="those of a third author")
    options.add_argument("--fifth", action="store_true", help="those of public reports")
    options.add_argument("--sixth", action="store_true", help="those of a fifth author")
    options.add_argument("--seventh", action="store_true", help="those of a sixth author")
    options.add_argument("--eighth", action="store_true", help="those of a seventh author")
    options.add_argument("--ninth", action="store_true", help="those of an eighth author")
    options.add_argument("--tenth", action="store_true", help="those of a ninth author")
    options.add_argument("--eleventh", action="store_true", help="those of a tenth author")
    options.add_argument("--half", default="ab", choices=("a", "b", "ab"), help="by their names")
    options.add_argument(
        "--without", action="store_true", help="without the hypotheses of the right cause"
    )
    options.add_argument("--verbose", action="store_true")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    for name in (
        "apart",
        "further",
        "seen",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
    ):
        if getattr(given, name):
            choose(name)
    doctor = Diagnoser.load()
    work = []
    for name, fault in sorted(FAULTS.items()):
        if re.search(given.only, name) and half_of(name) in given.half:
            work.append(
                (fault, [p for p in order(name, range(given.seeds)) if re.search(given.arch, p[0])])
            )
    start = time.process_time()
    folder = Path(tempfile.mkdtemp(prefix="faulty-"))
    try:
        rows = [row for fault, pairs in work for row in tried(doctor, folder, fault, pairs, given)]
    finally:
        shutil.rmtree(folder)
    show(rows, time.process_time() - start)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=0))


def without(fault):
    """No hypothesis and no finder is about the causes of a fault: what names it was found without
    knowing of its kind."""
    causes = fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)
    kept = tuple(each for each in hypotheses.all_hypotheses() if each.cause not in causes)
    return mock.patch.object(trials, "all_hypotheses", lambda: kept)


def tried(doctor, folder, fault, pairs, given, known={}):  # noqa: B006 - references of this run
    done = 0
    for arch, seed in pairs:
        if done >= given.cases:
            break
        if (arch, seed) not in known:
            place = folder / f"{arch}-{seed}"
            known[arch, seed] = (place, *write_references(place, arch, seed))
        place, model, plan = known[arch, seed]
        target = folder / "case"
        try:
            if not write_target(target, place, model, plan, fault, seed % 2):
                continue
        except RuntimeError as error:  # of the architecture, which the fault does not fit
            print(f"{fault.name} on {arch} does not run: {error}"[:150])
            shutil.rmtree(target)
            continue
        done += 1
        row = {"fault": fault.name, "arch": arch, "seed": seed}
        with without(fault) if given.without else contextlib.nullcontext():
            row |= judge(doctor, target, fault, seed % 2, plan)
        shutil.rmtree(target)
        if row["false"] or (given.verbose and not (row["component"] and row["cause"])):
            print(json.dumps({k: v for k, v in row.items() if k != "trials"}), flush=True)
            print(*(f"      {trial[:400]}" for trial in row["trials"][:3]), sep="\n")
        yield row
    if not done:
        print(f"{fault.name}: breaks none of the architectures")


def show(rows, seconds):
    alien = [row for row in rows if row["fault"].startswith("alien")]
    rows = [row for row in rows if row not in alien]
    total = len(rows)
    counts = Counter(
        key for row in rows for key in ("component", "cause", "among", "false") if row[key]
    )
    kinds, models = (len({row[key] for row in rows}) for key in ("fault", "arch"))
    print(f"{total} cases of {kinds} faults on {models} architectures, {seconds:.0f} s")
    for key in ("component", "cause", "among", "false"):
        print(f"  {key:10} {counts[key]:4}  {100 * counts[key] / max(1, total):5.1f} %")
    if alien:
        print(
            f"{len(alien)} cases of faults that no hypothesis is about: "
            f"component {sum(row['component'] for row in alien)}, "
            f"a firm cause {sum(row['false'] for row in alien)}"
        )


if __name__ == "__main__":
    main()
