"""How close to the reference is close enough.

An error is taken relative to the root mean square of the reference, so that one small element
does not fail a good result, and as both its root mean square and its maximum, so that one bad
element cannot hide. Bounds grow with the square root of the number of summands in a dot product,
as rounding errors that do not depend on one another do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bound:
    """Largest error allowed for one summand, as a share of the reference's root mean square."""

    rms: float
    maximum: float


BOUNDS = {
    "float64": Bound(rms=1e-15, maximum=8e-15),
    "float32": Bound(rms=5e-7, maximum=4e-6),
    # States and gate gradients are stored as half: 2^-11 per step, carried on by the recurrence.
    "float16": Bound(rms=1e-3, maximum=8e-3),
    # The same with 2^-8.
    "bfloat16": Bound(rms=8e-3, maximum=6.4e-2),
}

# Sums whose terms cancel are compared at the scale of the terms; test data is of order one.
SMALLEST_SCALE = 0.05


def errors(got: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """(root mean square, maximum) of the difference, relative to the reference's scale."""
    if expected.size == 0:
        return 0.0, 0.0
    scale = max(np.sqrt(np.mean(np.square(expected))), SMALLEST_SCALE)
    difference = np.abs(np.asarray(got, np.float64) - expected) / scale
    return float(np.sqrt(np.mean(np.square(difference)))), float(difference.max())


def assert_close(
    name: str, got: np.ndarray, expected: np.ndarray, dtype: str, summands: int
) -> None:
    """Raise AssertionError unless `got` is finite and within the bound of `dtype`."""
    assert got.shape == expected.shape, f"{name}: shape {got.shape}, expected {expected.shape}"
    assert np.isfinite(got).all(), f"{name}: {np.count_nonzero(~np.isfinite(got))} not finite"
    rms, maximum = errors(got, expected)
    growth, bound = np.sqrt(summands), BOUNDS[dtype]
    assert rms <= bound.rms * growth, f"{name}: rms error {rms:.2e} > {bound.rms * growth:.2e}"
    assert maximum <= bound.maximum * growth, (
        f"{name}: maximum error {maximum:.2e} > {bound.maximum * growth:.2e}"
    )
