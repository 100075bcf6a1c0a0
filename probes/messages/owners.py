"""Whose message is it? The owner of a message, its certainty, and the evidence.

The signs are data (``owners`` of the vocabulary). The strongest kind of sign decides: the module of
the exception, the frame that raised it, a class name that only one package has, the logger, an
address, the beginning of the line, the wording, a name, the words of a message that the sources
of one package have. Two owners at one place are not an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...facts.owners import Owner, relaying
from ...reading.text.traceback_lines import Frame
from .http_statuses import Response, operation_of
from .known_sites import OWNERS, KnownSite, known_sites
from .message import Message, unwrapped

OTHER_SERVICE = "other_service"
# Python's import reports missing packages, whoever imports them.
_IMPORTING = "<frozen importlib"
USER = "user"
_PYTHON = "python"
_TORCH = "torch"
_SERIALIZED = "code/__torch__/"
_PACKAGES = re.compile(r"(?:site|dist)-packages>?/(.+)\Z")
_STANDARD = re.compile(r"/python3\.\d+/|/Python3\d+/[Ll]ib/|\A<(?:frozen |stdlib>)")
_ADDRESS = re.compile(r"(?:\w{1,20}://(?:[^\s/@'\"]{1,100}@)?|\bhost='?)([A-Za-z0-9_.-]{1,250})")
_TRACKER = re.compile(r"/[^\s'\"]{0,200}/(?:issues|discussions)\b")  # page for reports
_WORD = re.compile(r"[a-z][\w.-]*")
_WORDS = "the words"
_NAME = "the name"
_HOST = "the address"
_LOCAL = frozenset({"localhost", "127.0.0.1", "0.0.0.0"})
_API = "/api/v1/"
_LONGEST = 4_000
_MOST_ADDRESSES = 8
_MOST_REMEMBERED = 20_000
_NO_DIGITS = str.maketrans("", "", "0123456789")


class Attribution(NamedTuple):
    """An owner; ``sure`` if the class or the raising frame names it, not only an indirect sign."""

    owner: str
    sure: bool
    evidence: str


class Origins:
    """Attributes messages to the software that wrote them (their owner), by the signs that
    ``owners`` declares for each owner. Not thread-safe."""

    def __init__(self, owners: Mapping[str, Owner]) -> None:
        each = [(name, owners[name].signs) for name in owners]
        self._generic = {name for name in owners if owners[name].generic}
        self._relays = set(relaying(owners))
        self._family = {name: owners[name].family or name for name in owners}
        self._modules = _by_text(each, "modules")
        self._classes = _by_text(each, "exceptions")
        self._loggers = _by_text(each, "loggers")
        self._folders = [(f"/{text}/", name) for text, name in _pairs(each, "folders")]
        self._hosts = _by_text(each, "hosts")
        self._prefixes = _pairs(each, "prefixes")
        self._wording = _pairs(each, "wording")
        self._names = _by_text(each, "names")
        self._surroundings = _pairs(each, "surroundings")
        self._operations = {op: name for name in owners for op in owners[name].operations}
        self._known: dict[tuple[object, ...], Attribution | None] = {}

    def of(self, message: Message) -> Attribution | None:
        """The owner of a message by its own signs; None if there are none."""
        key = (message.text[:_LONGEST].translate(_NO_DIGITS), message.module, message.exception,
               message.logger, message.frames or message.file, bool(message.responses))  # fmt: skip
        if key not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = self._of(message)
        return self._known[key]

    def of_response(self, message: Message, response: Response) -> str:
        """The owner of an HTTP answer that a message reports; "" if unknown."""
        found = self.of(message)
        if found and not self.passes_on(found.owner):
            return found.owner
        owner = self._operations.get(response.operation, "")
        return owner or (found.owner if found and found.owner in self._generic else "")

    def spoken_of(self, text: str) -> dict[str, str]:
        """The owners whose software a text is about as a whole, each with the word that shows
        it."""
        found: dict[str, str] = {}
        for words, owner in self._surroundings:
            if owner not in found and words in text:
                found[owner] = words
        return found

    def within(self, found: Attribution, about: Collection[str]) -> Attribution | None:
        """Limit the certainty of an owner in a text ``about`` other software. The other software's
        messages also come out of frames of the framework or script that calls it, so the owner is
        no longer sure. Names and addresses, such as those of a container or an index, are not
        evidence: None."""
        if not about or any(owner == found.owner for _, owner in self._surroundings):
            return found
        if found.evidence.startswith((_NAME, _HOST)):
            return None
        return found._replace(sure=False)

    def is_own(self, file: str) -> bool:
        """Whether a source file is the user's own."""
        return self._place(file)[0] == USER

    def is_generic(self, owner: str) -> bool:
        """Whether an owner is a library that others call."""
        return owner in self._generic

    def passes_on(self, owner: str) -> bool:
        """Whether an owner is a library that others call, or relays their messages."""
        return owner in self._generic or owner in self._relays

    def family(self, owner: str) -> str:
        """The common name of owners that give each other's messages."""
        return self._family.get(owner, owner)

    def _of(self, message: Message) -> Attribution | None:
        raised = self._by_module(message) or self._by_frames(message, "raised in")
        if raised and raised.owner in self._family and not self.passes_on(raised.owner):
            return raised
        traced = None
        if raised is None or raised.owner in self._generic:
            traced = self._by_traces(message)
        known = None if traced and self._stays(traced) else _by_words(message)
        if known and raised and known.owner in self._generic:
            known = None  # a library that others call: the frame names it as well
        return known or traced or raised

    def _stays(self, traced: Attribution) -> bool:
        """Whether to keep an owner. A generic owner is looked up again. So is an owner that only a
        name or the wording supports, if its family has other members."""
        weak = traced.evidence.startswith((_WORDS, _NAME))
        return traced.owner not in self._generic and (
            not weak or self._family[traced.owner] != traced.owner
        )

    def _by_module(self, message: Message) -> Attribution | None:
        if not message.module:
            return None
        owner = self._of_module(message.module)
        said = f"the class {message.module}.{message.exception}"
        if owner in self._generic:
            caller = self._by_frames(message, f"{said} through")
            return caller or Attribution(owner, True, said)
        called = _with_caller(said, self._calling(message.frames))
        if owner:
            return Attribution(owner, True, called)
        frames = message.frames
        if frames and self._place(frames[-1].file)[0] == USER:
            return Attribution(USER, True, called)
        return Attribution(message.module.partition(".")[0].lower(), bool(frames), called)

    def _by_frames(self, message: Message, how: str) -> Attribution | None:
        """The innermost frame that is not of a generic library; without any, that library."""
        frames = message.frames
        if not frames and message.file:
            frames = (Frame(message.file, message.line),)
        generic = ""
        for at in range(len(frames) - 1, -1, -1):
            owner, short = self._place(frames[at].file)
            if owner in self._generic:
                generic = generic or owner
                continue
            said = f"{how} {_at(short, frames[at])}"
            if owner != USER:
                said = _with_caller(said, self._calling(frames[:at]))
            return Attribution(owner, True, said)
        if not generic or frames[-1].file.startswith(_IMPORTING):
            return None
        return Attribution(generic, True, f"{how} {_at(*self._last(frames))}")

    def _last(self, frames: Sequence[Frame]) -> tuple[str, Frame]:
        return self._place(frames[-1].file)[1], frames[-1]

    def _calling(self, frames: Sequence[Frame]) -> str:
        """The last line of the user's own code, as text."""
        for frame in reversed(frames):
            owner, short = self._place(frame.file)
            if owner == USER:
                return f"line {frame.line} of {short}"
        return ""

    def _place(self, file: str) -> tuple[str, str]:
        """The owner of a source file, and its path in short."""
        path = file.replace("\\", "/").removeprefix(_SERIALIZED)
        packed = _PACKAGES.search(path)
        if packed:
            module = _dotted(packed[1])
            return self._of_module(module) or module.partition(".")[0].lower(), packed[1]
        for folder, name in self._folders:
            if folder in path:
                return name, path[path.rindex(folder) + 1 :]
        inside = _left(path)
        if "/" in inside:
            module = _dotted(inside)
            package = module.partition(".")[0].lower() if module.count(".") > 1 else ""
            if owner := self._of_module(module) or package:  # a folder of one's own is not as deep
                return owner, inside
        if _STANDARD.search(path):
            return _PYTHON, path.rpartition("/")[2]
        if file.startswith(_SERIALIZED):  # files that tracing wrote of a model belong to no owner
            return self._of_module(path.replace("/", ".")) or _TORCH, path
        return USER, path.rpartition("/")[2]

    def _of_module(self, module: str) -> str:
        """The owner of the longest known part of a dotted name."""
        while module:
            if module in self._modules:
                return self._modules[module]
            module = module.rpartition(".")[0]
        return ""

    def _by_traces(self, message: Message) -> Attribution | None:
        """The owner by indirect signs."""
        owner = self._classes.get(message.exception, "")
        if owner:
            return Attribution(owner, False, f"the class name {message.exception}")
        logger = message.logger
        owner = self._of_module(logger) or self._loggers.get(logger, "") if logger else ""
        if owner and owner not in self._generic:
            return Attribution(owner, False, f"the logger {logger}")
        text = message.text[:_LONGEST]
        found = self._by_address(message, text) or self._by_beginning(text)
        found = found or self._by_wording(text)
        if found or not owner:
            return found
        return Attribution(owner, False, f"the logger {logger}")

    def _by_address(self, message: Message, text: str) -> Attribution | None:
        if "://" not in text and "host=" not in text and _API not in text:
            return None
        operation = self._operation(text)
        unknown = ""
        for number, match in enumerate(_ADDRESS.finditer(text)):
            if _TRACKER.match(text, match.end()):
                continue
            host = match[1].lower().rstrip(".")
            owner = self._of_host(host)
            if owner:
                return Attribution(owner, False, f"the address {host}")
            unknown = unknown or ("" if operation else host)
            if number >= _MOST_ADDRESSES:
                break
        if operation:
            return Attribution(self._operations[operation], False, f"the path {_API}{operation}")
        connecting = message.responses or "host=" in text
        if unknown and connecting and ("." in unknown or unknown in _LOCAL):
            return Attribution(OTHER_SERVICE, False, f"the address {unknown}")
        return None

    def _operation(self, text: str) -> str:
        at = text.find(_API)
        operation = operation_of(text[at : at + 300]) if at >= 0 else ""
        return operation if operation in self._operations else ""

    def _of_host(self, host: str) -> str:
        while host:
            if host in self._hosts:
                return self._hosts[host]
            host = host.partition(".")[2]
        return ""

    def _by_beginning(self, text: str) -> Attribution | None:
        for prefix, owner in self._prefixes:
            if text.startswith(prefix):
                return Attribution(owner, False, f"the beginning {prefix.strip()!r}")
        return None

    def _by_wording(self, text: str) -> Attribution | None:
        found = [(owner, words) for words, owner in self._wording if words in text]
        said = _WORDS if found else _NAME
        if not found:
            each = dict.fromkeys(_WORD.findall(text.lower()))
            found = [(self._names[word], word) for word in each if word in self._names]
        specific = [each for each in found if each[0] not in self._generic] or found
        if len({self.family(owner) for owner, _ in specific}) != 1:
            return None
        owner, words = specific[0]
        return Attribution(owner, False, f"{said} {words.strip()!r}")


def owner_values(found: Attribution | None, site: KnownSite | None = None) -> dict[str, str]:
    """The attributes of an ``error_message`` that name its owner and the place that gives it; none
    if the owner is unknown."""
    if found is None:
        return {}
    sure = "certain" if found.sure else "likely"
    held = f"; it is said where {site.guard}" if site and site.guard else ""
    values = {"owner": found.owner, "owner_confidence": sure,
              "owner_evidence": found.evidence + held}  # fmt: skip
    told = {"said_by": site.place, "guard": site.guard} if site else {}
    return values | {name: value for name, value in told.items() if value}


def _by_words(message: Message) -> Attribution | None:
    """The owner of a message that only the public sources of one package contain."""
    known = known_sites().find(message.text[:_LONGEST], message.exception)
    return Attribution(known.owner, False, known.evidence) if known else None


def site_of(message: Message, found: Attribution | None) -> KnownSite | None:
    """The place in the public sources of the Neuron stack that writes this message."""
    if found is None or found.owner not in OWNERS:
        return None
    calls = [(_module_of(each.file), each.function) for each in reversed(message.frames)]
    site = known_sites().find(unwrapped(message.text[:_LONGEST]), message.exception, calls)
    raised = message.exception and not message.exception.endswith("Warning")
    return site._replace(goes_on=False) if site and raised else site


def origins_of(owners: Mapping[str, Owner]) -> Origins:
    """The finder of owners, cached for the last vocabulary."""
    if not _LATEST or _LATEST[0][0] is not owners:
        _LATEST[:] = [(owners, Origins(owners))]
    return _LATEST[0][1]


_LATEST: list[tuple[Mapping[str, Owner], Origins]] = []
_Signs = Iterable[tuple[str, Mapping[str, Sequence[str]]]]


def _pairs(each: _Signs, kind: str) -> list[tuple[str, str]]:
    return [(text, name) for name, signs in each for text in signs.get(kind, ())]


def _by_text(each: _Signs, kind: str) -> dict[str, str]:
    return dict(_pairs(each, kind))


def _module_of(file: str) -> str:
    """The module of an installed file; "" for another one."""
    path = file.replace("\\", "/")
    packed = _PACKAGES.search(path)
    return _dotted(packed[1] if packed else _left(path))


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _left(path: str) -> str:
    """The rest of a path whose beginning the user replaced by dots: ``.../a/b.py``."""
    for dots in ("/.../", "/…/"):
        _, found, inside = f"/{path}".rpartition(dots)
        if found:
            return inside
    return ""


def _at(short: str, frame: Frame) -> str:
    return f"{short}:{frame.line}" if frame.line else short


def _with_caller(said: str, line: str) -> str:
    return f"{said}, called from {line}" if line else said
