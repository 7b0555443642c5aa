"""NumPy arrays that a GPU can use as they are, so that every numeric test runs on one unchanged.

NumPy's allocator is replaced by one of page-locked memory, which the CPU and the GPU reach at the
same address; unlike managed memory the CPU may touch it while a kernel runs. `create` gives the
CUDA backend over the real device, with each call's work done when it returns.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hostcuda import build
from numpy._core import _multiarray_umath

from miopy.backends import cuda, cuda_cupy
from miopy.backends.cuda_stream import Stream
from miopy.core import memory
from miopy.errors import OutOfMemory

SET_HANDLER = 304  # the place of PyDataMem_SetHandler in NumPy's C API
HANDLER = b"mem_handler"


@functools.cache
def _library() -> ctypes.CDLL:
    source = Path(__file__).with_name("pinned.cpp")
    path = build.library("pinned", source.read_text(), build.RUNTIME_FLAGS)
    library = ctypes.CDLL(str(path))
    library.pinned_use_driver.argtypes = [ctypes.c_void_p] * 4
    library.pinned_use_driver.restype = None
    library.pinned_owns.argtypes = ctypes.c_void_p, ctypes.c_size_t
    return library


def use_device() -> None:
    """Take memory from the driver of CuPy's current device; once, before `install`."""
    import cupy

    if cupy.cuda.runtime.is_hip:
        raise NotImplementedError("the numeric tests need CUDA's driver, this is ROCm")
    cupy.cuda.runtime.free(0)  # makes the context
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    if driver.cuCtxGetCurrent(ctypes.byref(context)) or not context:
        raise RuntimeError("the driver has no current context")
    functions = driver.cuCtxSetCurrent, driver.cuMemHostAlloc, driver.cuMemFreeHost
    addresses = [ctypes.cast(function, ctypes.c_void_p) for function in functions]
    _library().pinned_use_driver(*addresses, context)


def install() -> None:
    """Let arrays made from here on, in this thread and in later ones, be of such memory.

    Without `use_device` the memory is plain, which is enough for the emulated device.
    """
    _set_handler()
    threading.setprofile(_set_handler_in_thread)
    watch()


def replace_device() -> None:
    """From here on the CUDA backend of this process is the real device on such memory."""
    use_device()
    install()
    cuda.create = create


def _set_handler() -> None:
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = api.PyCapsule_GetPointer(_multiarray_umath._ARRAY_API, None)
    address = (ctypes.c_void_p * (SET_HANDLER + 1)).from_address(table)[SET_HANDLER]
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    handler = ctypes.addressof(ctypes.c_char.in_dll(_library(), "pinned_handler"))
    set_handler(api.PyCapsule_New(handler, HANDLER, None))


def _set_handler_in_thread(*event: object) -> None:
    """Called once, by the first thing a new thread does: NumPy's handler is the context's."""
    sys.setprofile(None)
    _set_handler()


def owns(address: int, nbytes: int) -> bool:
    return bool(_library().pinned_owns(address, nbytes))


def watch() -> None:
    """Refuse memory that is not such, before a kernel that touches it ruins the device's context
    for all tests to come. A backend over memory of the device checks that itself."""
    original = memory.reader

    @functools.wraps(original)
    def reader(argument: str, *, nbytes: int, **options: Any) -> Callable[[Any], int | None]:
        read = original(argument, nbytes=nbytes, **options)
        location = options.get("location")
        if not isinstance(location, cuda.CudaBackend) or location.memory != memory.HOST:
            return read

        def watched(value: Any) -> int | None:
            address = read(value)
            is_reached = not address or owns(address, nbytes)
            assert is_reached, f"`{argument}` is not memory that the device can reach"
            return address

        return watched

    for name, module in list(sys.modules.items()):
        if name.startswith("miopy.") and getattr(module, "reader", None) is original:
            module.reader = reader  # type: ignore[attr-defined]


class PinnedDevice(cuda_cupy.CupyDevice):
    """The real device, on memory of the host; its stream is idle when the outermost `with` ends.

    Not the whole device: that must not be waited for while another thread captures a graph.
    """

    memory = memory.HOST

    def __init__(self) -> None:
        self.used: Callable[[], Stream | None] = lambda: None  # the backend's, which has this
        super().__init__()

    def empty(self, shape: tuple[int, ...], dtype: Any, stream: int) -> np.ndarray:
        try:
            return np.empty(shape, dtype)
        except MemoryError:
            raise OutOfMemory("array", f"of shape {shape} cannot be allocated") from None

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        stream = self.used()
        if stream is not None and not self._left:
            self.synchronize(stream.address)


def create() -> cuda.CudaBackend:
    device = PinnedDevice()
    backend = cuda.CudaBackend(device)
    device.used = weakref.ref(backend._stream)
    return backend
