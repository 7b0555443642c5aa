"""What the core asks of a device. Backends implement this protocol; nothing else crosses the seam.

Addresses are integers on the backend's device, None for NULL. Strides and counts are in elements
unless a name says `nbytes`. A backend runs whole recurrences, never a step at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import BadParam
from .codes import QuantizedKernels
from .config import RIGHT_TO_LEFT, RNNConfig
from .sequence import Sequence

NOTHING_WAITS = -1  # instead of a stream, as DLPack has it


@dataclass(frozen=True)
class Matrix:
    """A matrix in device memory: element (i, j) is row * i + column * j elements from `address`.

    index   if given, row i is row index[i] instead; -1 - r stands for row r of `other`, whose rows
            are `other_row` apart and which is zero if None
    """

    address: int
    row: int
    column: int = 1
    index: Any = None
    other: int | None = None
    other_row: int = 0


class Contraction(NamedTuple):
    """The product `to` (C, N) of C columns of a matrix with the N columns of `b`, over all rows."""

    to: Matrix
    b: Matrix
    columns: int


# Addresses of vectors (H,), None for one that there is not.
Vectors = tuple[int | None, ...]


MAX_DIMS = 5  # that backends walk


@dataclass(frozen=True)
class Strided:
    """A tensor in device memory, of lengths given beside it: 1 to MAX_DIMS dimensions."""

    address: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """One layer in one direction, over one set of sequences, and where its parameters are.

    position           where among the rows of matrices each gate of the cell is
    input, recurrent   matrices of all gates, (G * H, I) and (G * H, initial_size); input is None
                       where x is added instead
    input_biases, recurrent_biases   of each gate of the cell
    projection         (P, H); None without one
    peepholes          of the cell, one behind the other in memory
    is_replayed        whether a device should replay the steps as a graph when a call repeats
    keeps_planes       whether others read `cells` and `saved`; if not, a backend may order these as
                       it likes
    """

    config: RNNConfig
    sequence: Sequence
    layer: int
    direction: int
    position: tuple[int, ...]
    input: Matrix | None
    recurrent: Matrix
    input_biases: Vectors
    recurrent_biases: Vectors
    projection: Matrix | None = None
    peepholes: Vectors = ()
    is_replayed: bool = False
    keeps_planes: bool = False

    def __post_init__(self) -> None:
        config = self.config
        if self.sequence.steps > 1 and config.initial_size != config.state_size:
            rule = "must be 0 for sequences of more than one step"
            raise BadParam("recurrent_size", rule, config.recurrent_size)

    @property
    def takes_products(self) -> bool:
        """Whether its input is what the input products would be."""
        return self.layer == 0 and self.config.given_products

    @property
    def input_size(self) -> int:
        """Features of the layer's input, also where they are added instead of multiplied."""
        config = self.config
        return config.layer_input_size(self.layer) if self.layer else config.input_size

    @property
    def reverse(self) -> bool:
        """Whether it runs from the last step to the first."""
        return self.direction == 1 or self.config.direction == RIGHT_TO_LEFT


def dropout_scale(rate: float) -> float:
    """Of what dropout keeps, in single precision."""
    one, dropped = np.float32(1), np.float32(rate)
    return 0.0 if dropped == 1 else float(one / (one - dropped))


class Dropped(NamedTuple):
    """What a layer reads of the output (T, S) of the one below, which is at `source`: dropout_scale
    times what the mask (T, S), of bytes, keeps, else 0."""

    source: int
    mask: int
    rate: float


class ForwardRun(NamedTuple):
    """A layer in one direction, over the whole sequence. S is P with a projection, else H; S' is
    the config's initial_size.

    x        (T, I)     the layer's input; (T, G, H) where these are products already
    hx, cx   (N, S'), (N, H)  initial states of this layer and direction; None means zeros
    output   (T, S)     written; y, if not None, is written alike
    hy, cy   (N, S), (N, H)  written unless None; of sequences of length zero see the config
    cells    (T, H)     cell states in the real type, for backward; None in inference
    saved    (T, V, H)  the cell's saved planes, for backward; None in inference
    hidden   (T, H)     what a step's second product multiplies, what is projected or a late
                        gate's operand, for backward; None in inference, or without
    attention  (T,)     if the cell takes it
    recurrent_mask  (N, S')  multiplies what the recurrent matrices multiply; None: ones
    masked   (T, S')    the states times the mask, for backward; None in inference, or without
    dropped  what x is first to be made of; None if it is there, or as the run before makes it
    """

    layer: Layer
    x: Matrix
    hx: int | None
    cx: int | None
    output: Matrix
    y: Matrix | None
    hy: int | None
    cy: int | None
    cells: int | None
    saved: int | None
    hidden: int | None = None
    attention: int | None = None
    recurrent_mask: int | None = None
    masked: int | None = None
    dropped: Dropped | None = None


class BackwardRun(NamedTuple):
    """The gradient of a layer's pre-activations in one direction, from that of its output.

    attention, recurrent_mask  as forward got them
    dy         (T, S)     gradient of the output; may stand where plane 0 of dgates, or where
                          dprojected is written
    mask       (T, S)     bytes; dy counts mask * scale times. None: once
    dhy, dcy   (N, S), (N, H)  gradients of the final states; None means zeros
    dhx, dcx   (N, S'), (N, H)  written unless None
    dgates     (T, planes, H)  written: the gates' planes in layout order, then input planes
    dprojected (T, S)     written with a projection: the whole gradient of the output
    """

    layer: Layer
    dy: Matrix
    mask: Matrix | None
    scale: float
    hx: int | None
    cx: int | None
    output: Matrix
    cells: int | None
    saved: int | None
    dhy: int | None
    dcy: int | None
    dhx: int | None
    dcx: int | None
    dgates: Matrix
    dprojected: Matrix | None = None
    hidden: int | None = None
    attention: int | None = None
    recurrent_mask: int | None = None


# What calls the operations of a backend on memory at addresses given by names; it calls the same
# ones wherever that is.
Walk = Callable[[Any, Mapping[str, int]], None]


class Backend(Protocol):
    """A device. One instance serves one handle.

    memory   where its addresses lie: HOST or CUDA of `core.memory`
    stream   the address of the stream its work is put on, 0 for the default one; None on the host,
             where a call returns when its work is done
    awaiting  of `core.memory.Location`, which a backend is
    quantized  inference on 8-bit codes
    """

    name: str
    memory: str
    stream: int | None
    awaiting: int | None
    quantized: QuantizedKernels

    def set_stream(self, stream: Any, argument: str = "stream") -> None:
        """Put later work on a stream: an address, an object that stands for one, or None.

        Raises BadParam, which names the argument, for anything else; the host has no streams and
        takes all.
        """

    def wait_for(self, stream: int) -> None:
        """Let later work wait for what is on another stream so far."""

    def timer(self) -> Callable[[], float]:
        """Begin to measure: the answer waits for the work put on the stream since, and gives the
        milliseconds that it took."""

    def close(self) -> None:
        """Give scratch back to its allocator; the backend may be used again."""

    def set_allocator(
        self,
        allocator: Callable[[Any, int], int] | None,
        deallocator: Callable[[Any, int], None] | None,
        context: Any,
    ) -> None:
        """Take internal scratch from the caller's functions; None restores the backend's own."""

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A new array, NumPy's or CuPy's, its contents undefined; "uint8" is a dtype too.

        What is put on the stream before the last reference is dropped may still use its memory.
        Raises OutOfMemory, and NotSupported for bfloat16 without the package ml_dtypes.
        """

    def prepare(self, walk: Walk, names: tuple[str, ...]) -> Callable[[list[int]], None] | None:
        """What runs a walk, given the addresses of these names in this order; None if nothing is
        faster than the walk itself. The walk is called with addresses that mean nothing."""

    def layers_at_a_time(
        self, config: RNNConfig, batch_sizes: tuple[int, ...], *, backward: bool
    ) -> int:
        """How many layers a call of recurrence_forward or recurrence_backward takes; 1 for stacks
        of more than one direction."""

    def recurrence_forward(self, runs: list[ForwardRun]) -> None:
        """Run one direction of a layer, or both: these may run at the same time, since nothing that
        one writes overlaps anything of the other. They differ in nothing but addresses and
        direction. Or up to layers_at_a_time layers, each of which reads what the run before it
        writes, or what is `dropped` of that. The output of a run may lie where x of the run before
        it does, row on row: it may be written once that run has done the same step."""

    def recurrence_backward(self, runs: list[BackwardRun]) -> None:
        """As `recurrence_forward`, of layers the top one first: dy of each but the first is written
        here, from the dgates and the input matrices of the one before."""

    def gemm(
        self,
        dtype: str,
        c: Matrix,
        a: Matrix,
        b: Matrix,
        shape: tuple[int, int, int],
        *,
        accumulate: bool = False,
    ) -> None:
        """c = a b, or c += a b, with shape (M, N, K). Rows or columns of c are adjacent."""

    def contract(
        self,
        dtype: str,
        a: Matrix,
        shape: tuple[int, int],
        products: list[Contraction],
        sums: list[int],
        *,
        accumulate: bool = False,
    ) -> None:
        """Over all rows of a, which is of `shape`: its products, and its sums of columns to each of
        up to two addresses; or += with `accumulate`. Nothing written overlaps anything else."""

    def plane_sums(
        self, dtype: str, out: Matrix, a: Matrix, rows: int, columns: int, planes: list[int]
    ) -> None:
        """out = the sum of the planes of a that start at the given offsets within each row."""

    def gather_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        """Row i of `to`, `nbytes` long, is row index[i] of `source`."""

    def scatter_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        """Row index[i] of `to` is row i of `source`, `nbytes` long."""

    def fill(self, to: int, item: bytes, count: int) -> None:
        """`count` copies of `item`."""

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Move bytes; the areas may overlap."""

    def initialize_dropout_states(self, states: int, nbytes: int, seed: int) -> None:
        """Fill the states that fit in nbytes from the seed."""

    def dropout_states_nbytes(self, elements: int) -> int:
        """Bytes of the states that the mask of so many elements is drawn from."""

    def dropout_mask(self, mask: int, states: int, elements: int, dropout: float) -> None:
        """Write one byte per element: 1 where it is kept."""

    def dropout_advance(self, states: int, elements: int) -> None:
        """Let the states of such a mask go on behind its last draw: the next one will differ."""

    def dropout_apply(
        self, dtype: str, y: int, x: int, mask: int, elements: int, dropout: float
    ) -> None:
        """y = x / (1 - dropout) where the mask keeps it, else 0. y may be x."""

    def dropout(
        self,
        dtype: str,
        lengths: tuple[int, ...],
        y: Strided,
        x: Strided,
        mask: int | None,
        states: int | None,
        dropout: float,
    ) -> None:
        """dropout_apply on strided tensors, the mask in row-major order of the lengths.

        states   if given, the mask is drawn from them first; None takes it as it is
        mask     None, with states, to keep none
        """

    def set_tensor(self, dtype: str, lengths: tuple[int, ...], y: Strided, alpha: bytes) -> None:
        """y = alpha, one value of dtype. Every dtype of the dialects."""

    def scale_tensor(self, dtype: str, lengths: tuple[int, ...], y: Strided, alpha: bytes) -> None:
        """y = alpha * y, alpha one value of dtype. Integers wrap."""

    def transform_tensor(
        self,
        dtype: str,
        lengths: tuple[int, ...],
        y: Strided,
        x: Strided,
        alpha: bytes,
        beta: bytes,
    ) -> None:
        """y = alpha * x + beta * y, both one value of dtype; 0 does not read y. y may be x."""

    def op_tensor(
        self,
        dtype: str,
        op: str,
        lengths: tuple[int, ...],
        c: Strided,
        a: Strided,
        b: Strided,
        scalars: tuple[float, float, float],
    ) -> None:
        """c = op(alpha1 * a, alpha2 * b) + beta * c with scalars (alpha1, alpha2, beta).

        op is "add", "multiply", "minimum" or "maximum". beta 0 does not read c. c may be a or b.
        """

    def convert_tensor(
        self,
        dtypes: tuple[str, str],
        lengths: tuple[int, ...],
        y: Strided,
        x: Strided,
        *,
        scales: Strided | None = None,
        shift: float = 0.0,
    ) -> None:
        """y = x with (y's, x's) dtypes: float32, float16, bfloat16, int8 or uint8.

        Numbers become the nearest ones, integers saturate.

        scales   float32, 0 being a stride along which they repeat; x is multiplied by them, and
                 the shift added, in float32
        """
