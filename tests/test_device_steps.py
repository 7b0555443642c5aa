"""The kernels of one recurrent step, by themselves on the emulated device, against the oracle.

Every array has NaN between its rows and where a row takes no part.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import oracle_cells
import pytest
from device_arrays import FLOATING, SUFFIX, Strided, call, decoded, dense, encoded, real_dtype
from hostcuda.calls import Array
from hostcuda.device import EmulatedDevice
from tolerance import assert_close

from miopy.backends import cuda_source
from miopy.core.cells import CELLS

H = 61
ORACLE_NAMES = {"n_h": "q_n"}
STEP_H = Path(cuda_source.__file__).parent.parent / "kernels/step.h"


def structure(name: str) -> type[ctypes.Structure]:
    """A struct of step.h: pointers, numbers of 64 bits, integers and doubles, arrays of those."""
    text = re.sub(r"/\*.*?\*/", "", STEP_H.read_text(), flags=re.DOTALL)
    lengths = dict(re.findall(r"#define (\w+) (\d+)", text))
    found = re.search(r"typedef struct \{([^}]*)\} " + name, text)
    assert found
    kinds = {"*": ctypes.c_void_p, "int64_t": ctypes.c_int64}
    kinds |= {"double": ctypes.c_double, "int ": ctypes.c_int}
    fields = []
    for declaration in filter(str.strip, found[1].split(";")):
        kind = next(kind for mark, kind in kinds.items() if mark in declaration)
        for each in declaration.split(","):
            member, length = re.findall(r"(\w+)(?:\[(\w+)\])?$", each.strip())[0]
            fields.append((member, kind * int(lengths[length]) if length else kind))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def filled(name: str, **members: Any) -> ctypes.Structure:
    """Arrays are their addresses; what is not named is NULL or 0."""
    values = {
        member: value.address if isinstance(value, Array) else value
        for member, value in members.items()
    }
    return structure(name)(**values)


@pytest.fixture
def device() -> EmulatedDevice:
    return EmulatedDevice()


class Step:
    """What the tests of a cell in a type share: random arrays, and names of planes."""

    def __init__(self, device: EmulatedDevice, cell: str, dtype: str) -> None:
        self.device, self.dtype, self.real = device, dtype, real_dtype(dtype)
        self.cell = CELLS[cell]
        self.gates = len(self.cell.gates)
        self.position = *range(1, self.gates), 0  # not the cell's own order
        self.random = np.random.default_rng(7)
        self.peepholes = self.storage(max(1, len(self.cell.peepholes)), H)

    @property
    def settings(self) -> oracle_cells.Settings:
        peepholes = zip(self.cell.peepholes, self.peepholes.numbers, strict=False)
        return oracle_cells.Settings(peepholes=dict(peepholes))

    def storage(self, *lengths: int, gap: int = 0) -> Strided:
        """Random elements."""
        return self.unset(*lengths, gap=gap).set(self.random.standard_normal(lengths))

    def unset(self, *lengths: int, gap: int = 0) -> Strided:
        return dense(self.device, *lengths, dtype=self.dtype, gap=gap)

    def reals(self, *lengths: int) -> Strided:
        return dense(self.device, *lengths, dtype=self.real).set(
            self.random.standard_normal(lengths)
        )

    def launch(self, kernel: str, step: ctypes.Structure) -> None:
        planes = (*self.position, *range(self.gates, self.cell.num_planes))
        step.position[: len(planes)] = planes
        step.peepholes = self.peepholes.address if self.cell.peepholes else None
        step.scalars[: len(self.cell.scalars)] = [default for _, default in self.cell.scalars]
        source = cuda_source.recurrence(self.cell.name, self.dtype)
        call(self.device, source, f"{kernel}_{SUFFIX[self.dtype]}", step)

    def assert_close(self, name: str, array: Strided, expected: np.ndarray) -> None:
        assert_close(name, array.numbers[: len(expected)], expected, array.dtype, 4)
        array.assert_gaps()


CASES = pytest.mark.parametrize(
    ("cell", "dtype"), [(cell, dtype) for cell in CELLS for dtype in FLOATING]
)


@CASES
@pytest.mark.parametrize("h_rows", [0, 3, 5])
def test_a_training_step_forward(device, cell, dtype, h_rows):
    step = Step(device, cell, dtype)
    batch, rows, gates = 7, 5, step.gates
    products, h_products = step.reals(rows, gates, H), step.reals(rows, gates, H)
    h_products.values[h_rows:] = np.nan
    bias, recurrent_bias = step.storage(gates, H, gap=3), step.storage(gates, H, gap=3)
    h, c = step.reals(batch, H), step.reals(batch, H)
    before = h.numbers, c.numbers
    saved = step.unset(rows, max(1, len(step.cell.saved)), H)
    output, y = step.unset(rows, H, gap=5), step.unset(rows, H, gap=2)
    cells = dense(device, rows, H, dtype=step.real)

    q = np.where(np.arange(rows)[:, None, None] < h_rows, h_products.numbers, 0)
    a, q = products.numbers + bias.numbers, q + recurrent_bias.numbers
    parts = [
        {gate: part[:, at] for gate, at in zip(step.cell.gates, step.position, strict=True)}
        for part in (a, q)
    ]
    inputs = before[0][:rows], before[1][:rows]
    new_h, new_c, planes = oracle_cells.cell_forward(cell, *parts, *inputs, step.settings)

    arguments = dict(output=output, y=y, saved=saved, h=h, x_products=products)
    if step.cell.has_cell_state:
        arguments |= dict(c=c, cells=cells)
    strides = dict(output_row=H + 5, y_row=H + 2, bias_gate=H + 3)
    sizes = dict(rows=rows, h_rows=h_rows, hidden_size=H)
    biases = dict(input_bias=bias, recurrent_bias=recurrent_bias, h_products=h_products)
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


class Backward(Step):
    """Arrays of a backward step of `rows` rows, of which the first before_rows had a step before.

    dy stands where dgates is written; hx and cx are in the caller's order.
    """

    rows, batch = 5, 7
    order = np.array([3, 0, 6, 1, 5, 2, 4])

    def __init__(self, device: EmulatedDevice, cell: str, dtype: str, before_rows: int) -> None:
        super().__init__(device, cell, dtype)
        rows = self.rows
        self.before_rows = before_rows
        self.saved = self.unset(rows, max(1, len(self.cell.saved)), H)
        for plane, name in enumerate(self.cell.saved):
            values = self.random.uniform(-1 if name in ("g", "n", "n_h") else 0, 1, (rows, H))
            self.saved.values[:, plane] = encoded(values, dtype)
        self.output, self.output_before = self.storage(rows, H, gap=3), self.unset(rows, H, gap=3)
        self.cells, self.cells_before = self.reals(rows, H), self.reals(rows, H)
        self.output_before.values[:before_rows] = self.storage(rows, H).values[:before_rows]
        self.cells_before.values[before_rows:] = np.nan
        self.hx, self.cx = self.storage(self.batch, H), self.storage(self.batch, H)
        self.dgates = self.unset(rows, self.cell.num_planes, H, gap=6)
        self.dgates.values[:, 0] = self.storage(rows, H).values
        self.dy = self.dgates.numbers[:, 0]
        self.dh, self.dc = self.reals(self.batch, H), self.reals(self.batch, H)

    def arguments(self) -> dict[str, Any]:
        found = dict(
            **dict(dgates=self.dgates, dy=self.dgates, dh=self.dh, saved=self.saved),
            **dict(output=self.output, output_before=self.output_before),
            **dict(dgates_row=self.dgates.strides[0], dy_row=self.dgates.strides[0]),
            **dict(output_row=H + 3, rows=self.rows, before_rows=self.before_rows, hidden_size=H),
        )
        if self.cell.has_cell_state:
            found |= dict(dc=self.dc, cells=self.cells, cells_before=self.cells_before)
        return found

    def expected(
        self, dh: np.ndarray, h: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(dgates, dh, dc) for the gradient of h' and the states before."""
        numbers = self.saved.numbers
        planes = {"a": self.output.numbers, "h": self.output.numbers, "c": self.cells.numbers}
        for plane, name in enumerate(self.cell.saved):
            planes[ORACLE_NAMES.get(name, name)] = numbers[:, plane]
        found = oracle_cells.cell_backward(
            self.cell.name, planes, h, c, dh, self.dc.numbers[: self.rows], self.settings
        )
        dgates = np.empty((self.rows, self.cell.num_planes, H))
        for gate, name in enumerate(self.cell.gates):
            dgates[:, self.position[gate]] = found.dq[name]
            if self.cell.input_plane(gate) != gate:
                dgates[:, self.cell.input_plane(gate)] = found.da[name]
        for plane, name in enumerate(self.cell.peepholes, self.cell.peephole_plane):
            dgates[:, plane] = found.dpeepholes[name]
        return dgates, found.dh, found.dc

    def run_and_compare(
        self, arguments: dict[str, Any], expected: tuple[np.ndarray, ...], ended: np.ndarray
    ) -> None:
        """`ended` is dh of the rows behind, which have no step."""
        rest = self.dc.numbers[self.rows :]
        self.launch("pointwise_backward", filled("backward_step", **arguments))
        dgates, dh, dc = expected
        self.assert_close("dgates", self.dgates, dgates)
        self.assert_close("dh", self.dh, np.concatenate([dh, ended]))
        if self.cell.has_cell_state:
            self.assert_close("dc", self.dc, np.concatenate([dc, rest]))


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
