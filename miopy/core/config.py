"""One RNN, described once: what it computes and on which numbers."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BadParam
from .cells import CELLS, Cell


@dataclass(frozen=True)
class DType:
    """A storage type. Arithmetic is in `real`: float32, or float64 for float64."""

    name: str
    itemsize: int
    real_itemsize: int


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("float32", 4, 4),
        DType("float16", 2, 4),
        DType("bfloat16", 2, 4),
        DType("float64", 8, 8),
    )
}


@dataclass(frozen=True)
class RNNConfig:
    """A stack of recurrent layers; layer l + 1 reads both directions of layer l.

    cell            a name in `cells.CELLS`
    input_size      I, features of x
    hidden_size     H, units per layer and direction
    num_layers      L
    bidirectional   two directions, outputs concatenated
    bias            an input and a recurrent bias per gate, or none
    skip_input      layer 0 adds x to every gate instead of multiplying it; needs I == H
    dtype           a name in `DTYPES`
    dropout         whether inter-layer dropout takes part (its mask is booked in the reserve)
    """

    cell: str
    input_size: int
    hidden_size: int
    num_layers: int = 1
    bidirectional: bool = False
    bias: bool = True
    skip_input: bool = False
    dtype: str = "float32"
    dropout: bool = False

    def __post_init__(self) -> None:
        if self.cell not in CELLS:
            raise BadParam("cell", f"must be one of {', '.join(CELLS)}", self.cell)
        if self.dtype not in DTYPES:
            raise BadParam("dtype", f"must be one of {', '.join(DTYPES)}", self.dtype)
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) < 0:
                raise BadParam(name, "must not be negative", getattr(self, name))
        if self.skip_input and self.input_size != self.hidden_size:
            raise BadParam("input_size", "must equal hidden_size with skip_input", self.input_size)

    @property
    def num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def record(self) -> Cell:
        return CELLS[self.cell]

    @property
    def num_gates(self) -> int:
        return len(self.record.gates)

    @property
    def output_size(self) -> int:
        """Features of y: D * H."""
        return self.num_directions * self.hidden_size

    @property
    def itemsize(self) -> int:
        return DTYPES[self.dtype].itemsize

    @property
    def real_itemsize(self) -> int:
        return DTYPES[self.dtype].real_itemsize

    def layer_input_size(self, layer: int) -> int:
        """Features that the input matrices of a layer multiply; 0 for layer 0 of skip_input."""
        if layer:
            return self.output_size
        return 0 if self.skip_input else self.input_size
