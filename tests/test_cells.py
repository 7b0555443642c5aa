"""Cells in the core: their settings, inference, and gates in other orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from core_run import CoreRun

from miopy import backends
from miopy.core.cells import CELLS
from miopy.core.config import INPUT, RECURRENT, RNNConfig
from miopy.core.layout import Layout
from miopy.errors import BadParam
from miopy.layouts import MIOPEN


def test_a_slope_is_a_scalar_of_leaky_relu():
    assert RNNConfig("leaky_relu", 1, 1, slope=-0.5).scalars == (-0.5,)
    assert RNNConfig("leaky_relu", 1, 1).scalars == (0.01,)


@pytest.mark.parametrize(
    ("cell", "slope", "rule"),
    [
        ("relu", 0.0, "must be None, relu has none"),
        ("leaky_relu", math.nan, "must be a finite number"),
        ("leaky_relu", math.inf, "must be a finite number"),
    ],
)
def test_a_slope_is_refused(cell, slope, rule):
    with pytest.raises(BadParam, match=f"slope.*{rule}"):
        RNNConfig(cell, 1, 1, slope=slope)


@pytest.mark.parametrize("cell", CELLS)
def test_inference_is_training_without_a_reserve(backend, cell):
    run = CoreRun(backends.get(), RNNConfig(cell, 5, 7, 2, "concat"), (4, 4, 2))
    run.forward()
    training = {name: run.arrays[name].copy() for name in ("y", "hy", "cy")}
    for name in training:
        run.arrays[name][...] = np.nan
    run.inference()
    for name in ("y", "hy", "cy")[: 3 if CELLS[cell].has_cell_state else 2]:
        assert np.array_equal(run.arrays[name], training[name]), name


def parameters(run: CoreRun, name: str) -> dict[tuple[int, ...], np.ndarray]:
    """Views of every matrix and bias in w or dw, by layer, direction, role and gate of the cell."""
    layout, config = run.layout, run.config
    position = layout.order(config)
    found = {}
    for where in np.ndindex(config.num_layers, config.num_directions, 2, config.num_gates):
        layer, direction, role, gate = where
        for kind in ("matrix", "bias"):
            of = getattr(layout, kind)(
                config, layer, direction, (INPUT, RECURRENT)[role], position[gate]
            )
            strides = [stride * run.arrays[name].itemsize for stride in of.strides]
            view = run.arrays[name][of.offset :]
            found[(*where, kind)] = np.lib.stride_tricks.as_strided(view, of.shape, strides)
    return found


@pytest.mark.parametrize("order", ["n z r", "z n r", "r z n"])
@pytest.mark.parametrize("batch_sizes", [(4, 4, 2), (5,) * 10], ids=["few", "many"])
@pytest.mark.parametrize("cell", [name for name, cell in CELLS.items() if cell.late])
def test_a_late_gate_may_stand_anywhere(backend, cell, batch_sizes, order):
    config = RNNConfig(cell, 5, 7, 2, "concat", dtype="float64")
    other = Layout(MIOPEN.weights, MIOPEN.biases, {cell: order})
    layouts = MIOPEN, other
    runs = [CoreRun(backends.get(), config, batch_sizes, layout=layout) for layout in layouts]
    for ours, theirs in zip(*(parameters(run, "w").values() for run in runs), strict=True):
        theirs[...] = ours
    for run in runs:
        run.results()
    for name in ("y", "hy", "dx", "dhx"):
        np.testing.assert_allclose(*(run.arrays[name] for run in runs), rtol=0, atol=1e-14)
    for pair in zip(*(parameters(run, "dw").values() for run in runs), strict=True):
        np.testing.assert_allclose(*pair, rtol=0, atol=1e-14)
