"""The kernels of states.c and recurrent_mask.c, as in test_device_kernels.py."""

from __future__ import annotations

import numpy as np
import pytest
from device_arrays import FLOATING, Strided, decoded, dense, encoded, random, real_dtype, run
from hostcuda.calls import Array
from hostcuda.device import EmulatedDevice
from tolerance import assert_close

ORDER = np.array([3, 0, 6, 1, 5, 2, 4])


@pytest.fixture
def device() -> EmulatedDevice:
    return EmulatedDevice()


SIZES = [(37, 29), (37, 0), (0, 37)]  # of h and of c, 0 where there is none


def states(device: EmulatedDevice, sizes: tuple[int, int], dtype: str) -> list[Strided]:
    return [dense(device, len(ORDER), size, dtype=dtype) for size in sizes]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_load_states(device, dtype, ordered, initial, sizes):
    given = [each.set(random(*each.numbers.shape)) for each in states(device, sizes, dtype)]
    (h, c), (hx, cx) = states(device, sizes, real_dtype(dtype)), given if initial else (None, None)
    sorted_ = dense(device, len(ORDER), sizes[0], dtype=dtype) if ordered else None
    order = Array(device, ORDER, np.int64) if ordered else None
    run(device, dtype, "load_states", h, sorted_, hx, sizes[0], c, cx, sizes[1], order, len(ORDER))
    rows = ORDER if ordered else np.arange(len(ORDER))
    wanted = [each.numbers[rows] if initial else 0 * each.numbers for each in given]
    for got, numbers in zip((h, c, sorted_ or h), (*wanted, wanted[0]), strict=True):
        assert np.array_equal(got.numbers, numbers)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(("ordered", "active"), [(False, 7), (True, 4), (True, 0)])
@pytest.mark.parametrize("sizes", SIZES)
def test_store_states(device, dtype, ordered, active, sizes):
    h, c = states(device, sizes, real_dtype(dtype))
    for state, size in zip((h, c), sizes, strict=True):
        state.values[:active] = random(len(ORDER), size)[:active]
    hy, cy = states(device, sizes, dtype)
    order = Array(device, ORDER, np.int64) if ordered else None
    arguments = hy, h, sizes[0], cy, c, sizes[1], order, active, len(ORDER)
    run(device, dtype, "store_states", *arguments)
    rows = ORDER if ordered else np.arange(len(ORDER))
    for got, state in ((hy, h), (cy, c)):
        expected = np.zeros(state.numbers.shape)
        expected[rows[:active]] = decoded(encoded(state.values[:active], dtype))
        assert np.array_equal(got.numbers, expected)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("ordered", [False, True])
def test_mask_states_and_mask_products(device, dtype, ordered):
    batch, rows, size = 7, 5, 37
    mask = dense(device, batch, size, dtype=dtype).set(random(batch, size))
    state = dense(device, rows, size, dtype=real_dtype(dtype)).set(random(rows, size))
    masked = dense(device, rows, size, dtype=dtype)
    order = Array(device, ORDER, np.int64) if ordered else None
    expected = state.numbers * mask.numbers[ORDER if ordered else range(batch)][:rows]
    run(device, dtype, "mask_states", masked, state, mask, order, rows, size)
    assert_close("masked", masked.numbers, expected, dtype, 1)
    run(device, dtype, "mask_products", state, mask, order, rows, size)
    assert_close("products", state.numbers, expected, real_dtype(dtype), 1)
