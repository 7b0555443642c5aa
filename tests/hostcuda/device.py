"""A device for the CUDA backend, emulated: memory of the host, kernels run by the CPU."""

from __future__ import annotations

import ctypes
import functools
import itertools
import platform
import time
from typing import Any

import numpy as np

from miopy.backends.cuda_device import Calls
from miopy.backends.cuda_source import Source
from miopy.core.algorithm import DeviceProperties
from miopy.errors import DeviceError, NotSupported, OutOfMemory

from . import build

# Streams are addresses; each device has one of these to itself.
_capture_streams = itertools.count(0x4000, 0x10)
NO_TRANSPOSE, TRANSPOSE = 0, 1
DEFAULT_ALGORITHM = -1
FLOAT32, FLOAT64, FLOAT16, BFLOAT16 = 0, 1, 2, 14
COMPUTE_32F, COMPUTE_64F = 68, 70
SUCCESS = 0
PORTABLE_CLUSTER_BLOCKS = 8
PROPERTIES = DeviceProperties(2, 227 << 10, ("float16", "bfloat16"))
CAN_FLUSH = platform.machine() == "x86_64"

# Result and parameters of the runtime's functions; those of `Calls` are called from C alone.
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "add_kernel": (None, ctypes.c_void_p),
    "allow_shared": (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint),
    "allow_large_clusters": (ctypes.c_int, ctypes.c_void_p),
    "resident_blocks": (ctypes.c_uint, ctypes.c_uint),
    "allocate": (ctypes.c_void_p, ctypes.c_size_t),
    "count_damaged": (ctypes.c_size_t,),
    "configure": (None, *[ctypes.c_uint64] * 2, ctypes.c_uint, ctypes.c_bool),
    "free": (ctypes.c_int, ctypes.c_void_p),
    "copy": (ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_size_t, ctypes.c_void_p),
    "create_blas": (ctypes.c_void_p,),
    "free_blas": (None, ctypes.c_void_p),
    "set_stream": (None, ctypes.c_void_p, ctypes.c_void_p),
    "is_capturing": (ctypes.c_int, ctypes.c_void_p),
    "begin_capture": (ctypes.c_int, ctypes.c_void_p),
    "end_capture": (ctypes.c_void_p, ctypes.c_void_p),
    "launch_graph": (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p),
    "free_graph": (None, ctypes.c_void_p),
}


class Runtime:
    """The C++ side. Functions are those of the library without "hostcuda_" in front."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(build.runtime()), ctypes.RTLD_GLOBAL)
        for name, (result, *parameters) in _PROTOTYPES.items():
            function = getattr(self._library, f"hostcuda_{name}")
            function.restype, function.argtypes = result, parameters
            setattr(self, name, function)

    def address(self, name: str) -> int:
        function = getattr(self._library, f"hostcuda_{name}")
        return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def runtime() -> Runtime:
    """There is one for a process."""
    return Runtime()


@functools.cache
def _load(source: Source) -> dict[str, int]:
    library = ctypes.CDLL(str(build.kernels(source)))
    found = {}
    for name in source.kernels:
        found[name] = ctypes.addressof(ctypes.c_char.in_dll(library, f"hostcuda_{name}"))
        runtime().add_kernel(found[name])
    return found


def _check(what: str, result: int) -> None:
    if result != SUCCESS:
        raise DeviceError(what, "must succeed", result)


def configure(
    *,
    seed: int = 0,
    most_switches: int = 50_000_000,
    most_threads: int = 4096,
    flush_subnormals: bool = False,
) -> None:
    """How kernels run from here on, in this process.

    seed              of the order in which waiting threads start; 0: in order of their numbers
    most_switches     between threads that wait, before a launch counts as endless
    most_threads      that are on the device at a time; other blocks wait until these have ended
    flush_subnormals  as -ftz=true does, but of double precision too
    """
    if flush_subnormals and not CAN_FLUSH:
        raise NotSupported("flush_subnormals", "needs an x86 processor")
    runtime().configure(seed, most_switches, most_threads, flush_subnormals)


def count_damaged() -> int:
    """Blocks with written guard zones: of those in use, and of those freed since the last call."""
    return runtime().count_damaged() if runtime.cache_info().currsize else 0


class Block:
    """Memory filled with ones (NaN in every type) between guard zones."""

    address = 0

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.address = runtime().allocate(nbytes) or 0
        if not self.address:
            raise OutOfMemory("memory", f"must have room for {nbytes} bytes on the device")

    def __del__(self) -> None:
        if self.address:
            runtime().free(self.address)


def view(block: Block, dtype: Any) -> np.ndarray:
    """The elements of a block, in place; the block lives as long."""
    memory = (ctypes.c_char * block.nbytes).from_address(block.address)
    memory.block = block
    return np.frombuffer(memory, dtype)


class Graph:
    def __init__(self, address: int) -> None:
        self._address = address

    def launch(self, stream: int) -> None:
        _check("launch of a graph", runtime().launch_graph(self._address, stream))

    def __del__(self) -> None:
        runtime().free_graph(self._address)


class Timer:
    def __init__(self) -> None:
        self._start = time.perf_counter()

    def stop(self) -> float:
        return (time.perf_counter() - self._start) * 1e3


class EmulatedDevice:
    """A `Device`. Work is done before the call that gives it returns, in order of the calls.

    most_blocks   of a grid; few, so that threads stride
    properties    two multiprocessors, so that blocks take several sequences each
    """

    memory = "host"
    number = 0
    has_graphs = True
    workspace_nbytes = 1024

    def __init__(self, most_blocks: int = 4, properties: DeviceProperties = PROPERTIES) -> None:
        self.properties = properties
        self._own_stream = next(_capture_streams)
        self.blas = runtime().create_blas()
        self._fault = np.zeros(1, np.uint32)
        self.fault_address = self._fault.ctypes.data
        self.calls = Calls(
            launch=runtime().address("launch"),
            launch_together=runtime().address("launch_together"),
            launch_configured=runtime().address("launch_configured"),
            gemm=runtime().address("gemm"),
            no_transpose=NO_TRANSPOSE,
            transpose=TRANSPOSE,
            algorithm=DEFAULT_ALGORITHM,
            types=(FLOAT32, FLOAT16, BFLOAT16, FLOAT64),
            computes=(COMPUTE_32F, COMPUTE_32F, COMPUTE_32F, COMPUTE_64F),
            most_blocks=most_blocks,
        )

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> None:
        """There is but one device."""

    def __exit__(self, *raised: object) -> None: ...

    def load(self, source: Source) -> dict[str, int]:
        return dict(_load(source))

    def allow_shared(self, function: int, nbytes: int) -> None:
        _check("allow_shared", runtime().allow_shared(function, nbytes))

    def resident_blocks(self, function: int, threads: int, shared_nbytes: int) -> int:
        return runtime().resident_blocks(threads)

    def resident_clusters(
        self, function: int, threads: int, shared_nbytes: int, blocks: int
    ) -> int:
        if blocks > PORTABLE_CLUSTER_BLOCKS:
            _check("allow_large_clusters", runtime().allow_large_clusters(function))
        return runtime().resident_blocks(threads) // blocks

    def take_fault(self) -> bool:
        was_set = bool(self._fault[0])
        self._fault[0] = 0
        return was_set

    def allocate(self, nbytes: int, stream: int) -> Block:
        return Block(nbytes)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, stream: int) -> np.ndarray:
        count = int(np.prod(shape, dtype=np.int64))
        return view(Block(max(count, 1) * dtype.itemsize), dtype)[:count].reshape(shape)

    def own_array(self, value: Any, nbytes: int, dtype: str | None) -> None:
        """Arrays are NumPy's, which need no device to be read."""

    def copy(self, to: int, source: int, nbytes: int, stream: int) -> None:
        _check("copy", runtime().copy(to, source, nbytes, stream))

    def use_stream(self, stream: int, workspace: int) -> int:
        """Products need no workspace, but the backend has to find one all the same."""
        self.blas = self.blas or runtime().create_blas()
        runtime().set_stream(self.blas, stream)
        return self.blas

    def close(self) -> None:
        runtime().free_blas(self.blas)
        self.blas = 0

    def wait(self, stream: int, other: int) -> None:
        self._refuse_capture("wait", stream, other)

    def synchronize(self, stream: int) -> None:
        self._refuse_capture("synchronize", stream)

    def timer(self, stream: int) -> Timer:
        self._refuse_capture("timer", stream)
        return Timer()

    def is_capturing(self, stream: int) -> bool:
        return bool(runtime().is_capturing(stream))

    def begin_capture(self, stream: int | None = None) -> int:
        """A test that plays the caller of the backend gives the caller's stream."""
        stream = self._own_stream if stream is None else stream
        _check("begin_capture", runtime().begin_capture(stream))
        return stream

    def end_capture(self, stream: int | None = None) -> Graph:
        stream = self._own_stream if stream is None else stream
        graph = runtime().end_capture(stream)
        if not graph:
            raise DeviceError("stream", "must be captured to end a capture", stream)
        return Graph(graph)

    def _refuse_capture(self, call: str, *streams: int) -> None:
        """What CUDA does not allow on a stream that is captured."""
        for stream in streams:
            if self.is_capturing(stream):
                raise DeviceError(call, "must not meet a stream that is captured", stream)
