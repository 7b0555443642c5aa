"""Single values in host memory: alpha, beta and what fills padding.

Each is given as a real number (1.0, not 1), memory that holds one value, or the address of one.
"""

from __future__ import annotations

import ctypes
import math
import numbers
import struct
from typing import Any

from ..core.memory import address_of
from ..errors import BadParam
from .datatypes import DataType

_FIRST_ADDRESS = 4096  # no memory lies below
# For `struct`; standard sizes, which unlike native ones refuse a number too large.
_FORMATS = {
    "float32": "=f",
    "float16": "=e",
    "float64": "=d",
    "int32": "=i",
    "int8": "=b",
    "uint8": "=B",
    "int64": "=q",
}


def scalar(argument: str, value: Any, data_type: DataType) -> bytes:
    """The one value that an argument gives, as it lies in memory; see above."""
    name, itemsize = data_type
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return _encoded(argument, value, name)
    if isinstance(value, numbers.Integral):
        if value < _FIRST_ADDRESS:
            rule = f"must be a number with a point, memory or an address: write {int(value)}.0"
            raise BadParam(argument, rule, value)
    elif getattr(value, "nbytes", itemsize) != itemsize:
        raise BadParam(argument, f"must hold one value, {itemsize} bytes", value.nbytes)
    address = address_of(argument, value, nbytes=itemsize, dtype=name)
    return ctypes.string_at(address, itemsize)


def _encoded(argument: str, value: numbers.Real, dtype: str) -> bytes:
    try:
        number = float(value)
        if dtype == "bfloat16":
            return struct.pack("=H", _fitting_bfloat16(number))
        if "int" in dtype and number.is_integer():
            return struct.pack(_FORMATS[dtype], int(number))
        return struct.pack(_FORMATS[dtype], number)
    except (KeyError, OverflowError, struct.error):
        raise BadParam(
            argument, f"must be a {dtype}, a number that fits or memory", value
        ) from None


def _bfloat16(number: float) -> int:
    """The bits of the nearest bfloat16, the even one of two."""
    if math.isnan(number):  # whose bits rounding could carry over
        return 0x7FC0
    (bits,) = struct.unpack("=I", struct.pack("=f", number))
    return int(bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _fitting_bfloat16(number: float) -> int:
    """The same, but OverflowError for a number that only infinity is near to, as of other types."""
    bits = _bfloat16(number)
    if bits & 0x7FFF == 0x7F80 and math.isfinite(number):
        raise OverflowError
    return bits


def rounded_to_bfloat16(number: float) -> float:
    """The nearest number that bfloat16 has."""
    return float(*struct.unpack("=f", struct.pack("=I", _bfloat16(number) << 16)))


def write_scalar(argument: str, value: Any, data_type: DataType, item: bytes) -> None:
    """Write one value to the caller's host memory."""
    name, itemsize = data_type
    address = address_of(argument, value, nbytes=itemsize, dtype=name, writable=True)
    ctypes.memmove(address, item, itemsize)
