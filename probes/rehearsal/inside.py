"""Notes the lines of a job that call the Tinker SDK, and the calls whose results it takes.

Every public method of the SDK's clients gets a number when it is called; the requests that it sends
carry that number, so that the stand-in can tell which call a request belongs to. A line goes to the
file of the process when a call begins, and when its result is first asked for: numbers, names of
methods, files and lines, and never arguments or results. The SDK is pointed at the stand-in even if
the job names another address.

It is loaded by *other* interpreters, hence: standard library only, Python 3.8 and later, no
relative imports. Its own errors are swallowed.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from importlib.machinery import PathFinder
from typing import Any

HEADER = "x-modelmedic-call"
MAX_CALLS = 200_000
MAX_FRAMES = 3  # of the job's own, that tell two calls of one line apart
_LIBRARIES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep,
              os.path.dirname(os.__file__) + os.sep, "<frozen")  # fmt: skip
_VALUES = ("Datum", "AdamParams", "SamplingParams")
_CALLBACK = (os.path.join("asyncio", "events.py"), "_run")
_ASKING = (
    "result",
    "result_async",
    "future",
    "exception",
    "done",
    "add_done_callback",
    "__await__",
)
_CALL: ContextVar[int | None] = ContextVar("modelmedic_rehearsed_call", default=None)


class Notes:
    """The file of this process, and what it hooks into."""

    def __init__(self, path: str, url: str) -> None:
        self._url = url
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._lock = threading.Lock()
        self._number = 0
        self._asked: set[int] = set()
        self._taught: set[type] = set()
        self._hooks = {
            "tinker.lib.sdk_method": self._number_calls,
            "tinker.lib.base_url": self._point,
            "tinker.types": self._remember,
        }
        self._made: dict[int, tuple[list[Any], list[str]]] = {}
        self._builds = 0
        self._contents: set[int] = set()

    def install(self) -> None:
        """Change the modules of the SDK as soon as they are imported."""
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The module's own spec, whose loader also runs the hook of the module."""
        hook = self._hooks.pop(name, None)
        if hook is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            with suppress(Exception):
                hook(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _point(self, module: Any) -> None:
        module.resolve_base_url = lambda base_url=None: self._url

    def _remember(self, module: Any) -> None:
        """Note the line that makes a value which calls take, and the names it ignores."""
        for name in _VALUES:
            cls = getattr(module, name)
            cls.__init__ = self._making(cls.__init__, set(getattr(cls, "model_fields", ())))

    def _making(self, make: Callable[..., Any], fields: set[str]) -> Callable[..., Any]:
        @functools.wraps(make)
        def made(value: Any, *args: Any, **kwargs: Any) -> None:
            with suppress(Exception):
                if len(self._made) >= MAX_CALLS:
                    self._made.clear()
                ignored = sorted(set(kwargs) - fields) if fields else []
                self._made[id(value)] = _places(sys._getframe(1))[:1], ignored
                self._builds += 1
            make(value, *args, **kwargs)
            with suppress(Exception):
                if len(self._contents) < MAX_CALLS:
                    self._contents.add(_content(value))

        return made

    def _made_of(self, args: Sequence[Any]) -> tuple[list[Any], list[str]]:
        """The place that made an argument of a call, and what was ignored there."""
        for each in args:
            first = each[0] if isinstance(each, list) and each else each
            if id(first) in self._made and type(first).__name__ in _VALUES:
                return self._made[id(first)]
        return [], []

    def _number_calls(self, module: Any) -> None:
        track, headers = module._tracked, module.current_sdk_method_headers
        outermost = module._current_sdk_method

        def tracked(method: Any, name: str) -> Any:
            # The wrapper of a deprecated method warns so many frames up: it stays outermost.
            if module._is_deprecated_wrapper(method):
                return track(method, name)
            return self._noting(name, method, outermost)

        def numbered() -> dict[str, str]:
            call = _CALL.get()
            mine = {} if call is None else {HEADER: f"{os.getpid()}-{call}"}
            return {**headers(), **mine}

        module._tracked = tracked
        module.current_sdk_method_headers = numbered

    def _noting(self, name: str, method: Callable[..., Any], outermost: Any) -> Callable[..., Any]:
        @functools.wraps(method)
        def noted(*args: Any, **kwargs: Any) -> Any:
            if outermost.get() is not None:  # a call of the SDK to itself
                return method(*args, **kwargs)
            number = self._begin(name, [*args[1:], *kwargs.values()])
            tokens = outermost.set(name), _CALL.set(number)
            try:
                made = method(*args, **kwargs)
            finally:
                outermost.reset(tokens[0])
                _CALL.reset(tokens[1])
            if inspect.iscoroutine(made):
                return self._following(made, number, name, outermost)
            return self._tie(made, number)

        return noted

    async def _following(self, coroutine: Any, number: int, name: str, outermost: Any) -> Any:
        tokens = outermost.set(name), _CALL.set(number)
        try:
            made = await coroutine
        finally:
            outermost.reset(tokens[0])
            _CALL.reset(tokens[1])
        return self._tie(made, number)

    def _begin(self, name: str, args: Sequence[Any]) -> int:
        with self._lock:
            self._number += 1
            number = self._number
        with suppress(Exception):
            made, ignored = self._made_of(args)
            self._write({"call": number, "op": name, "at": _places(sys._getframe(2)), "made": made,
                         "ignored": ignored, "builds": self._builds,
                         "contents": len(self._contents)})  # fmt: skip
        return number

    def _tie(self, made: Any, number: int) -> Any:
        """Note when the result of a future is asked for; anything else is a result itself."""
        if not hasattr(type(made), "result"):
            self._ask(number)
            return made
        with suppress(Exception):
            self._teach(type(made))
            made._modelmedic_number = number
        return made

    def _teach(self, cls: type) -> None:
        if cls in self._taught:
            return
        self._taught.add(cls)
        for name in _ASKING:
            method = getattr(cls, name, None)
            if callable(method):
                setattr(cls, name, self._asking(method))

    def _asking(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def asking(future: Any, *args: Any, **kwargs: Any) -> Any:
            number = getattr(future, "_modelmedic_number", None)
            if number is not None and number not in self._asked:
                self._ask(number)
            return method(future, *args, **kwargs)

        return asking

    def _ask(self, number: int) -> None:
        self._asked.add(number)
        self._write({"asked": number})

    def _write(self, line: dict[str, Any]) -> None:
        with suppress(OSError, ValueError):
            if self._number <= MAX_CALLS:
                os.write(self._file, (json.dumps(line) + "\n").encode())


def _content(example: Any) -> int:
    """A digest of the tokens of an example; an AttributeError for anything else."""
    chunks = example.model_input.chunks
    return hash(tuple(token for chunk in chunks for token in getattr(chunk, "tokens", ())))


def _places(frame: Any) -> list[list[Any]]:
    """[file, line] of the job's own frames, the innermost first; none behind a callback of an event
    loop, where the frames no longer say who made the call."""
    found: list[list[Any]] = []
    depth = 0
    while frame is not None and depth < 200 and len(found) < MAX_FRAMES:
        code = frame.f_code
        if code.co_name == _CALLBACK[1] and code.co_filename.endswith(_CALLBACK[0]):
            break
        if code.co_filename != __file__ and not any(
            part in code.co_filename for part in _LIBRARIES
        ):
            found.append([os.path.abspath(code.co_filename), frame.f_lineno])
        frame, depth = frame.f_back, depth + 1
    return found


def start(folder: str, url: str) -> None:
    """Begin to note, in a file of ``folder`` that is named after this process."""
    Notes(os.path.join(folder, f"{os.getpid()}.calls"), url).install()
