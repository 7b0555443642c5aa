"""Dropout and the tensor helpers on the host: addresses in, compiled kernels called.

Shapes and strides are sequences of 1 to 5 integers, strides in elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import OutOfMemory
from ._host import ffi, lib

# Type numbers of kernels/target.h. The 8-bit floats are only ever copied.
_TYPES = {
    "float32": 0,
    "float16": 1,
    "bfloat16": 2,
    "float64": 3,
    "int32": 4,
    "int8": 5,
    "float8_e4m3fnuz": 5,
    "float8_e5m2fnuz": 5,
    "int64": 6,
}


def _pointer(address: int) -> ffi.CData:
    return ffi.cast("void *", address)


def initialize_dropout_states(states: int, nbytes: int, seed: int) -> None:
    """Fill the states with subsequences 0, 1, 2, ... of the seed."""
    lib.initialize_dropout_states(_pointer(states), nbytes, seed)


def dropout_states_nbytes(elements: int) -> int:
    """Bytes of the states that the mask of so many elements is drawn from."""
    return lib.dropout_states_nbytes(elements)


def dropout_mask(mask: int, states: int, elements: int, dropout: float) -> None:
    """Write one byte per element: 1 where it is kept, 0 where it is dropped."""
    lib.draw_dropout_mask(_pointer(mask), _pointer(states), elements, dropout)


def dropout_apply(dtype: str, y: int, x: int, mask: int, elements: int, dropout: float) -> None:
    """y = mask ? x / (1 - dropout) : 0. y may be x."""
    _apply(dtype, (elements,), y, (1,), x, (1,), mask, dropout)


def dropout(
    dtype: str,
    lengths: Sequence[int],
    y: int,
    y_strides: Sequence[int],
    x: int,
    x_strides: Sequence[int],
    mask: int | None,
    states: int | None,
    dropout: float,
) -> None:
    """y = mask ? x / (1 - dropout) : 0 on strided tensors. y may be x.

    mask     one byte per element in row-major order: written where states are given, else read;
             None to keep none
    states   None to take the mask as it is
    """
    elements = math.prod(lengths)
    if mask is None:
        try:
            scratch = np.empty(elements, np.uint8)
        except MemoryError as error:
            raise OutOfMemory("mask", f"needs {elements} bytes") from error
        mask = scratch.ctypes.data
    if states is not None:
        dropout_mask(mask, states, elements, dropout)
    _apply(dtype, lengths, y, y_strides, x, x_strides, mask, dropout)


def _apply(
    dtype: str,
    lengths: Sequence[int],
    y: int,
    y_strides: Sequence[int],
    x: int,
    x_strides: Sequence[int],
    mask: int,
    dropout: float,
) -> None:
    lib.apply_dropout(
        _TYPES[dtype],
        len(lengths),
        lengths,
        _pointer(y),
        y_strides,
        _pointer(x),
        x_strides,
        _pointer(mask),
        dropout,
    )


def set_tensor(
    dtype: str, lengths: Sequence[int], y: int, y_strides: Sequence[int], alpha: bytes
) -> None:
    """y = alpha, one value of dtype."""
    lib.set_tensor(_TYPES[dtype], len(lengths), lengths, _pointer(y), y_strides, alpha)


def scale_tensor(
    dtype: str, lengths: Sequence[int], y: int, y_strides: Sequence[int], alpha: bytes
) -> None:
    """y = alpha * y, alpha one value of dtype."""
    lib.scale_tensor(_TYPES[dtype], len(lengths), lengths, _pointer(y), y_strides, alpha)


def transform_tensor(
    dtype: str,
    lengths: Sequence[int],
    y: int,
    y_strides: Sequence[int],
    x: int,
    x_strides: Sequence[int],
    alpha: bytes,
    beta: bytes,
) -> None:
    """y = alpha * x + beta * y, alpha and beta values of dtype; 0 does not read y. y may be x."""
    lib.transform_tensor(
        _TYPES[dtype],
        len(lengths),
        lengths,
        _pointer(y),
        y_strides,
        _pointer(x),
        x_strides,
        alpha,
        beta,
    )


def op_tensor(
    dtype: str,
    op: str,
    lengths: Sequence[int],
    c: int,
    c_strides: Sequence[int],
    a: int,
    a_strides: Sequence[int],
    b: int,
    b_strides: Sequence[int],
    scalars: tuple[float, float, float],
) -> None:
    """c = op(alpha1 * a, alpha2 * b) + beta * c with scalars (alpha1, alpha2, beta).

    op is "add", "multiply", "minimum" or "maximum". beta 0 does not read c. c may be a or b.
    """
    lib.op_tensor(
        _TYPES[dtype],
        _OPERATIONS.index(op),
        len(lengths),
        lengths,
        _pointer(c),
        c_strides,
        _pointer(a),
        a_strides,
        _pointer(b),
        b_strides,
        *scalars,
    )


_OPERATIONS = ("add", "multiply", "minimum", "maximum")  # as numbered in kernels/tensor.c
