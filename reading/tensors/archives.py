"""Archives of tensors within bounds, and what ``torch.save`` wrote into them, never unpickled.

The first bytes of a file decide its form, not its name.

The pickle inside is read as a list of instructions on a stack of plain values: what it would import
or call stays a name. Tensors, storages, dictionaries, lists and tuples are known, as they are to
``torch.load(weights_only=True)``; anything else refuses the file. The numbers are stored next to
the pickle as raw bytes, and are read from there.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any, BinaryIO, NamedTuple

MAX_DIRECTORY = 8 << 20
"""Bytes of the directory of an archive, some 80,000 entries."""
MAX_RATIO = 200
FREE = 64 << 20
"""An entry may unpack to this many bytes, however small it is packed."""
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_UNKNOWN = 0xFFFFFFFF
_TAIL = 65_535 + 22 + 20 + 56  # comment, record, locator and 64-bit record
MAX_PICKLE = 8 << 20
MAX_STEPS = 1_000_000
_MAX_DEPTH = 8
_MAX_KEY = 1_000
_MAX_NODES = 100_000
_FORMATS = {"FloatStorage": "<f4", "HalfStorage": "<f2", "DoubleStorage": "<f8",
            "BFloat16Storage": "BF16"}  # fmt: skip
_NUMBERS = ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE",
            "BINUNICODE8")  # fmt: skip
_PLAIN = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK = object()


class PickledError(ValueError):
    """The file would have to be unpickled, which can run code."""


def form_of(head: bytes) -> str:
    """``safetensors``, ``npy``, ``zip``, ``pickle``, or empty for none of them."""
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head[8:9] == b"{":
        return "safetensors"
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    # Protocol 2 and later; an older one has no mark of its own and fits none of the forms.
    return "pickle" if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05" else ""


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """Open the archive without reading any member. Raises ``ValueError`` if its directory is too
    large to search, and the errors of zipfile."""
    size = _directory_size(file)
    if size > MAX_DIRECTORY:
        raise ValueError(f"its directory has {size:,} bytes; {MAX_DIRECTORY:,} are read")
    return zipfile.ZipFile(file)


def is_bomb(info: zipfile.ZipInfo) -> bool:
    """Whether a member unpacks to far more than tensors do."""
    return info.file_size > max(FREE, MAX_RATIO * info.compress_size)


def _directory_size(file: BinaryIO) -> int:
    """Return the size of the directory as zipfile will find it: the record at the very end, else
    the last one in the tail."""
    end = file.seek(0, 2)
    file.seek(max(0, end - _TAIL))
    tail = file.read(_TAIL)
    file.seek(0)
    at = len(tail) - 22
    if tail[at : at + 4] != _END:
        at = tail.rfind(_END)
    size = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if size != _UNKNOWN:
        return size
    longer = tail.rfind(_END_64, 0, at)
    return int.from_bytes(tail[longer + 40 : longer + 48], "little") if longer >= 0 else size


class Name(NamedTuple):
    """A name that the pickle would import; it is never imported."""

    module: str
    name: str


class Storage(NamedTuple):
    """Raw numbers of one format in the member ``data/KEY``."""

    format: str
    kind: str
    key: str


class Saved(NamedTuple):
    """A tensor: its numbers begin ``offset`` elements into the storage. ``reason`` explains why
    they cannot be read in order."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    reason: str = ""


def is_saved(archive: zipfile.ZipFile) -> bool:
    """Whether it holds a pickle as ``torch.save`` names it."""
    return any(_is_pickle(name) for name in archive.namelist())


def saved_tensors(archive: zipfile.ZipFile, stem: str) -> Iterator[tuple[str, str, Saved]]:
    """Key, member and description of each tensor; ``stem`` names one that has no key. Raises
    :class:`PickledError` if the pickle holds more than tensors in plain containers, ``ValueError``
    for a damaged one, and the errors of zipfile."""
    infos = {info.filename: info for info in archive.infolist()}
    pickles = [name for name in infos if _is_pickle(name)]
    info = infos[pickles[0]]
    if len(pickles) > 1 or info.file_size > MAX_PICKLE or is_bomb(info):
        raise PickledError("it holds more pickle than descriptions of tensors need")
    root = info.filename.removesuffix("data.pkl")
    if root + "byteorder" in infos:
        with archive.open(root + "byteorder") as order:
            if order.read(16).strip() != b"little":
                raise ValueError("its numbers are big-endian")
    value = _Machine().run(archive.read(info))
    for key, saved in _flat(value, stem):
        member = f"{root}data/{saved.storage.key}"
        if member not in infos:
            raise ValueError(f"the numbers of {key[:80]} are missing")
        yield key, member, saved


def _is_pickle(name: str) -> bool:
    return name == "data.pkl" or name.endswith("/data.pkl")


def _flat(value: object, stem: str) -> Iterator[tuple[str, Saved]]:
    """The tensors in nested containers: keys are joined by points, places in a tuple by ``_``."""
    nodes = count()

    def below(each: object, key: str, depth: int) -> Iterator[tuple[str, Saved]]:
        if depth > _MAX_DEPTH or len(key) > _MAX_KEY or next(nodes) > _MAX_NODES:
            raise PickledError("it holds more containers, or longer keys, than tensors need")
        if isinstance(each, Saved):
            yield key or stem, each
        elif isinstance(each, dict):
            for name, inner in each.items():
                yield from below(inner, f"{key}.{name}" if key else str(name), depth + 1)
        elif isinstance(each, list | tuple):
            for place, inner in enumerate(each):
                yield from below(inner, f"{key or stem}_{place}", depth + 1)

    yield from below(value, "", 0)


class _Machine:
    """The stack and the memo of a pickle, with plain values alone."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self._acts: dict[str, Callable[[Any], None]] = {
            "MARK": lambda _: self.stack.append(_MARK),
            "EMPTY_DICT": lambda _: self.stack.append({}),
            "EMPTY_LIST": lambda _: self.stack.append([]),
            "TUPLE": lambda _: self.stack.append(tuple(self._marked())),
            "GLOBAL": lambda text: self.stack.append(Name(*text.split(" ", 1))),
            "STACK_GLOBAL": lambda _: self.stack.append(Name(self.stack.pop(-2), self.stack.pop())),
            "BINPERSID": lambda _: self.stack.append(_storage(self.stack.pop())),
            "REDUCE": lambda _: self._call(),
            "BUILD": lambda _: self._attributes(),
            "SETITEM": lambda _: self._items([self.stack.pop(-2), self.stack.pop()]),
            "SETITEMS": lambda _: self._items(self._marked()),
            "APPEND": lambda _: self._extend([self.stack.pop()]),
            "APPENDS": lambda _: self._extend(self._marked()),
            "MEMOIZE": lambda _: self._keep(len(self.memo)),
            **dict.fromkeys(("BINPUT", "LONG_BINPUT"), self._keep),
            **dict.fromkeys(("BINGET", "LONG_BINGET"), lambda n: self.stack.append(self.memo[n])),
            **dict.fromkeys(_NUMBERS, self.stack.append),
            **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda _: None),
        }

    def run(self, pickled: bytes) -> object:
        """The value that the pickle describes."""
        from pickletools import genops  # names the instructions, and carries none out

        try:
            for step, (code, argument, _) in enumerate(islice(genops(pickled), MAX_STEPS + 1)):
                if step == MAX_STEPS:
                    raise PickledError("it has more instructions than tensors need")
                self._step(code.name, argument)
            (value,) = self.stack
        except PickledError:
            raise
        except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
            raise ValueError("its list of tensors is damaged") from error
        return value

    def _step(self, code: str, argument: object) -> None:
        if code in _PLAIN:
            self.stack.append(_PLAIN[code])
        elif code in _TUPLES:
            found = [self.stack.pop() for _ in range(_TUPLES[code])]
            self.stack.append(tuple(reversed(found)))
        elif code in self._acts:
            self._acts[code](argument)
        else:
            raise PickledError(f"{code} describes no tensor")

    def _keep(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def _marked(self) -> list[Any]:
        """Take off the last mark and everything above it, and return the latter."""
        found = []
        while (each := self.stack.pop()) is not _MARK:
            found.append(each)
        return found[::-1]

    def _items(self, flat: list[Any]) -> None:
        target = self.stack[-1]
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            if not isinstance(target, dict) or not isinstance(key, str | int):
                raise PickledError("a key is not a name")
            target[key] = value

    def _extend(self, values: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise PickledError("it appends to no list")
        self.stack[-1].extend(values)

    def _attributes(self) -> None:
        """Attributes such as the ``_metadata`` of a state dictionary; they are ignored."""
        self.stack.pop()
        if not isinstance(self.stack[-1], dict):
            raise PickledError("it sets the state of an object")

    def _call(self) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        known = _CALLS.get(called) if isinstance(called, Name) else None
        if known is None or not isinstance(arguments, tuple):
            raise PickledError("it calls more than tensors need")
        self.stack.append(known(*arguments))


def _storage(found: object) -> Storage:
    tag, kind, key, *_ = found if isinstance(found, tuple) and len(found) > 2 else ("", "", "")
    if tag != "storage" or not isinstance(kind, Name) or not isinstance(key, str):
        raise PickledError("it refers to something that is not a storage")
    known = kind.module == "torch" and kind.name.endswith("Storage")
    if not known and kind.module != "torch.storage":
        raise PickledError("its storage is none of torch")
    return Storage(_FORMATS.get(kind.name, ""), kind.name.removesuffix("Storage").lower(), key)


def _tensor(storage: object, offset: int, shape: Any, stride: Any, *_: object) -> Saved:
    if not isinstance(storage, Storage):
        raise PickledError("a tensor without a storage")
    numbers = (offset, *shape, *stride)
    if len(shape) > 8 or len(shape) != len(stride):
        raise ValueError("the shape is not one of a tensor")
    if not all(type(n) is int and 0 <= n < 2**50 for n in numbers):
        raise ValueError("the shape is not one of a tensor")
    reason = "" if storage.format else f"its number format is {storage.kind}"
    if not reason and not _in_order(shape, stride):
        reason = "its numbers do not lie in order"
    return Saved(storage, offset, tuple(shape), reason)


def _in_order(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    wanted = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size == 0:
            return True
        if size > 1 and step != wanted:
            return False
        wanted *= size
    return True


def _parameter(data: object, *_: object) -> object:
    return data


def _ordered(*items: object) -> dict[object, object]:
    if items:
        raise PickledError("a dictionary made of something else")
    return {}


_CALLS: dict[Name, Callable[..., object]] = {
    Name("torch._utils", "_rebuild_tensor_v2"): _tensor,
    Name("torch._utils", "_rebuild_parameter"): _parameter,
    Name("collections", "OrderedDict"): _ordered,
    Name("torch", "Size"): _parameter,
}
