"""A port to be broken, and the register of faults."""

import contextlib
import copy
import re
import sys
from typing import NamedTuple
from unittest import mock

import torch

from modelmedic.probes.capture import lowered

from .architectures import build


class Fault(NamedTuple):
    """A mistake of a port. ``break_it`` is given a :class:`Port`, and answers False if it has
    nothing to break; ``part`` is where it shows first, ``cause`` the diagnosis. A fault of every
    layer is ``everywhere``; else it is that of the layer of the port."""

    name: str
    cause: str
    part: str
    break_it: object
    everywhere: bool


FAULTS: dict[str, Fault] = {}


def fault(name, cause, part, everywhere=False):
    def register(function):
        FAULTS[name] = Fault(name, cause, part, function, everywhere)
        return function

    return register


class Port:
    """Configuration and weights of the reference, to be changed; functions of the modelling file
    that are replaced while the port runs; and changes of the built model."""

    def __init__(self, model, layer):
        self.config = copy.deepcopy(model.config)
        self.weights = {name: value.clone() for name, value in model.state_dict().items()}
        self.layer = layer
        self.code = sys.modules[type(model).__module__]
        self.replaced = {}
        self.changes = []

    def name(self, ending):
        """The weight of this layer whose name ends so; None if there is none."""
        inside = rf"layers\.{self.layer}\.(.*\.)?{ending}\Z"
        return next((name for name in self.weights if re.search(inside, name)), None)

    def scale_rows(self, ending, change):
        """Replace a weight of this layer by what ``change`` makes of it."""
        name = self.name(ending)
        if name is None:
            return False
        self.weights[name] = change(self.weights[name]).contiguous()
        return True

    def wrap(self, function, around):
        """Replace a function of the modelling file by ``around(original)``."""
        original = getattr(self.code, function, None)
        if original is None:
            return False
        self.replaced[function] = around(original)
        return True

    def hook(self, ending, change, before=False):
        """Change what a module of this layer gives (or is given)."""
        inside = re.compile(
            rf"layers\.{self.layer}\.{ending}\Z" if ending else rf"layers\.{self.layer}\Z"
        )

        def add(model):
            module = next(
                (each for name, each in model.named_modules() if inside.search(name)), None
            )
            if module is None:
                raise LookupError(ending)
            wrap_forward(module, change, before)

        self.changes.append(add)

    def built(self):
        model = lowered(build(self.config, self.weights), torch.bfloat16)
        for change in self.changes:
            change(model)
        return model

    @contextlib.contextmanager
    def running(self):
        with contextlib.ExitStack() as stack:
            for function, value in self.replaced.items():
                stack.enter_context(mock.patch.object(self.code, function, value))
            yield


def wrap_forward(module, change, before):
    """Inside the module, so that captures see what it then gives."""
    original = module.forward

    def forward(*args, **kwargs):
        if before:
            first = kwargs.pop("hidden_states", None)
            first, args = (first, args) if first is not None else (args[0], args[1:])
            return original(change(first), *args, **kwargs)
        output = original(*args, **kwargs)
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    module.forward = forward
