"""Reads safetensors files piece by piece: headers first, then only the rows that are asked for.

Nothing is mapped into memory and nothing is ever unpickled: a tensor of any size costs the block
that is looked at. Codes: MM430 cannot be read, MM431 not a safetensors file or damaged, MM432
a shard is missing, MM433 pickle files are never loaded, MM434 a tensor is left out.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem, excerpt
from ...facts.regular_files import open_regular, read_regular
from . import np
from .number_formats import FORMATS, SIZES

MAX_HEADER = 100 * 2**20  # the limit of the file format itself
MAX_INDEX = 100 * 2**20
MAX_FILES = 2_000
MAX_TENSORS = 2_000_000
MAX_CONTAINERS = 3_000_000
MAX_NAME = 512
MAX_LOST = 20  # up to this number, each missing shard is reported
# One row of a tensor is the least that is read at a time.
MAX_ROW = 2**24
_SHARD = re.compile(r"(?P<head>[^/]*-)\d{5}-of-(?P<total>\d{5})\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_PICKLED = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_CONVERT = "convert them: model.save_pretrained(..., safe_serialization=True)"


class Tensor(NamedTuple):
    """The place of a tensor. ``offset`` counts bytes from the start of ``file``."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def matrices(self) -> tuple[int, int, int]:
        """The shape as (matrices, rows, columns); a vector is one row."""
        if len(self.shape) < 2:
            return 1, 1, math.prod(self.shape)
        if len(self.shape) == 2:
            return 1, *self.shape
        return self.shape[0], self.shape[1], math.prod(self.shape[2:])

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def comparable(self) -> bool:
        """Whether its numbers can be read one by one."""
        return self.dtype in FORMATS and self.size > 0 and self.matrices[2] <= MAX_ROW

    def rows(self, matrix: int, first: int, last: int) -> Any:
        """Rows ``first`` to ``last`` (excluded) of one matrix, as stored. Raises ``OSError`` or
        ``ValueError`` if the file no longer matches its header."""
        _, height, width = self.matrices
        name, bytes_each = FORMATS[self.dtype]
        with self.file.open("rb") as file:
            file.seek(self.offset + (matrix * height + first) * width * bytes_each)
            read = np.fromfile(file, dtype=name, count=(last - first) * width)
        return read.reshape(last - first, width)

    def read_bytes(self, first: int, count: int) -> bytes:
        """``count`` bytes from byte ``first`` of the tensor."""
        with self.file.open("rb") as file:
            file.seek(self.offset + first)
            return file.read(count)


class WeightFiles(NamedTuple):
    """The tensors of a folder (or file), its parsed ``config``, what was wrong with it, and the
    names of ``lost`` shards, which its index or the names of the other shards mention."""

    path: Path
    tensors: Mapping[str, Tensor]
    config: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()
    lost: tuple[str, ...] = ()


def open_weights(path: Path, config_name: str = "config.json") -> WeightFiles:
    """Read the headers of all safetensors files at ``path``. Never raises."""
    problems: list[Problem] = []
    tensors: dict[str, Tensor] = {}
    files, lost = _files(path, problems)
    for file in files:
        for name, tensor in _header(file, problems):
            if name in tensors:
                problems.append(_problem("MM434", f"a second {excerpt(name)} is left out", file))
            elif len(tensors) < MAX_TENSORS:
                tensors[name] = tensor
    folder = path if path.is_dir() else path.parent
    config = read_json(folder / config_name, problems) or {}
    ordered = {name: tensors[name] for name in sorted(tensors)}
    return WeightFiles(path, ordered, config, tuple(problems), lost)


def is_safetensors(head: bytes) -> bool:
    """Whether this is the head of a safetensors file: eight bytes of length, then a JSON object."""
    if len(head) < 10 or head[8:9] != b"{":
        return False
    length = int.from_bytes(head[:8], "little")
    if not 2 <= length <= MAX_HEADER:
        return False
    start = head[8 : 8 + min(length, 65_536)]
    return b'"dtype"' in start or start.rstrip(b" ") == b"{}" or b'"__metadata__"' in start


def read_json(path: Path, problems: list[Problem]) -> dict[str, Any] | None:
    """A JSON object, or None; a file that is there and cannot be used becomes a problem."""
    try:
        if not path.is_file():
            return None
        raw = read_regular(path, MAX_INDEX)
        if len(raw) > MAX_INDEX or crowded(raw):
            problems.append(_problem("MM430", "is too large to be read", path))
            return None
        value = json.loads(raw)
    except OSError as error:
        problems.append(_problem("MM430", f"cannot be read: {error.strerror}", path))
        return None
    except (ValueError, RecursionError):
        problems.append(_problem("MM431", "is not valid JSON; it was left out", path))
        return None
    if not isinstance(value, dict):
        problems.append(_problem("MM431", "is not a JSON object; it was left out", path))
        return None
    return value


def _files(path: Path, problems: list[Problem]) -> tuple[list[Path], tuple[str, ...]]:
    """The files to read, and the names of shards that are not there."""
    try:
        if path.is_file():
            return [path], ()
        if not path.is_dir():
            problems.append(_problem("MM430", "is not a file or folder", path))
            return [], ()
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        problems.append(_problem("MM430", f"cannot be read: {error.strerror}", path))
        return [], ()
    files = [path / name for name in names if name.endswith(".safetensors")]
    _report_pickles(path, names, bool(files), problems)
    lost = _missing_shards(path, names, problems)
    if len(files) > MAX_FILES:
        text = f"has {len(files):,} safetensors files; the first {MAX_FILES:,} were read"
        problems.append(_problem("MM434", text, path))
    if not files and not any(problem.code == "MM433" for problem in problems):
        problems.append(_problem("MM430", "has no safetensors file", path))
    return files[:MAX_FILES], lost


def _report_pickles(
    path: Path, names: list[str], have_better: bool, problems: list[Problem]
) -> None:
    pickles = [name for name in names if name.endswith(_PICKLES)]
    if pickles and not have_better:
        text = f"holds {excerpt(pickles[0])} only, which can run code when loaded; it was not read"
        problems.append(Problem("MM433", f"{path.name} {text}", Location(str(path)), _CONVERT))


def _missing_shards(path: Path, names: list[str], problems: list[Problem]) -> tuple[str, ...]:
    index = next((name for name in names if name.endswith(".safetensors.index.json")), "")
    found = read_json(path / index, problems) if index else None
    shards = found.get("weight_map") if found else None
    if not isinstance(shards, dict):
        return _gaps(path, names, problems)
    wanted = {name for name in shards.values() if isinstance(name, str)}
    lost = sorted(wanted - set(names))
    for name in lost[:MAX_LOST]:
        count = sum(1 for shard in shards.values() if shard == name)
        text = f"the shard {excerpt(name)} is missing; its {count:,} tensors are not known"
        problems.append(_problem("MM432", text, path / index, "download it again"))
    return tuple(lost)


def _gaps(path: Path, names: list[str], problems: list[Problem]) -> tuple[str, ...]:
    """Find missing shards by the numbers in the names of the others, if there is no index."""
    found = [match for name in names if (match := _SHARD.fullmatch(name))]
    kinds = {(match["head"], match["total"]) for match in found}
    if len(kinds) != 1:
        return ()  # no shards, or those of several models
    ((head, total),) = kinds
    numbered = (f"{head}{number:05d}-of-{total}.safetensors"
                for number in range(1, min(int(total), MAX_FILES) + 1))  # fmt: skip
    lost = tuple(sorted(set(numbered) - set(names)))
    for name in lost[:MAX_LOST]:
        problems.append(_problem("MM432", f"the shard {excerpt(name)} is missing", path))
    return lost


def _header(file: Path, problems: list[Problem]) -> Iterator[tuple[str, Tensor]]:
    try:
        with open_regular(file) as opened:
            size = os.fstat(opened.fileno()).st_size
            start = opened.read(8)
            length = int.from_bytes(start, "little")
            if len(start) < 8 or not 2 <= length <= min(MAX_HEADER, size - 8):
                pickled = start.startswith(_PICKLED)
                cut = _damaged(file, "it has no header; the file may be cut")
                problems.append(_pickle(file) if pickled else cut)
                return
            raw = opened.read(length)
        if crowded(raw):
            problems.append(_damaged(file, "its header has too many values"))
            return
        entries = json.loads(raw)
    except OSError as error:
        problems.append(_problem("MM430", f"cannot be read: {error.strerror}", file))
        return
    except (ValueError, RecursionError):
        problems.append(_damaged(file, "its header is not valid JSON"))
        return
    if not isinstance(entries, dict):
        problems.append(_damaged(file, "its header is not a JSON object"))
        return
    yield from _entries(file, entries, 8 + length, size, problems)


def _entries(
    file: Path, entries: dict[str, Any], start: int, size: int, problems: list[Problem]
) -> Iterator[tuple[str, Tensor]]:
    wrong: list[str] = []
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        tensor = _tensor(file, entry, start, size) if len(name) <= MAX_NAME else None
        if tensor is None:
            wrong.append(name)
        else:
            yield name, tensor
    if wrong:
        text = f"{len(wrong):,} tensors are cut off or badly described, such as {excerpt(wrong[0])}"
        problems.append(_damaged(file, text))


def _tensor(file: Path, entry: Any, start: int, size: int) -> Tensor | None:
    """A tensor whose description holds together and whose bytes are there, or None."""
    if not isinstance(entry, dict):
        return None
    dtype = entry.get("dtype")
    shape, span = _counts(entry.get("shape")), _counts(entry.get("data_offsets"))
    if not isinstance(dtype, str) or shape is None or span is None or len(span) != 2:
        return None
    bytes_each = SIZES.get(dtype)
    if bytes_each is not None and span[1] - span[0] != math.prod(shape) * bytes_each:
        return None
    if span[1] < span[0] or start + span[1] > size:
        return None
    return Tensor(file, dtype, shape, start + span[0])


def crowded(raw: bytes) -> bool:
    """Whether JSON has more objects and lists than any model needs. Checked before parsing: each
    takes many times the memory of its two characters."""
    return raw.count(b"{") + raw.count(b"[") > MAX_CONTAINERS


def _pickle(file: Path) -> Problem:
    text = f"{file.name} holds a pickle, which can run code when loaded; it was not read"
    return Problem("MM433", text, Location(str(file)), _CONVERT)


def _counts(value: Any) -> tuple[int, ...] | None:
    """A short list of sizes, or None."""
    if not isinstance(value, list) or len(value) > 8:
        return None
    good = all(type(each) is int and 0 <= each < 2**50 for each in value)
    return tuple(value) if good else None


def _problem(code: str, message: str, path: Path, hint: str = "") -> Problem:
    return Problem(code, f"{path.name} {message}", Location(str(path)), hint)


def _damaged(file: Path, what: str) -> Problem:
    text = f"{file.name} is damaged or no safetensors file: {what}"
    return Problem("MM431", text, Location(str(file)), "download or save it again")
