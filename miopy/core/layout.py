"""Where every parameter lives in one flat weight buffer, from two lines of notation.

A matrix is named by four coordinates, `layer`, `role` (input, recurrent or projection), `direction`
and `gate`; inside it the axes are `out` (hidden units) and `in` (features that it multiplies). A
layout lists these axes, slowest first. `gate out` and `in` come last, in either order, and form one
dense block for each (layer, role, direction): a matrix of all gates, one below the other. Blocks
need not be equally large, since layer 0 reads x. A projection is a block of one gate. All biases
follow all matrices. Peepholes are vectors like biases, in the cell's order, whose role comes after
the others'.

    Layout(weights="layer role direction gate out in", biases="layer role direction gate out",
           gates={"lstm": "i f o g", "gru": "z r n"})

Offsets, strides and sizes are in elements and exact Python integers; nothing is allocated.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import BadParam
from .cells import CELLS
from .config import INPUT, PEEPHOLE, PROJECTION, RECURRENT, ROLES, RNNConfig

BLOCK_AXES = ("layer", "role", "direction")
INNER_AXES = (["gate", "out", "in"], ["in", "gate", "out"])


class Parameter(NamedTuple):
    """A matrix (out, in) or bias (H,) inside the buffer, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def num_elements(self) -> int:
        return math.prod(self.shape)


class Block(NamedTuple):
    """All gates of one (layer, role, direction): element (gate, out, in) of the matrices is at
    offset + (gate * H + out) * out_stride + in * in_stride, element (vector, out) of the biases at
    bias_offset + vector * H + out. Both count gates in the layout's order.

    offset        None if there is no matrix (peepholes, input role of a layer 0 without)
    bias_offset   None if the role has no bias; of peepholes, where they are
    """

    offset: int | None
    out_stride: int
    in_stride: int
    bias_offset: int | None


@dataclass(frozen=True, eq=False)
class Layout:
    """A vendor's placement of parameters.

    weights   axes of the matrices, slowest first; ends in gate out and in, in either order
    biases    axes of the biases, slowest first; ends in gate out
    gates     cell name -> its gates in this layout's order; absent means the cell's own order
    """

    weights: str
    biases: str
    gates: Mapping[str, str]

    def __post_init__(self) -> None:
        axes = self.weights.split()
        if sorted(axes[:3]) != sorted(BLOCK_AXES) or axes[3:] not in INNER_AXES:
            raise BadParam("weights", "must list layer, role, direction, then gate out, in", axes)
        axes = self.biases.split()
        if sorted(axes[:3]) != sorted(BLOCK_AXES) or axes[3:] != ["gate", "out"]:
            raise BadParam("biases", "must list layer, role, direction, then gate out", axes)
        for cell, gates in self.gates.items():
            if sorted(gates.split()) != sorted(CELLS[cell].gates):
                raise BadParam("gates", f"must name each gate of {cell} once", gates)

    def order(self, config: RNNConfig) -> tuple[int, ...]:
        """For each gate in the cell's own order, its position in this layout."""
        own = config.record.gates
        here = self.gates[config.cell].split() if config.cell in self.gates else own
        return tuple(here.index(gate) for gate in own)

    def size(self, config: RNNConfig) -> int:
        """Elements of the whole buffer."""
        return _size(config, _matrices) + _size(config, _bias_vectors)

    @functools.lru_cache(maxsize=1024)  # noqa: B019 - layouts are constants of their dialects
    def block(self, config: RNNConfig, layer: int, direction: int, role: int) -> Block:
        """Where all gates of one layer, direction and role are."""
        position = {"layer": layer, "direction": direction, "role": role}
        axes = self.weights.split()
        strides = _dense(axes[3:], _extents(config, layer, role))
        bias_offset = None
        if _vectors(config, role):
            before = _before(self.biases.split()[:3], position, config, _bias_vectors)
            bias_offset = _size(config, _matrices) + before
        offset = None
        skipped = role == INPUT and layer == 0 and not config.has_input_matrices
        if role != PEEPHOLE and not skipped:
            offset = _before(axes[:3], position, config, _matrices)
        return Block(offset, strides["out"], strides["in"], bias_offset)

    def matrix(
        self, config: RNNConfig, layer: int, direction: int, role: int, gate: int
    ) -> Parameter | None:
        """Matrix (out, in) of the gate at a position of this layout; None if there is none."""
        block = self.block(config, layer, direction, role)
        if block.offset is None:
            return None
        extents = _extents(config, layer, role)
        return Parameter(
            block.offset + gate * extents["out"] * block.out_stride,
            (extents["out"], extents["in"]),
            (block.out_stride, block.in_stride),
        )

    def bias(
        self, config: RNNConfig, layer: int, direction: int, role: int, gate: int
    ) -> Parameter | None:
        """Bias (H,) of the gate at a position of this layout; None if there is none. Of PEEPHOLE,
        the peephole of a number."""
        own = gate if role == PEEPHOLE else self.order(config).index(gate)
        offset = self.vectors(config, layer, direction, role)[own]
        return None if offset is None else Parameter(offset, (config.hidden_size,), (1,))

    @functools.lru_cache(maxsize=1024)  # noqa: B019 - layouts are constants of their dialects
    def vectors(
        self, config: RNNConfig, layer: int, direction: int, role: int
    ) -> tuple[int | None, ...]:
        """Where the bias of each gate of the cell is, None if it has none; of PEEPHOLE, where each
        peephole is."""
        first = self.block(config, layer, direction, role).bias_offset or 0
        numbers = vector_numbers(config, self.order(config), role)
        return tuple(None if at is None else first + at * config.hidden_size for at in numbers)


def vector_numbers(config: RNNConfig, order: tuple[int, ...], role: int) -> tuple[int | None, ...]:
    """For each gate of the cell, which of a role's vectors its bias is, None if it has none; of
    PEEPHOLE, for each peephole."""
    if role == PEEPHOLE:
        return tuple(range(len(config.record.peepholes)))
    biased = config.bias_gates(role)
    positions = sorted(order[gate] for gate in biased)
    return tuple(positions.index(at) if gate in biased else None for gate, at in enumerate(order))


def _dense(axes: list[str], lengths: Mapping[str, int]) -> dict[str, int]:
    """Strides of axes that are listed slowest first."""
    strides, step = {}, 1
    for axis in reversed(axes):
        strides[axis], step = step, step * lengths[axis]
    return strides


# Elements of all blocks of a role, in one direction, summed over layers.
Count = Callable[[RNNConfig, int, range], int]


def _extents(config: RNNConfig, layer: int, role: int) -> dict[str, int]:
    """Lengths of the axes of a block."""
    if role == PROJECTION:
        return {"gate": 1, "out": config.projection_size, "in": config.hidden_size}
    if role == PEEPHOLE:
        return {"gate": 0, "out": config.hidden_size, "in": 1}
    features = config.initial_size if role == RECURRENT else config.layer_input_size(layer)
    return {"gate": config.num_gates, "out": config.hidden_size, "in": features}


def _matrices(config: RNNConfig, role: int, layers: range) -> int:
    first = int(0 in layers)  # the layers above it are all alike
    return sum(
        count * math.prod(_extents(config, layer, role).values())
        for layer, count in enumerate((first, len(layers) - first))
    )


def _vectors(config: RNNConfig, role: int) -> int:
    """How many vectors a role has in one layer and direction."""
    if role == PEEPHOLE:
        return len(config.record.peepholes)
    return len(config.bias_gates(role))


def _bias_vectors(config: RNNConfig, role: int, layers: range) -> int:
    return _vectors(config, role) * len(layers) * config.hidden_size


def _before(axes: list[str], position: Mapping[str, int], config: RNNConfig, count: Count) -> int:
    """Elements of all blocks that precede the one at `position` when `axes` count slowest first."""
    spans = _all_blocks(config)
    total = 0
    for axis in axes:
        spans[axis] = range(position[axis])
        total += _sum(spans, config, count)
        spans[axis] = range(position[axis], position[axis] + 1)
    return total


def _all_blocks(config: RNNConfig) -> dict[str, range]:
    return {
        "layer": range(config.num_layers),
        "role": range(len(ROLES)),
        "direction": range(config.num_directions),
    }


def _sum(spans: Mapping[str, range], config: RNNConfig, count: Count) -> int:
    per_direction = sum(count(config, role, spans["layer"]) for role in spans["role"])
    return len(spans["direction"]) * per_direction


@functools.lru_cache(maxsize=1024)
def _size(config: RNNConfig, count: Count) -> int:
    return _sum(_all_blocks(config), config, count)
