"""Arrays that a call makes for its caller."""

from __future__ import annotations

import math
from typing import Any

from ..core.config import DTYPES
from ..core.memory import address_of


def size_of(shape: tuple[int, ...], dtype: str) -> int:
    """Bytes of an array. "uint8" is a dtype too."""
    return math.prod(shape) * (DTYPES[dtype].itemsize if dtype in DTYPES else 1)


def new_array(device: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, int]:
    """A new array of a backend and its address, 0 without elements."""
    array, nbytes = device.empty(shape, dtype), size_of(shape, dtype)
    options = {"writable": True, "optional": not nbytes, "location": device}
    return array, address_of("output", array, nbytes=nbytes, **options) or 0
