"""Element types by the names that the core and NumPy give them."""

from __future__ import annotations

from typing import NamedTuple

from ..core.config import DTYPES


class DataType(NamedTuple):
    """What the core and NumPy call a data type, and its bytes per element."""

    name: str
    itemsize: int


FLOATING = frozenset(DTYPES)
