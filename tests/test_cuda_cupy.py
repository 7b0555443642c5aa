"""What the CUDA backend leaves of CuPy's state, on a stand-in for CuPy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gpu_places
import numpy as np
import pytest

from miopy.backends import cuda_cupy


class Stream:
    """As CuPy's: `with` goes back to the stream of the `with` around it, whatever `use` said."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr

    def use(self) -> None:
        Stream.current = self

    def __enter__(self) -> None:
        Stream.stack.append(self)
        self.use()

    def __exit__(self, *raised: object) -> None:
        Stream.stack.pop()
        Stream.stack[-1].use()

    @classmethod
    def from_external(cls, stream: Any) -> Stream:
        return cls(stream.__cuda_stream__()[1])

    null: Stream
    current: Stream
    stack: list[Stream]


class Array(SimpleNamespace):
    """What is asked of an array of CuPy."""


def array(shape: tuple[int, ...], dtype: str = "float16", *, dense: bool = True) -> Array:
    like = np.empty(shape, dtype)
    flags, data = SimpleNamespace(c_contiguous=dense), SimpleNamespace(ptr=4096)
    return Array(nbytes=like.nbytes, dtype=like.dtype, flags=flags, data=data)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    Stream.null = Stream.current = Stream(0)
    Stream.stack = [Stream.null]
    cuda = SimpleNamespace(Stream=Stream, get_current_stream=lambda: Stream.current)
    cuda.memory = SimpleNamespace(OutOfMemoryError=MemoryError)
    cuda.runtime = SimpleNamespace(getDevice=lambda: 0)
    cuda_cupy._external.cache_clear()
    cuda.alloc = lambda nbytes: SimpleNamespace(ptr=Stream.current.ptr)
    cupy = SimpleNamespace(cuda=cuda, ndarray=Array)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    yield cupy
    cuda_cupy._external.cache_clear()


@pytest.fixture
def device(cupy: Any) -> cuda_cupy.CupyDevice:
    device = object.__new__(cuda_cupy.CupyDevice)
    device._array_type, device._current_stream = Array, cupy.cuda.get_current_stream
    return device


def test_taking_memory_leaves_the_callers_stream_in_use(device: Any) -> None:
    used = Stream(64)
    used.use()
    assert device.allocate(100, 128).address == 128  # that of the stand-in is its stream's
    assert Stream.current is used
    with Stream(256):
        device.allocate(100, 128)
        assert Stream.current.ptr == 256


def test_arrays_of_cupy_tell_their_address_and_who_writes_them(device: Any) -> None:
    Stream(64).use()
    assert device.own_array(array((2, 3)), 12, "float16") == (4096, 64)
    assert device.own_array(array((2, 3)), 12, None) == (4096, 64)
    assert device.own_array(array((2, 3)), 13, "float16") is None
    assert device.own_array(array((2, 3)), 12, "float32") is None
    assert device.own_array(array((2, 3)), 12, "bfloat16") is None
    assert device.own_array(array((2, 3), dense=False), 12, "float16") is None
    assert device.own_array(np.empty((2, 3), "float16"), 12, "float16") is None


def test_a_capture_that_fails_says_what_the_job_said() -> None:
    def job() -> None:
        raise ValueError("the job's own words")

    def end_capture() -> None:
        raise RuntimeError("operation failed due to a previous error during capture")

    where = object.__new__(gpu_places.Cuda)
    where.stream = SimpleNamespace(begin_capture=lambda: None, end_capture=end_capture)
    where.arrays = SimpleNamespace(
        cuda=SimpleNamespace(runtime=SimpleNamespace(deviceSynchronize=lambda: None))
    )
    with pytest.raises(ValueError, match="own words"):
        where.capture(job)
