"""Addresses of the memory that callers pass, checked before anything is read or written.

A data argument is None (NULL), an integer address, which is trusted, or an object that exposes its
memory: a NumPy array, anything with the buffer protocol, `__array_interface__`, DLPack or
`__cuda_array_interface__`.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from ..errors import BadParam, MiopyError
from . import dlpack
from ._reader import Reader

_EXPOSED = "must be an object that exposes its memory (NumPy, DLPack, buffer)"
_KINDS = _EXPOSED.replace("must be", "must be an address or")
HOST, CUDA = "host", "cuda"
_DLPACK_DEVICES = {
    dlpack.CPU: (HOST,),
    dlpack.CUDA: (CUDA,),
    dlpack.CUDA_HOST: (HOST, CUDA),
    dlpack.CUDA_MANAGED: (HOST, CUDA),
    dlpack.ROCM: (CUDA,),
}
NATIVE = {  # the types of elements that NumPy has
    name: np.dtype(name) for name in ("float32", "float16", "float64", "int8", "int32", "int64")
}
_NAMES = {dtype: name for name, dtype in NATIVE.items()}
_ALIGNMENT = {name: dtype.itemsize for name, dtype in NATIVE.items()} | {"bfloat16": 2}
# What objects raise that expose less than they claim.
_UNREADABLE = (
    *(AttributeError, BufferError, LookupError, RuntimeError, TypeError, ValueError),
    SyntaxError,  # of NumPy's types
)
_LAST = 2**56 - 1  # no process has memory above, on any processor
_NUMBERS = "bBhHiIlLqQefdg"  # the letters of integers and reals


class _Memory(NamedTuple):
    """What an object exposes. A dtype of None stands for raw bytes, which hold anything."""

    shape: tuple[int, ...]
    address: int
    nbytes: int
    dtype: str | None
    writable: bool
    contiguous: bool
    devices: tuple[str, ...]
    stream: int | None = None  # to wait for before the memory is read


class Location(Protocol):
    """Where a call's memory must be: a backend.

    memory   HOST or CUDA
    number   of the device among those of its kind
    awaiting   the address of the stream that exporters of arrays let wait for the contents, 0 for
               the default one; NOTHING_WAITS; None on the host
    """

    memory: str

    @property
    def number(self) -> int: ...

    @property
    def awaiting(self) -> int | None: ...

    def address_of_own(self, value: Any, nbytes: int, dtype: str | None) -> int:
        """The address of a dense array of the device's own kind, at least `nbytes` long and of that
        type, whose contents later work waits for; 0 where there is more to ask."""

    def wait_for(self, stream: int) -> None:
        """Let later work wait for what is on another stream so far."""


class _HostLocation:
    memory = HOST
    number = 0
    awaiting = None

    def address_of_own(self, value: Any, nbytes: int, dtype: str | None) -> int:
        return 0

    def wait_for(self, stream: int) -> None:
        """There is nothing to wait for."""


HOST_LOCATION = _HostLocation()


@overload
def address_of(
    argument: str,
    value: Any,
    *,
    nbytes: int,
    dtype: str | None = ...,
    writable: bool = ...,
    location: Location = ...,
) -> int: ...


@overload
def address_of(
    argument: str,
    value: Any,
    *,
    nbytes: int,
    dtype: str | None = ...,
    writable: bool = ...,
    optional: bool,
    location: Location = ...,
) -> int | None: ...


def address_of(
    argument: str,
    value: Any,
    *,
    nbytes: int,
    dtype: str | None = None,
    writable: bool = False,
    optional: bool = False,
    location: Location = HOST_LOCATION,
) -> int | None:
    """The address of a data argument's memory, None for NULL.

    nbytes     bytes that it must hold at least
    dtype      name of the element type that it must have, None for any; raw bytes (bytes,
               bytearray, ctypes characters) always pass
    writable   whether read-only memory is refused
    optional   whether None is accepted
    location   where the memory must be, and the stream that will use it

    An integer must be positive, nothing else is known of it. Any other object must be contiguous in
    row-major order. Raises BadParam.
    """
    read = reader(
        argument,
        nbytes=nbytes,
        dtype=dtype,
        writable=writable,
        optional=optional,
        location=location,
    )
    return read(value)


def reader(
    argument: str,
    *,
    nbytes: int,
    dtype: str | None = None,
    writable: bool = False,
    optional: bool = False,
    location: Location = HOST_LOCATION,
    opaque_alignment: int = 0,
) -> Callable[[Any], int | None]:
    """`address_of` for whatever values are passed as one argument.

    opaque_alignment   of a buffer without element type: what its address, 0 for NULL, must be a
                       multiple of
    """
    if location.memory == HOST:  # all are alike there
        rules = nbytes, dtype, writable, optional, HOST_LOCATION, opaque_alignment
        return _remembered_reader(argument, *rules, _type_without_letter(nbytes, dtype))
    return _reader(argument, nbytes, dtype, writable, optional, location, opaque_alignment)


def _reader(
    argument: str,
    nbytes: int,
    dtype: str | None,
    writable: bool,
    optional: bool,
    location: Location,
    opaque_alignment: int,
    type_without_letter: Any = None,
) -> Callable[[Any], int | None]:
    """What `reader` answers, made anew.

    type_without_letter   the dtype of the elements, if `dtype` has no letter
    """

    alignment = opaque_alignment or _ALIGNMENT.get(dtype or "raw", 1)

    def slowly(value: Any) -> int | None:
        if value is None and optional:
            return None
        own = location.address_of_own(value, nbytes, dtype)
        if own and own % alignment == 0:
            return own
        address = _checked_integer(argument, value, nbytes)
        if address is not None:
            return address
        memory = _memory(argument, value, location)
        _check(argument, memory, nbytes, dtype, writable, location.memory)
        if memory.stream is not None:
            location.wait_for(memory.stream)
        if not memory.address and not optional:  # as DLPack gives a tensor without elements
            raise BadParam(argument, "must not be NULL")
        return memory.address or None

    def aligned(value: Any) -> int:
        address = slowly(value) or 0
        check_alignment(argument, address, opaque_alignment)
        return address

    return Reader(
        aligned if opaque_alignment else slowly,
        kind=np.ndarray,
        formats=_letters(nbytes, dtype, location),
        type=type_without_letter,
        nbytes=min(nbytes, sys.maxsize),  # nothing is longer, which `slowly` then says
        last=max(_LAST - nbytes, 0),
        alignment=alignment,
        writable=writable,
    )


_remembered_reader = lru_cache(maxsize=1024)(_reader)


def _letters(nbytes: int, dtype: str | None, location: Location) -> str:
    """The element types of arrays about which nothing else needs to be asked."""
    if nbytes == 0 or location.memory != HOST:
        return ""
    if dtype is None:
        return _NUMBERS
    return NATIVE[dtype].char if dtype in NATIVE else ""


def _type_without_letter(nbytes: int, dtype: str | None) -> np.dtype[Any] | None:
    """The one other element type that may be asked for, once there can be arrays of it."""
    if dtype != "bfloat16" or nbytes == 0:
        return None
    found = getattr(sys.modules.get("ml_dtypes"), "bfloat16", None)
    return None if found is None else np.dtype(found)


def _checked_integer(argument: str, value: Any, nbytes: int) -> int | None:
    """An integer as an address, None for an object; BadParam for NULL too."""
    if value is None:
        raise BadParam(argument, "must not be NULL")
    if not isinstance(value, (int, np.integer)):
        return None
    if value <= 0 or isinstance(value, bool):
        raise BadParam(argument, "must be a positive address", value)
    if value > _LAST - nbytes:
        rule = f"must have room for {nbytes} bytes behind it, up to {hex(_LAST)}"
        raise BadParam(argument, rule, hex(value))
    return int(value)


class Description(NamedTuple):
    """What an array is. A dtype of None stands for raw bytes."""

    shape: tuple[int, ...]
    dtype: str | None


def describe(argument: str, value: Any, *, location: Location = HOST_LOCATION) -> Description:
    """Shape and element type of an object that exposes its memory; nothing is asked of either.

    Raises BadParam for anything else, None and addresses included.
    """
    if type(value) is np.ndarray and not value.dtype.hasobject:
        return Description(value.shape, _name(value.dtype))
    memory = _memory(argument, value, location, _EXPOSED)
    return Description(memory.shape, memory.dtype)


def _check(
    argument: str, memory: _Memory, nbytes: int, dtype: str | None, writable: bool, kind: str
) -> None:
    if kind not in memory.devices:
        found = " or ".join(memory.devices) or "another device"
        raise BadParam(argument, f"must be memory of the backend {kind!r}, this is on {found}")
    if dtype is not None and memory.dtype not in (None, dtype):
        raise BadParam(argument, f"must have elements of type {dtype}", memory.dtype)
    if not memory.contiguous:
        raise BadParam(argument, "must be contiguous in row-major (C) order")
    if memory.nbytes < nbytes:
        raise BadParam(argument, f"must hold at least {nbytes} bytes", memory.nbytes)
    if writable and not memory.writable:
        raise BadParam(argument, "must be writable, this memory is read-only")
    check_alignment(argument, memory.address, _ALIGNMENT.get(dtype or "raw", 1))


def _memory(argument: str, value: Any, location: Location, kinds: str = _KINDS) -> _Memory:
    """What `value` exposes, asked in the order of cost. Of all that may be given, `kinds` tell."""
    try:
        if isinstance(value, np.ndarray):
            return _of_array(value)
        try:
            view = memoryview(value)
        except TypeError:
            pass
        else:
            return _of_buffer(view)
        interface = getattr(value, "__array_interface__", None)
        if isinstance(interface, dict):
            return _of_interface(interface, HOST)
        if hasattr(value, "__dlpack__"):
            return _of_dlpack(dlpack.read(value, location.awaiting, location.number))
        interface = getattr(value, "__cuda_array_interface__", None)
        if isinstance(interface, dict):
            return _of_interface(interface, CUDA)
    except MiopyError:  # the location's, which knows nothing of the object
        raise
    except _UNREADABLE as error:
        raise BadParam(argument, f"must expose its memory: {error}") from error
    raise BadParam(argument, kinds, type(value).__name__)


def _of_array(array: np.ndarray) -> _Memory:
    if array.dtype.hasobject:
        raise TypeError("an array of Python objects holds references, not data")
    return _Memory(
        array.shape,
        array.ctypes.data,
        array.nbytes,
        _name(array.dtype),
        array.flags.writeable,
        array.flags.c_contiguous,
        (HOST,),
    )


def _name(dtype: np.dtype) -> str:
    """The name of a native type; one of the other byte order keeps its mark, such as >f4."""
    return _NAMES.get(dtype) or (dtype.name if dtype.isnative else dtype.str)


def _of_buffer(view: memoryview) -> _Memory:
    if "P" in view.format or "&" in view.format:
        raise TypeError("a ctypes pointer is not the memory it points to, pass its value")
    memory = _of_array(np.asarray(view))
    return memory._replace(dtype=None) if view.format.lstrip("@=<>") in ("B", "c") else memory


def _of_interface(interface: dict[str, Any], kind: str) -> _Memory:
    """Version 3 of the array interface, NumPy's or Numba's; the latter may name a stream on which
    the contents are still being written: 1 and 2 are the default streams, None needs no waiting."""
    address, read_only = interface["data"]
    dtype = np.dtype(interface["typestr"])
    shape, strides = tuple(map(operator.index, interface["shape"])), interface.get("strides")
    address, nbytes = operator.index(address or 0), math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not 0 <= address <= _LAST - nbytes or min(shape, default=0) < 0:
        raise ValueError(f"shape {shape} of {dtype} at {address:#x} is no data")
    return _Memory(
        shape,
        address,
        nbytes,
        _name(dtype),
        not read_only,
        _is_dense(shape, strides, dtype.itemsize),
        (kind,),
        interface.get("stream") if kind == CUDA else None,
    )


def _of_dlpack(export: dlpack.Export) -> _Memory:
    return _Memory(
        export.shape,
        export.address,
        math.prod(export.shape) * export.itemsize,
        export.dtype,
        export.writable,
        _is_dense(export.shape, export.strides, 1),
        _DLPACK_DEVICES.get(export.device_type, ()),
    )


def _is_dense(shape: Sequence[int], strides: Sequence[int] | None, unit: int) -> bool:
    """Whether these strides are those of a row-major array; lengths of 0 and 1 need none."""
    if strides is None or 0 in shape:
        return True
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != unit:
            return False
        unit *= length
    return True


def check_alignment(argument: str, address: int | None, alignment: int) -> None:
    """Raise BadParam unless the address, if there is one, is a multiple of `alignment`."""
    if address is not None and address % alignment:
        raise BadParam(argument, f"must be aligned to {alignment} bytes", address)
