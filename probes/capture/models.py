"""Builds reference and port. Runs their code."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from pathlib import Path
from typing import Any

from ...facts.problems import Location, ModelMedicError, Problem


def load_reference(model: str, *, dtype: str = "float32", seed: int = 0) -> Any:
    """A transformers model for text: the weights of a model folder, or of a name that was
    downloaded before (nothing is fetched), or, from a folder or file with a configuration only,
    random ones of ``seed``. Attention is computed step by step (``eager``), as its weights are then
    captured too.

    Raises ``ModelMedicError``: MM530 if it cannot be built, MM531 without torch or transformers.
    """
    torch, transformers = _packages()
    kind = getattr(torch, dtype)
    path = Path(model)
    try:
        if path.is_file() or (path.is_dir() and not _has_weights(path)):
            config = transformers.AutoConfig.from_pretrained(str(path), local_files_only=True)
            torch.manual_seed(seed)
            found = transformers.AutoModelForCausalLM.from_config(
                text_part(config), attn_implementation="eager", dtype=torch.float32
            )
            return lowered(found, kind).eval()
        return transformers.AutoModelForCausalLM.from_pretrained(
            model, attn_implementation="eager", dtype=kind, local_files_only=True
        ).eval()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise _failed("MM530", f"the reference cannot be built: {error}", model) from error


def load_made(entry: str) -> Any:
    """The model in FP32 that FUNCTION of ``FILE:FUNCTION`` returns when it is called without
    arguments. Raises ``ModelMedicError`` (MM530)."""
    torch, _ = _packages()
    make = _entry(entry)
    try:
        model = make()
        if not hasattr(model, "config"):
            raise TypeError("it returns no model with a config")
        return lowered(model, torch.float32).eval()
    except Exception as error:
        hint = "the function is called without arguments, and returns a transformers model"
        text = f"the reference cannot be built: {type(error).__name__}: {error}"
        raise _failed("MM530", text, entry, hint) from error


def lowered(model: Any, kind: Any) -> Any:
    """``model`` with parameters of another number format. Frequencies of rotary embeddings are not
    converted, as when a model is loaded in that format."""
    kept = {name: value.clone() for name, value in model.named_buffers() if "inv_freq" in name}
    model = model.to(kind)
    for name, value in model.named_buffers():
        if name in kept:
            value.data = kept[name].to(value.device)
    return model


def text_part(config: Any) -> Any:
    """The language model of a configuration that has other parts too."""
    find = getattr(config, "get_text_config", None)
    return find() if callable(find) else config


def _has_weights(folder: Path) -> bool:
    return any(folder.glob("*.safetensors")) or any(folder.glob("*.bin"))


def load_port(entry: str, reference: Any, *, dtype: str = "bfloat16") -> Any:
    """The port that ``FILE:NAME`` makes, with the weights of ``reference``.

    NAME is a class or a function. It is called with the arguments that it has parameters for:
    ``config`` (that of the reference), ``state_dict`` (the weights, in the number format of the
    port), ``dtype``. If it takes no ``state_dict``, weights are loaded by name afterwards; each
    must have its place. Raises ``ModelMedicError`` (MM532).
    """
    torch, _ = _packages()
    kind = getattr(torch, dtype)
    make = _entry(entry)
    weights = {
        name: value.detach().to(kind, copy=True) for name, value in reference.state_dict().items()
    }
    offers = {"config": reference.config, "state_dict": weights, "dtype": kind}
    try:
        takes = inspect.signature(make).parameters
        given = {name: value for name, value in offers.items() if name in takes}
        first = [] if given else [reference.config]
        port = make(*first, **given)
        if "state_dict" not in given:
            port = lowered(port, kind)
            missing, unexpected = port.load_state_dict(weights, strict=False)
            _complain(entry, missing, unexpected)
    except ModelMedicError:
        raise
    except Exception as error:
        raise _failed("MM532", f"{type(error).__name__}: {error}", entry) from error
    return port.eval()


def _complain(entry: str, missing: list[str], unexpected: list[str]) -> None:
    parts = [f"{len(names):,} {what}, such as {sorted(names)[0]}"
             for what, names in (("without weights", missing), ("unknown to the port", unexpected))
             if names]  # fmt: skip
    if parts:
        text = f"the names of weights differ: {'; '.join(parts)}"
        hint = "give the entry point a parameter state_dict, and let it load them itself"
        raise _failed("MM532", text, entry, hint)


def _entry(entry: str) -> Any:
    file, _, name = entry.rpartition(":")
    path = Path(file)
    if not file or not path.is_file():
        raise _failed("MM532", "write FILE:CLASS or FILE:FUNCTION; there is no such file", entry)
    spec = importlib.util.spec_from_file_location(f"port_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise _failed("MM532", "it is not a Python file", entry)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    own = str(path.resolve().parent)
    sys.path.insert(0, own)
    try:
        spec.loader.exec_module(module)
        return getattr(module, name)
    except Exception as error:
        raise _failed("MM532", f"{type(error).__name__}: {error}", entry) from error
    finally:
        if own in sys.path:  # the file may have put others before it
            sys.path.remove(own)


def _packages() -> tuple[Any, Any]:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when it is imported
    try:
        import torch
        import transformers
    except ImportError as error:
        hint = 'pip install "modelmedic[tensors]"'
        raise _failed("MM531", f"torch and transformers are needed: {error}", "", hint) from error
    return torch, transformers


def _failed(code: str, text: str, where: str, hint: str = "") -> ModelMedicError:
    return ModelMedicError(Problem(code, text[:600], Location(where) if where else None, hint))
