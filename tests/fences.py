"""Arrays that end where memory ends: reading or writing one byte past them kills the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_PAGE = mmap.PAGESIZE
_C = ctypes.CDLL(None, use_errno=True)
_C.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_NO_ACCESS = 0


def fenced_bytes(nbytes: int) -> np.ndarray:
    """Memory in front of a page that may not be touched. Zeros, taken from the system when used."""
    pages = -(-nbytes // _PAGE)
    memory = np.frombuffer(mmap.mmap(-1, (pages + 1) * _PAGE), np.uint8)
    fence = pages * _PAGE
    if _C.mprotect(memory.ctypes.data + fence, _PAGE, _NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")
    return memory[fence - nbytes : fence]


def fenced(values: np.ndarray) -> np.ndarray:
    """A copy in such memory."""
    copy = fenced_bytes(values.nbytes).view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy
