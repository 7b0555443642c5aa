"""The kernels of a late gate's operand, alone on the emulated device, against the oracle."""

from __future__ import annotations

import numpy as np
import oracle_cells
import pytest
from device_arrays import FLOATING, dense
from device_steps import Backward, H, Step, filled
from hostcuda.calls import Array
from hostcuda.device import EmulatedDevice
from tolerance import assert_close

from miopy.core.cells import CELLS

CASES = pytest.mark.parametrize(
    ("cell", "dtype"),
    [(name, dtype) for name, cell in CELLS.items() if cell.late for dtype in FLOATING],
)


@pytest.fixture
def device() -> EmulatedDevice:
    return EmulatedDevice()


@CASES
@pytest.mark.parametrize("h_rows", [0, 3, 5])
def test_the_operand_of_a_step(device, cell, dtype, h_rows):
    """Products of the late gate are not there yet."""
    step = Step(device, cell, dtype)
    rows, gates = 5, step.gates
    products, h_products = step.reals(rows, gates, H), step.reals(rows, gates, H)
    late = step.position[step.cell.gates.index(step.cell.late)]
    h_products.values[h_rows:] = h_products.values[:, late] = np.nan
    h, operand = step.reals(rows, H), step.unset(rows, H)
    q = np.where(np.arange(rows)[:, None, None] < h_rows, h_products.numbers, 0)
    a, q = (
        {gate: part[:, at] for gate, at in zip(step.cell.gates, step.position, strict=True)}
        for part in (products.numbers, q)
    )
    pointers = dict(h=h, x_products=products, h_products=h_products)
    sizes = dict(rows=rows, h_rows=h_rows, hidden_size=H)
    step.launch("operand_forward", filled("forward_step", **pointers, **sizes), operand)
    step.assert_close("operand", operand, oracle_cells.operand(cell, a, q, h.numbers))


@CASES
@pytest.mark.parametrize("before_rows", [0, 3, 5])
def test_what_comes_through_the_operand_is_added(device, cell, dtype, before_rows):
    step = Backward(device, cell, dtype, before_rows)
    rows = step.rows
    step.dgates.set(step.random.standard_normal((rows, step.cell.num_planes, H)))
    doperand = dense(device, rows, H, dtype=step.real).set(step.random.standard_normal((rows, H)))
    initial = step.hx.numbers[step.order[before_rows:rows]]
    h = np.concatenate([step.output_before.numbers[:before_rows], initial])
    saved = {name: step.saved.numbers[:, v] for v, name in enumerate(step.cell.saved)}
    more, direct = oracle_cells.operand_backward(cell, saved, h, doperand.numbers)
    dgates, dh = step.dgates.numbers, step.dh.numbers
    for gate, part in more.items():
        dgates[:, step.position[step.cell.gates.index(gate)]] += part
    dh[:rows] += direct
    arguments = step.arguments() | dict(hx=step.hx, order=Array(device, step.order, np.int64))
    step.launch("operand_backward", filled("backward_step", **arguments), doperand)
    assert_close("dgates", step.dgates.numbers, dgates, dtype, 4)
    step.assert_close("dh", step.dh, dh)
