"""What the core has of a cell's settings, and refuses."""

from __future__ import annotations

import math

import pytest

from miopy.core.config import RNNConfig
from miopy.errors import BadParam


def test_a_slope_is_a_scalar_of_leaky_relu():
    assert RNNConfig("leaky_relu", 1, 1, slope=-0.5).scalars == (-0.5,)
    assert RNNConfig("leaky_relu", 1, 1).scalars == (0.01,)


@pytest.mark.parametrize(
    ("cell", "slope", "rule"),
    [
        ("relu", 0.0, "must be None, relu has none"),
        ("leaky_relu", math.nan, "must be finite"),
        ("leaky_relu", math.inf, "must be finite"),
    ],
)
def test_a_slope_is_refused(cell, slope, rule):
    with pytest.raises(BadParam, match=f"slope.*{rule}"):
        RNNConfig(cell, 1, 1, slope=slope)
