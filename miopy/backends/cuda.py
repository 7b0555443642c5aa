"""The CUDA backend: kernels and products on a stream, one launch and one gemm per step and pass, or
one launch for many steps.

The loop over the steps is in C (`stepped.py`). Where a call repeats with the same pointers,
its launches are replayed as a graph. Nothing here waits for the device but the timer, and what
gives memory back to the caller's functions.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import algorithm, wavefront
from ..core.backend import NOTHING_WAITS, BackwardRun, ForwardRun, Layer, Walk
from ..core.dlpack import LEGACY_DEFAULT_STREAM
from ..errors import BadParam, DeviceError
from . import cuda_cupy, cuda_source
from ._stepped import ffi
from .arrays import element_type
from .cuda_device import Device
from .cuda_graphs import Graphs
from .cuda_kernels import Kernels
from .cuda_operations import Operations
from .cuda_program import Program, take_down
from .cuda_stream import Stream, check
from .quantized import Quantized

ASKED = algorithm.VARIABLE, wavefront.VARIABLE

why_missing = cuda_cupy.why_missing


def create() -> CudaBackend:
    return CudaBackend(cuda_cupy.CupyDevice())


def stream_address(argument: str, stream: Any) -> int:
    """The address behind a stream: an integer, CuPy's object, PyTorch's, or None."""
    for value in (stream, getattr(stream, "ptr", None), getattr(stream, "cuda_stream", None)):
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
            return int(value)
    if stream is None:
        return 0
    raise BadParam(argument, "must be the address of a stream or an object that has one", stream)


class CudaBackend(Operations):
    """One device and one stream; calls on it run one after the other."""

    name = "cuda"

    def __init__(self, device: Device) -> None:
        self.memory, self.number = device.memory, device.number
        self._stream = Stream(device)
        super().__init__(self._stream, Kernels(device))
        self.quantized = quantized_on(self._stream)
        self._graphs = Graphs(self._stream)

    @property
    def stream(self) -> int:
        return self._stream.address

    def set_stream(self, stream: Any, argument: str = "stream") -> None:
        self._stream.change(stream_address(argument, stream))

    @property
    def awaiting(self) -> int:
        """Of `core.memory.Location`. A graph runs when it is launched: nothing that its caller does
        outside can be waited for, and to try would spoil the capture."""
        return NOTHING_WAITS if self._stream.is_capturing else self.stream

    def address_of_own(self, value: Any, nbytes: int, dtype: str | None) -> int:
        found = self._stream.device.own_array(value, nbytes, dtype)
        if found is None:
            return 0
        address, writer = found
        self.wait_for(writer)
        return address

    def wait_for(self, stream: int) -> None:
        """Within a capture, for what it also captures: see `awaiting`."""
        if (stream or LEGACY_DEFAULT_STREAM) == (self.stream or LEGACY_DEFAULT_STREAM):
            return
        with self._stream as device:
            if device.is_capturing(stream) or not device.is_capturing(self.stream):
                device.wait(self.stream, stream)

    def timer(self) -> Callable[[], float]:
        with self._stream:
            return self._stream.device.timer(self.stream).stop

    def set_allocator(
        self,
        allocator: Callable[[Any, int], int] | None,
        deallocator: Callable[[Any, int], None] | None,
        context: Any,
    ) -> None:
        with self._stream:
            self._stream.release()
            self._stream.allocator.change(allocator, deallocator, context)

    def close(self) -> None:
        with self._stream:
            self._graphs.clear()
            self._stream.close()

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        with self._stream:
            return self._stream.device.empty(shape, element_type(dtype), self.stream)

    def prepare(self, walk: Walk, names: tuple[str, ...]) -> Callable[[list[int]], None]:
        """What runs the program of a walk; there is one for each way to run steps that the
        environment has asked for."""
        programs: dict[tuple[str | None, ...], Program | None] = {}

        def execute(addresses: list[int]) -> None:
            asked = tuple(map(os.environ.get, ASKED))
            with self._stream as device:
                if asked not in programs:
                    programs[asked] = take_down(device, self._kernels, walk, names)
                program = programs[asked]
                if program is not None:
                    self._put(program, addresses)
                    return
            walk(self, dict(zip(names, addresses, strict=True)))

        return execute

    def _put(self, program: Program, addresses: list[int]) -> None:
        stream = self._stream
        if program.has_steps:
            self._check_faults()
        bases = program.bases(stream, addresses)
        put = functools.partial(program.put, bases)
        if program.is_replayed and self._is_replaying:
            self._graphs.put((program, *bases), put, None)
        else:
            check(put(stream.product_calls))

    def _check_faults(self) -> None:
        """Raise for a launch that has ended since the last call, because blocks waited in vain."""
        if self._stream.device.take_fault():
            said = "a block waited for another in vain; its results are not to be used"
            raise DeviceError("stream", said)

    def recurrence_forward(self, runs: list[ForwardRun]) -> None:
        self._check_faults()
        super().recurrence_forward(runs)

    def recurrence_backward(self, runs: list[BackwardRun]) -> None:
        self._check_faults()
        super().recurrence_backward(runs)

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        """Of `stepped.Engine`. Where the plan wants it, as a graph from the second time on that all
        pointers are the same."""

        def put(device_calls: Any) -> int:
            error: int = function(device_calls, calls, len(calls))
            return error

        if layer.is_replayed and self._is_replaying:
            self._graphs.put(bytes(ffi.buffer(calls)), put, layer.sequence)
        else:
            check(put(self._stream.product_calls))

    @property
    def _is_replaying(self) -> bool:
        stream = self._stream
        return stream.device.has_graphs and not stream.is_capturing


def quantized_on(stream: Stream) -> Quantized:
    """The kernels on 8-bit codes of a stream's device, loaded when they are first wanted."""

    def kernels() -> dict[str, int]:
        found = stream.device.load(cuda_source.quantized())
        return {name.removesuffix("_f32"): function for name, function in found.items()}

    return Quantized(lambda: stream, stream.calls, functools.cache(kernels), stream.upload)
