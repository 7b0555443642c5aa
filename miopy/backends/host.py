"""The host backend: NumPy's memory, kernels built by the C compiler, a pool of threads."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..core.backend import BackwardRun, Dropped, ForwardRun, Layer, Strided, Walk
from ..core.forks import lock_of_process
from ..errors import BadParam, OutOfMemory
from . import host_elementwise
from ._host import ffi, lib
from .arrays import element_type
from .host_elementwise import pointer
from .host_operations import Operations
from .host_program import take_down
from .host_quantized import quantized_on
from .host_stepped import ALIGNMENT, HostEngine, check_steps
from .scratch import Allocator, Scratch

BUILDS = (
    "amx",
    "avx512_bf16",
    "avx512",
    "avx2",
    "base",
)  # of the kernels, as numbered in kernels/host/pool/pool.h


def why_missing() -> str | None:
    return None  # importing this module has loaded the compiled kernels


def create() -> HostBackend:
    return HostBackend()


@dataclass(frozen=True)
class _Block:
    """Memory from NumPy, for as long as this lives."""

    array: np.ndarray[Any, Any]

    @property
    def address(self) -> int:
        return self.array.ctypes.data


def _allocate(nbytes: int) -> _Block:
    try:
        return _Block(np.empty(nbytes, np.uint8))
    except MemoryError:
        raise OutOfMemory("scratch", f"of {nbytes} bytes cannot be allocated") from None


def num_threads() -> int:
    """Threads of a new backend: MIOPY_NUM_THREADS, or the processors this process may use."""
    asked = os.environ.get("MIOPY_NUM_THREADS")
    if not asked:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not asked.isdecimal() or not 1 <= int(asked) <= 1024:
        raise BadParam("MIOPY_NUM_THREADS", "must be a whole number from 1 to 1024", asked)
    return int(asked)


def builds() -> list[str]:
    """The builds of the kernels that this machine can run."""
    return [name for number, name in enumerate(BUILDS) if lib.has_build(number)]


def build() -> str:
    """The build a new backend uses: MIOPY_ISA, of which alone the machine is asked, or the fastest:
    a process that may use a matrix unit needs larger stacks for signals."""
    asked = os.environ.get("MIOPY_ISA")
    if not asked:
        return BUILDS[lib.fastest_build()]
    if asked not in BUILDS or not lib.has_build(BUILDS.index(asked)):
        usable = ", ".join(builds())
        raise BadParam("MIOPY_ISA", f"must be one of {usable} on this machine", asked)
    return asked


class HostBackend(Operations):
    """One pool of threads and one block of scratch; calls on it run one after the other."""

    name = memory = "host"
    number = 0
    stream = awaiting = None

    def __init__(self) -> None:
        created = lib.pool_create(num_threads(), BUILDS.index(build()))
        if created == ffi.NULL:
            raise OutOfMemory("pool", "of threads cannot be allocated")
        self._pool = ffi.gc(created, lib.pool_destroy)
        self._allocator = Allocator(_allocate, ALIGNMENT)
        self._scratch = Scratch(self._allocator)
        self._locks: dict[int, threading.Lock] = {}
        # Holding the locks, not this: a cycle would keep threads until Python looks for cycles.
        self.quantized = quantized_on(self._pool, partial(lock_of_process, self._locks))

    @property
    def _lock(self) -> threading.Lock:
        return lock_of_process(self._locks)

    def set_allocator(
        self,
        allocator: Callable[[Any, int], int] | None,
        deallocator: Callable[[Any, int], None] | None,
        context: Any,
    ) -> None:
        with self._lock:
            self._scratch.close()
            self._allocator.change(allocator, deallocator, context)

    def set_stream(self, stream: Any, argument: str = "stream") -> None:
        """There are no streams: a call returns when its work is done."""

    def wait_for(self, stream: int) -> None:
        """There is nothing to wait for."""

    def timer(self) -> Callable[[], float]:
        start = time.perf_counter()
        return lambda: (time.perf_counter() - start) * 1e3

    def close(self) -> None:
        """Give scratch back to its allocator; the backend may be used again."""
        with self._lock:
            self._scratch.close()

    def empty(self, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
        try:
            return np.empty(shape, element_type(dtype))
        except MemoryError:
            raise OutOfMemory("array", f"of shape {shape} cannot be allocated") from None

    def _do(self, operation: int, call: Any, kept: Any) -> None:
        with self._lock:
            nbytes = lib.operation_scratch(self._pool, operation, call)
            scratch = self._scratch.address(nbytes) if nbytes else 0
            lib.run_operation(self._pool, operation, call, pointer(scratch))

    def _compose(self, compose: Callable[..., None], run: ForwardRun | BackwardRun) -> None:
        with self._lock:
            compose(HostEngine(self._pool, self._scratch.address, self._run_steps), [run])

    def _drop(self, layer: Layer, x: int, dropped: Dropped) -> None:
        source, mask, rate = dropped
        elements = layer.sequence.rows * layer.input_size
        self.dropout_apply(layer.config.dtype, x, source, mask, elements, rate)

    def _run_steps(self, call: Any, parts: list[Any], kept: Any) -> None:
        check_steps(lib.run_operation(self._pool, lib.STEPS, call, ffi.NULL))

    def prepare(self, walk: Walk, names: tuple[str, ...]) -> Callable[[list[int]], None] | None:
        program = take_down(self._pool, walk, names)
        if program is None:
            return None
        run, nbytes = program.run, program.scratch_nbytes

        def execute(addresses: list[int]) -> None:
            with lock_of_process(self._locks):
                run(self._pool, addresses, self._scratch.address(nbytes) if nbytes else 0)

        return execute

    initialize_dropout_states = staticmethod(host_elementwise.initialize_dropout_states)
    dropout_states_nbytes = staticmethod(host_elementwise.dropout_states_nbytes)
    dropout_mask = staticmethod(host_elementwise.dropout_mask)
    dropout_advance = staticmethod(host_elementwise.dropout_advance)
    dropout_apply = staticmethod(host_elementwise.dropout_apply)
    set_tensor = staticmethod(host_elementwise.set_tensor)
    scale_tensor = staticmethod(host_elementwise.scale_tensor)

    def dropout(
        self,
        dtype: str,
        lengths: tuple[int, ...],
        y: Strided,
        x: Strided,
        mask: int | None,
        states: int | None,
        dropout: float,
    ) -> None:
        elements = math.prod(lengths)
        with self._lock:
            kept = self._scratch.address(elements) if mask is None else mask
            if states is not None:
                self.dropout_mask(kept, states, elements, dropout)
            host_elementwise.dropout_apply_strided(dtype, lengths, y, x, kept, dropout)
