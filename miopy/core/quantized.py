"""Inference on 8-bit codes: LSTM, also with a projection, and GRU with the reset before the
product. What a code stands for is in `codes.py`.

    rnn = QuantizedRNN("lstm", input_size, hidden_size)
    planned = plan(rnn, steps, batch)                  # planned.workspace.nbytes
    packed = rnn.packed(INPUT)                         # packed.nbytes
    pack(packed, backend, to=..., source=..., scale=quantization.weights)
    forward(planned, backend, quantization, x=..., ...)    # of quantized_forward

Directions are independent stacks, whose outputs alone meet. Every product is exact, and what is
behind it is computed in float32 in the order that makes codes equal to those of oneDNN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ..errors import BadParam, NotSupported
from .backend import Backend, Strided
from .cells import CELLS
from .codes import CodeScale, Matrices, WeightScale
from .config import CONCAT, DIRECTIONS, INPUT, LEFT_TO_RIGHT, PROJECTION, SUM
from .space import Space

CELL_NAMES = ("lstm", "reset_before_gru")
MOST_INPUTS = 1 << 16  # that a sum of products of codes cannot overflow int32 with
AHEAD_NBYTES = 32 << 20  # input products that run ahead of the steps


@dataclass(frozen=True)
class Quantization:
    """How the numbers of a network become codes.

    data        of x, y and hidden states
    weights     of input and recurrent matrices: 1 scale, or G * H in the order (gate, unit)
    projection  1 scale, or P; None without a projection
    """

    data: CodeScale
    weights: WeightScale
    projection: WeightScale | None = None


@dataclass(frozen=True)
class PackedWeights:
    """The matrices of one role: int8 codes (L, D, G, out, in), then int32 sums (L, D, G, out) of
    their rows, which take the data's shift out of products."""

    layers: int
    directions: int
    inputs: int
    gates: int
    outputs: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """Slowest axis first, as packed."""
        return (self.layers, self.directions, self.gates, self.outputs, self.inputs)

    @property
    def _sums_offset(self) -> int:
        return -(-prod(self.lengths) // 4) * 4

    @property
    def nbytes(self) -> int:
        return self._sums_offset + 4 * prod(self.lengths[:-1])

    def matrices(self, address: int, index: int = 0) -> Matrices:
        """Those of row block `index` (layer * D + direction)."""
        rows = index * self.gates * self.outputs
        sums = address + self._sums_offset + 4 * rows
        return Matrices(address + rows * self.inputs, sums)


@dataclass(frozen=True)
class QuantizedRNN:
    """A stack of layers on codes.

    cell             a name in `CELL_NAMES`
    input_size       I, features of x; those of h if there are more layers than one
    hidden_size      H, units per layer and direction
    num_layers       L
    direction        a name in `config.DIRECTIONS`; the last two run both, as stacks of their own
    projection_size  P: h is the product of a matrix (P, H) with what an LSTM puts out; 0: none
    """

    cell: str
    input_size: int
    hidden_size: int
    num_layers: int = 1
    direction: str = LEFT_TO_RIGHT
    projection_size: int = 0

    def __post_init__(self) -> None:
        if self.cell not in CELL_NAMES:
            raise NotSupported("cell", f"must be one of {', '.join(CELL_NAMES)}", self.cell)
        if self.direction not in DIRECTIONS:
            raise BadParam("direction", f"must be one of {', '.join(DIRECTIONS)}", self.direction)
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) < 1:
                raise BadParam(name, "must be positive", getattr(self, name))
        if self.projection_size < 0:
            raise BadParam("projection_size", "must not be negative", self.projection_size)
        if self.projection_size and not CELLS[self.cell].has_cell_state:
            raise BadParam(
                "projection_size", "must be 0 without a cell state", self.projection_size
            )
        if self.num_layers > 1 and self.input_size != self.state_size:
            rule = "must equal the units of h with more than one layer"
            raise BadParam("input_size", rule, self.input_size)
        if max(self.input_size + self.state_size, self.hidden_size) > MOST_INPUTS:
            raise NotSupported("input_size", f"and units of h: at most {MOST_INPUTS}", self)

    @property
    def num_directions(self) -> int:
        return 1 + (self.direction in (CONCAT, SUM))

    @property
    def num_gates(self) -> int:
        return len(CELLS[self.cell].gates)

    @property
    def state_size(self) -> int:
        """S, units of h: P with a projection, else H."""
        return self.projection_size or self.hidden_size

    @property
    def output_size(self) -> int:
        """Features of y: S, or 2 * S where directions are concatenated."""
        return self.state_size * (1 + (self.direction == CONCAT))

    def packed(self, role: int) -> PackedWeights:
        """How the matrices of a role lie: INPUT, RECURRENT or PROJECTION of `config`."""
        layers, directions = self.num_layers, self.num_directions
        if role == PROJECTION:
            return PackedWeights(layers, directions, self.hidden_size, 1, self.projection_size)
        inputs = self.input_size if role == INPUT else self.state_size
        return PackedWeights(layers, directions, inputs, self.num_gates, self.hidden_size)


@dataclass(frozen=True, eq=False)
class QuantizedPlan:
    """A network over T steps of N sequences; `workspace` lies at a multiple of 4 bytes."""

    rnn: QuantizedRNN
    steps: int
    batch: int
    chunk_steps: int
    workspace: Space


@lru_cache(maxsize=256)
def plan(rnn: QuantizedRNN, steps: int, batch: int) -> QuantizedPlan:
    """The plan for so many steps of all sequences. Raises BadParam for negative numbers."""
    for name, value in (("steps", steps), ("batch", batch)):
        if value < 0:
            raise BadParam(name, "must not be negative", value)
    space, gates = Space(), (batch, rnn.num_gates, rnn.hidden_size)
    chunk_steps = max(1, min(steps, AHEAD_NBYTES // max(4 * prod(gates), 1)))
    space.book("x_products", (chunk_steps, *gates), 4)
    space.book("h_products", gates, 4)
    if rnn.projection_size:
        space.book("projected", (batch, rnn.state_size), 4)
    if CELLS[rnn.cell].has_cell_state:
        space.book("cell_state", (batch, rnn.hidden_size), 4)
    kept = min(rnn.num_layers, 2)  # the output of the layer being read and of the one written
    space.book("outputs", (rnn.num_directions, kept, steps, batch, rnn.state_size), 1)
    space.book("initial", (batch, rnn.state_size), 1)
    if rnn.projection_size or CELLS[rnn.cell].late:
        space.book("operand", (batch, rnn.hidden_size), 1)
    return QuantizedPlan(rnn, steps, batch, chunk_steps, space)


def pack(
    packed: PackedWeights,
    backend: Backend,
    *,
    to: int,
    source: Strided,
    scale: WeightScale | None,
) -> None:
    """Fill packed weights, `packed.nbytes` at a multiple of 4 bytes.

    source   matrices (L, D, in, G, out), strided: float32 numbers, or int8 codes without a scale
    scale    1, or G * out in the order (gate, unit)

    Raises BadParam for another number of scales.
    """
    if scale is not None:
        scale.check("scale", packed.gates * packed.outputs)
    layer, direction, inputs, gate, output = source.strides
    strides = (layer, direction, gate, output, inputs)
    backend.quantized.pack(packed.matrices(to), source.address, strides, packed.lengths, scale)
