"""Stored tensors of safetensors, npy, npz and pt files, read piece by piece from front to back.

Nothing is unpickled: of what torch.save writes the description of the tensors is read as data,
other pickles are refused by name and by content, and arrays of objects by their header. Problems:
MM511 a file is damaged or cannot be read, MM512 pickles are never loaded, MM513 a tensor is of a
form that cannot be compared, MM515 a bound left something out (and MM430 to MM434 for
safetensors).
"""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from ...facts.problems import Location, Problem, excerpt
from ...facts.regular_files import open_regular
from . import np
from .archives import PickledError, form_of, is_bomb, is_saved, open_archive, saved_tensors
from .number_formats import FORMATS
from .safetensors_files import open_weights

TORCH = (".pt", ".pth")
SUFFIXES = (".safetensors", ".npy", ".npz", *TORCH)
PICKLES = (".pkl", ".bin", ".ckpt")
MAX_FILES = 4_000
MAX_TENSORS = 20_000
_MAX_HEADER = 10_000  # it is parsed as Python; numpy has the same bound
_WIDTHS = {"<f4": 4, "<f2": 2, "<f8": 8, "BF16": 2}
_CONVERT = (
    "convert them where you trust them: torch.load(file, weights_only=True), then "
    "safetensors.torch.save_file"
)


class Stored(NamedTuple):
    """A tensor in a file: ``key`` is its name inside, ``offset`` bytes precede its numbers (in the
    member ``member`` of an npz file), ``format`` is a numpy type, or ``BF16``."""

    file: Path
    key: str
    shape: tuple[int, ...]
    format: str
    offset: int
    member: str = ""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def open(self) -> Reader:
        """Start reading. Raises ``OSError`` and the errors of zipfile."""
        return Reader(self)


def _opened(stored: Stored, opened: ExitStack) -> IO[bytes]:
    """The file, or the member of an archive that ``opened`` closes."""
    if not stored.member:
        return stored.file.open("rb")
    return opened.enter_context(zipfile.ZipFile(stored.file)).open(stored.member)


class Reader:
    """Reads the numbers of a tensor in order; used as a context.

    Every piece uses the same memory, which stays in the cache of the processor: the result of
    :meth:`read` is valid until the next call.
    """

    def __init__(self, stored: Stored) -> None:
        self._bits = stored.format == "BF16"
        self._kind = "<u2" if self._bits else stored.format
        self._width = 2 if self._bits else int(stored.format[-1])
        self._raw = bytearray()
        self._wide: Any = None
        self._packed = bool(stored.member)
        with ExitStack() as opened:
            self._file = opened.enter_context(_opened(stored, opened))
            self._file.seek(stored.offset)
            self._opened = opened.pop_all()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def read(self, count: int) -> Any:
        """The next ``count`` numbers: in float64 if the file has that format, else in float32,
        which holds every shorter format exactly. Raises ``ValueError`` at an early end."""
        self._fill(count * self._width)
        numbers = np.frombuffer(self._raw, self._kind, count)
        if self._width > 2:
            return numbers.astype(numbers.dtype.newbyteorder("="), copy=False)
        if self._wide is None or len(self._wide) < count:
            self._wide = np.empty(count, np.uint32)
        wide = self._wide[:count]
        if self._bits:
            np.left_shift(numbers, 16, out=wide, dtype=np.uint32)
            return wide.view(np.float32)
        np.copyto(wide.view(np.float32), numbers)
        return wide.view(np.float32)

    def _fill(self, size: int) -> None:
        if len(self._raw) < size:
            self._raw = bytearray(size)
        left = memoryview(self._raw)[:size]
        while left:
            found = self._file.readinto(left)  # type: ignore[attr-defined]
            if not found:
                raise ValueError("the file ends before its tensor does")
            left = left[found:]

    def skip(self, count: int) -> None:
        """Pass over ``count`` numbers."""
        left = count * self._width
        if left and not self._packed:
            self._file.seek(left, 1)
            return
        while left > 0:
            part = self._file.read(min(left, 1 << 20))
            if not part:
                raise ValueError("the file ends before its tensor does")
            left -= len(part)


def numbers(stored: Stored) -> Any:
    """All numbers of a tensor, in float32."""
    with stored.open() as reader:
        return np.array(reader.read(stored.size), dtype=np.float32).reshape(stored.shape)


def list_stored(path: Path, problems: list[Problem]) -> list[Stored]:
    """Every tensor of a file or of the files directly in a folder, sorted by file. Never raises."""
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
    except OSError as error:
        problems.append(_damaged(path, f"cannot be read: {error.strerror}"))
        return []
    pickles = [file for file in files if file.suffix.lower() in PICKLES]
    if pickles:
        text = (f"{len(pickles):,} pickle files such as {excerpt(pickles[0].name)} can run code "
                "when they are loaded; they were not read")  # fmt: skip
        problems.append(Problem("MM512", text, Location(str(path)), _CONVERT))
    files = _chosen(files)
    found: list[Stored] = []
    for file in files[:MAX_FILES]:
        found.extend(_of_file(file, problems))
    if len(files) > MAX_FILES or len(found) > MAX_TENSORS:
        text = f"more than {MAX_FILES:,} files or {MAX_TENSORS:,} tensors; the rest is left out"
        problems.append(Problem("MM515", text, Location(str(path))))
    return found[:MAX_TENSORS]


def _chosen(files: list[Path]) -> list[Path]:
    """Files of tensors; a torch file only if there is no other form of the same name."""
    known = [file for file in files if file.suffix.lower() in SUFFIXES]
    others = {file.stem for file in known if file.suffix.lower() not in TORCH}
    return [f for f in known if f.suffix.lower() not in TORCH or f.stem not in others]


def _of_file(file: Path, problems: list[Problem]) -> Iterator[Stored]:
    try:
        with open_regular(file) as opened:
            form = form_of(opened.read(16))
            opened.seek(0)
            if form == "pickle":
                raise PickledError
            if form == "npy":
                found = _array(opened, file, file.stem, "", problems)
                if found is not None and _complete(found, opened.seek(0, 2), problems):
                    yield found
            elif form == "zip":
                yield from _members(opened, file, problems)
            elif not form and file.suffix.lower() != ".safetensors":
                raise ValueError("it has the form of no tensor file")
            else:
                yield from _safetensors(file, problems)
    except PickledError:
        text = f"{file.name} holds a pickle, which can run code when it is loaded; it was not read"
        problems.append(Problem("MM512", text, Location(str(file)), _CONVERT))
    except Exception as error:  # noqa: BLE001 - readers of others raise what they like
        problems.append(_damaged(file, str(error)[:200] or type(error).__name__))


def _safetensors(file: Path, problems: list[Problem]) -> Iterator[Stored]:
    opened = open_weights(file)
    problems.extend(opened.problems)
    for name, tensor in opened.tensors.items():
        if tensor.dtype not in FORMATS:
            problems.append(_form(file, name, f"its number format is {tensor.dtype}"))
            continue
        kind = "BF16" if tensor.dtype == "BF16" else FORMATS[tensor.dtype][0]
        yield Stored(file, name, tensor.shape, kind, tensor.offset)


def _members(opened: BinaryIO, file: Path, problems: list[Problem]) -> Iterator[Stored]:
    with open_archive(opened) as archive:
        if is_saved(archive):
            yield from _saved(archive, file, problems)
            return
        for info in archive.infolist()[:MAX_TENSORS]:
            if not info.filename.endswith(".npy"):
                continue
            if is_bomb(info):
                text = f"{excerpt(info.filename)} would unpack to {info.file_size:,} bytes"
                text = f"{file.name}: {text}; it is left out"
                hint = "save it without compression"
                problems.append(Problem("MM515", text, Location(str(file)), hint))
                continue
            with archive.open(info) as member:
                key = info.filename.removesuffix(".npy")
                found = _array(member, file, key, info.filename, problems)
            if found is not None and _complete(found, info.file_size, problems):
                yield found


def _saved(archive: zipfile.ZipFile, file: Path, problems: list[Problem]) -> Iterator[Stored]:
    """The tensors that torch.save wrote; none of a file that is refused."""
    for key, member, saved in list(saved_tensors(archive, file.stem)):
        info = archive.getinfo(member)
        width = _WIDTHS.get(saved.storage.format, 1)
        if saved.reason:
            remedy = ".contiguous()" if saved.storage.format else ""
            problems.append(_form(file, key, saved.reason, remedy))
        elif info.compress_type != zipfile.ZIP_STORED:
            problems.append(_form(file, key, "its numbers are packed", "torch.save"))
        elif (saved.offset + math.prod(saved.shape)) * width > info.file_size:
            problems.append(_damaged(file, f"{excerpt(key)} is cut off"))
        else:
            start = saved.offset * width
            yield Stored(file, key, saved.shape, saved.storage.format, start, member)


def _array(
    opened: IO[bytes], file: Path, key: str, member: str, problems: list[Problem]
) -> Stored | None:
    """Read the header of an npy array."""
    from numpy.lib import format as npy

    version = npy.read_magic(opened)
    if version not in ((1, 0), (2, 0)):
        problems.append(_form(file, key, f"version {version} of the format is not known"))
        return None
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shape, fortran, kind = read(opened, max_header_size=_MAX_HEADER)
    if len(shape) > 8 or not all(type(n) is int and 0 <= n < 2**50 for n in shape):
        raise ValueError("the shape is not one of an array")
    if kind.kind != "f" or kind.itemsize not in (2, 4, 8):
        problems.append(_form(file, key, f"its number format is {kind}"))
        return None
    if fortran and len(shape) > 1:
        problems.append(_form(file, key, "it is stored column by column", "np.ascontiguousarray"))
        return None
    return Stored(file, key, tuple(shape), kind.str, opened.tell(), member)


def _complete(stored: Stored, size: int, problems: list[Problem]) -> bool:
    if stored.offset + stored.size * int(stored.format[-1]) <= size:
        return True
    problems.append(_damaged(stored.file, f"{excerpt(stored.key)} is cut off"))
    return False


def _form(file: Path, name: str, reason: str, remedy: str = "") -> Problem:
    hint = f"save it after {remedy}" if remedy else "save it in float32, float16 or bfloat16"
    text = f"{excerpt(name)} cannot be compared: {reason}"
    return Problem("MM513", text, Location(str(file)), hint)


def _damaged(file: Path, what: str) -> Problem:
    return Problem("MM511", f"{file.name} is damaged or cannot be read: {what}",
                   Location(str(file)), "save it again")  # fmt: skip
