"""Where a DLPack exporter's memory lies, read from its capsule (ABI: dmlc/dlpack, dlpack.h).

NumPy's own importer refuses bfloat16 and devices, so the structure is read here. The capsule is
not consumed: dropping it lets the exporter release it, and the memory stays the exporter's.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

CPU, CUDA, CUDA_HOST, ROCM, CUDA_MANAGED = 1, 2, 3, 10, 13
LEGACY_DEFAULT_STREAM = 1  # how CUDA and the array interfaces call what is also stream 0
_READ_ONLY = 1
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """What a `dltensor_versioned` capsule holds; a `dltensor` one holds a _Tensor first."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer.restype = ctypes.c_void_p


def _stream_number(stream: int, device_type: int) -> int:
    """As the protocol has it: ROCm's default stream is 0."""
    return stream if stream or device_type == ROCM else LEGACY_DEFAULT_STREAM


class Export(NamedTuple):
    """A tensor in memory. Strides are in elements, None when row-major without gaps."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    itemsize: int
    writable: bool
    device_type: int


def read(exporter: Any, stream: int | None = None, number: int = 0) -> Export:
    """The memory behind `exporter.__dlpack__()`. What the exporter raises passes through; for the
    memory of another GPU it is a BufferError.

    stream   of a GPU, 0 for the default one: the exporter makes it wait for the contents; -1:
             none, it does nothing about them
    number   of that GPU
    """
    wanted: dict[str, Any] = {}
    if stream is not None:
        device_type, found = exporter.__dlpack_device__()
        if device_type in (CUDA, ROCM) and found != number:
            raise BufferError(f"it is on device {found}, not on the handle's, which is {number}")
        if device_type in (CUDA, ROCM, CUDA_MANAGED):
            wanted["stream"] = _stream_number(stream, device_type)
    try:
        capsule = exporter.__dlpack__(max_version=(1, 0), copy=False, **wanted)
    except TypeError:  # an exporter from before DLPack 1.0
        capsule = exporter.__dlpack__(**wanted)
    writable = True
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        writable = not versioned.flags & _READ_ONLY
        tensor = versioned.tensor
    else:
        tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
    kind = _KINDS.get(tensor.code, f"type code {tensor.code}, ")
    return Export(
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=tuple(tensor.shape[: tensor.ndim]),
        strides=tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None,
        dtype="bool" if kind == "bool" else f"{kind}{tensor.bits}",
        itemsize=tensor.bits * tensor.lanes // 8,
        writable=writable,
        device_type=tensor.device_type,
    )
