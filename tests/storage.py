"""Numbers as storage types keep them. NumPy has no bfloat16: its memory is uint16 here."""

from __future__ import annotations

import numpy as np


def memory_type(dtype: str) -> np.dtype:
    """What arrays of a storage type are made of."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest numbers of a storage type, as its memory has them."""
    if dtype != "bfloat16":
        return np.asarray(values).astype(dtype)
    bits = np.asarray(values, np.float32).view(np.uint32)
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # the even one of two
    return nearest.astype(np.uint16)


def loaded(memory: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers in such memory, exactly: float32 of bfloat16, else as they are."""
    if dtype != "bfloat16":
        return memory
    return (memory.astype(np.uint32) << 16).view(np.float32)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest numbers of a storage type."""
    return loaded(stored(values, dtype), dtype)


def in_products(values: np.ndarray, dtype: str, build: str) -> np.ndarray:
    """Numbers as the products of a build of the host's kernels take and leave them: pairs of
    bfloat16 know no denormals."""
    if dtype != "bfloat16" or build not in ("amx", "avx512_bf16"):
        return values
    return np.where(abs(values) < 2.0**-126, 0, values)
