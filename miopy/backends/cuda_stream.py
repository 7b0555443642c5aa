"""One stream of one device: launches in order, scratch, and copies of the host's index arrays."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import DeviceError
from ._stepped import ffi, lib
from .cuda_device import Block, Device, Graph
from .scratch import Allocator, Lease, Scratch, aligned_regions

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


@dataclass
class _Place:
    """Where an allocator's memory is used. Not the `Stream`, which has the allocator: a cycle would
    keep a device's memory until Python looks for cycles."""

    device: Device
    address: int = 0  # of the stream

    def allocate(self, nbytes: int) -> Block:
        return self.device.allocate(nbytes, self.address)

    def synchronize(self) -> None:
        self.device.synchronize(self.address)


class Stream:
    """What runs on a device runs through here, one call after the other.

    calls   `device_calls` of kernels/stepped/calls.h; for products see `product_calls`
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._place = place = _Place(device)
        self._lock = threading.RLock()
        self._depth = 0  # of `with`
        self._was_capturing: bool | None = None
        self.allocator = Allocator(place.allocate, ALIGNMENT, place.synchronize)
        self.scratch = Scratch(self.allocator)
        self.calls = _device_calls(device)
        self._workspace: Block | None = None  # of products on the stream, once there are any
        self._workspaces: dict[int, Block] = {}  # by stream: those that graphs of the caller use
        self._uploads = Uploads(device, self.allocator)

    @property
    def address(self) -> int:
        """Of the stream, 0 for the default one."""
        return self._place.address

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
                self._workspace = None
                self._place.address = address
                self.calls.stream = ffi.cast("void *", address)
                self._was_capturing = None

    def release(self) -> None:
        """Give back what no graph of the caller uses."""
        with self:
            # Not asked where nothing waits: a stream that is left may be no more.
            captured = self.allocator.waits and self.is_capturing
            self.scratch.release(captured=captured)
            self._uploads.release(captured=captured)

    def close(self) -> None:
        """Give back everything; what later calls need is taken again."""
        with self:
            self.scratch.close()
            self._uploads.close()
            self._workspaces.clear()
            self._workspace, self.calls.blas = None, ffi.NULL
            self.device.close()

    @property
    def product_calls(self) -> Any:
        """`calls` with BLAS, whose products have a workspace of the stream's own."""
        workspace = self._taken_workspace()
        if self.is_capturing:
            self._workspaces[self.address] = workspace
        return self.calls

    def _taken_workspace(self) -> Block:
        workspace = self._workspace
        if workspace is None:
            workspace = self._workspaces.get(self.address)
            if workspace is None:
                workspace = self.device.allocate(self.device.workspace_nbytes, self.address)
            self._use(self.address, workspace)
        return workspace

    @property
    def workspace(self) -> int:
        """The address of what products on the stream are given."""
        return int(self._taken_workspace().address)

    def _use(self, address: int, workspace: Block) -> None:
        self.calls.stream = ffi.cast("void *", address)
        self._workspace = None  # until BLAS has it
        blas = self.device.use_stream(address, workspace.address)
        self.calls.blas = ffi.cast("void *", blas)
        self._workspace = workspace

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
        starts, total = aligned_regions(nbytes, ALIGNMENT)
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
        check(lib.multiply(self.product_calls, call))

    def capture(self, put: Callable[[Any], int]) -> Graph:
        """What a function puts on the stream of `device_calls`, before it returns an error or 0, as
        a graph for this stream."""
        workspace = self._taken_workspace()
        own = self.device.begin_capture()
        try:
            self._use(own, workspace)
            error = put(self.calls)
        finally:
            try:
                self._use(self.address, workspace)
            finally:
                graph = self.device.end_capture()
        check(error)
        return graph


def _device_calls(device: Device) -> Any:
    calls, given = ffi.new("device_calls *"), device.calls
    calls.launch = ffi.cast("launch_function *", given.launch)
    calls.launch_together = ffi.cast("launch_together_function *", given.launch_together)
    configured = ffi.cast("launch_configured_function *", given.launch_configured)
    calls.launch_configured = configured
    calls.gemm = ffi.cast("gemm_function *", given.gemm)
    calls.no_transpose, calls.transpose = given.no_transpose, given.transpose
    calls.algorithm, calls.most_blocks = given.algorithm, given.most_blocks
    calls.type, calls.compute = given.types, given.computes
    return calls


def check(error: int) -> None:
    """Raise DeviceError for what a function of kernels/stepped/steps.h returns."""
    if error:
        what = "a launch" if error > 0 else "a matrix product"
        raise DeviceError("stream", f"failed in {what}, with error {abs(error)}")
