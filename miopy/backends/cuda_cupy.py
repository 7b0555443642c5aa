"""The device in production: CuPy's memory, streams and compiler; cuBLAS or hipBLAS by address.

CuPy refuses BLAS calls while a stream is captured and offers no way to launch from C, so the
libraries it has loaded are called directly.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import weakref
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from ..core.algorithm import DeviceProperties
from ..core.dlpack import LEGACY_DEFAULT_STREAM
from ..core.memory import NATIVE
from ..errors import BadParam, DeviceError
from .cuda_blas import WORKSPACE_NBYTES, Blas
from .cuda_clusters import MOST_DYNAMIC_SHARED, active_clusters, cluster_blocks, largest_cluster
from .cuda_device import Calls
from .cuda_errors import translated
from .cuda_source import Source

NO_DRIVER = "no driver of a GPU is installed (libcuda.so.1, or /dev/kfd for ROCm)"
NO_CUPY = "CuPy is not installed: install miopy[cuda12x] or miopy[cuda13x]"
BLOCKS_PER_MULTIPROCESSOR = 32
MEMCPY_DEFAULT = 4  # the addresses say from where to where
DEFAULT_SHARED_NBYTES = 48 << 10
SHARED_MEMORY_ON_REQUEST = 97  # cudaDevAttrMaxSharedMemoryPerBlockOptin
# From which compute capability, times 10; float32 as TF32.
MATRIX_INSTRUCTION = {"float16": 75, "bfloat16": 80, "float32": 80}


def why_missing() -> str | None:
    """None if a GPU can be used here, else the reason. Raises BadParam for a setting that
    breaks a rule."""
    if importlib.util.find_spec("cupy") is None:
        return NO_CUPY
    if not os.path.exists("/dev/kfd") and not _loads("libcuda.so.1"):
        return NO_DRIVER
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "the driver sees no device"
        _libraries()
    except BadParam:  # whoever has a GPU and mistypes a setting does not want the host
        raise
    except Exception as error:  # whatever CuPy, the driver or the loader has to say
        return f"{type(error).__name__}: {error}"
    return None


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


@lru_cache(maxsize=1)
def _libraries() -> tuple[tuple[int, int, int], Blas]:
    """The addresses of the driver's launch functions, and BLAS, of the versions that CuPy uses."""
    import cupy

    if cupy.cuda.runtime.is_hip:
        driver = ctypes.CDLL("libamdhip64.so")
        launches: tuple[Any, ...] = driver.hipModuleLaunchKernel, None, None
        blas = Blas(ctypes.CDLL("libhipblas.so"), True)
    else:
        driver = ctypes.CDLL("libcuda.so.1")
        configured = getattr(driver, "cuLaunchKernelEx", None)  # of CUDA 11.8
        launches = driver.cuLaunchKernel, driver.cuLaunchCooperativeKernel, configured
        blas = Blas(_cublas(cupy.cuda.runtime.runtimeGetVersion() // 1000), False)
    launch, together, configured = (
        ctypes.cast(each, ctypes.c_void_p).value or 0 for each in launches
    )
    return (launch, together, configured), blas


def _cublas(major: int) -> ctypes.CDLL:
    """cuBLAS, loaded already, on the loader's path, or where pip and conda put it."""
    try:
        return ctypes.CDLL(f"libcublas.so.{major}")
    except OSError:
        from cuda import pathfinder  # CuPy brings it

        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)


@cache
def _load(device: int, source: Source) -> tuple[dict[str, int], list[Any]]:
    """Addresses of functions by name, and what these are good as long as: `cupy.clear_memo` forgets
    functions."""
    import cupy

    module = cupy.RawModule(code=source.text, options=("-std=c++17",))
    try:
        functions = [module.get_function(name).kernel for name in source.kernels]
    except cupy.cuda.compiler.CompileException as error:
        raise DeviceError(source.name, f"does not compile: {error}") from error
    return {name: each.ptr for name, each in zip(source.kernels, functions, strict=True)}, functions


class CupyBlock:
    """Memory of CuPy's pool, which gets it back in the order of the stream."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self.address: int = memory.ptr


class CupyTimer:
    @translated
    def __init__(self, stream: Any) -> None:
        import cupy

        self._stream = stream
        self._start, self._stop = cupy.cuda.Event(), cupy.cuda.Event()
        self._start.record(stream)

    @translated
    def stop(self) -> float:
        import cupy

        self._stop.record(self._stream)
        self._stop.synchronize()
        return cupy.cuda.get_elapsed_time(self._start, self._stop)


class CupyGraph:
    def __init__(self, graph: Any) -> None:
        self._graph = graph

    @translated
    def launch(self, stream: int) -> None:
        self._graph.launch(_stream(stream))


class _StreamAddress(int):
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self)


def _stream(address: int) -> Any:
    import cupy

    if not address:
        return cupy.cuda.Stream.null
    return _external(address, cupy.cuda.runtime.getDevice())


@cache
def _external(address: int, device: int) -> Any:
    """CuPy's object for a stream that is not its own; making one takes as long as a launch."""
    import cupy

    return cupy.cuda.Stream.from_external(_StreamAddress(address))


@contextlib.contextmanager
def _current(address: int) -> Iterator[None]:
    """Let CuPy take memory for a stream. Not by `with` on the stream: leaving that would undo
    the caller's `use` of another one, and later arrays would be said to be the default stream's."""
    import cupy

    before = cupy.cuda.get_current_stream()
    _stream(address).use()
    try:
        yield
    finally:
        before.use()


def _properties(device: int, blas: Blas) -> DeviceProperties:
    import cupy

    found = cupy.cuda.Device(device)
    shared_nbytes, capability = found.attributes["MaxSharedMemoryPerBlock"], 0
    if not blas.is_hip:
        shared_nbytes = cupy.cuda.runtime.deviceGetAttribute(SHARED_MEMORY_ON_REQUEST, device)
        capability = int(found.compute_capability)
    most = cluster_blocks(capability) if _libraries()[0][2] else 0
    return DeviceProperties(
        multiprocessors=found.attributes["MultiProcessorCount"],
        shared_nbytes=shared_nbytes,
        matrix_instruction=matrix_instruction(capability),
        cluster_blocks=largest_cluster(device, most, shared_nbytes),
        allows_tf32=blas.allows_tf32,
    )


def matrix_instruction(capability: int) -> tuple[str, ...]:
    """The dtypes for which NVIDIA's devices of a compute capability, times 10, have it."""
    return tuple(dtype for dtype, least in MATRIX_INSTRUCTION.items() if capability >= least)


class CupyDevice:
    """The device that is current when the handle is created."""

    memory = "cuda"

    @translated
    def __init__(self) -> None:
        import cupy

        self._runtime = cupy.cuda.runtime
        self._array_type, self._current_stream = cupy.ndarray, cupy.cuda.get_current_stream
        self.number: int = self._runtime.getDevice()
        self._left: list[int] = []
        self._allowed: set[int] = set()  # functions that may have more shared memory
        (launch, together, configured), self._blas = _libraries()
        self.has_graphs = not self._blas.is_hip  # CuPy's are for CUDA alone
        with self:
            multiprocessors = cupy.cuda.Device(self.number).attributes["MultiProcessorCount"]
            self.properties = _properties(self.number, self._blas)
            self._capturing = cupy.cuda.Stream(non_blocking=True)
            self._event = cupy.cuda.Event(disable_timing=True)
            self._fault_memory = cupy.cuda.alloc_pinned_memory(4)
        self.fault_address: int = self._fault_memory.ptr  # the same for the device
        self._fault = ctypes.c_uint32.from_address(self.fault_address)
        self._fault.value = 0
        self._resident: dict[tuple[int, ...], int] = {}
        self._handle: ctypes.c_void_p | None = None
        self._giving: weakref.finalize[Any, Any] | None = None
        self.workspace_nbytes = 0 if self._blas.is_hip else WORKSPACE_NBYTES
        no_transpose, transpose = self._blas.transposes
        self.calls = Calls(
            launch=launch,
            launch_together=together,
            launch_configured=configured,
            gemm=ctypes.cast(self._blas.gemm, ctypes.c_void_p).value or 0,
            no_transpose=no_transpose,
            transpose=transpose,
            algorithm=self._blas.algorithm,
            types=self._blas.types,
            computes=self._blas.computes,
            most_blocks=multiprocessors * BLOCKS_PER_MULTIPROCESSOR,
        )

    @translated
    def __enter__(self) -> None:
        """Make the device current for this thread, which may have none yet."""
        left = self._runtime.getDevice()
        self._runtime.setDevice(self.number)
        self._left.append(left)

    @translated
    def __exit__(self, *raised: object) -> None:
        left = self._left.pop()
        if left != self.number:
            self._runtime.setDevice(left)

    @translated
    def load(self, source: Source) -> dict[str, int]:
        return _load(self.number, source)[0]

    @translated
    def allow_shared(self, function: int, nbytes: int) -> None:
        """CUDA wants to be asked for more than a default, HIP does not. Asked for all there is: the
        limit is the function's, which other handles launch too, with more."""
        if self._blas.is_hip or nbytes <= DEFAULT_SHARED_NBYTES or function in self._allowed:
            return
        import cupy

        most = self.properties.shared_nbytes
        cupy.cuda.driver.funcSetAttribute(function, MOST_DYNAMIC_SHARED, most)
        self._allowed.add(function)

    @translated
    def resident_blocks(self, function: int, threads: int, shared_nbytes: int) -> int:
        import cupy

        key = function, threads, shared_nbytes
        if key not in self._resident:
            occupancy = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(*key)
            self._resident[key] = occupancy * self.properties.multiprocessors
        return self._resident[key]

    @translated
    def resident_clusters(
        self, function: int, threads: int, shared_nbytes: int, blocks: int
    ) -> int:
        key = function, threads, shared_nbytes, blocks
        if key not in self._resident:
            self._resident[key] = active_clusters(*key)
        return self._resident[key]

    def take_fault(self) -> bool:
        was_set = bool(self._fault.value)
        if was_set:
            self._fault.value = 0
        return was_set

    @translated
    def allocate(self, nbytes: int, stream: int) -> CupyBlock:
        import cupy

        with _current(stream):
            return CupyBlock(cupy.cuda.alloc(nbytes))

    @translated
    def empty(self, shape: tuple[int, ...], dtype: Any, stream: int) -> Any:
        import cupy

        with _current(stream):
            return cupy.empty(shape, dtype)

    def own_array(self, value: Any, nbytes: int, dtype: str | None) -> tuple[int, int] | None:
        """What DLPack says too, which asks the driver about every pointer."""
        if type(value) is not self._array_type:
            return None
        if value.nbytes < nbytes or not value.flags.c_contiguous:
            return None
        if dtype is not None and value.dtype is not NATIVE.get(dtype):
            return None
        data = value.data
        if data.device_id != self.number:
            return None
        return data.ptr, self._current_stream(self.number).ptr

    @translated
    def copy(self, to: int, source: int, nbytes: int, stream: int) -> None:
        self._runtime.memcpyAsync(to, source, nbytes, MEMCPY_DEFAULT, stream)

    @translated
    def use_stream(self, stream: int, workspace: int) -> int:
        if self._handle is None:
            self._handle = handle = self._blas.take(self.number)
            self._giving = weakref.finalize(self, self._blas.give, self.number, handle)
        self._blas.use_stream(self._handle, stream, workspace)
        return self._handle.value or 0

    def close(self) -> None:
        if self._giving is not None:
            self._giving()
        self._handle = self._giving = None

    @translated
    def wait(self, stream: int, other: int) -> None:
        """One event serves all: whoever waits does so for what it stands for at that time."""
        self._runtime.eventRecord(self._event.ptr, other)
        self._runtime.streamWaitEvent(stream, self._event.ptr)

    @translated
    def synchronize(self, stream: int) -> None:
        self._runtime.streamSynchronize(stream)

    @translated
    def timer(self, stream: int) -> CupyTimer:
        return CupyTimer(_stream(stream))

    @translated
    def is_capturing(self, stream: int) -> bool:
        """The default stream, which has two numbers, cannot be captured."""
        return bool(
            stream > LEGACY_DEFAULT_STREAM
            and self.has_graphs
            and self._runtime.streamIsCapturing(stream)
        )

    @translated
    def begin_capture(self) -> int:
        self._capturing.begin_capture()
        return self._capturing.ptr

    @translated
    def end_capture(self) -> CupyGraph:
        return CupyGraph(self._capturing.end_capture())
