"""Feeds broken inputs to every loader: ``fuzz.py [TARGET...] [--seconds N] [--inputs N] [--seed N]
[--atheris]``. The inputs of a seed are always the same; ``--inputs`` ends a run earlier.

Inputs are samples with some damage, drawn by hypothesis from random bytes; with ``--atheris``
(``pip install atheris``) libFuzzer changes the samples instead, led by the code that is reached. An
input that breaks a loader, or takes it longer than :data:`CPU_S`, is made small and kept in
``cases/``. ``--again`` tries all that is there, ``--list`` names the targets. Exit code 1:
something broke.
"""

from __future__ import annotations

import argparse
import hashlib
import mmap
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

if "--atheris" in sys.argv:  # it has to see the library being imported
    import atheris

    watching: Any = atheris.instrument_imports(include=["modelmedic"])
else:
    watching = nullcontext()
with watching:
    import targets

CASES = Path(__file__).parent / "cases"
CPU_S = 10.0  # of one input, far beyond what any of them takes
MEMORY = 3 << 30
MAX_INPUT = 60_000
WORDS = (
    b"\\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\x1b[2J", b"NaN", b"-Infinity", b"1e999", b"-0",
    b"9" * 25, b"9" * 5000, b"true", b"null", b"[]", b"{}", b'""', b"[[[[", b"{{", b"\r\n", b"\n\n",
    b"&a ", b"*a", b"!!python/object", b"<<: ", b"---\n", b"? ", b"\t", b"../", b"/dev/zero", b"%s",
    b"{0.__class__}", b"::error::", b"<script>", b"PK\x03\x04", b"\x80\x04", b"\x1f\x8b\x08",
    "\u202e\u200b\ufeff\u2028".encode(), b"a" * 2000, b"(" * 300, b'"' * 99, b"0x", b"2026-13-45",
    b"x+" * 900, b"a." * 900, b"-" * 900, b"not " * 400, b"=" * 4000, b" " * 4000, b"#" * 4000,
)  # fmt: skip


class TooLongError(Exception):
    """An input took longer than it may."""


@contextmanager
def guarded() -> Iterator[None]:
    """Raises :class:`TooLongError` in code that does not end."""

    def stop(*_: object) -> None:
        raise TooLongError(f"more than {CPU_S:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def attempt(name: str, data: bytes) -> None:
    """One input, in a folder of its own. Raises what the loader raises."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=base))
    try:
        with guarded():
            targets.attempt(name, data, folder)
    finally:
        shutil.rmtree(folder)


@st.composite
def damaged(draw: Any, seeds: Sequence[bytes]) -> bytes:
    """A sample with some damage."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.sampled_from((1, 1, 2, 4, 16, 200, 4000)))
        match draw(st.integers(0, 7)):
            case 0:
                data[at : at + size] = draw(st.binary(max_size=8))
            case 1:
                data[at:at] = draw(st.sampled_from(WORDS))
            case 2:
                data[at : at + size] = draw(st.sampled_from(WORDS))
            case 3:
                del data[at : at + size]
            case 4:
                del data[at:]
            case 5:
                data[at:at] = data[at : at + size] * draw(st.sampled_from((1, 2, 50)))
            case 6:  # growth faster than the input shows when a little is repeated very often
                little = data[at : at + draw(st.integers(1, 60))].replace(b"\n", b" ") or b" "
                data[at:at] = little * ((MAX_INPUT - len(data)) // len(little))
            case _:
                other = draw(st.sampled_from(seeds))
                data[at:] = other[draw(st.integers(0, len(other))) :]
    return bytes(data[:MAX_INPUT])


def fuzz(
    name: str, seconds: float, seed: int, most: int = 3, inputs: int = sys.maxsize
) -> tuple[int, list[Path]]:
    """The number of inputs tried within the time, and the cases found; it goes on after the first
    until there are ``most`` of different kinds."""
    tried, found, last = 0, {}, b""

    @settings(database=None, deadline=None)
    @given(damaged(targets.TARGETS[name].seeds()))
    def one(data: bytes) -> None:
        nonlocal tried, last
        tried, last = tried + 1, data
        attempt(name, data)

    source = random.Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end and tried < inputs and len(found) < most:
        try:
            one.hypothesis.fuzz_one_input(source.randbytes(source.choice((64, 400, 2000))))
        except Exception as error:
            kind = fingerprint(error)
            if kind not in found:
                found[kind] = keep(name, last, error)
    return tried, list(found.values())


def fingerprint(error: BaseException) -> str:
    """The identity of a failure: its type, and the last place in our code."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "hypothesis" not in f.filename and "/fuzz/" not in f.filename]
    place = f"{ours[-1].filename}:{ours[-1].lineno}" if ours else str(error)[:80]
    return f"{type(error).__name__} {place}"


def keep(name: str, data: bytes, error: BaseException) -> Path:
    """Store the smallest input with the same failure, and say what happened."""
    data = smaller(name, data, fingerprint(error))
    path = CASES / name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"{name}: {path}: {data[:300]!r}", file=sys.stderr)
    traceback.print_exception(error)
    return path


def smaller(name: str, data: bytes, kind: str, seconds: float = 20.0) -> bytes:
    """Leave out what the failure does not need."""
    end = time.monotonic() + seconds
    size = len(data) // 2
    while size and time.monotonic() < end:
        at = 0
        while at < len(data) and time.monotonic() < end:
            less = data[:at] + data[at + size :]
            try:
                attempt(name, less)
            except Exception as error:
                if fingerprint(error) == kind:
                    data = less
                    continue
            at += size
        size //= 2
    return data


def fuzz_by_coverage(name: str, seconds: float, seed: int) -> tuple[int, list[Path]]:
    """The same by libFuzzer, in a process of its own, which it ends. It goes on after a failure of
    a kind that it has kept."""
    before = kept(name)
    tried = mmap.mmap(-1, 8)  # shared with the child
    child = os.fork()
    if not child:
        run_libfuzzer(name, seconds, seed, tried)
    _, status = os.waitpid(child, 0)
    found = sorted(kept(name) - before)
    if code := os.waitstatus_to_exitcode(status):
        found.append(Path(f"libFuzzer ended with {code}"))
    return int.from_bytes(tried[:8], "little"), found


def kept(name: str) -> set[Path]:
    """The cases of a target."""
    return {path for path in (CASES / name).glob("*") if path.is_file()}


def run_libfuzzer(name: str, seconds: float, seed: int, tried: mmap.mmap) -> None:
    """Does not return. An input that eats all memory, or hangs outside Python, is kept by libFuzzer
    itself."""
    corpus = tempfile.mkdtemp()
    for number, data in enumerate(targets.TARGETS[name].seeds()):
        Path(corpus, str(number)).write_bytes(data)
    known: set[str] = set()

    def one(data: bytes) -> None:
        tried[:8] = (int.from_bytes(tried[:8], "little") + 1).to_bytes(8, "little")
        try:
            attempt(name, data)
        except Exception as error:
            if fingerprint(error) not in known:
                known.add(fingerprint(error))
                keep(name, data, error)

    with watching:  # what is imported late, too
        for data in targets.TARGETS[name].seeds():
            with suppress(Exception):
                attempt(name, data)
    (CASES / name).mkdir(parents=True, exist_ok=True)
    arguments = [f"-max_total_time={seconds:.0f}", f"-seed={seed % 2**31 or 1}", "-verbosity=0",
                 f"-max_len={MAX_INPUT}", "-rss_limit_mb=4000", f"-timeout={CPU_S * 6:.0f}",
                 f"-artifact_prefix={CASES / name}/"]  # fmt: skip
    atheris.Setup([name, *arguments, corpus], one)
    atheris.Fuzz()


def again() -> bool:
    """Every input that ever broke something; whether one of them still does."""
    broken = False
    for path in sorted(path for path in CASES.glob("*/*") if path.is_file()):
        said = "fine"
        try:
            attempt(path.parent.name, path.read_bytes())
        except Exception as error:
            said, broken = repr(error), True
            traceback.print_exception(error)
        print(f"{path.parent.name}/{path.name}: {said}", flush=True)
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=list(targets.TARGETS))
    parser.add_argument("--seconds", type=float, default=30.0, help="for each target")
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="at most, for each target")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    parser.add_argument("--atheris", action="store_true", help="led by coverage")
    parser.add_argument("--again", action="store_true", help="what once broke something, no more")
    parser.add_argument("--list", action="store_true", help="the names of the targets")
    chosen = parser.parse_args()
    if chosen.list:
        print(*sorted(targets.TARGETS), sep="\n")
        return 0
    targets.doctor()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if chosen.again:
        return int(again())
    broken = False
    for name in chosen.targets:
        if chosen.atheris:
            tried, found = fuzz_by_coverage(name, chosen.seconds, chosen.seed)
        else:
            tried, found = fuzz(name, chosen.seconds, chosen.seed, inputs=chosen.inputs)
        broken = broken or bool(found)
        print(
            f"{name}: {tried:,} inputs in {chosen.seconds:g} s, {len(found)} failures", flush=True
        )
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
