"""Effects of faults on outputs: ``python -m tests.ports.faulty.strength --fourth``. Nothing is
diagnosed.

R is the error of the broken port by the error of BF16, both against FP32, of the logits, or of a
module. For each fault: R of the logits by architecture, and the module whose output is first wrong.
"""

import argparse
import re
from pathlib import Path

import torch

from modelmedic.probes.capture import lowered

from .architectures import ARCHITECTURES, build, config_of, reference
from .making import BATCH, DECODED, TOKENS
from .port import FAULTS, Port
from .sets import choose, half_of

FIRST = 3.0
SHOWN = ("ninth", "eighth", "seventh", "sixth", "fourth")
HEADER = "kind\thalf\tcomponent\tcause\tas right\tarchitectures\tlargest R"


def outputs(model, ids, keep):
    """Outputs of all modules in the order in which they are done, and the logits."""
    found: dict[str, list[torch.Tensor]] = {}
    hooks = []

    def hook(name):
        def note(_module, _args, output):
            output = output[0] if isinstance(output, tuple) else output
            if torch.is_tensor(output):
                found.setdefault(name, []).append(output.float().flatten())

        return note

    if keep:
        hooks = [m.register_forward_hook(hook(n)) for n, m in model.named_modules() if n]
    logits, cache, start = [], None, 0
    with torch.no_grad():
        for end in range(TOKENS - DECODED, TOKENS + 1):
            made = model(ids[:, start:end], use_cache=True, past_key_values=cache)
            logits.append(made.logits.float().flatten())
            cache, start = made.past_key_values, end
    for each in hooks:
        each.remove()
    found["logits"] = logits
    return {name: (parts[0], torch.cat(parts[1:])) for name, parts in found.items()}


def ratios(target, exact, low):
    """R by module, where the reference has one of that name and size; the larger one of that of
    the prompt and that of what is decoded."""
    found: dict[str, float] = {}
    for name, parts in target.items():
        for three in zip(parts, exact.get(name, ()), low.get(name, ()), strict=False):
            if len({each.shape for each in three}) == 1:
                value, right, rounded = three
                usual = (rounded - right).norm() + 1e-3 * right.norm()
                found[name] = max(found.get(name, 0.0), float((value - right).norm() / usual))
    return found


class Pairs:
    """References by architecture, and ports of them."""

    def __init__(self, seed):
        self.seed, self.known = seed, {}

    def of(self, arch):
        if arch not in self.known:
            config = config_of(arch)
            model = reference(config, self.seed)
            torch.manual_seed(self.seed + 1_000)
            ids = torch.randint(3, config.vocab_size, (BATCH, TOKENS))
            low = lowered(build(config, model.state_dict()), torch.bfloat16)
            self.known[arch] = (model, ids, outputs(model, ids, True), outputs(low, ids, True))
        return self.known[arch]

    def broken(self, fault, arch, layer):
        """R by module, first done first; None if the fault has nothing to break."""
        model, ids, exact, low = self.of(arch)
        port = Port(model, layer)
        if fault.break_it(port) is False:
            return None
        with port.running():
            return ratios(outputs(port.built(), ids, True), exact, low)


def row_of(fault, pairs, wanted):
    """(R of the logits, architecture, module that is first wrong, largest R) by architecture."""
    rows = []
    for arch in ARCHITECTURES:
        if not re.search(wanted, arch):
            continue
        try:
            found = pairs.broken(fault, arch, pairs.seed % 2)
        except (RuntimeError, TypeError, AttributeError, KeyError, IndexError) as error:
            print(f"{fault.name} on {arch} does not run: {error!r}"[:200])
            continue
        if found:
            first = next((name for name, r in found.items() if r > FIRST), "-")
            rows.append((found["logits"], arch, first, max(found.values())))
    return sorted(rows, reverse=True)


def line_of(fault, rows):
    """Name, half, component, causes, and architectures on which the fault shows."""
    causes = fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)
    struck = " ".join(arch for _, arch, first, _ in rows if first != "-")
    cells = (fault.name, half_of(fault.name), fault.part, causes[0], " ".join(causes[1:]) or "-")
    return "\t".join((*cells, struck, f"{max((row[3] for row in rows), default=0):.0f}"))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="a regular expression over faults")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--arch", default="")
    options.add_argument("--fourth", action="store_true")
    options.add_argument("--sixth", action="store_true")
    options.add_argument("--seventh", action="store_true")
    options.add_argument("--eighth", action="store_true")
    options.add_argument("--ninth", action="store_true")
    options.add_argument("--table", type=Path, help="where to write what is known of each kind")
    given = options.parse_args()
    chosen = (name for name in SHOWN if getattr(given, name))
    choose(next(chosen, "first"))
    pairs, lines = Pairs(given.seed), [HEADER]
    for name, fault in sorted(FAULTS.items()):
        if re.search(given.only, name):
            rows = row_of(fault, pairs, given.arch)
            lines.append(line_of(fault, rows))
            text = ", ".join(f"{arch} {r:.1f} at {first}" for r, arch, first, _ in rows)
            print(f"{name} [{fault.part}] {text or 'BREAKS NOTHING'}", flush=True)
    if given.table:
        given.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
