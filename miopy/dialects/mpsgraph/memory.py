"""Where operations run, and the memory of one call: new arrays, scratch, and what moves between
Apple's order of axes and the core's."""

from __future__ import annotations

import functools
from typing import Any

from ... import backends
from ...calls.functional import Home
from ...calls.functions import Memory
from ...calls.repeated import Passes
from ...core.backend import Strided
from ...core.config import DTYPES
from .arrays import Array, Shape, Sizes


@functools.cache
def home() -> Home:
    """The process's own, made at the first call: operations have no handle."""
    return Home(backends.get(), Passes())


def backend() -> Any:
    return home().backend


class CallMemory:
    """The memory of one call. Lengths are in elements of the call's type.

    The core has states and masks as (D, N, H), Apple as (N, D * H); with one direction, or one
    sequence, both are the same.
    """

    def __init__(self, memory: Memory, dtype: str, sizes: Sizes) -> None:
        self.device, self.dtype, self.sizes = memory.device, dtype, sizes
        self.itemsize = DTYPES[dtype].itemsize
        self._memory = memory
        self._unfinished: list[tuple[int, int]] = []

    def address(self, array: Array) -> int:
        """Where an array is that was passed."""
        return self._memory.at[array.name]

    def new(self, name: str, shape: Shape) -> int:
        """The address of an array to be returned."""
        return self._memory.new(name, shape, self.dtype)

    def scratch_bytes(self, nbytes: int) -> int:
        """The address of bytes that last until the call ends."""
        return self._memory.scratch(nbytes)

    def scratch(self, elements: int) -> int:
        """The address of elements that last as long."""
        return self.scratch_bytes(elements * self.itemsize)

    def at(self, address: int, elements: int) -> int:
        """The address so many elements on."""
        return address + elements * self.itemsize

    def zero(self, address: int, elements: int) -> None:
        self.device.fill(address, bytes(self.itemsize), elements)

    def move(self, lengths: Shape, to: Strided, source: Strided) -> None:
        """Copy elements; a stride of 0 repeats them."""
        zero = bytes(self.itemsize)
        self.device.transform_tensor(self.dtype, lengths, to, source, DTYPES[self.dtype].one, zero)

    def widen(self, lengths: Shape, to: Strided, source: Strided) -> None:
        """Copy elements to the core's real type."""
        self._convert(lengths, to, source, (self._real, self.dtype))

    def narrow(self, lengths: Shape, to: Strided, source: Strided) -> None:
        """Copy elements from the core's real type."""
        self._convert(lengths, to, source, (self.dtype, self._real))

    @property
    def _real(self) -> str:
        return "float64" if self.dtype == "float64" else "float32"

    def _convert(
        self, lengths: Shape, to: Strided, source: Strided, dtypes: tuple[str, str]
    ) -> None:
        if dtypes[0] == dtypes[1]:
            self.move(lengths, to, source)
        else:
            self.device.convert_tensor(dtypes, lengths, to, source)

    def multiply(self, lengths: Shape, to: Strided, a: Strided, b: Strided) -> None:
        """to = a * b, element by element."""
        self.device.op_tensor(self.dtype, "multiply", lengths, to, a, b, (1.0, 1.0, 0.0))

    @property
    def _exchanges(self) -> bool:
        return min(self.sizes.num_directions, self.sizes.batch) > 1

    @property
    def _by_direction(self) -> tuple[Shape, Shape, Shape]:
        """Lengths (D, N, H), strides of the core's states, strides of Apple's."""
        _, batch, _, hidden, directions, _ = self.sizes
        lengths = directions, batch, hidden
        return lengths, (batch * hidden, hidden, 1), (hidden, directions * hidden, 1)

    def read_state(self, state: Array | None) -> int | None:
        """The address of (D, N, H)."""
        if state is None:
            return None
        address = self.address(state)
        if not self._exchanges:
            return address
        lengths, ours, apples = self._by_direction
        copy = self.scratch(self.sizes.batch * self.sizes.output[2])
        self.move(lengths, Strided(copy, ours), Strided(address, apples))
        return copy

    def new_state(self, state: Array) -> int:
        """Where the core writes (D, N, H), for `finish` to return a gradient of a state."""
        address = self.new(state.name, state.shape)
        if not self._exchanges:
            return address
        copy = self.scratch(self.sizes.batch * self.sizes.output[2])
        self._unfinished.append((address, copy))
        return copy

    def finish(self) -> None:
        """Bring the states that were written into Apple's order."""
        lengths, ours, apples = self._by_direction
        for address, copy in self._unfinished:
            self.move(lengths, Strided(address, apples), Strided(copy, ours))

    def read_mask(self, mask: Array | None) -> int | None:
        """The address of (D, N, H)."""
        if mask is None:
            return None
        lengths, ours, _ = self._by_direction
        rows, columns = mask.shape
        row = columns if rows > 1 else 0
        strides = (self.sizes.hidden_size, row, 1) if columns > 1 else (0, row, 0)
        copy = self.scratch(self.sizes.batch * self.sizes.output[2])
        self.move(lengths, Strided(copy, ours), Strided(self.address(mask), strides))
        return copy
