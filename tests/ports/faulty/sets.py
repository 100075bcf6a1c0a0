"""The sets of faults, each by its own author or of its own time."""

import hashlib
from importlib import import_module

from .port import FAULTS

SETS = {
    "first": ("attention", "model"),
    "apart": ("alien", "apart"),
    "further": ("third", "third_last", "third_more", "third_rest"),
    "seen": ("alike", "alike_ranks", "alike_states", "orders", "states", "usual", "usual_bits",
             "usual_more"),
    "fourth": ("fourth", "fourth_alien", "fourth_block", "fourth_cache", "fourth_experts",
               "fourth_rotary"),
    "fifth": ("fifth", "fifth_more", "fifth_rest"),
    "sixth": ("sixth", "sixth_cache", "sixth_weights", "sixth_ends"),
    "seventh": ("seventh", "seventh_attention", "seventh_cache", "seventh_ends", "seventh_experts",
                "seventh_heads", "seventh_norms"),
    "eighth": ("eighth", "eighth_attention", "eighth_block", "eighth_cache", "eighth_ends",
               "eighth_experts", "eighth_rotary"),
    "ninth": ("ninth", "ninth_attention", "ninth_block", "ninth_cache", "ninth_ends",
              "ninth_experts", "ninth_rotary"),
    "tenth": ("tenth", "tenth_block", "tenth_rotary", "tenth_weights"),
    "eleventh": ("eleventh", "eleventh_experts", "eleventh_rotary", "eleventh_weights"),
}  # fmt: skip


def faults_of(name, known={}):  # noqa: B006 - faults of this run
    """The faults of a set, without those of modules that it is made of."""
    modules = {f"{__package__}.faults_{each}" for each in SETS[name]}
    for each in sorted(modules):
        import_module(each)
    # Modules register their faults once; tests put the register back to what it was before.
    known.update(FAULTS)
    return {n: fault for n, fault in known.items() if fault.break_it.__module__ in modules}


def choose(name):
    """Leave the faults of one set in the register."""
    kept = faults_of(name)
    FAULTS.clear()
    FAULTS.update(kept)


def half_of(name):
    """Half ``a`` or ``b``, by the first byte of a hash: even or odd."""
    return "ab"[hashlib.sha256(name.encode()).digest()[0] % 2]
