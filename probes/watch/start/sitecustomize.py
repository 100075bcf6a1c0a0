"""Starts the monitor in a job that `diagnose watch` runs, or the notes of `diagnose rehearse`, then
makes way for the environment's own ``sitecustomize``. Python imports this at its start, because the
folder stands first in PYTHONPATH.

Standard library only, Python 3.8 and later. Whatever goes wrong here, the job starts as usual.
"""

import atexit
import os
import sys
from contextlib import suppress
from typing import Any


def _start() -> None:
    folder = os.environ.get("MODELMEDIC_WATCH")
    if not folder or not os.path.isdir(folder):
        return
    from importlib.util import module_from_spec, spec_from_file_location

    def loaded(name: str) -> Any:
        here = os.path.dirname(os.path.abspath(__file__))
        file = os.path.join(os.path.dirname(here), name + ".py")
        spec = spec_from_file_location("modelmedic_" + os.path.basename(name), file)
        module = module_from_spec(spec)  # type: ignore[arg-type]
        sys.modules[spec.name] = module  # type: ignore[union-attr]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        return module

    if os.environ.get("MODELMEDIC_REHEARSAL"):
        inside = loaded(os.path.join(os.pardir, "rehearsal", "inside"))
        inside.start(folder, os.environ["MODELMEDIC_REHEARSAL"])
        return
    module = loaded("monitor")
    shapes = loaded("call_shapes")
    recorder = loaded("recorder").Recorder(shapes, bool(os.environ.get("MODELMEDIC_WATCH_IDS")))
    path, watcher = (os.path.join(folder, name) for name in (f"{os.getpid()}.jsonl", "watcher"))
    watching = module.monitor(
        path,
        watcher=watcher if os.path.exists(watcher) else None,
        recorder=recorder,
        loops=loaded("loops"),
        running=loaded("running"),
    )
    atexit.register(watching.stop)


def _make_way() -> None:
    """Import the ``sitecustomize`` that this one hides, with the path as it would have been."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    hidden = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found] # noqa: F401
    except ImportError:
        if hidden is not None:
            sys.modules["sitecustomize"] = hidden


with suppress(BaseException):  # the job comes first
    _start()
_make_way()
