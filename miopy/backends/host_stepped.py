"""The host as an engine of the stepwise composition, for what its own kernels do not cover."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.algorithm import STEPWISE, Choice
from ..core.backend import Layer
from ..core.cells import CELLS
from ..errors import DeviceError
from . import _stepped
from ._host import ffi, lib
from .scratch import Scratch
from .stepped import STORAGE

CELL_NUMBER = {name: number for number, name in enumerate(CELLS)}
# As numbered in kernels/host/stepped.h.
CELL_KERNELS = ("pointwise_forward", "pointwise_backward", "operand_forward", "operand_backward")
KERNELS = (
    *("load_states", "store_states", "project_forward", "project_backward"),
    *("mask_states", "mask_products"),
)
ALIGNMENT = 64
ONE_BY_ONE = Choice(STEPWISE, "a launch is a call here")


def _number(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


class HostEngine:
    """A pool's kernels and products behind `stepped.Engine`; calls on it come one at a time."""

    def __init__(self, pool: Any, scratch: Scratch) -> None:
        self._pool, self._scratch = pool, scratch
        self._blas = ffi.new("host_blas *")
        self._blas.pool = pool
        self._calls = calls = _stepped.ffi.new("device_calls *")
        cast = _stepped.ffi.cast
        calls.launch = cast("launch_function *", _number(lib.stepped_launch()))
        calls.gemm = cast("gemm_function *", _number(lib.stepped_gemm()))
        calls.blas = cast("void *", _number(self._blas))
        calls.transpose, calls.most_blocks = 1, 1
        calls.type = tuple(STORAGE.values())

    def kernels(self, layer: Layer, choice: Choice, *, backward: bool) -> dict[str, int]:
        cell, storage = CELL_NUMBER[layer.config.cell], STORAGE[layer.config.dtype]
        own = {
            name: lib.stepped_cell_function(cell, storage, number)
            for number, name in enumerate(CELL_KERNELS)
        }
        common = {
            name: lib.stepped_function(storage, number) for number, name in enumerate(KERNELS)
        }
        return {name: _number(function) for name, function in (own | common).items()}

    fault_address = 0  # no block waits for another

    def choose(self, layer: Layer, directions: int, layers: int, *, backward: bool) -> Choice:
        return ONE_BY_ONE

    def regions(self, layer: Layer, *nbytes: int) -> list[int]:
        """Behind them is the scratch of the largest product."""
        config = layer.config
        widths = config.num_gates * config.hidden_size, config.state_size, config.initial_size
        largest = max(*widths, layer.input_size)
        shape = max(layer.sequence.rows, 1), largest, largest
        products = lib.stepped_scratch(self._pool, STORAGE[config.dtype], *shape)
        starts = [0]
        for size in (*nbytes, products):
            starts.append(starts[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
        base = self._scratch.address(starts[-1])
        self._blas.scratch = ffi.cast("void *", base + starts[-2])
        self._blas.nbytes = products
        return [base + start for start in starts[:-2]]

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        return 0 if array is None else array.ctypes.data

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        error = function(self._calls, calls, len(calls))
        if error:
            raise DeviceError("scratch", "must hold the largest product of a step", error)
