"""One stream of one device: launches in order, scratch, and copies of the host's index arrays."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import DeviceError
from ._stepped import ffi, lib
from .cuda_device import Device, Graph
from .scratch import Allocator, Lease, Scratch

ALIGNMENT = 256  # of scratch, what GPUs read at once


class _Upload(NamedTuple):
    """A copy, and what tells that its array is no more."""

    lease: Lease
    finalizer: weakref.finalize[Any, Any]

    def give_back(self) -> None:
        self.lease.give_back()
        self.finalizer.detach()


class Uploads:
    """Copies of host arrays on a device, each for as long as its array lives."""

    def __init__(self, device: Device, allocator: Allocator) -> None:
        self._device, self._allocator = device, allocator
        self._known: dict[int, _Upload] = {}  # by the id of an array
        self._dead: deque[int] = deque()  # ids of arrays that are no more
        self._kept: dict[Lease, Any] = {}  # what graphs of the caller read: copies, their arrays

    def address_of(self, array: np.ndarray[Any, Any], stream: int, *, captured: bool) -> int:
        """The address of the copy of an array, made on the stream if there is none yet.

        captured   by the caller, into a graph: array and copy are kept until `close`. What is
                   copied there is copied when the graph runs, so nobody else can use it.
        """
        if not captured:  # giving back may wait for the stream
            self._give_back_dead()
        key = id(array)
        if key in self._known and key not in self._dead:
            lease = self._known[key].lease
        else:
            lease = self._allocator.take(array.nbytes)
            self._device.copy(lease.address, array.ctypes.data, array.nbytes, stream)
            if not captured:
                # A finalizer may run in the middle of anything: it only says what is dead.
                finalizer = weakref.finalize(array, self._dead.append, key)
                self._known[key] = _Upload(lease, finalizer)
        if captured:
            self._kept[lease] = array
        return lease.address

    def release(self, *, captured: bool = False) -> None:
        """Give back all copies but those that are kept: within a capture, all are."""
        for each in self._known.values() if captured else ():
            self._kept.setdefault(each.lease, None)
        for key in list(self._known):
            self._give_back(key)

    def close(self) -> None:
        """Give back all copies."""
        self.release()
        for lease in list(self._kept):
            lease.give_back()
            del self._kept[lease]

    def _give_back_dead(self) -> None:
        while self._dead:
            self._give_back(self._dead[0])
            self._dead.popleft()

    def _give_back(self, key: int) -> None:
        upload = self._known.get(key)
        if upload is None:
            return
        if upload.lease in self._kept:
            upload.finalizer.detach()
        else:
            upload.give_back()
        del self._known[key]


class Puts(Protocol):
    """A stream, or what takes down what would be put on it; `with` it no other thread uses it."""

    device: Device

    def __enter__(self) -> Device: ...

    def __exit__(self, *raised: object) -> None: ...

    def regions(self, *nbytes: int) -> list[int]:
        """Addresses in scratch of regions of these sizes. The contents last until the next call."""

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        """The address of a copy on the device, kept while the array lives; 0 for None."""

    def launch(self, function: int, elements: int, *arguments: Any) -> None:
        """Launch a kernel over so many elements; the arguments are objects of ctypes."""

    def multiply(self, call: Any) -> None:
        """A product of kernels/stepped/steps.h."""

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Between any two addresses; areas may not overlap."""


class Stream:
    """What runs on a device runs through here, one call after the other.

    address   of the stream, 0 for the default one
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.address = 0
        self._lock = threading.RLock()
        self._depth = 0  # of `with`
        self._was_capturing: bool | None = None
        self.allocator = Allocator(
            lambda nbytes: device.allocate(nbytes, self.address),
            ALIGNMENT,
            lambda: device.synchronize(self.address),
        )
        self.scratch = Scratch(self.allocator)
        self.calls = _device_calls(device)
        self._uploads = Uploads(device, self.allocator)
        with self:
            device.use_stream(0)

    def __enter__(self) -> Device:
        """Keep other threads out, and make the device current for this one."""
        self._lock.acquire()
        try:
            self.device.__enter__()
        except BaseException:
            self._lock.release()
            raise
        self._depth += 1
        return self.device

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._was_capturing = None
        try:
            self.device.__exit__(*raised)
        finally:
            self._lock.release()

    def change(self, address: int) -> None:
        """Go on with another stream, which does not wait for this one. What graphs of the caller
        use stays."""
        with self:
            if address != self.address:
                self.release()
                self._use(address)
                self.address = address
                self._was_capturing = None

    def _use(self, address: int) -> None:
        self.device.use_stream(address)
        self.calls.stream = ffi.cast("void *", address)

    def release(self) -> None:
        """Give back what no graph of the caller uses."""
        with self:
            self.scratch.release(captured=self.is_capturing)
            self._uploads.release(captured=self.is_capturing)

    def close(self) -> None:
        with self:
            self.scratch.close()
            self._uploads.close()

    @property
    def is_capturing(self) -> bool:
        """The driver is asked once while other threads are kept out."""
        if self._was_capturing is None:
            found = self.device.is_capturing(self.address)
            if self._depth == 0:
                return found
            self._was_capturing = found
        return self._was_capturing

    def regions(self, *nbytes: int) -> list[int]:
        starts, total = aligned_regions(nbytes)
        base = self.scratch.address(total, captured=self.is_capturing)
        return [base + start for start in starts]

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        if array is None or array.size == 0:
            return 0
        return self._uploads.address_of(array, self.address, captured=self.is_capturing)

    def launch(self, function: int, elements: int, *arguments: Any) -> None:
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        taken = ffi.cast("void **", ctypes.addressof(pointers))
        called = ffi.cast("void *", function)
        check(lib.launch_elements(self.calls, called, elements, taken))

    def copy(self, to: int, source: int, nbytes: int) -> None:
        self.device.copy(to, source, nbytes, self.address)

    def multiply(self, call: Any) -> None:
        check(lib.multiply(self.calls, call))

    def capture(self, put: Callable[[], int]) -> Graph:
        """What a function puts on the stream of `calls`, and then returns an error or 0, as a
        graph."""
        self._use(self.device.begin_capture())
        try:
            error = put()
        finally:
            self._use(self.address)
            graph = self.device.end_capture()
        check(error)
        return graph


def aligned_regions(nbytes: Sequence[int]) -> tuple[list[int], int]:
    """Where regions of these sizes start, one behind the other, and where the last one ends."""
    starts = [0]
    for size in nbytes:
        starts.append(starts[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
    return starts[:-1], starts[-1]


def _device_calls(device: Device) -> Any:
    calls, given = ffi.new("device_calls *"), device.calls
    calls.launch = ffi.cast("launch_function *", given.launch)
    calls.launch_together = ffi.cast("launch_together_function *", given.launch_together)
    configured = ffi.cast("launch_configured_function *", given.launch_configured)
    calls.launch_configured = configured
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
