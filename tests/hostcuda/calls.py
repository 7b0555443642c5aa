"""Calling what C calls, a device's launch and gemm functions, on arrays in its memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from miopy.backends.cuda_device import Device

from .device import EmulatedDevice, view

SUCCESS = 0

_INT, _UNSIGNED, _POINTER = ctypes.c_int, ctypes.c_uint, ctypes.c_void_p
LAUNCH = ctypes.CFUNCTYPE(_INT, _POINTER, *[_UNSIGNED] * 7, *[_POINTER] * 3)
LAUNCH_TOGETHER = ctypes.CFUNCTYPE(_INT, _POINTER, *[_UNSIGNED] * 7, *[_POINTER] * 2)
_MATRIX = (_POINTER, _INT, _INT)
_GEMM = ctypes.CFUNCTYPE(
    *(_INT, _POINTER, *[_INT] * 5, _POINTER, *_MATRIX, *_MATRIX, _POINTER, *_MATRIX, _INT, _INT)
)


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute for clusters."""

    _fields_ = [("id", _INT), ("padding", _INT), ("cluster", _UNSIGNED * 3), ("rest", _INT * 13)]


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        *(("grid", _UNSIGNED * 3), ("block", _UNSIGNED * 3), ("shared_nbytes", _UNSIGNED)),
        *(("stream", _POINTER), ("attributes", ctypes.POINTER(_Attribute)), ("number", _UNSIGNED)),
    ]


LAUNCH_CONFIGURED = ctypes.CFUNCTYPE(_INT, ctypes.POINTER(_Config), *[_POINTER] * 3)
_CLUSTER_DIMENSION = 4


class Array:
    """A block of device memory as a NumPy array, `values`."""

    def __init__(self, device: Device, values: Any, dtype: Any = np.float32) -> None:
        values = np.asarray(values, dtype)
        self.block = device.allocate(values.nbytes, 0)
        self.address = self.block.address
        self.values = view(self.block, dtype).reshape(values.shape)
        self.values[...] = values


def _argument(value: Any) -> Any:
    if value is None or isinstance(value, Array):
        return _POINTER(value and value.address)
    return value


def launch(
    device: Device,
    function: int | None,
    arguments: Sequence[Any],
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (256, 1, 1),
    shared_nbytes: int = 0,
    stream: int = 0,
    together: bool = False,
    cluster: int = 0,
) -> int:
    """The driver's answer, 0 for success. Arguments are ctypes values and Arrays; None is NULL.

    together   all blocks must run at a time
    cluster    blocks of one; 0: without any
    """
    values = list(map(_argument, arguments))
    addresses = (_POINTER * len(values))(*map(ctypes.addressof, values))
    if together:
        call = LAUNCH_TOGETHER(device.calls.launch_together)
        return call(function, *grid, *block, shared_nbytes, stream, addresses)
    if cluster:
        attribute = _Attribute(_CLUSTER_DIMENSION, 0, (cluster, 1, 1))
        config = _Config(grid, block, shared_nbytes, stream, ctypes.pointer(attribute), 1)
        configured = LAUNCH_CONFIGURED(device.calls.launch_configured)
        return configured(ctypes.byref(config), function, addresses, None)
    call = LAUNCH(device.calls.launch)
    return call(function, *grid, *block, shared_nbytes, stream, addresses, None)


def gemm(
    device: EmulatedDevice,
    operations: tuple[int, int],
    shape: tuple[int, int, int],
    scalars: tuple[Any, Any],
    a: tuple[int, int, int],
    b: tuple[int, int, int],
    c: tuple[int, int, int],
    compute: int,
) -> int:
    """cuBLAS' answer. Scalars are ctypes values, alpha and beta; a, b, c address, type, ld."""
    alpha, beta = map(ctypes.byref, scalars)
    call = _GEMM(device.calls.gemm)
    head = device.blas, *operations, *shape
    return call(*head, alpha, *a, *b, beta, *c, compute, device.calls.algorithm)
