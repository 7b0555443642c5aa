"""Conversions of the 16-bit types: all of their values, times factors, against NumPy's rounding.

bfloat16, which NumPy lacks, is the upper half of a float32. A product of two 16-bit numbers is
exact in float32 unless float32 itself overflows or underflows, and pairs of bfloat16 leave no
subnormals there, so what is seen is one conversion of each factor and one rounding of the product.
"""

from __future__ import annotations

import numpy as np
import pytest
from storage import in_products

from miopy.backends import host
from miopy.core.backend import Matrix, Strided

DTYPES = ("float16", "bfloat16")
ALL = np.arange(65536, dtype=np.uint16)
# They put products on ties, next to ties, among subnormals and beyond the largest number.
FACTORS = np.float32(
    [1, 1.5, 1.25, -2, 3 * 2**-10, 2**-14, 5 * 2**-20, 1.0078125, -40960, 2**-24, 2**-9]
)


def decoded(bits: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "float16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encoded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Bits, rounded to nearest even."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def products(dtype: str, build: str = "") -> np.ndarray:
    """Bits of every value times every factor: (65536, len(FACTORS))."""
    factors = decoded(encoded(FACTORS, dtype), dtype)
    assert np.array_equal(factors, FACTORS)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = in_products(decoded(ALL, dtype), dtype, build)
        exact = np.multiply.outer(values, factors)
        return encoded(in_products(exact, dtype, build).astype(np.float32), dtype)


def assert_same(got: np.ndarray, expected: np.ndarray, dtype: str) -> None:
    """Any NaN equals any other, 0 equals -0."""
    assert np.array_equal(decoded(got, dtype), decoded(expected, dtype), equal_nan=True)


def matrix(array: np.ndarray) -> Matrix:
    return Matrix(array.ctypes.data, array.strides[0] // array.itemsize)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_value_of_the_left_factor(host_device, dtype):
    factors, expected = encoded(FACTORS, dtype), products(dtype, host.build())
    got = np.zeros_like(expected)
    shape = ALL.size, factors.size, 1
    host_device.gemm(dtype, matrix(got), matrix(ALL[:, None]), matrix(factors[None]), shape)
    assert_same(got, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_value_of_the_right_factor(host_device, dtype):
    factors, expected = encoded(FACTORS, dtype), products(dtype, host.build()).T.copy()
    got = np.zeros_like(expected)
    shape = factors.size, ALL.size, 1
    host_device.gemm(dtype, matrix(got), matrix(factors[:, None]), matrix(ALL[None]), shape)
    assert_same(got, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_value_through_the_elementwise_kernels(dtype):
    for factor, expected in zip(encoded(FACTORS, dtype), products(dtype).T, strict=True):
        got = ALL.copy()
        tensor = Strided(got.ctypes.data, (1,))
        host.create().scale_tensor(dtype, got.shape, tensor, factor.tobytes())
        is_nan = np.isnan(decoded(expected, dtype))
        assert np.array_equal(got[~is_nan], expected[~is_nan])
        assert np.isnan(decoded(got[is_nan], dtype)).all()
