"""NumPy's arrays as `bench_jobs.Miopy` takes them from a module, but each begins with a cache line.

So do GPUs' memory, torch's tensors and what oneDNN allocates, while NumPy's large arrays begin 16
bytes behind a line: long vectors of a kernel then lie in two each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LINE_NBYTES = 64


def empty(shape: int | Sequence[int], dtype: Any) -> np.ndarray:
    """A new contiguous array of any values."""
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    block = np.empty(nbytes + LINE_NBYTES, np.uint8)
    start = -block.ctypes.data % LINE_NBYTES
    return block[start : start + nbytes].view(dtype).reshape(shape)


def empty_like(array: np.ndarray) -> np.ndarray:
    return empty(array.shape, array.dtype)


def asarray(values: np.ndarray) -> np.ndarray:
    """A copy."""
    array = empty_like(values)
    array[...] = values
    return array
