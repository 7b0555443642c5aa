"""The emulated device's products: numbers against NumPy, refusals as cuBLAS has them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hostcuda.calls import SUCCESS, gemm
from hostcuda.device import (
    BFLOAT16,
    COMPUTE_32F,
    COMPUTE_64F,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    NO_TRANSPOSE,
    TRANSPOSE,
    EmulatedDevice,
)

CONJUGATE = 2
NOT_INITIALIZED, INVALID_VALUE, NOT_SUPPORTED = 1, 7, 15
SHAPES = [(1, 1, 1), (5, 3, 7), (8, 4, 1), (9, 5, 33), (33, 17, 130), (2, 70, 3)]
TYPES = [  # of a and b, of c
    (FLOAT32, FLOAT32),
    (FLOAT16, FLOAT16),
    (FLOAT16, FLOAT32),
    (BFLOAT16, BFLOAT16),
    (BFLOAT16, FLOAT32),
    (FLOAT64, FLOAT64),
]
DTYPES = {FLOAT32: np.float32, FLOAT16: np.float16, BFLOAT16: np.uint16, FLOAT64: np.float64}
# Rounding of one number, relative.
ROUNDING = {FLOAT32: 2.0**-24, FLOAT16: 2.0**-11, BFLOAT16: 2.0**-8, FLOAT64: 2.0**-53}


@pytest.fixture(scope="module")
def device() -> EmulatedDevice:
    return EmulatedDevice()


def decoded(elements: np.ndarray) -> np.ndarray:
    """float64 values of elements; uint16 are bfloat16."""
    if elements.dtype == np.uint16:
        return (elements.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return elements.astype(np.float64)


class Matrix:
    """Columns of numbers with gaps of NaN between them, or rows if transposed."""

    def __init__(self, rows: int, columns: int, type_: int, *, transposed: bool, gap: int) -> None:
        lines, length = (rows, columns) if transposed else (columns, rows)
        whole = np.full((lines, length + gap), np.nan, np.float32)
        seed = (rows, columns, type_)
        whole[:, :length] = np.random.default_rng(seed).standard_normal((lines, length))
        bits = whole.view(np.uint32) >> 16
        self.whole = (bits if type_ == BFLOAT16 else whole).astype(DTYPES[type_])
        self.before = self.whole.copy()
        self.elements = self.whole[:, :length] if transposed else self.whole[:, :length].T
        self.gaps = self.whole[:, length:]
        self.argument = self.whole.ctypes.data, type_, length + gap

    @property
    def values(self) -> np.ndarray:
        return decoded(self.elements)


def compute_of(type_: int) -> int:
    return COMPUTE_64F if type_ == FLOAT64 else COMPUTE_32F


def scalars_of(type_: int, *values: float) -> Any:
    scalar = ctypes.c_double if type_ == FLOAT64 else ctypes.c_float
    return tuple(scalar(value) for value in values)


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("gap", [0, 3])
def test_products_are_numpy_s(device, types, transposed, gap):
    for m, n, k in SHAPES:
        a = Matrix(m, k, types[0], transposed=transposed[0], gap=gap)
        b = Matrix(k, n, types[0], transposed=transposed[1], gap=gap)
        for alpha, beta in ((1.0, 0.0), (0.5, 1.0), (-1.0, 2.0)):
            c = Matrix(m, n, types[1], transposed=False, gap=gap)
            expected = alpha * (a.values @ b.values) + beta * c.values
            scale = abs(alpha) * (abs(a.values) @ abs(b.values)) + abs(beta * c.values)
            if beta == 0:
                c.elements[...] = 0xFFFF if types[1] == BFLOAT16 else np.nan
            operations = tuple(map(int, transposed))
            scalars = scalars_of(types[0], alpha, beta)
            answer = gemm(
                *(device, operations, (m, n, k), scalars, a.argument, b.argument, c.argument),
                compute_of(types[0]),
            )
            assert answer == SUCCESS
            sums = ROUNDING[FLOAT64 if types[0] == FLOAT64 else FLOAT32]
            bound = (k + 2) * sums * scale + ROUNDING[types[1]] * abs(expected)
            assert (abs(c.values - expected) <= bound * 1.01).all()
            unwritten = Matrix(m, n, types[1], transposed=False, gap=gap)
            assert c.gaps.tobytes() == unwritten.gaps.tobytes()
        assert a.whole.tobytes() == a.before.tobytes()


@pytest.mark.parametrize("type_", [FLOAT16, BFLOAT16])
def test_16_bit_results_are_rounded_to_the_nearest_even(device, type_):
    """1 * x for x around every kind of tie; NumPy rounds for float16, integers for bfloat16."""
    x = np.float32([1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-20])
    x = np.concatenate([x, -x, np.float32([0, -0.0, np.inf, np.nan])])
    kept, one = np.zeros(len(x), DTYPES[type_]), np.float32([1])
    for n, value in enumerate(x):
        # 16-bit factors cannot hold x: it comes in as beta * 1.
        c = np.array([1], np.float16) if type_ == FLOAT16 else np.array([0x3F80], np.uint16)
        answer = gemm(
            *(device, (0, 0), (1, 1, 0), scalars_of(FLOAT32, 1, value)),
            *((one.ctypes.data, type_, 1), (one.ctypes.data, type_, 1)),
            *((c.ctypes.data, type_, 1), COMPUTE_32F),
        )
        assert answer == SUCCESS
        kept[n] = c.view(DTYPES[type_])[0]
    if type_ == FLOAT16:
        expected = x.astype(np.float16).astype(np.float64)
    else:
        bits = x.view(np.uint32).astype(np.uint64)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32)
        expected = rounded.view(np.float32).astype(np.float64)
    assert np.array_equal(decoded(kept), expected, equal_nan=True)


def test_what_has_no_weight_is_not_read(device):
    nan, c = np.full(4, np.nan, np.float32), np.float32([1, 2, 3, 4])
    matrix, result = (nan.ctypes.data, FLOAT32, 2), (c.ctypes.data, FLOAT32, 2)
    scalars = scalars_of(FLOAT32, 0, 2)
    answer = gemm(device, (0, 0), (2, 2, 2), scalars, matrix, matrix, result, COMPUTE_32F)
    assert (answer, c.tolist()) == (SUCCESS, [2, 4, 6, 8])
    scalars = scalars_of(FLOAT32, 1, 0.5)
    answer = gemm(device, (0, 0), (2, 2, 0), scalars, matrix, matrix, result, COMPUTE_32F)
    assert (answer, c.tolist()) == (SUCCESS, [1, 2, 3, 4])


GOOD: dict[str, Any] = {
    "operations": (NO_TRANSPOSE, TRANSPOSE),
    "shape": (4, 5, 6),
    "a_type": FLOAT32,
    "b_type": FLOAT32,
    "c_type": FLOAT32,
    "ld": (4, 5, 4),
    "compute": COMPUTE_32F,
    "missing": "",
    "shifts": (0, 0, 0),
}


def answer_to(device: EmulatedDevice, **changes: Any) -> int:
    """To a call that is good but for the changes; every matrix has room for 64 numbers, from
    `shifts` bytes behind an aligned address on."""
    call = GOOD | changes
    arrays = {name: np.zeros(65) for name in "abc"}
    matrices = [
        (0 if name in call["missing"] else arrays[name].ctypes.data + shift, kind, ld)
        for name, shift, kind, ld in zip(
            "abc", call["shifts"], [call[f"{name}_type"] for name in "abc"], call["ld"], strict=True
        )
    ]
    scalars = scalars_of(FLOAT64 if call["compute"] == COMPUTE_64F else FLOAT32, 1, 0)
    return gemm(device, call["operations"], call["shape"], scalars, *matrices, call["compute"])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"operations": (NO_TRANSPOSE, CONJUGATE)},
        {"operations": (TRANSPOSE, NO_TRANSPOSE), "ld": (6, 6, 4)},
        {"ld": (7, 9, 11)},
        {"shape": (0, 5, 6)},
        {"shape": (4, 0, 6), "missing": "bc"},
        {"shape": (4, 5, 0), "missing": "ab"},
        {"shape": (0, 0, 0), "ld": (1, 1, 1), "missing": "abc"},
        {"shifts": (4, 4, 4)},
        {"a_type": FLOAT16, "b_type": FLOAT16, "shifts": (2, 6, 4)},
    ],
    ids=str,
)
def test_a_product_is_taken_with(device, changes):
    assert answer_to(device, **changes) == SUCCESS


@pytest.mark.parametrize(
    "changes",
    [
        {"operations": (3, NO_TRANSPOSE)},
        {"operations": (NO_TRANSPOSE, -1)},
        {"shape": (-1, 5, 6)},
        {"shape": (4, -1, 6)},
        {"shape": (4, 5, -1)},
        {"ld": (3, 5, 4)},
        {"ld": (4, 4, 4)},
        {"ld": (4, 5, 3)},
        {"operations": (TRANSPOSE, NO_TRANSPOSE), "ld": (5, 6, 4)},
        {"operations": (TRANSPOSE, NO_TRANSPOSE), "ld": (6, 5, 4)},
        {"shape": (0, 0, 0), "ld": (0, 1, 1)},
        {"missing": "a"},
        {"missing": "b"},
        {"missing": "c"},
    ],
    ids=str,
)
def test_a_product_is_refused_with(device, changes):
    assert answer_to(device, **changes) == INVALID_VALUE


@pytest.mark.parametrize(
    "changes",
    [
        {"a_type": FLOAT16},
        {"c_type": FLOAT16},
        {"c_type": FLOAT64},
        {"a_type": 3, "b_type": 3},
        {"a_type": FLOAT16, "b_type": BFLOAT16},
        {"a_type": FLOAT64, "b_type": FLOAT64, "c_type": FLOAT64},
        {"compute": COMPUTE_64F},
        {"compute": 64},
        {"shifts": (2, 0, 0)},
        {"shifts": (0, 1, 0)},
        {"shifts": (0, 0, 3)},
        {"a_type": FLOAT16, "b_type": FLOAT16, "shifts": (2, 1, 0)},
    ],
    ids=str,
)
def test_a_product_is_not_supported_with(device, changes):
    assert answer_to(device, **changes) == NOT_SUPPORTED


def test_without_a_handle_there_are_no_products():
    device = EmulatedDevice()
    device.close()
    assert answer_to(device) == NOT_INITIALIZED
