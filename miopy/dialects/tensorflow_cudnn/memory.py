"""Where the ops run, and the memory of one call: inputs, new outputs, scratch."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ... import backends
from ...calls.functional import Home
from ...calls.functions import Memory
from ...calls.repeated import Passes
from ...core.config import DTYPES
from .model import Model
from .tensors import Shape


@functools.cache
def home() -> Home:
    """The process's own, made at the first call: ops have no handle."""
    return Home(backends.get(), Passes())


def backend() -> Any:
    return home().backend


@functools.lru_cache(maxsize=64)
def _exchange(rows: int, columns: int) -> np.ndarray[Any, Any]:
    """Where each row of (columns, rows, ...) is in (rows, columns, ...)."""
    return np.arange(rows * columns).reshape(rows, columns).T.ravel().copy()


class CallMemory:
    """The memory of one call of a model. States are given and taken as the caller has them; the
    passes see them layers first."""

    def __init__(self, memory: Memory, model: Model) -> None:
        self.device, self.at, self.scratch = memory.device, memory.at, memory.scratch
        self._new, self._model = memory.new, model
        self._itemsize = DTYPES[model.config.dtype].itemsize
        self._num_states, self._batch = model.num_states, len(model.lengths)
        in_order = model.time_major or min(self._num_states, self._batch) == 1
        self._exchanges = not in_order
        self._unfinished: list[tuple[int, int, int]] = []

    def new(self, name: str, shape: Shape) -> int:
        """The address of an output."""
        return self._new(name, shape, self._model.config.dtype)

    def placeholder(self, name: str) -> None:
        """An output without dimensions: 0."""
        self.device.fill(self.new(name, ()), bytes(self._itemsize), 1)

    def read_state(self, name: str, shape: Shape) -> int:
        """The address of a state that was given, layers first."""
        if not self._exchanges:
            return self.at[name]
        width = shape[2] * self._itemsize
        copy = self.scratch(self._num_states * self._batch * width)
        index = _exchange(self._batch, self._num_states)
        self.device.gather_rows(copy, self.at[name], index, width)
        return copy

    def new_state(self, name: str, shape: Shape) -> int:
        """Where the pass writes a state to be put out; `finish` completes it."""
        address = self.new(name, shape)
        if not self._exchanges:
            return address
        copy = self.scratch(math.prod(shape) * self._itemsize)
        self._unfinished.append((address, copy, shape[2] * self._itemsize))
        return copy

    def finish(self) -> None:
        """Bring the states that were written into the caller's order."""
        index = _exchange(self._num_states, self._batch)
        for address, copy, width in self._unfinished:
            self.device.gather_rows(address, copy, index, width)
