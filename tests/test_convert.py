"""`convert_tensor` of the backends: strides, scales, shifts, and every pair of types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from storage import loaded, memory_type, stored

from miopy import backends
from miopy.core.backend import Strided

FLOATING = ("float32", "float16", "bfloat16")
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


@pytest.fixture
def device(backend: str) -> Any:
    return backends.get()


def numbers(dtype: str, *shape: int) -> np.ndarray:
    """Memory with numbers of a type, some out of the range of the small ones."""
    values = np.random.default_rng(1).uniform(-300, 300, shape)
    if dtype in LIMITS:
        values = np.clip(np.rint(values), *LIMITS[dtype])
    return stored(values, dtype)


def strided(array: np.ndarray, *axes: int) -> Strided:
    strides = tuple(array.strides[axis] // array.itemsize for axis in axes)
    return Strided(array.ctypes.data, strides)


def converted(values: np.ndarray, dtype: str) -> np.ndarray:
    """float32 numbers as memory of a type."""
    if dtype in LIMITS:
        values = np.clip(np.rint(values), *LIMITS[dtype])
    return stored(values, dtype)


@pytest.mark.parametrize("to", (*FLOATING, *LIMITS))
@pytest.mark.parametrize("source", (*FLOATING, *LIMITS))
def test_types_scales_and_order(source, to, device):
    x, y = numbers(source, 3, 4, 5), np.zeros((4, 3, 7), memory_type(to))
    scales, shift = np.array([0.5, -1.5, 2, 0.125, 1], np.float32), np.float32(3.25)
    plain = np.asarray(loaded(x, source), np.float32)
    for factors, expected in ((None, plain), (scales, plain * scales + shift)):
        device.convert_tensor(
            (to, source),
            (3, 4, 5),
            strided(y, 1, 0, 2),
            strided(x, 0, 1, 2),
            scales=None if factors is None else Strided(factors.ctypes.data, (0, 0, 1)),
            shift=float(shift),
        )
        device.timer()()
        assert np.array_equal(y[:, :, :5], converted(expected, to).swapaxes(0, 1))
        assert not y[:, :, 5:].any()


def test_a_product_is_rounded_before_the_shift(device):
    """As codes are defined: a multiply-add gives another integer for these."""
    scale, shift = np.array([201.3], np.float32), np.float32(20.3)
    ties = ((np.arange(30, 220) + 0.5 - shift) / scale).astype(np.float32)
    x = np.concatenate([ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(2))])
    fused = np.rint((x.astype(np.float64) * scale + shift).astype(np.float32))
    expected, codes = np.rint(x * scale + shift), np.zeros(len(x), np.uint8)
    assert (fused != expected).any()
    places = Strided(codes.ctypes.data, (1,)), Strided(x.ctypes.data, (1,))
    scales = Strided(scale.ctypes.data, (0,))
    device.convert_tensor(
        ("uint8", "float32"), (len(x),), *places, scales=scales, shift=float(shift)
    )
    device.timer()()
    assert np.array_equal(codes, expected)
