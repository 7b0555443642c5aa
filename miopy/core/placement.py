"""Where in memory the parameters of a network are, or their gradients.

Every walk asks a `Placement` for addresses; a backend sees nothing of how they came about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from .backend import Matrix, Strided, Vectors
from .config import INPUT, PEEPHOLE, RECURRENT, RNNConfig
from .layout import Layout, vector_numbers


class Placement(Protocol):
    """Addresses by layer, direction and role."""

    def order(self, config: RNNConfig) -> tuple[int, ...]:
        """For each gate in the cell's own order, its position in matrices."""

    def matrix(self, config: RNNConfig, layer: int, direction: int, role: int) -> Matrix | None:
        """The matrices of all gates, one below the other: a row for each unit, a column for each
        feature. None if there are none."""

    def vectors(self, config: RNNConfig, layer: int, direction: int, role: int) -> Vectors:
        """The bias of each gate in the cell's own order; of PEEPHOLE, the peepholes in theirs."""


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
        first = self.layout.block(config, layer, direction, role).bias_offset
        return _vectors(config, self.order(config), role, self.address, first or 0)


@dataclass(frozen=True)
class InTensors:
    """A tensor for the matrices of each role, one for all biases and one for peepholes; gates are
    in the cell's own order.

    matrices    by role: strides of layer, direction, out and in; gates are H times the stride of
                out apart. Roles without matrices may be absent
    biases      (L, D, vectors, H), dense; input ones before recurrent ones
    peepholes   (L, D, peepholes, H), dense
    """

    matrices: Mapping[int, Strided]
    biases: int | None = None
    peepholes: int | None = None

    def order(self, config: RNNConfig) -> tuple[int, ...]:
        return tuple(range(config.num_gates))

    def matrix(self, config: RNNConfig, layer: int, direction: int, role: int) -> Matrix | None:
        tensor = self.matrices.get(role)
        if tensor is None:
            return None
        of_layer, of_direction, row, column = tensor.strides
        offset = layer * of_layer + direction * of_direction
        return Matrix(tensor.address + offset * config.itemsize, row, column)

    def vectors(self, config: RNNConfig, layer: int, direction: int, role: int) -> Vectors:
        index = layer * config.num_directions + direction
        if role == PEEPHOLE:
            first = index * len(config.record.peepholes)
            base = self.peepholes
        else:
            before = len(config.bias_gates(INPUT))
            first = index * (before + len(config.bias_gates(RECURRENT)))
            first += before if role == RECURRENT else 0
            base = self.biases
        return _vectors(config, self.order(config), role, base, first * config.hidden_size)


def _vectors(
    config: RNNConfig, order: tuple[int, ...], role: int, base: int | None, first: int
) -> Vectors:
    """Addresses of vectors that begin `first` elements behind `base`, in the layout's order."""
    numbers = vector_numbers(config, order, role)
    places = range(len(config.record.peepholes)) if role == PEEPHOLE else order
    nbytes = config.hidden_size * config.itemsize
    start = (base or 0) + first * config.itemsize
    return tuple(start + numbers[at] * nbytes if at in numbers else None for at in places)
