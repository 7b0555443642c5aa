"""Rows, sums, dropout and the tensor operations on a device: see `core.backend`."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from ..core.backend import MAX_DIMS, Matrix, Strided, dropout_scale
from ..core.config import DTYPES
from . import cuda_source
from ._stepped import lib
from .cuda_stream import Puts
from .numbering import ALIKE, OPERATIONS, STORAGE, suffix

MOST_PLANES = 16
LOG2_SUBSEQUENCE = 67  # draws between the states of a buffer
MATRIX_NBYTES = 40 * 16 * 5 * 4  # xorwow_matrix
STATE_NBYTES = 24  # xorwow_state
LEAST_CHUNK = 64  # rows that one thread sums

Int64 = ctypes.c_int64
Float = ctypes.c_float


class WalkShape(ctypes.Structure):
    """walk_shape of kernels/strided.h."""

    _fields_ = [
        ("dims", ctypes.c_int),
        ("rows", Int64),
        ("columns", Int64),
        ("length", Int64 * MAX_DIMS),
    ]


class WalkStrides(ctypes.Structure):
    """walk_strides of kernels/strided.h."""

    _fields_ = [("row", Int64 * MAX_DIMS), ("column", Int64)]


class Conversion(ctypes.Structure):
    """conversion of kernels/convert.c."""

    _fields_ = [
        ("y", ctypes.c_void_p),
        ("x", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("y_strides", WalkStrides),
        ("x_strides", WalkStrides),
        ("scale_strides", WalkStrides),
        ("shape", WalkShape),
        ("y_type", ctypes.c_int),
        ("x_type", ctypes.c_int),
        ("shift", ctypes.c_float),
    ]


class Planes(ctypes.Structure):
    """The planes that kernels/reduce.c sums: their offsets within a row."""

    _fields_ = [("count", ctypes.c_int), ("offset", Int64 * MOST_PLANES)]


def pointer(address: int | None) -> Any:
    return ctypes.c_void_p(address or 0)


def shape_of(lengths: tuple[int, ...]) -> WalkShape:
    """A thread takes one element: every dimension is one of rows."""
    return WalkShape(len(lengths), math.prod(lengths), 1, (Int64 * MAX_DIMS)(*lengths))


def walk(tensor: Strided) -> tuple[Any, Any]:
    return pointer(tensor.address), WalkStrides((Int64 * MAX_DIMS)(*tensor.strides), 0)


class Elementwise:
    """What needs no more than a launch or two."""

    def __init__(self, stream: Puts) -> None:
        self._stream = stream

    def _shared(self, name: str) -> int:
        return self._stream.device.load(cuda_source.bytes_and_masks())[name]

    def _typed(self, name: str, dtype: str) -> int:
        dtype = ALIKE.get(dtype, dtype)
        return self._stream.device.load(cuda_source.storage(dtype))[name + suffix(dtype)]

    def gather_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        self.gather(to, Matrix(source, nbytes, index=index), len(index), nbytes, 1)

    def gather(self, to: int, source: Matrix, rows: int, nbytes: int, itemsize: int) -> None:
        """Row i of `to`, `nbytes` long, is row index[i] of a matrix of items."""
        with self._stream:
            self._stream.launch(
                self._shared("gather_rows"),
                rows * -(-nbytes // 4),
                pointer(to),
                pointer(source.address),
                pointer(self._stream.upload(source.index)),
                pointer(source.other),
                Int64(source.other_row * itemsize),
                Int64(rows),
                Int64(nbytes),
                Int64(source.row * itemsize),
            )

    def scatter_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        with self._stream:
            self._stream.launch(
                self._shared("scatter_rows"),
                len(index) * -(-nbytes // 4),
                pointer(to),
                pointer(source),
                pointer(self._stream.upload(index)),
                Int64(len(index)),
                Int64(nbytes),
                Int64(nbytes),
            )

    def fill(self, to: int, item: bytes, count: int) -> None:
        pattern = ctypes.c_uint64(int.from_bytes(item, "little"))
        sizes = Int64(len(item)), Int64(count)
        with self._stream:
            self._stream.launch(self._shared("fill_items"), count, pointer(to), pattern, *sizes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        stream = self._stream
        if to == source or nbytes == 0:
            return
        with stream:
            if abs(to - source) < nbytes:
                (aside,) = stream.regions(nbytes)
                stream.copy(aside, source, nbytes)
                source = aside
            stream.copy(to, source, nbytes)

    def column_sums(
        self,
        dtype: str,
        sums: int,
        a: Matrix,
        rows: int,
        columns: int,
        *,
        accumulate: bool = False,
    ) -> None:
        """In two steps: chunks of rows first, as many whatever the device; then their sums."""
        chunk_rows = max(LEAST_CHUNK, math.isqrt(rows))
        chunks = -(-rows // chunk_rows)
        with self._stream:
            (partial,) = self._stream.regions(chunks * columns * DTYPES[dtype].real_itemsize)
            self._stream.launch(
                self._typed("partial_sums", dtype),
                chunks * columns,
                pointer(partial),
                pointer(a.address),
                *(Int64(a.row), Int64(rows), Int64(columns), Int64(chunk_rows)),
            )
            self._stream.launch(
                self._typed("column_sums", dtype),
                columns,
                pointer(sums),
                pointer(partial),
                *(Int64(chunks), Int64(columns), ctypes.c_int(accumulate)),
            )

    def plane_sums(
        self, dtype: str, out: Matrix, a: Matrix, rows: int, columns: int, planes: list[int]
    ) -> None:
        with self._stream:
            self._stream.launch(
                self._typed("plane_sums", dtype),
                rows * columns,
                *(pointer(out.address), Int64(out.row)),
                *(pointer(a.address), Int64(a.row)),
                *(Int64(rows), Int64(columns)),
                Planes(len(planes), (Int64 * MOST_PLANES)(*planes)),
            )

    def initialize_dropout_states(self, states: int, nbytes: int, seed: int) -> None:
        count = nbytes // STATE_NBYTES
        if count < 1:
            return
        with self._stream:
            jump, spare = self._stream.regions(MATRIX_NBYTES, MATRIX_NBYTES)
            launch = self._stream.launch
            launch(self._shared("xorwow_seed"), 1, pointer(states), ctypes.c_uint64(seed))
            launch(self._shared("xorwow_step"), 40, pointer(jump))
            square = self._shared("xorwow_square")
            for _ in range(LOG2_SUBSEQUENCE):
                launch(square, 40, pointer(spare), pointer(jump))
                jump, spare = spare, jump
            known = 1
            while known < count:
                more = min(known, count - known)
                extent = Int64(known), Int64(more)
                launch(self._shared("xorwow_extend"), more, pointer(states), *extent, pointer(jump))
                launch(square, 40, pointer(spare), pointer(jump))
                jump, spare = spare, jump
                known *= 2

    def dropout_states_nbytes(self, elements: int) -> int:
        return lib.dropout_states_nbytes(elements)

    def dropout_mask(self, mask: int, states: int, elements: int, dropout: float) -> None:
        threads = self.dropout_states_nbytes(elements) // STATE_NBYTES
        places = pointer(mask), pointer(states)
        with self._stream:
            kernel = self._shared("dropout_mask")
            self._stream.launch(kernel, threads, *places, Int64(elements), Float(dropout))

    def dropout_advance(self, states: int, elements: int) -> None:
        used = self.dropout_states_nbytes(elements) // STATE_NBYTES
        draws = -(-elements // used) if used else 0
        with self._stream:
            kernel = self._shared("xorwow_advance")
            self._stream.launch(kernel, used, pointer(states), Int64(used), Int64(draws))

    def dropout_apply(
        self, dtype: str, y: int, x: int, mask: int, elements: int, dropout: float
    ) -> None:
        self._apply(dtype, (elements,), Strided(y, (1,)), Strided(x, (1,)), mask, dropout)

    def _apply(
        self,
        dtype: str,
        lengths: tuple[int, ...],
        y: Strided,
        x: Strided,
        mask: int,
        dropout: float,
    ) -> None:
        scale = Float(dropout_scale(dropout))
        arguments = *walk(y), *walk(x), pointer(mask), shape_of(lengths), scale
        with self._stream:
            kernel = self._typed("dropout_apply", dtype)
            self._stream.launch(kernel, math.prod(lengths), *arguments)

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
        elements = math.prod(lengths)
        with self._stream:
            kept = self._stream.regions(elements)[0] if mask is None else mask
            if states is not None:
                self.dropout_mask(kept, states, elements, dropout)
            self._apply(dtype, lengths, y, x, kept, dropout)

    def _tensor(self, name: str, dtype: str, lengths: tuple[int, ...], *arguments: Any) -> None:
        with self._stream:
            self._stream.launch(self._typed(name, dtype), math.prod(lengths), *arguments)

    def set_tensor(self, dtype: str, lengths: tuple[int, ...], y: Strided, alpha: bytes) -> None:
        self._tensor("set_tensor", dtype, lengths, *walk(y), shape_of(lengths), value(alpha))

    def scale_tensor(self, dtype: str, lengths: tuple[int, ...], y: Strided, alpha: bytes) -> None:
        self._tensor("scale_tensor", dtype, lengths, *walk(y), shape_of(lengths), value(alpha))

    def transform_tensor(
        self,
        dtype: str,
        lengths: tuple[int, ...],
        y: Strided,
        x: Strided,
        alpha: bytes,
        beta: bytes,
    ) -> None:
        factors = value(alpha), value(beta)
        arguments = *walk(y), *walk(x), shape_of(lengths), *factors
        self._tensor("transform_tensor", dtype, lengths, *arguments)

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
        number = ctypes.c_int(OPERATIONS.index(op))
        arguments = *walk(c), *walk(a), *walk(b), shape_of(lengths), *map(Float, scalars)
        self._tensor("op_tensor", dtype, lengths, number, *arguments)

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
        factors = scales or Strided(0, (0,) * len(lengths))
        places = y, x, factors
        call = Conversion(
            *(each.address for each in places),
            *(walk(each)[1] for each in places),
            shape_of(lengths),
            *(STORAGE[dtype] for dtype in dtypes),
            shift,
        )
        with self._stream:
            self._stream.launch(self._shared("convert_tensor"), math.prod(lengths), call)


def value(item: bytes) -> Any:
    """One value of a storage type."""
    return ctypes.create_string_buffer(item, len(item))
