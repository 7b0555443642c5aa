"""The error bound that kernels/host/vec.h states for its sigmoid and tanh, in every build."""

from __future__ import annotations

import numpy as np
import pytest
from core_run import CoreRun, skipping

HIDDEN = 61  # whole vectors, and one that is not
SMALLEST_SIGMOID = 2.0**-128
BOUND = 3.0  # units in the last place


def floats() -> np.ndarray:
    """Every 2039th float32 of either sign, those around the ends of ranges, and the special."""
    bits = np.arange(0, 0x7F800000, 2039, np.uint32)
    ends = np.float32([1e-45, 1.17549435e-38, 2**-12, 0.5, 1, 9.01, 9.2, 18.4, 87, 88.7, 89, 104])
    near = (ends.view(np.uint32)[:, None] + np.arange(-200, 200)).clip(0).astype(np.uint32)
    special = np.float32([0, np.inf, np.nan, 3.4e38]).view(np.uint32)
    of_any_payload = np.uint32([0x7FC00001, 0x7FC000FF, 0x7FC001FF, 0x7FFFFFFF, 0x7FEAAAAA])
    special = np.concatenate([special, of_any_payload])
    positive = np.concatenate([bits, near.ravel(), special]).view(np.float32)
    both = np.concatenate([positive, -positive])
    return np.resize(both, (-(-both.size // HIDDEN), HIDDEN))


def run_on(host_device, cell: str, x: np.ndarray, dtype: str = "float32") -> CoreRun:
    """Each element of x alone is the pre-activation of every gate of a unit in state zero."""
    run = CoreRun(host_device, skipping(cell, x.shape[1], dtype), (len(x),), keeps_planes=True)
    for name in ("w", "hx", "cx"):
        run.arrays[name][...] = 0
    run.arrays["x"][...] = x
    run.forward()
    return run


def units_off(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    return np.abs(got - exact) / np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)


def test_sigmoid_and_tanh_are_within_their_bound(host_device):
    x = floats()
    saved = run_on(host_device, "lstm", x).saved()[0, 0]
    sigmoid, tanh = saved[:, 0].astype(np.float64), saved[:, 2].astype(np.float64)
    is_nan = np.isnan(x)
    assert np.array_equal(np.isnan(sigmoid), is_nan) and np.array_equal(np.isnan(tanh), is_nan)
    with np.errstate(over="ignore"):
        exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    is_tiny = exact < SMALLEST_SIGMOID * 1.0001
    assert sigmoid[is_tiny].max() <= SMALLEST_SIGMOID
    assert units_off(sigmoid, exact)[~is_tiny & ~is_nan].max() <= BOUND
    assert units_off(tanh, np.tanh(x.astype(np.float64)))[~is_nan].max() <= BOUND


def test_infinities_saturate(host_device):
    x = np.repeat(np.float32([[-np.inf], [np.inf]]), HIDDEN, axis=1)
    saved = run_on(host_device, "lstm", x).saved()[0, 0]
    assert (saved[:, 0] == [[0], [1]]).all()
    assert (saved[:, 2] == [[-1], [1]]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_relu_is_exact(host_device, dtype):
    x = floats().astype(dtype)
    y = run_on(host_device, "relu", x, dtype).arrays["y"]
    assert np.array_equal(y, np.maximum(x, 0), equal_nan=True)
    assert not np.signbit(y[~np.isnan(y)]).any()


def test_double_activations_are_the_libraries(host_device):
    x = np.resize(np.append(np.linspace(-40, 40, 4001), [np.inf, -np.inf, np.nan]), (66, HIDDEN))
    saved = run_on(host_device, "lstm", x, "float64").saved()[0, 0]
    np.testing.assert_allclose(saved[:, 0], 1 / (1 + np.exp(-x)), rtol=1e-15)
    np.testing.assert_allclose(saved[:, 2], np.tanh(x), rtol=1e-15)
