"""The kernels of a projection, by themselves on the emulated device."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from device_arrays import FLOATING, decoded, dense, encoded, random, real_dtype, run
from hostcuda.device import EmulatedDevice
from tolerance import assert_close


@pytest.fixture
def device() -> EmulatedDevice:
    return EmulatedDevice()


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("twice", [False, True])
def test_project_forward(device, dtype, twice):
    rows, size = 5, 23
    h = dense(device, rows + 2, size, dtype=real_dtype(dtype)).set(random(rows + 2, size))
    output = dense(device, rows, size, dtype=dtype, gap=3)
    y = dense(device, rows, size, dtype=dtype, gap=1) if twice else None
    strides = output.strides[0], y, size + 1, h
    run(device, dtype, "project_forward", output, *strides, rows, size)
    expected = decoded(encoded(h.values[:rows], dtype))
    for array in filter(None, (output, y)):
        assert np.array_equal(array.numbers, expected)
        array.assert_gaps()


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("rows", "product_rows"), [(5, 0), (5, 3), (3, 5), (0, 4)])
def test_project_backward(device, dtype, masked, rows, product_rows):
    most, size, scale = 5, 23, 1.25
    dprojected = dense(device, most, size, dtype=dtype, gap=3)  # dy stands where it is written
    dprojected.values[:rows] = encoded(random(rows, size), dtype)
    dy = dprojected.numbers[:rows]
    dh = dense(device, most, size, dtype=real_dtype(dtype)).set(random(most, size))
    products = dense(device, most, size, dtype=real_dtype(dtype)).set(random(2, most, size)[1])
    products.values[product_rows:] = np.nan
    mask = dense(device, most, size, dtype="int8").set(random(most, size) > 0) if masked else None
    expected = dh.numbers + np.nan_to_num(products.numbers)
    if mask is not None:
        dy = np.where(mask.values[:rows], dy * scale, 0)
    stride = dprojected.strides[0]
    run(
        *(device, dtype, "project_backward", dprojected, stride, dh, dprojected, stride, mask),
        *(size, ctypes.c_double(scale), products, rows, product_rows, size),
    )
    assert_close("dprojected", dprojected.numbers[:rows], dy + expected[:rows], dtype, 4)
    expected[:rows] = 0
    ended = max(rows, product_rows)
    assert_close("dh", dh.numbers[:ended], expected[:ended], real_dtype(dtype), 4)
    dprojected.assert_gaps()
