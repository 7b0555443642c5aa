"""What an operation is in the core's words: the network, and where its parameters are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core import sequence as sequences
from ...core.backend import Matrix, Vectors
from ...core.cells import CELLS
from ...core.config import (
    CONCAT,
    INPUT,
    LEFT_TO_RIGHT,
    PEEPHOLE,
    RECURRENT,
    RIGHT_TO_LEFT,
    RNNConfig,
    remembered_config,
)
from ...core.plan import Plan, plan
from ...core.sequence import Sequence
from .arrays import Array, Operands, Sizes


@dataclass(frozen=True)
class Choice:
    """The cell that computes an operation.

    cell           a name in `core.cells.CELLS`
    gates          its gates in Apple's order
    activations    in the order of the general cell's record, whatever the cell
    flips_update   of a general GRU
    """

    cell: str
    gates: str
    activations: tuple[str, ...]
    flips_update: bool = False


def choose(
    usual: str | None, general: str, gates: str, activations: tuple[str, ...], flips: bool = False
) -> Choice:
    """The general cell only where the usual one, if there is one, does something else: backends
    have faster kernels for that."""
    defaults = tuple(name for _, name in CELLS[general].activations)
    cell = usual if usual and activations == defaults and not flips else general
    return Choice(cell, gates, activations, flips)


@dataclass(frozen=True)
class Parameters:
    """Addresses of Apple's arrays, or of their gradients: a `core.placement.Placement`. None for
    what there is not.

    gates           in the order that the blocks of the arrays have, but for peephole
    recurrent       (D, gates * H, H)
    input           (D, gates * H, I)
    bias            (D, gates * H)
    secondary_bias  (D, H), of the gate whose input product is separate
    peephole        (D, gates * H), in the order of peephole_gates
    """

    gates: tuple[str, ...]
    recurrent: int
    input: int | None = None
    bias: int | None = None
    secondary_bias: int | None = None
    peephole: int | None = None
    peephole_gates: tuple[str, ...] = ()

    def order(self, config: RNNConfig) -> tuple[int, ...]:
        return tuple(map(self.gates.index, config.record.gates))

    def matrix(self, config: RNNConfig, layer: int, direction: int, role: int) -> Matrix | None:
        base = {INPUT: self.input, RECURRENT: self.recurrent}.get(role)
        if base is None:
            return None
        features = config.input_size if role == INPUT else config.hidden_size
        elements = direction * len(self.gates) * config.hidden_size * features
        return Matrix(base + elements * config.itemsize, features)

    def vectors(self, config: RNNConfig, layer: int, direction: int, role: int) -> Vectors:
        nbytes, cell = config.hidden_size * config.itemsize, config.record
        if role == RECURRENT:
            base = self.secondary_bias
            at = None if base is None else base + direction * nbytes
            return tuple(at if gate in cell.separate else None for gate in cell.gates)
        if role == PEEPHOLE:
            base, names, blocks = self.peephole, cell.peepholes, self.peephole_gates
        else:
            base, names, blocks = self.bias, cell.gates, self.gates
        if base is None:
            return () if role == PEEPHOLE else (None,) * len(names)
        first = direction * len(blocks)
        return tuple(base + (first + blocks.index(name)) * nbytes for name in names)


@dataclass(frozen=True)
class Model:
    """What runs."""

    choice: Choice
    sizes: Sizes
    config: RNNConfig

    @property
    def sequence(self) -> Sequence:
        """Every sequence takes part in every step."""
        return sequences.from_batch_sizes((self.sizes.batch,) * self.sizes.steps, self.sizes.batch)

    def plan(self, *, training: bool) -> Plan:
        return plan(self.config, self.sizes.rows, training=training, keeps_planes=True)

    @property
    def is_reverse(self) -> bool:
        """Whether its only direction is the one from the last step."""
        return self.config.direction == RIGHT_TO_LEFT


def model_of(
    choice: Choice, descriptor: Any, operands: Operands, dtype: str, secondary: Array | None = None
) -> Model:
    """The network that a descriptor and the shapes of arrays describe."""
    general = CELLS[choice.cell].activations
    bias = "none" if operands.bias is None else "input"
    one_way = RIGHT_TO_LEFT if descriptor.reverse else LEFT_TO_RIGHT
    config = remembered_config(
        cell=choice.cell,
        input_size=operands.sizes.input_size,
        hidden_size=operands.sizes.hidden_size,
        direction=CONCAT if descriptor.bidirectional else one_way,
        bias=bias if secondary is None else "merged",
        dtype=dtype,
        activations=choice.activations if general else None,
        flips_update=choice.flips_update,
        recurrent_mask=operands.mask is not None,
        given_products=operands.inputWeight is None,
    )
    return Model(choice, operands.sizes, config)
