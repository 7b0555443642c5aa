"""The kernels of one recurrent step, by themselves on the emulated device, against the oracle.

Every array has NaN between its rows and where a row takes no part.
"""

from __future__ import annotations

import itertools

import numpy as np
import oracle_cells
import pytest
from device_arrays import FLOATING, decoded, dense
from device_steps import ORACLE_NAMES, Backward, H, Step, filled
from hostcuda.build import sampled
from hostcuda.calls import Array
from hostcuda.device import EmulatedDevice
from tolerance import assert_close

from miopy.core.cells import CELLS


@pytest.fixture
def device() -> EmulatedDevice:
    return EmulatedDevice()


CASES = pytest.mark.parametrize(
    ("cell", "dtype"), sampled(itertools.product(CELLS, FLOATING), first=0)
)


@CASES
@pytest.mark.parametrize("h_rows", [0, 3, 5])
def test_a_training_step_forward(device, cell, dtype, h_rows):
    step = Step(device, cell, dtype)
    batch, rows, gates = 7, 5, step.gates
    products, h_products = step.reals(rows, gates, H), step.reals(rows, gates, H)
    h_products.values[h_rows:] = np.nan
    bias, recurrent_bias = ([step.storage(H) for _ in range(gates)] for _ in range(2))
    h, c = step.reals(batch, H), step.reals(batch, H)
    before = h.numbers, c.numbers
    saved = step.unset(rows, max(1, len(step.cell.saved)), H)
    output, y = step.unset(rows, H, gap=5), step.unset(rows, H, gap=2)
    cells = dense(device, rows, H, dtype=step.real)

    q = np.where(np.arange(rows)[:, None, None] < h_rows, h_products.numbers, 0)
    parts = [
        {
            gate: part[:, at] + each.numbers
            for gate, at, each in zip(step.cell.gates, step.position, vectors, strict=True)
        }
        for part, vectors in ((products.numbers, bias), (q, recurrent_bias))
    ]
    inputs = before[0][:rows], before[1][:rows]
    new_h, new_c, planes = oracle_cells.cell_forward(cell, *parts, *inputs, step.settings)

    arguments = dict(output=output, y=y, saved=saved, h=h, x_products=products)
    if step.cell.has_cell_state:
        arguments |= dict(c=c, cells=cells)
    strides = dict(output_row=H + 5, y_row=H + 2)
    sizes = dict(rows=rows, h_rows=h_rows, hidden_size=H, h_products=h_products)
    biases = dict(
        input_bias=tuple(each.address for each in bias),
        recurrent_bias=tuple(each.address for each in recurrent_bias),
    )
    step.launch(
        "pointwise_forward", filled("forward_step", **arguments, **biases, **strides, **sizes)
    )

    step.assert_close("h", h, np.concatenate([new_h, before[0][rows:]]))
    step.assert_close("output", output, new_h)
    assert np.array_equal(output.values, y.values)
    y.assert_gaps()
    for plane, name in enumerate(step.cell.saved):
        expected = planes[ORACLE_NAMES.get(name, name)]
        assert_close(name, saved.numbers[:, plane], expected, dtype, 4)
    if step.cell.has_cell_state:
        step.assert_close("c", c, np.concatenate([new_c, before[1][rows:]]))
        step.assert_close("cells", cells, new_c)


@CASES
def test_an_inference_step_forward_on_x_itself(device, cell, dtype):
    """No input product, no bias, no second output, nothing kept."""
    step = Step(device, cell, dtype)
    rows = 5
    x, output = step.storage(rows, H, gap=4), step.unset(rows, H)
    h, c = step.reals(rows, H), step.reals(rows, H)
    parts = dict.fromkeys(step.cell.gates, x.numbers), dict.fromkeys(step.cell.gates, 0.0)
    states = h.numbers, c.numbers
    new_h, new_c, _ = oracle_cells.cell_forward(cell, *parts, *states, step.settings)
    arguments = dict(output=output, h=h, x=x, x_row=H + 4, output_row=H, rows=rows, hidden_size=H)
    if step.cell.has_cell_state:
        arguments["c"] = c
    step.launch("pointwise_forward", filled("forward_step", **arguments))
    step.assert_close("h", h, new_h)
    step.assert_close("output", output, new_h)
    if step.cell.has_cell_state:
        step.assert_close("c", c, new_c)


@CASES
@pytest.mark.parametrize("product_rows", [0, 3, 5, 7])
def test_a_step_backward(device, cell, dtype, product_rows):
    """With sequences that start here, from initial states in another order, and that have ended."""
    step = Backward(device, cell, dtype, before_rows=3)
    rows, batch = step.rows, step.batch
    products = step.reals(batch, H)
    products.values[product_rows:] = np.nan
    scale = 1.25
    mask = dense(device, rows, H, dtype="int8", gap=2).set(step.random.integers(0, 2, (rows, H)))
    from_after = step.dh.numbers + np.nan_to_num(products.numbers)
    h, c = (
        np.concatenate([before.numbers[:3], initial.numbers[step.order[3:rows]]])
        for before, initial in ((step.output_before, step.hx), (step.cells_before, step.cx))
    )
    dy = np.where(mask.values, step.dy * scale, 0)
    expected = step.expected(from_after[:rows] + dy, h, c)
    arguments = step.arguments() | dict(
        **dict(products=products, product_rows=product_rows, mask=mask, mask_row=H + 2),
        **dict(scale=scale, hx=step.hx, cx=step.cx, order=Array(device, step.order, np.int64)),
    )
    step.run_and_compare(arguments, expected, from_after[rows:])


@CASES
def test_a_step_backward_from_states_of_zero(device, cell, dtype):
    """The first step of all, without dropout."""
    step = Backward(device, cell, dtype, before_rows=0)
    zeros = np.zeros((step.rows, H))
    dh = step.dh.numbers
    expected = step.expected(dh[: step.rows] + step.dy, zeros, zeros)
    step.run_and_compare(step.arguments(), expected, dh[step.rows :])


def test_special_values_pass_as_on_the_host(device):
    """NaN stays, infinities saturate, and neither activation gives -0."""
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-30, -1e-30, 100, -100], np.float32)
    expected = {"tanh": np.tanh(special) + 0, "relu": np.where(special <= 0, 0, special)}
    for cell, result in expected.items():
        step = Step(device, cell, "float32")
        x, output, h = (dense(device, 1, len(special), dtype="float32") for _ in range(3))
        x.values[...], h.values[...] = special, 0
        sizes = dict(rows=1, hidden_size=len(special))
        step.launch("pointwise_forward", filled("forward_step", output=output, h=h, x=x, **sizes))
        assert np.array_equal(output.values[0], result, equal_nan=True)
        assert not np.signbit(output.values[0][result == 0]).any()
        assert np.array_equal(decoded(output.values[0]), h.numbers[0], equal_nan=True)
