"""One RNN, described once: what it computes and on which numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import lru_cache
from numbers import Integral, Real
from struct import pack
from typing import Any

import numpy as np

from ..errors import BadParam
from .cells import ACTIVATIONS, CELLS, Cell
from .forks import cached_property


@dataclass(frozen=True)
class DType:
    """A storage type and its 1. Arithmetic is in `real`: float32, or float64 for float64."""

    name: str
    itemsize: int
    real_itemsize: int
    one: bytes


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("float32", 4, 4, pack("=f", 1)),
        DType("float16", 2, 4, pack("=e", 1)),
        DType("bfloat16", 2, 4, pack("=H", 0x3F80)),
        DType("float64", 8, 8, pack("=d", 1)),
    )
}


INPUT, RECURRENT, PROJECTION, PEEPHOLE = ROLES = (0, 1, 2, 3)
# Which of the two bias vectors of a gate there are: roles. "merged" has a recurrent one only where
# it is not just added to the input one: for separate gates.
BIASES = {
    "none": (),
    "input": (INPUT,),
    "recurrent": (RECURRENT,),
    "both": (INPUT, RECURRENT),
    "merged": (INPUT, RECURRENT),
}
# How a layer runs through its sequences; two directions are put side by side, or added.
DIRECTIONS = LEFT_TO_RIGHT, RIGHT_TO_LEFT, CONCAT, SUM = (
    "left_to_right",
    "right_to_left",
    "concat",
    "sum",
)
CHOICES: dict[str, Collection[str]] = {
    "cell": CELLS,
    "dtype": DTYPES,
    "bias": BIASES,
    "direction": DIRECTIONS,
}
SIZES = ("input_size", "hidden_size", "num_layers", "projection_size", "recurrent_size")


def _size(name: str, value: Any) -> int:
    """value as an int of Python's: others wrap around. Raises BadParam."""
    try:
        size = int(operator.index(value))
    except TypeError:
        raise BadParam(name, "must be an integer", value) from None
    if size < 0:
        raise BadParam(name, "must not be negative", size)
    return size


def check_flag(name: str, value: Any) -> bool:
    """value as a bool; BadParam unless it is one, also NumPy's, or 0 or 1: text that says no would
    be a yes."""
    if isinstance(value, Integral | np.bool_) and value in (0, 1):
        return bool(value)
    raise BadParam(name, "must be True or False", value)


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


@dataclass(frozen=True)
class Clip:
    """Bounds of LSTM's cell state where it is read: by the next step, and by the output.

    catches_nan   whether a NaN becomes the lower bound; else it stays
    """

    low: float
    high: float
    catches_nan: bool = False

    def __post_init__(self) -> None:
        numbers = all(isinstance(bound, Real) for bound in (self.low, self.high))
        if not numbers or not self.low <= self.high:
            raise BadParam("clip", "must have numbers as bounds, the lower one first", self)


@dataclass(frozen=True)
class RNNConfig:
    """A stack of recurrent layers; layer l + 1 reads both directions of layer l, side by side.

    cell              a name in `cells.CELLS`
    input_size        I, features of x
    hidden_size       H, units per layer and direction
    num_layers        L
    direction         a name in `DIRECTIONS`; of "sum", layers that others read are independent
    bias              a name in `BIASES`
    skip_input        layer 0 adds x to every gate instead of multiplying it; needs I == H
    dtype             a name in `DTYPES`
    dropout           whether inter-layer dropout takes part (its mask is booked in the reserve)
    projection_size   P: h is the product of a matrix (P, H) with what the cell puts out; 0: it is
                      what the cell puts out. For cells with a cell state
    clip              bounds of LSTM's cell state; None: none
    slope             of leaky_relu below zero; None: the cell's default
    activations       of a general cell: a name in `cells.ACTIVATIONS` for each that its record
                      lists; None: the usual ones
    flips_update      of a general GRU: h' = (1 - z) h + z n instead of (1 - z) n + z h
    recurrent_mask    whether what the recurrent matrices multiply is multiplied by a mask first,
                      element by element, in every step the same one
    given_products    x holds, for every direction and gate of layer 0 in the layout's order, what
                      the input product would be; needs I == D * gates * H
    idle_keeps_state  the final states of a sequence without a step are its initial ones (and so
                      with gradients); else they are zero
    independent       a direction of layer l + 1 reads only the same one of layer l: the directions
                      are stacks of their own, whose outputs meet at the top
    recurrent_size    features of hx and columns of the recurrent matrices, where they are not those
                      of h: for sequences of one step, and cells that h enters by products alone
    onednn_attention  backward of a cell with attention is what oneDNN computes, which is not the
                      derivative of forward
    """

    cell: str
    input_size: int
    hidden_size: int
    num_layers: int = 1
    direction: str = LEFT_TO_RIGHT
    bias: str = "both"
    skip_input: bool = False
    dtype: str = "float32"
    dropout: bool = False
    projection_size: int = 0
    clip: Clip | None = None
    slope: float | None = None
    activations: tuple[str, ...] | None = None
    flips_update: bool = False
    recurrent_mask: bool = False
    given_products: bool = False
    idle_keeps_state: bool = False
    independent: bool = False
    recurrent_size: int = 0
    onednn_attention: bool = False

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in choices:
                raise BadParam(name, f"must be one of {', '.join(choices)}", value)
        for name in SIZES:
            # 8.0 equals 8: what is remembered of one would be the answer for the other.
            object.__setattr__(self, name, _size(name, getattr(self, name)))
        for name in FLAGS:
            if type(value := getattr(self, name)) is not bool:
                object.__setattr__(self, name, check_flag(name, value))
        self._check_topology()
        self._check_numbers()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def _check_topology(self) -> None:
        if self.skip_input and self.input_size != self.hidden_size:
            raise BadParam("input_size", "must equal hidden_size with skip_input", self.input_size)
        if self.projection_size and not self.record.has_cell_state:
            raise BadParam(
                "projection_size", "must be 0 without a cell state", self.projection_size
            )
        if self.direction == SUM and self.num_layers > 1 and not self.independent:
            raise BadParam("direction", "must not be sum in a stack that is not independent")
        if self.initial_size != self.state_size and self.record.blends:
            raise BadParam(
                "recurrent_size", f"must be 0 of {self.cell}, which blends h", self.recurrent_size
            )
        if self.initial_size != self.state_size and self.idle_keeps_state:
            raise BadParam(
                "recurrent_size", "must be 0 if states may be kept as they are", self.recurrent_size
            )

    def _check_numbers(self) -> None:
        if self.clip is not None and not isinstance(self.clip, Clip):
            raise BadParam("clip", "must be a Clip", self.clip)
        if self.clip and "clip_low" not in dict(self.record.scalars):
            raise BadParam("clip", f"must be None, {self.cell} has nothing to clip", self.clip)
        if self.slope is not None and "slope" not in dict(self.record.scalars):
            raise BadParam("slope", f"must be None, {self.cell} has none", self.slope)
        if self.onednn_attention and not self.record.attention:
            raise BadParam("onednn_attention", f"must be False, {self.cell} takes no attention")
        if self.slope is not None and not _is_finite(self.slope):
            raise BadParam("slope", "must be a finite number", self.slope)
        self._check_general()
        if self.given_products and self.skip_input:
            raise BadParam("given_products", "must be False with skip_input", True)
        features = self.num_directions * self.num_gates * self.hidden_size
        if self.given_products and self.input_size != features:
            rule = f"must be {features}, of every direction and gate, with given_products"
            raise BadParam("input_size", rule, self.input_size)

    def _check_general(self) -> None:
        usual = self.record.activations
        if self.activations is not None:
            if len(self.activations) != len(usual) or not set(self.activations) <= {*ACTIVATIONS}:
                rule = f"must have {len(usual)} names of {', '.join(ACTIVATIONS)}"
                raise BadParam("activations", f"{rule} for {self.cell}", self.activations)
        if self.flips_update and "flip" not in dict(self.record.scalars):
            raise BadParam("flips_update", f"must be False for {self.cell}", True)

    @cached_property
    def num_directions(self) -> int:
        return 2 if self.direction in (CONCAT, SUM) else 1

    @cached_property
    def record(self) -> Cell:
        return CELLS[self.cell]

    @cached_property
    def num_gates(self) -> int:
        return len(self.record.gates)

    @cached_property
    def state_size(self) -> int:
        """Units of h: P with a projection, else H."""
        return self.projection_size or self.hidden_size

    @cached_property
    def initial_size(self) -> int:
        """Features of hx, and columns of the recurrent matrices."""
        return self.recurrent_size or self.state_size

    @property
    def has_operand(self) -> bool:
        """Whether a step has a second product, with (H,) per row: a projection, or a late gate."""
        return bool(self.projection_size) or self.record.late is not None

    @cached_property
    def output_size(self) -> int:
        """Features of y: those of h, of both directions if they are not added."""
        return self.state_size if self.direction == SUM else self.layer_output_size

    @cached_property
    def layer_output_size(self) -> int:
        """Features of what a layer puts out, its directions side by side: D * P or D * H."""
        return self.num_directions * self.state_size

    @property
    def roles(self) -> tuple[int, ...]:
        """The roles of matrices."""
        return (INPUT, RECURRENT, PROJECTION) if self.projection_size else (INPUT, RECURRENT)

    @cached_property
    def scalars(self) -> tuple[float, ...]:
        """The numbers that the cell's math takes, in the record's order."""
        given: dict[str, float] = {}
        if self.clip:
            given = {"clip_low": self.clip.low, "clip_high": self.clip.high}
            given["clip_nan"] = self.clip.low if self.clip.catches_nan else math.nan
        if self.slope is not None:
            given["slope"] = self.slope
        if self.onednn_attention:
            given["onednn_attention"] = 1.0
        if self.flips_update:
            given["flip"] = 1.0
        names = self.activations or [usual for _, usual in self.record.activations]
        activations = [float(ACTIVATIONS.index(name)) for name in names]
        others = [given.get(name, default) for name, default in self.record.scalars]
        return (*activations, *others)

    @cached_property
    def itemsize(self) -> int:
        return DTYPES[self.dtype].itemsize

    @cached_property
    def real_itemsize(self) -> int:
        return DTYPES[self.dtype].real_itemsize

    def layer_input_size(self, layer: int) -> int:
        """Features that the input matrices of a layer multiply; 0 where it has none."""
        if layer:
            return self.state_size if self.independent else self.layer_output_size
        return self.input_size if self.has_input_matrices else 0

    @property
    def has_input_matrices(self) -> bool:
        """Whether layer 0 multiplies x."""
        return not self.skip_input and not self.given_products

    def bias_gates(self, role: int) -> tuple[int, ...]:
        """The gates that have a bias of a role, in the cell's order."""
        if role not in BIASES[self.bias]:
            return ()
        gates = range(self.num_gates)
        if self.bias == "merged" and role == RECURRENT:
            return tuple(gate for gate in gates if self.record.input_plane(gate) != gate)
        return tuple(gates)


FLAGS = tuple(field.name for field in fields(RNNConfig) if field.type == "bool")

# The same object for the same description, which then is checked and worked out but once.
remembered_config = lru_cache(maxsize=256)(RNNConfig)
