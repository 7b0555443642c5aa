"""The host as an engine of the stepwise composition, for what its own kernels do not cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.algorithm import STEPWISE, Choice
from ..core.backend import Layer
from ..core.cells import CELLS
from ..errors import DeviceError
from . import _stepped
from ._host import ffi, lib
from .host_elementwise import as_number, pointer
from .numbering import STORAGE
from .scratch import aligned_regions

CELL_NUMBER = {name: number for number, name in enumerate(CELLS)}
# As numbered in kernels/host/stepped/stepped.h.
CELL_KERNELS = ("pointwise_forward", "pointwise_backward", "operand_forward", "operand_backward")
KERNELS = (
    *("load_states", "store_states", "mask_states", "mask_products"),
    *("project_forward", "project_backward"),
)
ALIGNMENT = 64
ONE_BY_ONE = Choice(STEPWISE, "a launch is a part of a job here")
OF_CELL = 32  # multiply-adds that take as long as a number of the cell
RUNS = {
    function: _stepped.ffi.addressof(_stepped.lib, name)
    for name in ("run_forward", "run_backward")
    for function in [getattr(_stepped.lib, name)]
}


class HostEngine:
    """A pool's kernels and products behind `stepped.Engine`, for one call.

    scratch   bytes -> an address of so many that are aligned
    run       runs a call of `stepped_run`, given its runs, and what owns what it points to
    """

    def __init__(
        self,
        pool: Any,
        scratch: Callable[[int], int],
        run: Callable[[Any, list[Any], Any], None],
    ) -> None:
        self._scratch, self._run = scratch, run
        self._is_backward = False  # as `kernels` is told, which comes before `regions`
        self._call = ffi.new("stepped_call *")
        self._call.host.pool = pool

    def kernels(self, layer: Layer, choice: Choice, *, backward: bool) -> dict[str, int]:
        cell, storage = CELL_NUMBER[layer.config.cell], STORAGE[layer.config.dtype]
        self._is_backward = backward
        own = {
            name: lib.stepped_cell_function(cell, storage, number)
            for number, name in enumerate(CELL_KERNELS)
        }
        common = {
            name: lib.stepped_function(storage, number) for number, name in enumerate(KERNELS)
        }
        return {name: as_number(function) for name, function in (own | common).items()}

    fault_address = 0  # no block waits for another

    def choose(self, layer: Layer, directions: int, layers: int, *, backward: bool) -> Choice:
        return ONE_BY_ONE

    def regions(self, layer: Layer, *nbytes: int) -> list[int]:
        """Behind them is the scratch of products."""
        matrices, host, sequence = _matrices(layer), self._call.host, layer.sequence
        host.rows, host.steps = sequence.rows, sequence.steps
        host.batch = max(sequence.batch_sizes, default=0)
        host.is_masked = layer.config.recurrent_mask
        host.row_work = sum(rows * columns for rows, columns in matrices)
        host.row_work += OF_CELL * layer.config.num_gates * layer.config.hidden_size
        order = -1 if self._is_backward else 1
        flat = [size for each in matrices for size in each[::order]]
        storage, of_steps = STORAGE[layer.config.dtype], len(matrices) - (layer.input is not None)
        products = lib.stepped_scratch(
            ffi.addressof(host), storage, len(matrices), of_steps, ffi.new("int64_t[]", flat)
        )
        starts, total = aligned_regions((*nbytes, products), ALIGNMENT)
        base = self._scratch(total)
        host.scratch = pointer(base + starts.pop())
        return [base + start for start in starts]

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        return 0 if array is None else array.ctypes.data

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        call, device = self._call, _stepped.ffi.new("device_calls *")
        address = _stepped.ffi.cast("uintptr_t", RUNS[function])
        call.function = ffi.cast("void *", int(address))
        call.calls, call.runs = ffi.cast("void *", device), ffi.cast("void *", calls)
        call.count = len(calls)
        runs = [_stepped.ffi.addressof(calls, number) for number in range(len(calls))]
        self._run(call, runs, (device, calls, layer.sequence))


def check_steps(error: int) -> None:
    """Raise DeviceError for what `run_operation` answers, unless that is 0."""
    if error:
        raise DeviceError("scratch", "must hold the largest product of a step", error)


def _matrices(layer: Layer) -> list[tuple[int, int]]:
    """Rows and columns of those that rows are multiplied by, forward; the input matrix is last."""
    config = layer.config
    gates = config.num_gates * config.hidden_size
    found = [(gates, config.initial_size)]
    if config.record.late is not None:
        found.append((config.hidden_size, config.hidden_size))  # backward, apart from the others
    if layer.projection is not None:
        found.append((config.state_size, config.hidden_size))
    if layer.input is not None:
        found.append((gates, layer.input_size))
    return found
