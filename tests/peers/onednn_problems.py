"""Problems for oneDNN's RNN primitive: sizes and options, and tensors for them.

Tensors have oneDNN's names and shapes; its letters are time, batch, slc (channels of src_layer),
sic (of src_iter), dhc (hidden units) and dic (channels of dst_iter).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from storage import rounded

Tensors = dict[str, np.ndarray]

LEFT2RIGHT, RIGHT2LEFT = "left2right", "right2left"
CONCAT, SUM = "bidirectional_concat", "bidirectional_sum"
DIRECTIONS = (LEFT2RIGHT, RIGHT2LEFT, CONCAT, SUM)
WEIGHTS = ("weights_layer", "weights_iter", "weights_projection")
GATES = {"vanilla_rnn": "a", "lstm": "ifgo"}
GRU_GATES = "zrn"


@dataclass(frozen=True)
class Cell:
    """A row of the comparison; kind is as in dnnl_<kind>_forward_primitive_desc_create."""

    kind: str
    activation: str = ""
    alpha: float = 0.0
    peephole: bool = False
    projection: bool = False

    @property
    def gates(self) -> str:
        return GATES.get(self.kind, GRU_GATES)

    @property
    def is_lstm(self) -> bool:
        return self.kind == "lstm"

    @property
    def is_gru(self) -> bool:
        return self.kind not in GATES

    @property
    def is_linear_before_reset(self) -> bool:
        return self.kind.startswith("lbr")

    @property
    def has_attention(self) -> bool:
        return self.kind.endswith("augru")


CELLS = {
    "tanh": Cell("vanilla_rnn", "tanh"),
    "relu": Cell("vanilla_rnn", "relu"),
    "leaky relu": Cell("vanilla_rnn", "relu", 0.2),
    "logistic": Cell("vanilla_rnn", "logistic"),
    "lstm": Cell("lstm"),
    "lstm peephole": Cell("lstm", peephole=True),
    "lstm projection": Cell("lstm", projection=True),
    "lstm peephole projection": Cell("lstm", peephole=True, projection=True),
    "gru": Cell("gru"),
    "lbr_gru": Cell("lbr_gru"),
    "augru": Cell("augru"),
    "lbr_augru": Cell("lbr_augru"),
}
# Its gradient, which oneDNN computes wrongly, does not follow from its output.
FALLING = {"falling relu": Cell("vanilla_rnn", "relu", -0.5)}


@dataclass(frozen=True)
class Problem:
    """One primitive.

    src_iter    False: its descriptor, and that of src_iter_c, is NULL
    dst_iter    False: so are those of dst_iter
    data_tag    layout of src_layer and dst_layer
    overwrite   whether gradients of weights replace what is there
    packed      whether the primitive chooses the layouts of weights
    """

    name: str
    direction: str
    time: int
    batch: int
    slc: int
    sic: int
    dhc: int
    dic: int
    layers: int = 1
    dtype: str = "float32"
    src_iter: bool = True
    dst_iter: bool = True
    data_tag: str = "tnc"
    overwrite: bool = False
    packed: bool = False

    @property
    def cell(self) -> Cell:
        return (CELLS | FALLING)[self.name]

    @property
    def directions(self) -> int:
        return 2 if self.direction in (CONCAT, SUM) else 1

    @cached_property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the forward pass reads."""
        cell, stack, gates = self.cell, (self.layers, self.directions), len(self.cell.gates)
        shapes: dict[str, tuple[int, ...]] = {"src_layer": (self.time, self.batch, self.slc)}
        if self.src_iter:
            shapes["src_iter"] = (*stack, self.batch, self.sic)
        if self.src_iter and cell.is_lstm:
            shapes["src_iter_c"] = (*stack, self.batch, self.dhc)
        if cell.has_attention:
            shapes["attention"] = (self.time, self.batch, 1)
        shapes["weights_layer"] = (*stack, self.slc, gates, self.dhc)
        shapes["weights_iter"] = (*stack, self.sic, gates, self.dhc)
        if cell.peephole:
            shapes["weights_peephole"] = (*stack, 3, self.dhc)
        if cell.projection:
            shapes["weights_projection"] = (*stack, self.dhc, self.dic)
        shapes["bias"] = (*stack, gates + cell.is_linear_before_reset, self.dhc)
        return shapes

    @cached_property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the forward pass writes."""
        stack = (self.layers, self.directions, self.batch)
        width = self.dic * (2 if self.direction == CONCAT else 1)
        shapes: dict[str, tuple[int, ...]] = {"dst_layer": (self.time, self.batch, width)}
        if self.dst_iter:
            shapes["dst_iter"] = (*stack, self.dic)
        if self.dst_iter and self.cell.is_lstm:
            shapes["dst_iter_c"] = (*stack, self.dhc)
        return shapes

    def dtype_of(self, name: str) -> str:
        """Types as oneDNN wants them with bfloat16: what is added to sums in float32 keeps it."""
        single = name.startswith("diff_") or name in ("bias", "weights_peephole")
        return "float32" if single or name.endswith("iter_c") else self.dtype

    def attributes(self, api: Any) -> Any:
        """Those of the primitives, in an implementation of the API."""
        return None

    def tensors(self, seed: int = 0) -> Tensors:
        """Numbers for every input, for gradients of outputs, and for what gradients of weights
        are added to, all exactly as their types hold them."""
        rng = np.random.default_rng(seed)
        values = {name: rng.normal(size=shape) for name, shape in self.inputs.items()}
        for name in WEIGHTS:
            if name in values:
                values[name] /= np.sqrt(values[name].shape[2])
        if self.cell.has_attention:
            values["attention"] = rng.uniform(size=values["attention"].shape)
        if self.cell.activation == "relu":
            # Far from the kink, where a rounding error would change a gradient by its whole.
            values["weights_layer"] *= 0.25
            values["weights_iter"] *= 0.25
            values["bias"] = 2 * np.sign(values["bias"])
        for name, shape in (self.inputs | self.outputs).items():
            if not name.startswith(("src", "attention")):
                values["diff_" + name] = rng.normal(size=shape)
        return {name: rounded(array, self.dtype_of(name)) for name, array in values.items()}


class Sizes(NamedTuple):
    """Of a problem; a cell with a projection has DIC = state, others have DIC = DHC."""

    time: int
    batch: int
    slc: int
    dhc: int
    state: int
    layers: int = 1


SIZES = (
    Sizes(5, 3, 7, 11, 6),
    Sizes(1, 1, 1, 1, 1),
    Sizes(4, 2, 9, 9, 5, layers=3),
    Sizes(1, 4, 6, 13, 17),
    Sizes(7, 1, 33, 17, 5),
    Sizes(2, 5, 16, 16, 16, layers=2),
)
OPTIONS = [*product((True, False), repeat=3)]  # src_iter, dst_iter, overwrite
WIDER = 2  # SIC - DIC where there is but one step


def sample(name: str, direction: str, dtype: str) -> Iterator[Problem]:
    """A problem of every size; which options each has differs from row to row."""
    row = list(CELLS).index(name) + DIRECTIONS.index(direction)
    cell = CELLS[name]
    is_wrong_when_packed = cell.projection and dtype == "bfloat16"
    for number, (time, batch, slc, dhc, state, layers) in enumerate(SIZES):
        src_iter, dst_iter, overwrite = OPTIONS[(number + 3 * row) % len(OPTIONS)]
        dic = state if cell.projection else dhc
        layers = 1 if cell.has_attention else layers
        yield Problem(
            name,
            direction,
            *(time, batch),
            slc=slc if layers == 1 else dic,
            sic=dic if time > 1 or batch == 1 or cell.is_gru else dic + WIDER,
            dhc=dhc,
            dic=dic,
            layers=layers,
            dtype=dtype,
            src_iter=src_iter or time * batch == 1,
            dst_iter=dst_iter,
            # Without src_iter and with tnc, oneDNN's gradients of weights_iter are wrong.
            data_tag="tnc" if src_iter else "ntc",
            overwrite=overwrite,
            packed=(number + row) % 2 == 1 and not is_wrong_when_packed,
        )
