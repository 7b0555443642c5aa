"""Inference on 8-bit codes on the host's pool of threads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from . import _stepped
from ._host import lib
from .host_elementwise import as_number
from .quantized import KERNELS, Quantized

NO_LIMIT = 2**31 - 1  # to the blocks of a grid, which the host has none of


def quantized_on(pool: Any, hold: Callable[[], AbstractContextManager[Any]]) -> Quantized:
    """The kernels of a pool, on which calls run one after the other while `hold` is entered."""
    calls = _stepped.ffi.new("device_calls *")
    calls.launch = _stepped.ffi.cast("launch_function *", as_number(lib.quantized_launch()))
    calls.stream = _stepped.ffi.cast("void *", as_number(pool))
    calls.most_blocks = NO_LIMIT
    kernels = {
        name: as_number(lib.quantized_function(pool, number)) for number, name in enumerate(KERNELS)
    }
    return Quantized(hold, calls, lambda: kernels, lambda array: array.ctypes.data, pool)
