"""Where in memory the parameters of a network are, or their gradients.

Every walk asks a `Placement` for addresses; a backend sees nothing of how they came about.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

from .backend import Matrix, Strided, Vectors
from .config import INPUT, PEEPHOLE, PROJECTION, RECURRENT, RNNConfig
from .layout import Layout, vector_numbers


class Placement(Hashable, Protocol):
    """Addresses by layer, direction and role."""

    def order(self, config: RNNConfig) -> tuple[int, ...]:
        """For each gate in the cell's own order, its position in matrices."""

    def matrix(self, config: RNNConfig, layer: int, direction: int, role: int) -> Matrix | None:
        """The matrices of all gates, one below the other: a row for each unit, a column for each
        feature. None if there are none."""

    def vectors(self, config: RNNConfig, layer: int, direction: int, role: int) -> Vectors:
        """The bias of each gate in the cell's own order; of PEEPHOLE, the peepholes in theirs."""


class Placed(NamedTuple):
    """What belongs to a layer and direction, as in `backend.Layer`."""

    position: tuple[int, ...]
    input: Matrix | None
    recurrent: Matrix
    input_biases: Vectors
    recurrent_biases: Vectors
    projection: Matrix | None
    peepholes: Vectors


@lru_cache(maxsize=1024)
def placed(placement: Placement, config: RNNConfig, layer: int, direction: int) -> Placed:
    """All of a layer and direction. Remembered: what runs once runs again from the same place."""
    here = config, layer, direction
    recurrent = placement.matrix(*here, RECURRENT)
    assert recurrent is not None
    skips = layer == 0 and not config.has_input_matrices
    return Placed(
        placement.order(config),
        None if skips else placement.matrix(*here, INPUT),
        recurrent,
        placement.vectors(*here, INPUT),
        placement.vectors(*here, RECURRENT),
        placement.matrix(*here, PROJECTION) if config.projection_size else None,
        placement.vectors(*here, PEEPHOLE),
    )


@dataclass(frozen=True)
class InBuffer:
    """One buffer, as a layout says."""

    layout: Layout
    address: int

    def order(self, config: RNNConfig) -> tuple[int, ...]:
        return self.layout.order(config)

    def matrix(self, config: RNNConfig, layer: int, direction: int, role: int) -> Matrix | None:
        block = self.layout.block(config, layer, direction, role)
        if block.offset is None:
            return None
        address = self.address + block.offset * config.itemsize
        return Matrix(address, block.out_stride, block.in_stride)

    def vectors(self, config: RNNConfig, layer: int, direction: int, role: int) -> Vectors:
        offsets = self.layout.vectors(config, layer, direction, role)
        return _addresses(config, self.address, offsets)


@dataclass(frozen=True)
class InTensors:
    """A tensor for the matrices of each role, one for all biases and one for peepholes; gates are
    in the cell's own order.

    matrices    of the input, the recurrent and the projection's role, None if there are none; with
                strides of layer, direction, out and in, gates are H times that of out apart
    biases      (L, D, vectors, H), dense; input ones before recurrent ones. None where there are
                none, or none are read
    peepholes   (L, D, peepholes, H), dense; likewise
    """

    matrices: tuple[Strided | None, Strided | None, Strided | None]
    biases: int | None = None
    peepholes: int | None = None

    def order(self, config: RNNConfig) -> tuple[int, ...]:
        return tuple(range(config.num_gates))

    def matrix(self, config: RNNConfig, layer: int, direction: int, role: int) -> Matrix | None:
        tensor = self.matrices[role]
        if tensor is None:
            return None
        of_layer, of_direction, row, column = tensor.strides
        offset = layer * of_layer + direction * of_direction
        return Matrix(tensor.address + offset * config.itemsize, row, column)

    def vectors(self, config: RNNConfig, layer: int, direction: int, role: int) -> Vectors:
        index = layer * config.num_directions + direction
        if role == PEEPHOLE:
            base, first = self.peepholes, index * len(config.record.peepholes)
        else:
            inputs, recurrent = (len(config.bias_gates(each)) for each in (INPUT, RECURRENT))
            first = index * (inputs + recurrent) + (inputs if role == RECURRENT else 0)
            base = self.biases
        size, numbers = config.hidden_size, vector_numbers(config, self.order(config), role)
        if base is None:
            return (None,) * len(numbers)
        offsets = (None if at is None else (first + at) * size for at in numbers)
        return _addresses(config, base, offsets)


def _addresses(config: RNNConfig, base: int, offsets: Iterable[int | None]) -> Vectors:
    """Addresses of vectors, given how many elements behind a base they are."""
    return tuple(None if at is None else base + at * config.itemsize for at in offsets)
