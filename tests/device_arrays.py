"""Arrays in the emulated device's memory for tests of its kernels: storage types, gaps, poison."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from hostcuda.calls import SUCCESS, Array, launch
from hostcuda.device import EmulatedDevice

from miopy.backends import cuda_source
from miopy.backends.cuda_source import Source

FLOATING = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int32", "int8", "int64")
SUFFIX = dict(zip((*FLOATING, *INTEGERS), "f32 f16 bf16 f64 i32 i8 i64".split(), strict=True))
# Fewer threads than most tests have elements.
GRID, BLOCK = (3, 1, 1), (32, 1, 1)


def storage_dtype(dtype: str) -> np.dtype:
    """NumPy lacks bfloat16: its bits stand for it."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def real_dtype(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"


def encoded(values: Any, dtype: str) -> np.ndarray:
    """Rounded to storage, to nearest even."""
    if dtype != "bfloat16":
        return np.asarray(values).astype(dtype)
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def decoded(elements: np.ndarray) -> np.ndarray:
    """float64 values of storage."""
    if elements.dtype == np.uint16:
        elements = (elements.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(invalid="ignore"):  # any NaN will do
        return elements.astype(np.float64)


class Strided(Array):
    """Storage of some strides, in elements, with NaN (all ones) wherever no element is.

    values     the elements, in place; NaN themselves until set
    numbers    them in float64
    """

    def __init__(
        self, device: EmulatedDevice, lengths: tuple[int, ...], strides: tuple[int, ...], dtype: str
    ) -> None:
        kind = storage_dtype(dtype)
        extent = 1 + sum((n - 1) * s for n, s in zip(lengths, strides, strict=True))
        super().__init__(device, np.zeros(extent, kind), kind)
        self.dtype, self.strides = dtype, strides
        self.whole = self.values
        self.whole.view(np.uint8)[:] = 0xFF
        nbytes = [stride * kind.itemsize for stride in strides]
        self.values = np.lib.stride_tricks.as_strided(self.whole, lengths, nbytes)
        self.is_gap = np.ones(extent, bool)
        np.lib.stride_tricks.as_strided(self.is_gap, lengths, strides)[...] = False

    @property
    def numbers(self) -> np.ndarray:
        return decoded(self.values)

    def set(self, values: Any) -> Strided:
        self.values[...] = encoded(values, self.dtype)
        return self

    def assert_gaps(self) -> None:
        """Nothing was written between the elements."""
        assert (np.ascontiguousarray(self.whole[self.is_gap]).view(np.uint8) == 0xFF).all()


def dense(device: EmulatedDevice, *lengths: int, dtype: str, gap: int = 0) -> Strided:
    """Rows of elements, `gap` elements between the rows of the first dimension."""
    strides = [int(np.prod(lengths[d + 1 :])) for d in range(len(lengths))]
    strides[0] += gap
    return Strided(device, lengths, tuple(strides), dtype)


def scalar(value: float, dtype: str) -> Any:
    """A value of storage as a launch takes it."""
    element = encoded(value, dtype)
    if element.dtype == np.float16:
        element = element.view(np.uint16)
    return np.ctypeslib.as_ctypes_type(element.dtype)(element.item())


def call(device: EmulatedDevice, source: Source, kernel: str, *arguments: Any) -> None:
    """Launch fewer threads than elements; integers are int64_t, None is NULL."""
    values = [
        ctypes.c_int64(argument) if isinstance(argument, int) else argument
        for argument in arguments
    ]
    function = device.load(source)[kernel]
    assert launch(device, function, values, grid=GRID, block=BLOCK) == SUCCESS


def run(device: EmulatedDevice, dtype: str, kernel: str, *arguments: Any) -> None:
    """Call one of the kernels that there are for a type alone."""
    call(device, cuda_source.storage(dtype), f"{kernel}_{SUFFIX[dtype]}", *arguments)


def random(*lengths: int) -> np.ndarray:
    """Numbers that depend on the lengths alone."""
    return np.random.default_rng(lengths).standard_normal(lengths)
