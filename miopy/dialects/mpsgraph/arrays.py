"""The arrays that an operation is given: their types and their shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...calls.data import DataArguments
from ...core.config import DTYPES
from ...core.memory import Location, describe
from ...errors import BadParam

Shape = tuple[int, ...]


class Array(NamedTuple):
    """An array that was passed, by the name of its argument."""

    name: str
    shape: Shape


class Arrays:
    """Reads what the arrays of one call are, all of the type of the first."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._arguments: DataArguments | None = None

    @property
    def arguments(self) -> DataArguments:
        """Those that were read; there is one at least."""
        assert self._arguments is not None
        return self._arguments

    @property
    def dtype(self) -> str:
        """A name in `core.config.DTYPES`."""
        return self.arguments.dtype

    def read(self, argument: str, value: Any) -> Array:
        """Any shape without a length of 0. Raises BadParam."""
        if value is None:
            raise BadParam(argument, "must not be None")
        shape, dtype = describe(argument, value, location=self._location)
        if dtype not in DTYPES:
            raise BadParam(argument, f"must have elements of type {', '.join(DTYPES)}", dtype)
        if self._arguments is None:
            self._arguments = DataArguments(self._location, dtype, DTYPES[dtype].itemsize)
        if self.dtype != dtype:
            raise BadParam(argument, f"must have elements of type {self.dtype}, as source", dtype)
        if 0 in shape:
            raise BadParam(argument, "must have no length of 0", shape)
        self._arguments.read(argument, value, math.prod(shape))
        return Array(argument, shape)

    def read_as(self, argument: str, value: Any, *shapes: Shape) -> Array:
        """One of the given shapes."""
        array = self.read(argument, value)
        if array.shape not in shapes:
            rule = f"must have shape {' or '.join(map(str, shapes))}"
            raise BadParam(argument, rule, array.shape)
        return array

    def read_optional(self, argument: str, value: Any, *shapes: Shape) -> Array | None:
        """The same, or None."""
        return None if value is None else self.read_as(argument, value, *shapes)


class Sizes(NamedTuple):
    """What the shapes of source and weights say."""

    steps: int
    batch: int
    input_size: int
    hidden_size: int
    num_directions: int
    num_gates: int

    @property
    def rows(self) -> int:
        """Steps times sequences."""
        return self.steps * self.batch

    @property
    def output(self) -> Shape:
        """Of h, c and their gradients: (T, N, D * H)."""
        return self.steps, self.batch, self.num_directions * self.hidden_size

    @property
    def states(self) -> tuple[Shape, Shape]:
        """Of initial and last states: (N, D * H), or with a 1 in front."""
        return self.output[1:], (1, *self.output[1:])

    @property
    def pre_activations(self) -> Shape:
        """(T, N, D * gates * H)"""
        return self.steps, self.batch, self.gate_rows

    @property
    def gate_rows(self) -> int:
        """Rows of the matrices of all gates, in both directions."""
        return self.num_directions * self.num_gates * self.hidden_size


class Operands(NamedTuple):
    """What all operations read, by Apple's names."""

    sizes: Sizes
    source: Array
    recurrentWeight: Array
    inputWeight: Array | None
    bias: Array | None
    initState: Array | None
    mask: Array | None


def read_operands(
    arrays: Arrays, num_gates: int, bidirectional: bool, given: Mapping[str, Any]
) -> Operands:
    """Check what all operations have, by Apple's names. Raises BadParam."""
    x = arrays.read("source", given["source"])
    if len(x.shape) != 3:
        raise BadParam("source", "must have shape (steps, batch, features)", x.shape)
    matrices = arrays.read("recurrentWeight", given["recurrentWeight"])
    hidden = matrices.shape[-1] if matrices.shape else 0
    wanted = (*(2,) * bidirectional, num_gates * hidden, hidden)
    if len(matrices.shape) != len(wanted) or matrices.shape != wanted:
        form = f"({'2, ' * bidirectional}{num_gates} * H, H)"
        raise BadParam("recurrentWeight", f"must have shape {form}", matrices.shape)
    sizes = Sizes(*x.shape, hidden, 1 + bidirectional, num_gates)
    if given["inputWeight"] is None and x.shape[2] != sizes.gate_rows:
        rule = f"must have {sizes.gate_rows} features without inputWeight"
        raise BadParam("source", rule, x.shape)

    def optional(argument: str, *shapes: Shape) -> Array | None:
        return arrays.read_optional(argument, given[argument], *shapes)

    return Operands(
        sizes,
        x,
        matrices,
        optional("inputWeight", (sizes.gate_rows, sizes.input_size)),
        optional("bias", (sizes.gate_rows,)),
        optional("initState", *sizes.states),
        read_mask(arrays, given["mask"], sizes),
    )


def read_mask(arrays: Arrays, value: Any, sizes: Sizes) -> Array | None:
    """The mask, with the lengths of its broadcast: (N or 1, D * H or 1). A 1 may be in front."""
    if value is None:
        return None
    array = arrays.read("mask", value)
    wanted = sizes.states[0]
    shape = array.shape[1:] if len(array.shape) == 3 and array.shape[0] == 1 else array.shape
    padded = (1,) * (2 - len(shape)) + shape
    fits = len(padded) == 2 and all(n in (1, m) for n, m in zip(padded, wanted, strict=True))
    if not fits:
        raise BadParam("mask", f"must have a shape that extends to {wanted}", array.shape)
    return Array(array.name, padded)
