"""Arrays that end where memory ends: reading or writing one byte past them kills the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_PAGE = mmap.PAGESIZE
_C = ctypes.CDLL(None, use_errno=True)
_C.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_NO_ACCESS = 0


def fenced(values: np.ndarray) -> np.ndarray:
    """A copy in front of a page that may not be touched, the rest of its first page 0xFF."""
    pages = -(-values.nbytes // _PAGE)
    memory = mmap.mmap(-1, (pages + 1) * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    if _C.mprotect(whole.ctypes.data + pages * _PAGE, _PAGE, _NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")
    whole[: pages * _PAGE] = 0xFF
    start = pages * _PAGE - values.nbytes
    copy = whole[start : pages * _PAGE].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy
