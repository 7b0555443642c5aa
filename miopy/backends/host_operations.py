"""The host's operations as structs of arguments for its compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.backend import BackwardRun, Contraction, Dropped, ForwardRun, Layer, Matrix, Strided
from ..core.config import RNNConfig
from . import stepped
from ._host import ffi, lib
from .host_elementwise import pointer
from .host_stepped import CELL_NUMBER
from .numbering import OPERATIONS, STORAGE


def _indices(array: np.ndarray[Any, Any] | None) -> Any:
    if array is None:
        return ffi.NULL
    return ffi.cast("int64_t *", array.ctypes.data)


def has_own_kernels(layer: Layer) -> bool:
    """Whether the host's kernels run a layer; the stepwise composition runs every other."""
    config = layer.config
    reads_otherwise = (
        layer.takes_products or config.recurrent_mask or config.initial_size != config.state_size
    )
    return layer.projection is None and config.record.is_plain and not reads_otherwise


@lru_cache(maxsize=256)
def _layer(layer: Layer) -> tuple[Any, Any]:
    """A layer as the kernels take it, and what owns the arrays that it points to, which may be an
    equal layer's. Remembered: what runs once runs again from the same place."""
    config, sequence, target = layer.config, layer.sequence, ffi.new("rnn_layer *")
    target.cell = CELL_NUMBER[config.cell]
    target.storage = STORAGE[config.dtype]
    target.reverse = layer.reverse
    target.steps, target.rows, target.batch = sequence.steps, sequence.rows, sequence.batch
    target.input_size, target.hidden_size = layer.input_size, config.hidden_size
    target.batch_sizes = _indices(sequence.batch_sizes_array)
    target.offsets = _indices(sequence.offsets)
    target.order = _indices(sequence.order_array)
    if layer.input is not None:
        target.input = pointer(layer.input.address)
        target.input_out, target.input_in = layer.input.row, layer.input.column
    target.recurrent = pointer(layer.recurrent.address)
    target.recurrent_out, target.recurrent_in = layer.recurrent.row, layer.recurrent.column
    target.input_bias = list(map(pointer, layer.input_biases))
    target.recurrent_bias = list(map(pointer, layer.recurrent_biases))
    if layer.peepholes:
        target.peepholes = pointer(layer.peepholes[0])
    for gate, position in enumerate(layer.position):
        target.position[gate] = position
    target.idle_keeps_state = config.idle_keeps_state
    target.keeps_planes = layer.keeps_planes
    for number, value in enumerate(config.scalars):
        target.scalars[number] = value
    return target, sequence


def _forward_pass(run: ForwardRun, follows: bool) -> tuple[Any, Any]:
    """A pass as the kernels take it, and what owns what it points to."""
    call, (layer, kept) = ffi.new("forward_pass *"), _layer(run.layer)
    call.layer = layer[0]
    call.follows = follows
    call.x, call.x_row = pointer(run.x.address), run.x.row
    call.attention = pointer(run.attention)
    call.hx, call.cx = pointer(run.hx), pointer(run.cx)
    call.output, call.output_row = pointer(run.output.address), run.output.row
    if run.y is not None:
        call.y, call.y_row = pointer(run.y.address), run.y.row
    call.hy, call.cy = pointer(run.hy), pointer(run.cy)
    call.cells, call.saved = pointer(run.cells), pointer(run.saved)
    return call, kept


def _backward_pass(run: BackwardRun) -> tuple[Any, Any]:
    """As `_forward_pass`."""
    call, (layer, kept) = ffi.new("backward_pass *"), _layer(run.layer)
    call.layer = layer[0]
    call.dy, call.dy_row = pointer(run.dy.address), run.dy.row
    if run.mask is not None:
        call.mask = ffi.cast("uint8_t *", run.mask.address)
        call.mask_row, call.scale = run.mask.row, run.scale
    call.attention = pointer(run.attention)
    call.hx, call.cx = pointer(run.hx), pointer(run.cx)
    call.output, call.output_row = pointer(run.output.address), run.output.row
    call.cells, call.saved = pointer(run.cells), pointer(run.saved)
    call.dhy, call.dcy = pointer(run.dhy), pointer(run.dcy)
    call.dhx, call.dcx = pointer(run.dhx), pointer(run.dcx)
    call.dgates, call.dgates_row = pointer(run.dgates.address), run.dgates.row
    return call, kept


def _fill_operand(target: Any, matrix: Matrix, across: int, along: int) -> None:
    target.at, target.other = pointer(matrix.address), pointer(matrix.other)
    target.across, target.along, target.other_along = across, along, matrix.other_row
    target.index = _indices(matrix.index)


def _product(
    dtype: str, c: Matrix, a: Matrix, b: Matrix, shape: tuple[int, int, int], accumulate: bool
) -> Any:
    call = ffi.new("gemm_call *")
    call.storage = call.c_storage = STORAGE[dtype]
    call.accumulate = accumulate
    call.K = shape[2]
    call.c = pointer(c.address)
    if c.column == 1:
        left, right = call.a, call.b
        call.M, call.N, call.c_row = shape[0], shape[1], c.row
    else:  # c' = b' a'
        left, right = call.b, call.a
        call.N, call.M, call.c_row = shape[0], shape[1], c.column
    _fill_operand(left, a, a.row, a.column)
    _fill_operand(right, b, b.column, b.row)
    return call


def _column_sums(
    dtype: str, sums: list[int], a: Matrix, shape: tuple[int, int], accumulate: bool
) -> Any:
    call = ffi.new("sums_call *")
    call.storage, call.accumulate = STORAGE[dtype], accumulate
    call.out, call.also_out = pointer(sums[0]), pointer(sums[1] if sums[1:] else None)
    call.a, call.a_row = pointer(a.address), a.row
    call.M, call.N = shape
    return call


class Operations:
    """What `core.backend.Backend` says of these methods, but for doing it: that is a subclass's."""

    def _do(self, operation: int, call: Any, kept: Any) -> None:
        """An operation of kernels/host/program.h.

        call   the struct of its arguments
        kept   what owns the arrays that the struct points to
        """
        raise NotImplementedError

    def _compose(self, compose: Callable[..., None], run: ForwardRun | BackwardRun) -> None:
        """Run a direction of a layer by the stepwise composition."""
        raise NotImplementedError

    def _drop(self, layer: Layer, x: int, dropped: Dropped) -> None:
        """Write what a layer reads."""
        raise NotImplementedError

    def layers_at_a_time(
        self, config: RNNConfig, batch_sizes: tuple[int, ...], *, backward: bool
    ) -> int:
        """Two where one may follow the other, a step behind."""
        return 1 if backward or config.num_directions > 1 else 2

    def recurrence_forward(self, runs: list[ForwardRun]) -> None:
        if all(has_own_kernels(run.layer) and run.dropped is None for run in runs):
            below = runs[0].layer.layer
            passes = [_forward_pass(run, run.layer.layer != below) for run in runs]
            self._do_passes(lib.RECURRENCE_FORWARD, passes)
            return
        for run in runs:
            if run.dropped is not None:
                self._drop(run.layer, run.x.address, run.dropped)
            if has_own_kernels(run.layer):
                self._do_passes(lib.RECURRENCE_FORWARD, [_forward_pass(run, False)])
            else:
                self._compose(stepped.forward, run)

    def recurrence_backward(self, runs: list[BackwardRun]) -> None:
        if has_own_kernels(runs[0].layer):
            self._do_passes(lib.RECURRENCE_BACKWARD, [_backward_pass(run) for run in runs])
        else:
            for run in runs:
                self._compose(stepped.backward, run)

    def _do_passes(self, operation: int, passes: list[tuple[Any, Any]]) -> None:
        """Passes that may run side by side, each with what it points to, as one operation."""
        for (call, _), (other, _) in pairwise(passes):
            call.other = other
        self._do(operation, passes[0][0], passes)

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
        self._do(lib.GEMM, _product(dtype, c, a, b, shape, accumulate), (a.index, b.index))

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
        calls, kept = [], [each.b.index for each in products]
        for to, b, columns in products:
            transposed, extents = Matrix(a.address, a.column, a.row), (shape[1], columns, shape[0])
            call = _product(dtype, to, transposed, b, extents, accumulate)
            if to.column == 1:
                calls.append(call)
            else:  # there a is the other side
                self._do(lib.GEMM, call, b.index)
        added = _column_sums(dtype, sums, a, shape, accumulate) if sums else ffi.NULL
        for call, other in pairwise(calls):
            call.also = other
        if calls:
            calls[0].sums = added
            self._do(lib.GEMM, calls[0], (calls, added, kept))
        elif sums:
            self._do(lib.COLUMN_SUMS, added, None)

    def plane_sums(
        self, dtype: str, out: Matrix, a: Matrix, rows: int, columns: int, planes: list[int]
    ) -> None:
        call, starts = ffi.new("sums_call *"), ffi.new("int64_t[]", planes)
        call.storage, call.planes, call.count = STORAGE[dtype], starts, len(planes)
        call.out, call.out_row = pointer(out.address), out.row
        call.a, call.a_row = pointer(a.address), a.row
        call.M, call.N = rows, columns
        self._do(lib.PLANE_SUMS, call, starts)

    def gather_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        self._move_rows(lib.GATHER_ROWS, to, source, index, nbytes)

    def scatter_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        self._move_rows(lib.SCATTER_ROWS, to, source, index, nbytes)

    def _move_rows(self, operation: int, to: int, source: int, index: Any, nbytes: int) -> None:
        places = _indices(index)
        call = ffi.new("rows_call *", (pointer(to), pointer(source), places, len(index), nbytes))
        self._do(operation, call, index)

    def fill(self, to: int, item: bytes, count: int) -> None:
        source = ffi.new("char[]", item)
        call = ffi.new("rows_call *", (pointer(to), source, ffi.NULL, count, len(item)))
        self._do(lib.FILL_ITEMS, call, source)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        call = ffi.new("rows_call *", (pointer(to), pointer(source), ffi.NULL, 1, nbytes))
        self._do(lib.COPY_BYTES, call, None)

    def transform_tensor(
        self,
        dtype: str,
        lengths: tuple[int, ...],
        y: Strided,
        x: Strided,
        alpha: bytes,
        beta: bytes,
    ) -> None:
        call = ffi.new("transform_call *")
        call.type, call.dims, call.alpha, call.beta = STORAGE[dtype], len(lengths), alpha, beta
        call.lengths, call.y_strides, call.x_strides = lengths, y.strides, x.strides
        call.y, call.x = pointer(y.address), pointer(x.address)
        self._do(lib.TRANSFORM, call, None)

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
        call = ffi.new("combine_call *")
        call.type, call.op, call.dims = STORAGE[dtype], OPERATIONS.index(op), len(lengths)
        call.alpha1, call.alpha2, call.beta = scalars
        call.lengths, call.c_strides = lengths, c.strides
        call.a_strides, call.b_strides = a.strides, b.strides
        call.c, call.a, call.b = (pointer(each.address) for each in (c, a, b))
        self._do(lib.COMBINE, call, None)

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
        call = ffi.new("convert_call *")
        call.y_type, call.x_type = (STORAGE[dtype] for dtype in dtypes)
        call.dims, call.shift = len(lengths), shift
        call.lengths, call.y_strides, call.x_strides = lengths, y.strides, x.strides
        call.y, call.x = pointer(y.address), pointer(x.address)
        if scales is not None:
            call.scales, call.scale_strides = ffi.cast("float *", scales.address), scales.strides
        self._do(lib.CONVERT, call, None)
