"""How silent reports on sound ports are: ``python -m tests.ports.faulty.measure_sound``."""

import argparse
import hashlib
import json
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.inspection import gather

from .architectures import ARCHITECTURES
from .making import write_references
from .sound import variants, write_sound


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=200)
    options.add_argument("--only", default="", help="a regular expression over architectures")
    options.add_argument("--seeds", type=int, default=3)
    given = options.parse_args()
    doctor = Diagnoser.load()
    models = [arch for arch in ARCHITECTURES if re.search(given.only, arch)]
    cases = [(arch, seed, *variant) for arch in models for seed in range(given.seeds)
             for variant in variants()]  # fmt: skip
    cases.sort(key=lambda case: hashlib.sha256(str(case).encode()).hexdigest())
    chosen = sorted(cases[: given.cases], key=lambda case: case[:2])
    folder = Path(tempfile.mkdtemp(prefix="sound-"))
    alarms: Counter[bool] = Counter()
    known: dict[tuple[str, int], Any] = {}
    total = 0
    try:
        for arch, seed, *variant in chosen:
            if (arch, seed) not in known:
                for place, *_ in known.values():
                    shutil.rmtree(place)
                place = folder / f"{arch}-{seed}"
                known = {(arch, seed): (place, *write_references(place, arch, seed))}
            place, model, plan = known[arch, seed]
            target = folder / "case"
            write_sound(target, place, model, plan, *variant)
            if variant[0] > 1:
                text = json.dumps({"neuron_config": {"tp_degree": variant[0]}})
                (target / "neuron_config.json").write_text(text)
            facts, problems, _ = gather([target], doctor.base.vocabulary)
            report = doctor.diagnose(facts, problems)
            found = [d.id for d in report.diagnoses
                     if d.severity == "error" and d.kind != "benign"]  # fmt: skip
            total += 1
            alarms[bool(found)] += 1
            if found or problems:
                print(
                    arch, seed, variant, found, [str(problem) for problem in problems], flush=True
                )
            shutil.rmtree(target)
    finally:
        shutil.rmtree(folder)
    print(f"{total} sound ports, {alarms[True]} with an alarm of severity error")


if __name__ == "__main__":
    main()
