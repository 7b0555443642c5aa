"""One stream of one device: launches in order, scratch, and copies of the host's index arrays."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any

import numpy as np

from ..errors import DeviceError
from ._stepped import ffi, lib
from .cuda_device import Device, Graph
from .scratch import Scratch

ALIGNMENT = 256  # of scratch, what GPUs read at once


class Stream:
    """What runs on a device runs through here, one call after the other.

    address   of the stream, 0 for the default one
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.address = 0
        self._lock = threading.RLock()
        self.scratch = Scratch(
            lambda nbytes: device.allocate(nbytes, self.address),
            ALIGNMENT,
            lambda: device.synchronize(self.address),
        )
        self.calls = _device_calls(device)
        self._uploads: dict[int, Any] = {}  # id of a host array: its copy on the device
        self._kept: list[Any] = []  # what graphs that the caller captured read
        with self:
            device.use_stream(0)

    def __enter__(self) -> None:
        """Keep other threads out, and make the device current for this one."""
        self._lock.acquire()
        self.device.__enter__()

    def __exit__(self, *raised: object) -> None:
        self.device.__exit__(*raised)
        self._lock.release()

    def change(self, address: int) -> None:
        """Go on with another stream, which does not wait for this one."""
        with self:
            if address != self.address:
                self.scratch.close()
                self._uploads.clear()
                self._use(address)
                self.address = address

    def _use(self, address: int) -> None:
        self.device.use_stream(address)
        self.calls.stream = ffi.cast("void *", address)

    def close(self) -> None:
        with self:
            self.scratch.close()
            self._uploads.clear()
            self._kept.clear()

    @property
    def is_capturing(self) -> bool:
        return self.device.is_capturing(self.address)

    def regions(self, *nbytes: int) -> list[int]:
        """Addresses in scratch of regions of these sizes. The contents last until the next call."""
        starts = [0]
        for size in nbytes:
            starts.append(starts[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
        base = self.scratch.address(starts[-1])
        if self.is_capturing:
            self.scratch.pin()
        return [base + start for start in starts[:-1]]

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        """The address of a copy on the device, kept while the array lives; 0 for None."""
        if array is None or array.size == 0:
            return 0
        key = id(array)
        if key not in self._uploads:
            block = self.device.allocate(array.nbytes, self.address)
            self.device.copy(block.address, array.ctypes.data, array.nbytes, self.address)
            self._uploads[key] = block
            weakref.finalize(array, self._uploads.pop, key, None)
        if self.is_capturing:
            self._kept.append((array, self._uploads[key]))
        return self._uploads[key].address

    def launch(self, function: int, elements: int, *arguments: Any) -> None:
        """Launch a kernel over so many elements; the arguments are objects of ctypes."""
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        taken = ffi.cast("void **", ctypes.addressof(pointers))
        called = ffi.cast("void *", function)
        check(lib.launch_elements(self.calls, called, elements, taken))

    def capture(self, function: Any, call: Any) -> Graph:
        """What function(calls, call) puts on a stream, as a graph."""
        self._use(self.device.begin_capture())
        try:
            error = function(self.calls, call)
        finally:
            self._use(self.address)
            graph = self.device.end_capture()
        check(error)
        return graph


def _device_calls(device: Device) -> Any:
    calls, given = ffi.new("device_calls *"), device.calls
    calls.launch = ffi.cast("launch_function *", given.launch)
    calls.gemm = ffi.cast("gemm_function *", given.gemm)
    calls.blas = ffi.cast("void *", given.blas)
    calls.no_transpose, calls.transpose = given.no_transpose, given.transpose
    calls.algorithm, calls.most_blocks = given.algorithm, given.most_blocks
    calls.type, calls.compute = given.types, given.computes
    return calls


def check(error: int) -> None:
    """Raise DeviceError for what a function of kernels/stepped/steps.h returns."""
    if error:
        what = "a launch" if error > 0 else "a matrix product"
        raise DeviceError("stream", f"failed in {what}, with error {abs(error)}")
