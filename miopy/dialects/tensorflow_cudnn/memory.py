"""Where the ops run, and the memory of one call: inputs, new outputs, scratch."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ... import backends
from ...calls.arrays import new_array
from ...calls.data import Buffer
from ...core.config import DTYPES
from .model import Model
from .tensors import Shape, Tensor


@functools.cache
def backend() -> Any:
    """The process's own, made at the first call: ops have no handle."""
    return backends.get()


@functools.lru_cache(maxsize=64)
def _exchange(rows: int, columns: int) -> np.ndarray[Any, Any]:
    """Where each row of (columns, rows, ...) is in (rows, columns, ...)."""
    return np.arange(rows * columns).reshape(rows, columns).T.ravel().copy()


class CallMemory:
    """The memory of one call. States are given and taken as the caller has them; the passes see
    them layers first."""

    def __init__(self, device: Any, model: Model) -> None:
        self.device = device
        self._dtype = model.config.dtype
        self._num_states, self._batch = model.num_states, len(model.lengths)
        in_order = model.time_major or min(self._num_states, self._batch) == 1
        self._exchanges = not in_order
        self._scratch: list[Any] = []  # until the call ends
        self._unfinished: list[tuple[int, int, int]] = []

    def new(self, shape: Shape) -> tuple[Any, int]:
        """An output and its address."""
        return new_array(self.device, shape, self._dtype)

    def placeholder(self) -> Any:
        """An output without dimensions: 0."""
        array, address = self.new(())
        self.device.fill(address, bytes(DTYPES[self._dtype].itemsize), 1)
        return array

    def workspace(self, nbytes: int) -> Buffer:
        """Scratch for the passes."""
        return Buffer("workspace", self._new_scratch(nbytes)[0], nbytes)

    def scratch_address(self, nbytes: int) -> int:
        """Of bytes, more than none, that last until the call ends."""
        return self._new_scratch(nbytes)[1]

    def read_state(self, tensor: Tensor) -> int:
        """The address of a state, layers first."""
        address = tensor.address(self.device)
        if not self._exchanges:
            return address
        copy = self.scratch_address(tensor.nbytes)
        width = tensor.nbytes // (self._num_states * self._batch)
        index = _exchange(self._batch, self._num_states)
        self.device.gather_rows(copy, address, index, width)
        return copy

    def new_state(self, shape: Shape) -> tuple[Any, int]:
        """A state to be put out, and where the pass writes it; `finish` completes it."""
        array, address = self.new(shape)
        if not self._exchanges:
            return array, address
        nbytes = math.prod(shape) * DTYPES[self._dtype].itemsize
        copy = self.scratch_address(nbytes)
        self._unfinished.append((address, copy, nbytes // (self._num_states * self._batch)))
        return array, copy

    def finish(self) -> None:
        """Bring the states that were written into the caller's order."""
        index = _exchange(self._num_states, self._batch)
        for address, copy, width in self._unfinished:
            self.device.gather_rows(address, copy, index, width)

    def _new_scratch(self, nbytes: int) -> tuple[Any, int]:
        array, address = new_array(self.device, (nbytes,), "uint8")
        self._scratch.append(array)
        return array, address
