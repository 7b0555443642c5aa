"""What the CUDA backend asks of a GPU: memory, kernels, products, streams, graphs.

CuPy answers in production (`cuda_cupy.py`); the tests answer with an emulator on host memory, so
that the backend itself runs without a GPU. Streams are addresses, 0 for the default one; all work
is asynchronous and in stream order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ..core.algorithm import DeviceProperties
from .cuda_source import Source


@dataclass(frozen=True)
class Calls:
    """Addresses and numbers for `device_calls` of kernels/stepped/calls.h, but what products need.

    launch_together, launch_configured   0 where the device's driver has none
    types, computes   of cuBLAS or hipBLAS, for float32, float16, bfloat16 and float64
    """

    launch: int
    launch_together: int
    launch_configured: int
    gemm: int
    no_transpose: int
    transpose: int
    algorithm: int
    types: tuple[int, int, int, int]
    computes: tuple[int, int, int, int]
    most_blocks: int


class Block(Protocol):
    """Device memory, given back when the last reference is dropped."""

    address: int


class Graph(Protocol):
    def launch(self, stream: int) -> None:
        """Replay what was captured, on any stream."""


class Timer(Protocol):
    def stop(self) -> float:
        """Milliseconds that the stream has worked since the timer began; waits for them."""


class Device(Protocol):
    """One device, as one handle uses it.

    memory       where its addresses lie, as `core.memory` calls it: "cuda" or, emulated, "host"
    number       of the device among those of its kind
    calls        what launches kernels and products
    workspace_nbytes   what products want to have on each stream
    has_graphs   whether streams can be captured
    properties   what the choice of an algorithm depends on
    fault_address   of a word of 32 bits that host and device share
    """

    memory: str
    number: int
    calls: Calls
    workspace_nbytes: int
    has_graphs: bool
    properties: DeviceProperties
    fault_address: int

    def __enter__(self) -> None:
        """Make the device current for this thread; nests."""

    def __exit__(self, *raised: object) -> None:
        """Make current again what was."""

    def load(self, source: Source) -> dict[str, int]:
        """The source's kernels, compiled once per process and kept on disk: name to function."""

    def allow_shared(self, function: int, nbytes: int) -> None:
        """Let a kernel be launched with up to so much dynamic shared memory, also later."""

    def resident_blocks(self, function: int, threads: int, shared_nbytes: int) -> int:
        """How many blocks of a kernel the device runs at a time."""

    def resident_clusters(
        self, function: int, threads: int, shared_nbytes: int, blocks: int
    ) -> int:
        """How many clusters of so many blocks of a kernel the device runs at a time; lets the
        kernel be launched in such."""

    def take_fault(self) -> bool:
        """Whether the word at fault_address is set; it no longer is. Waits for nothing."""

    def allocate(self, nbytes: int, stream: int) -> Block:
        """Memory for use on one stream. Raises OutOfMemory."""

    def empty(self, shape: tuple[int, ...], dtype: Any, stream: int) -> Any:
        """An array for use on one stream, of a dtype as NumPy has it. Raises OutOfMemory."""

    def own_array(self, value: Any, nbytes: int, dtype: str | None) -> tuple[int, int] | None:
        """The address of an array of the kind that `empty` makes, and the stream that still writes
        it; None for anything else, and for one that is not dense, of this type, as long or on this
        device."""

    def copy(self, to: int, source: int, nbytes: int, stream: int) -> None:
        """Between any two addresses, on the host or the device; areas may not overlap."""

    def use_stream(self, stream: int, workspace: int) -> int:
        """Let products run on this stream, with memory that is for this stream. The address of BLAS
        for `device_calls`, which lasts until `close`."""

    def close(self) -> None:
        """Give BLAS back, until `use_stream` takes it again. Waits for nothing."""

    def wait(self, stream: int, other: int) -> None:
        """Let later work on `stream` wait for what is on `other` so far."""

    def synchronize(self, stream: int) -> None:
        """Return when the stream's work is done."""

    def timer(self, stream: int) -> Timer: ...

    def is_capturing(self, stream: int) -> bool:
        """Whether the caller is capturing this stream into a graph."""

    def begin_capture(self) -> int:
        """A stream of the device's own whose work is recorded, not run, until end_capture."""

    def end_capture(self) -> Graph: ...
