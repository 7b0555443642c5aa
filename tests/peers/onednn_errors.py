"""The table of errors that the comparison with oneDNN leaves in `benchmarks/results`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bench_machine
import onednn_library
import pytest
import tolerance
from onednn_problems import CELLS, DIRECTIONS, LEFT2RIGHT, SIZES, Tensors

PATH = Path(__file__).parents[2] / "benchmarks/results/onednn-errors.md"
DTYPES = ("float32", "bfloat16")
PASSES = ("inference", "training", "data gradients", "weight gradients")
TEXT = f"""\
# miopy and oneDNN against float64

Three numbers for each pass: the largest error of miopy, of oneDNN, and between the two, relative to
the root mean square of what the float64 reference gives. A row has {len(SIZES)} problems,
whose sizes and options differ. A dash stands for what oneDNN has not or computes wrongly, as
`tests/peers/test_onednn_defects.py` shows.

{{cpu}}, {onednn_library.PACKAGE} {{version}}. Written by `make test-peers`.
"""

NEEDS_BFLOAT16 = pytest.mark.skipif(
    not onednn_library.has_bfloat16(), reason="oneDNN has no bfloat16 on this CPU"
)
NOTHING = -1.0
Row = tuple[str, str, str]  # dtype, cell, direction


def parameters() -> list[Any]:
    """The rows as parameters of a test."""
    marks = {"bfloat16": (NEEDS_BFLOAT16,)}
    return [pytest.param(*row, marks=marks.get(row[0], ())) for row in rows()]


def rows() -> list[Row]:
    """Those of the whole table. AUGRU has but one direction."""
    return [
        (dtype, name, direction)
        for dtype in DTYPES
        for name, cell in CELLS.items()
        for direction in ((LEFT2RIGHT,) if cell.has_attention else DIRECTIONS)
    ]


class Errors:
    """Row -> pass -> the largest errors so far, of miopy, of oneDNN, between them, or NOTHING."""

    def __init__(self) -> None:
        self.found: dict[Row, dict[str, list[float]]] = {}

    def add(
        self, row: Row, pass_name: str, ours: Tensors, theirs: Tensors, reference: Tensors
    ) -> None:
        """Results of one pass; `theirs` is empty where oneDNN's are of no use."""
        largest = self.found.setdefault(row, {}).setdefault(pass_name, [NOTHING] * 3)
        pairs = ((ours, reference), (theirs, reference), (theirs, ours))
        for number, (some, others) in enumerate(pairs):
            errors = [tolerance.errors(some[name], others[name])[1] for name in some]
            largest[number] = max(largest[number], *errors, NOTHING)

    def write(self) -> None:
        """Write the file, if every row was measured."""
        if set(self.found) != set(rows()):
            return
        version = onednn_library.version()
        lines = [TEXT.format(cpu=bench_machine.cpu(), version=version)]
        for dtype in DTYPES:
            lines += [f"## {dtype}", "", "| cell | direction | " + " | ".join(PASSES) + " |"]
            lines.append("|---|---|" + "---|" * len(PASSES))
            for row in rows():
                if row[0] == dtype:
                    entries = (self._entry(self.found[row][name]) for name in PASSES)
                    lines.append(f"| {row[1]} | {row[2]} | " + " | ".join(entries) + " |")
            lines.append("")
        PATH.write_text("\n".join(lines))

    @staticmethod
    def _entry(largest: list[float]) -> str:
        words = {NOTHING: "-", 0.0: "0"}
        return " ".join(words.get(error, f"{error:.0e}") for error in largest)
