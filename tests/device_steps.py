"""One recurrent step on the emulated device: its arguments as C has them, and arrays to try it on.

Every array has NaN between its rows and where a row takes no part.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import oracle_cells
from device_arrays import SUFFIX, Strided, call, dense, encoded, real_dtype
from hostcuda.calls import Array
from hostcuda.device import EmulatedDevice
from tolerance import assert_close

from miopy.backends import cuda_source
from miopy.core.cells import CELLS
from miopy.core.config import RNNConfig

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


class Step:
    """What the tests of a cell in a type share: random arrays, and names of planes."""

    def __init__(self, device: EmulatedDevice, cell: str, dtype: str) -> None:
        self.device, self.dtype, self.real = device, dtype, real_dtype(dtype)
        self.cell = CELLS[cell]
        self.gates = len(self.cell.gates)
        self.position = *range(1, self.gates), 0  # not the cell's own order
        self.random = np.random.default_rng(7)
        self.attention = self.storage(5)
        self.peepholes = self.storage(max(1, len(self.cell.peepholes)), H)

    @property
    def settings(self) -> oracle_cells.Settings:
        peepholes = zip(self.cell.peepholes, self.peepholes.numbers, strict=False)
        attention = self.attention.numbers[:, None] if self.cell.attention else 0.0
        return oracle_cells.Settings(peepholes=dict(peepholes), attention=attention)

    def storage(self, *lengths: int, gap: int = 0) -> Strided:
        """Random elements."""
        return self.unset(*lengths, gap=gap).set(self.random.standard_normal(lengths))

    def unset(self, *lengths: int, gap: int = 0) -> Strided:
        return dense(self.device, *lengths, dtype=self.dtype, gap=gap)

    def reals(self, *lengths: int) -> Strided:
        return dense(self.device, *lengths, dtype=self.real).set(
            self.random.standard_normal(lengths)
        )

    def launch(self, kernel: str, step: ctypes.Structure, *others: Strided) -> None:
        planes = (*self.position, *range(self.gates, self.cell.num_planes))
        step.position[: len(planes)] = planes
        step.peepholes = self.peepholes.address if self.cell.peepholes else None
        step.attention = self.attention.address if self.cell.attention else None
        scalars = RNNConfig(self.cell.name, 1, 1).scalars
        step.scalars[: len(scalars)] = scalars
        source = cuda_source.recurrence(self.cell.name, self.dtype, tuple(self.position))
        call(self.device, source, f"{kernel}_{SUFFIX[self.dtype]}", step, *others)

    def assert_close(self, name: str, array: Strided, expected: np.ndarray) -> None:
        assert_close(name, array.numbers[: len(expected)], expected, array.dtype, 4)
        array.assert_gaps()


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
        if self.cell.attention:
            dgates[:, -1] = found.dattention
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
