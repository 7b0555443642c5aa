"""What the core asks of a device. Backends implement this protocol; nothing else crosses the seam.

Addresses are integers on the backend's device, None for NULL. Sizes are in elements unless a name
says `nbytes`. Nothing here allocates device memory behind the caller's back except `scratch`, which
an implementation keeps for itself and grows on demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Matrix:
    """A matrix in device memory: element (i, j) is at address + (i * row + j * column) * itemsize.

    index      if given, row i is read at index[i] instead: index[i] >= 0 is a row of `address`,
               -1 - r is row r of `other`, or zeros when `other` is None
    """

    address: int
    rows: int
    columns: int
    row: int
    column: int = 1
    index: Any = None
    other: int | None = None
    other_row: int = 0


class Backend(Protocol):
    """A device. One instance serves one handle."""

    name: str

    def gemm(
        self, dtype: str, c: Matrix, a: Matrix, b: Matrix, *, accumulate: bool = False
    ) -> None:
        """c = a b, or c += a b. Products are summed in the real type of `dtype`."""
