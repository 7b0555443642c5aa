"""Arrays that end where memory ends: reading or writing past them kills the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

from miopy.backends import host

_PAGE = mmap.PAGESIZE
_C = ctypes.CDLL(None, use_errno=True)
_C.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_NO_ACCESS = 0
_FENCE = 256 * _PAGE  # what a size that is wrong by a worker's share does not pass


def fenced_bytes(nbytes: int) -> np.ndarray:
    """Memory in front of some that may not be touched. Zeros, taken from the system when used."""
    pages = -(-nbytes // _PAGE)
    memory = np.frombuffer(mmap.mmap(-1, pages * _PAGE + _FENCE), np.uint8)
    fence = pages * _PAGE
    if _C.mprotect(memory.ctypes.data + fence, _FENCE, _NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")
    return memory[fence - nbytes : fence]


def fenced(values: np.ndarray) -> np.ndarray:
    """A copy in such memory."""
    copy = fenced_bytes(values.nbytes).view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def fenced_scratch(device: Any) -> list[np.ndarray]:
    """From now on the device's scratch ends where memory does; what keeps it alive."""
    blocks: list[np.ndarray] = []

    def allocate(_: object, nbytes: int) -> int:
        blocks.append(fenced_bytes(nbytes - host.ALIGNMENT))
        return blocks[-1].ctypes.data

    device.set_allocator(allocate, None, None)
    return blocks
