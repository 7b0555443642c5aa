"""Calling a pass with wrong arguments: the error it raises, and proof that nothing was written."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from cases import PACKED, SEQ_PADDED, Case
from harness import PASSES, Run

from miopy import miopen as mi
from miopy.errors import BadParam, MiopyError

BAD, INTERNAL = mi.miopenStatusBadParm, mi.miopenStatusInternalError
NOT_IMPLEMENTED, UNKNOWN = mi.miopenStatusNotImplemented, mi.miopenStatusUnknownError

API = (PACKED, SEQ_PADDED)  # a descriptor per step, a descriptor per batch

# What each pass must have, reads and writes.
REQUIRED = {
    "forward_training": ("x", "w", "y"),
    "forward_inference": ("x", "w", "y"),
    "backward_data": ("dx", "w", "dy"),
    "backward_weights": ("x", "dw"),
}
OPTIONAL = {
    "forward_training": ("hx", "cx", "hy", "cy"),
    "forward_inference": ("hx", "cx", "hy", "cy"),
    "backward_data": ("hx", "cx", "dhy", "dcy", "dhx", "dcx"),
    "backward_weights": ("hx",),
}
TENSORS = {name: REQUIRED[name] + OPTIONAL[name] for name in PASSES}
OUTPUTS = {name: outputs for name, (outputs, _) in PASSES.items()}


def each(table):
    return [(name, argument) for name, arguments in table.items() for argument in arguments]


def ready(layout=PACKED, **options):
    """A run after whole training steps, so that every pass could go on, and is remembered; LSTM
    unless told."""
    run = Run(Case(layout=layout, num_layers=2, num_directions=2, **options))
    for _ in range(2):
        run.forward_inference()
        run.training()
    return run


def refused(run, name, **changes):
    """The error of a pass called with some arguments changed; no buffer may have changed."""
    function, arguments = run.call(name)
    bound = inspect.signature(function).bind(*arguments).arguments
    assert changes.keys() <= bound.keys(), f"no such argument of {function.__name__}"
    before = {key: buffer.bytes.copy() for key, buffer in run.buffers.items()}
    with pytest.raises(MiopyError) as caught:
        function(**(bound | changes))
    for key, content in before.items():
        assert np.array_equal(run.buffers[key].bytes, content), f"{key} was written"
        assert run.buffers[key].is_guarded
    assert str(caught.value).startswith(f"{function.__name__}: `")
    return caught.value


def assert_error(error, argument, status, kind=BadParam):
    assert (error.argument.split("[")[0], error.status) == (argument, status)
    assert isinstance(error, kind)


def spaces_of(name):
    """(argument, its declared size's argument) of every space that a pass uses."""
    pairs = [("workSpace", "workSpaceNumBytes"), ("reserveSpace", "reserveSpaceNumBytes")]
    return pairs[:1] if name == "forward_inference" else pairs


def argument_of(run, name, argument):
    """What a pass would be called with."""
    function, arguments = run.call(name)
    return inspect.signature(function).bind(*arguments).arguments[argument]
