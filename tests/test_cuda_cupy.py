"""What the CUDA backend leaves of CuPy's state, on a stand-in for CuPy."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gpu_places
import numpy as np
import pytest

from miopy import backends
from miopy.backends import cuda_cupy, cuda_source
from miopy.errors import BadParam, DeviceError, OutOfMemory


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


def array(
    shape: tuple[int, ...], dtype: str = "float16", *, dense: bool = True, on: int = 0
) -> Array:
    like = np.empty(shape, dtype)
    flags, data = SimpleNamespace(c_contiguous=dense), SimpleNamespace(ptr=4096, device_id=on)
    return Array(nbytes=like.nbytes, dtype=like.dtype, flags=flags, data=data)


class Failure(RuntimeError):
    """As CuPy's: the status is CUDA's."""

    status = 700


def fail(*arguments: Any, **options: Any) -> Any:
    raise Failure("cudaErrorIllegalAddress")


class Capturing:
    ptr = 9
    begin_capture = end_capture = staticmethod(fail)


class Blas:
    """The library, and its handles that nobody uses."""

    is_hip = False

    def __init__(self) -> None:
        self.unused = [ctypes.c_void_p(16)]
        self.used: list[tuple[int, int, int]] = []

    def take(self, device: int) -> ctypes.c_void_p:
        return self.unused.pop()

    def give(self, device: int, handle: ctypes.c_void_p) -> None:
        self.unused.append(handle)

    def use_stream(self, handle: ctypes.c_void_p, stream: int, workspace: int) -> None:
        self.used.append((handle.value or 0, stream, workspace))


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    Stream.null = Stream.current = Stream(0)
    Stream.stack = [Stream.null]
    others = {1: Stream(4)}  # current on other devices
    cuda = SimpleNamespace(Stream=Stream)
    cuda.get_current_stream = lambda device=-1: others.get(device, Stream.current)
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
    device._runtime, device.number, device._left = cupy.cuda.runtime, 0, []
    device._event, device.has_graphs, device._allowed = SimpleNamespace(ptr=1), True, set()
    device._capturing, device._resident = Capturing(), {}
    device._handle = device._giving = None
    device._blas = Blas()
    device.properties = SimpleNamespace(shared_nbytes=1 << 17, multiprocessors=2)
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
    assert device.own_array(array((2, 3), on=1), 12, "float16") is None
    assert device.own_array(array((2, 3), dense=False), 12, "float16") is None
    assert device.own_array(np.empty((2, 3), "float16"), 12, "float16") is None


def test_an_array_is_written_by_the_stream_that_is_current_on_its_device(device: Any) -> None:
    device.number = 1
    assert device.own_array(array((2, 3), on=1), 12, "float16") == (4096, 4)


class Library:
    """Has every function, at address 0."""

    def __getattr__(self, name: str) -> None:
        return None


@pytest.fixture
def found(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """CuPy, a driver, a device and BLAS are there."""
    runtime = {"getDeviceCount": 1, "runtimeGetVersion": 12000}
    for name, value in runtime.items():
        setattr(cupy.cuda.runtime, name, lambda value=value: value)
    cupy.cuda.runtime.is_hip = False
    monkeypatch.setattr(cuda_cupy.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda_cupy.ctypes, "CDLL", lambda name: Library())
    monkeypatch.delenv("MIOPY_BACKEND", raising=False)
    cuda_cupy._libraries.cache_clear()
    yield
    cuda_cupy._libraries.cache_clear()


@pytest.mark.parametrize("said", ["", "0", "1"])
def test_a_gpu_is_taken_where_there_is_one(found: None, monkeypatch: Any, said: str) -> None:
    monkeypatch.setenv("MIOPY_ALLOW_TF32", said)
    assert backends.chosen() == "cuda"
    assert cuda_cupy._libraries()[1].allows_tf32 == (said == "1")


@pytest.mark.parametrize("said", ["true", "2", " 1"])
def test_a_setting_that_is_wrong_moves_nothing_to_the_host(
    found: None, monkeypatch: Any, said: str
) -> None:
    monkeypatch.setenv("MIOPY_ALLOW_TF32", said)
    for name in (None, "auto", "cuda"):
        with pytest.raises(BadParam) as caught:
            backends.chosen(name)
        assert str(caught.value) == f"`MIOPY_ALLOW_TF32` must be 0 or 1, got {said!r}"


SOURCE = cuda_source.Source("test", "", ("k",))
CALLS = {
    "copy": (1, 2, 3, 0),
    "wait": (0, 64),
    "synchronize": (64,),
    "is_capturing": (64,),
    "begin_capture": (),
    "end_capture": (),
    "timer": (64,),
    "allow_shared": (1, 1 << 16),
    "resident_blocks": (1, 256, 0),
    "resident_clusters": (1, 256, 0, 16),
    "allocate": (100, 0),
    "empty": ((2, 3), "float32", 0),
    "load": (SOURCE,),
    "__enter__": (),
}


@pytest.fixture
def failing(cupy: Any, device: Any) -> Any:
    """A device on which everything that CuPy does fails."""
    failures = dict.fromkeys(
        ("memcpyAsync", "eventRecord", "streamSynchronize", "streamIsCapturing", "setDevice"), fail
    )
    vars(cupy.cuda.runtime).update(failures)
    cupy.cuda.Event = cupy.RawModule = cupy.empty = cupy.cuda.alloc = fail
    cupy.cuda.compiler = SimpleNamespace(CompileException=ValueError)
    cupy.cuda.driver = SimpleNamespace(
        funcSetAttribute=fail, occupancyMaxActiveBlocksPerMultiprocessor=fail
    )
    return device


@pytest.mark.parametrize("name", CALLS)
def test_what_cupy_raises_is_an_error_of_the_device(failing: Any, name: str) -> None:
    with pytest.raises(DeviceError, match="cudaErrorIllegalAddress") as raised:
        getattr(failing, name)(*CALLS[name])
    assert raised.value.status is None  # which is for the dialect to say
    assert not failing._left


@pytest.mark.parametrize("status", [2, None])
def test_memory_that_cupy_has_not_is_out_of_memory(
    cupy: Any, device: Any, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    def fail(nbytes: int) -> Any:
        error = MemoryError("no room") if status is None else Failure("no room")
        error.status = status  # type: ignore[union-attr]
        raise error

    cupy.cuda.alloc = fail
    with pytest.raises(OutOfMemory, match="no room"):
        device.allocate(100, 0)
    cupy.cuda.runtime.getDevice = lambda: fail(0)
    monkeypatch.setattr(cuda_cupy, "_libraries", lambda: ((0, 0, 0), Blas()))
    with pytest.raises(OutOfMemory, match="no room"):
        cuda_cupy.CupyDevice()


def test_blas_is_taken_with_the_first_stream_and_given_back(device: Any) -> None:
    blas = device._blas
    assert device.use_stream(64, 4096) == device.use_stream(128, 8192) == 16
    assert blas.used == [(16, 64, 4096), (16, 128, 8192)] and not blas.unused
    device.close()
    device.close()
    assert len(blas.unused) == 1
    assert device.use_stream(64, 4096) == 16


def test_blas_goes_back_with_a_device_that_nobody_has_closed(device: Any) -> None:
    like = object.__new__(cuda_cupy.CupyDevice)
    vars(like).update(vars(device))
    like.use_stream(64, 4096)
    del like
    assert len(device._blas.unused) == 1


def test_functions_live_as_long_as_their_addresses_are_known(cupy: Any, device: Any) -> None:
    made: list[weakref.ref[Any]] = []

    def kernel() -> Any:
        function = Array(ptr=64)  # of a class, for the reference
        made.append(weakref.ref(function))
        return SimpleNamespace(kernel=function)

    cupy.RawModule = lambda **_: SimpleNamespace(get_function=lambda name: kernel())
    cupy.cuda.compiler = SimpleNamespace(CompileException=ValueError)
    assert device.load(SOURCE) == {"k": 64}
    assert made[0]() is not None
    cuda_cupy._load.cache_clear()


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
