"""The host backend: NumPy's memory, kernels built by the C compiler, a pool of threads."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..core.backend import BackwardRun, ForwardRun, Layer, Matrix, Strided
from ..core.forks import lock_of_process
from ..errors import BadParam, OutOfMemory
from . import host_elementwise, stepped
from ._host import ffi, lib
from .arrays import element_type
from .host_quantized import quantized_on
from .host_stepped import CELL_NUMBER, HostEngine
from .scratch import Allocator, Scratch
from .stepped import STORAGE

BUILDS = ("avx512", "avx2", "base")  # of the kernels, as numbered in kernels/host/pool.h
ALIGNMENT = 64
VOID = ffi.typeof("void *")


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
    """The builds of the kernels that this machine can run, fastest first."""
    return [name for number, name in enumerate(BUILDS) if lib.has_build(number)]


def build() -> str:
    """The build a new backend uses: MIOPY_ISA, or the fastest."""
    usable = builds()
    asked = os.environ.get("MIOPY_ISA") or usable[0]
    if asked not in usable:
        raise BadParam("MIOPY_ISA", f"must be one of {', '.join(usable)} on this machine", asked)
    return asked


def has_own_kernels(layer: Layer) -> bool:
    """Whether the host's kernels run a layer; the stepwise composition runs every other."""
    config = layer.config
    reads_otherwise = (
        layer.takes_products or config.recurrent_mask or config.initial_size != config.state_size
    )
    return layer.projection is None and config.record.is_plain and not reads_otherwise


def _pointer(address: int | None) -> Any:
    return ffi.cast(VOID, address or 0)


def _indices(array: np.ndarray[Any, Any] | None) -> Any:
    if array is None:
        return ffi.NULL
    return ffi.cast("int64_t *", array.ctypes.data)


@lru_cache(maxsize=256)
def _layer(layer: Layer) -> Any:
    """A layer as the kernels take it. Remembered: what runs once runs again from the same place."""
    config, sequence, target = layer.config, layer.sequence, ffi.new("rnn_layer *")
    target.cell = CELL_NUMBER[config.cell]
    target.storage = STORAGE[config.dtype]
    target.reverse = layer.reverse
    target.steps, target.rows, target.batch = sequence.steps, sequence.rows, sequence.batch
    target.input_size, target.hidden_size = layer.input_size, config.hidden_size
    target.batch_sizes = _indices(sequence.batch_sizes_array)
    target.offsets = _indices(sequence.offsets)
    target.order = _indices(sequence.order_array)
    if layer.input is not None:
        target.input = _pointer(layer.input.address)
        target.input_out, target.input_in = layer.input.row, layer.input.column
    target.recurrent = _pointer(layer.recurrent.address)
    target.recurrent_out, target.recurrent_in = layer.recurrent.row, layer.recurrent.column
    target.input_bias = list(map(_pointer, layer.input_biases))
    target.recurrent_bias = list(map(_pointer, layer.recurrent_biases))
    for gate, position in enumerate(layer.position):
        target.position[gate] = position
    target.idle_keeps_state = config.idle_keeps_state
    for number, value in enumerate(config.scalars):
        target.scalars[number] = value
    return target


class HostBackend:
    """One pool of threads and one block of scratch; calls on it run one after the other."""

    name = memory = "host"
    stream = None

    def __init__(self) -> None:
        created = lib.pool_create(num_threads(), BUILDS.index(build()))
        if created == ffi.NULL:
            raise OutOfMemory("pool", "of threads cannot be allocated")
        self._pool = ffi.gc(created, lib.pool_destroy)
        self._allocator = Allocator(_allocate, ALIGNMENT)
        self._scratch = Scratch(self._allocator)
        self._engine = HostEngine(self._pool, self._scratch)
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

    def set_stream(self, stream: Any) -> None:
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

    def recurrence_forward(self, runs: list[ForwardRun]) -> None:
        for run in runs:
            if has_own_kernels(run.layer):
                self._forward(run)
                continue
            with self._lock:
                stepped.forward(self._engine, [run])

    def recurrence_backward(self, runs: list[BackwardRun]) -> None:
        for run in runs:
            if has_own_kernels(run.layer):
                self._backward(run)
                continue
            with self._lock:
                stepped.backward(self._engine, [run])

    def _forward(self, run: ForwardRun) -> None:
        call = ffi.new("forward_pass *")
        call.layer = _layer(run.layer)[0]
        call.x, call.x_row = _pointer(run.x.address), run.x.row
        call.hx, call.cx = _pointer(run.hx), _pointer(run.cx)
        call.output, call.output_row = _pointer(run.output.address), run.output.row
        if run.y is not None:
            call.y, call.y_row = _pointer(run.y.address), run.y.row
        call.hy, call.cy = _pointer(run.hy), _pointer(run.cy)
        call.cells, call.saved = _pointer(run.cells), _pointer(run.saved)
        self._run(lib.recurrence_forward, lib.forward_scratch, call)

    def _backward(self, run: BackwardRun) -> None:
        call = ffi.new("backward_pass *")
        call.layer = _layer(run.layer)[0]
        call.dy, call.dy_row = _pointer(run.dy.address), run.dy.row
        if run.mask is not None:
            call.mask = ffi.cast("uint8_t *", run.mask.address)
            call.mask_row, call.scale = run.mask.row, run.scale
        call.hx, call.cx = _pointer(run.hx), _pointer(run.cx)
        call.output, call.output_row = _pointer(run.output.address), run.output.row
        call.cells, call.saved = _pointer(run.cells), _pointer(run.saved)
        call.dhy, call.dcy = _pointer(run.dhy), _pointer(run.dcy)
        call.dhx, call.dcx = _pointer(run.dhx), _pointer(run.dcx)
        call.dgates, call.dgates_row = _pointer(run.dgates.address), run.dgates.row
        self._run(lib.recurrence_backward, lib.backward_scratch, call)

    def gemm(
        self,
        dtype: str,
        c: Matrix,
        a: Matrix,
        b: Matrix,
        shape: tuple[int, int, int],
        *,
        accumulate: bool = False,
    ) -> None:
        call = ffi.new("gemm_call *")
        call.storage = call.c_storage = STORAGE[dtype]
        call.accumulate = accumulate
        call.K = shape[2]
        call.c = _pointer(c.address)
        if c.column == 1:
            left, right = call.a, call.b
            call.M, call.N, call.c_row = shape[0], shape[1], c.row
        else:  # c' = b' a'
            left, right = call.b, call.a
            call.N, call.M, call.c_row = shape[0], shape[1], c.column
        self._fill_operand(left, a, a.row, a.column)
        self._fill_operand(right, b, b.column, b.row)
        self._run(lib.gemm, lib.gemm_scratch, call)

    def _fill_operand(self, target: Any, matrix: Matrix, across: int, along: int) -> None:
        target.at, target.other = _pointer(matrix.address), _pointer(matrix.other)
        target.across, target.along, target.other_along = across, along, matrix.other_row
        target.index = _indices(matrix.index)

    def _run(self, function: Any, scratch_of: Any, call: Any) -> None:
        with self._lock:
            scratch = self._scratch.address(scratch_of(self._pool, call))
            function(self._pool, call, _pointer(scratch))

    def column_sums(
        self,
        dtype: str,
        sums: int,
        a: Matrix,
        rows: int,
        columns: int,
        *,
        accumulate: bool = False,
    ) -> None:
        to, source = _pointer(sums), _pointer(a.address)
        kind = STORAGE[dtype], accumulate
        with self._lock:
            lib.column_sums(self._pool, *kind, to, source, rows, columns, a.row)

    def plane_sums(
        self, dtype: str, out: Matrix, a: Matrix, rows: int, columns: int, planes: list[int]
    ) -> None:
        to, source = _pointer(out.address), _pointer(a.address)
        shape = rows, columns, planes, len(planes)
        with self._lock:
            lib.plane_sums(self._pool, STORAGE[dtype], to, out.row, source, a.row, *shape)

    def gather_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        arguments = _pointer(to), _pointer(source), _indices(index)
        lib.gather_rows(*arguments, len(index), nbytes)

    def scatter_rows(self, to: int, source: int, index: Any, nbytes: int) -> None:
        arguments = _pointer(to), _pointer(source), _indices(index)
        lib.scatter_rows(*arguments, len(index), nbytes)

    def fill(self, to: int, item: bytes, count: int) -> None:
        lib.fill_items(_pointer(to), item, count, len(item))

    def copy(self, to: int, source: int, nbytes: int) -> None:
        lib.copy_bytes(_pointer(to), _pointer(source), nbytes)

    initialize_dropout_states = staticmethod(host_elementwise.initialize_dropout_states)
    dropout_states_nbytes = staticmethod(host_elementwise.dropout_states_nbytes)
    dropout_mask = staticmethod(host_elementwise.dropout_mask)
    dropout_advance = staticmethod(host_elementwise.dropout_advance)
    dropout_apply = staticmethod(host_elementwise.dropout_apply)
    set_tensor = staticmethod(host_elementwise.set_tensor)
    scale_tensor = staticmethod(host_elementwise.scale_tensor)
    transform_tensor = staticmethod(host_elementwise.transform_tensor)
    op_tensor = staticmethod(host_elementwise.op_tensor)
    convert_tensor = staticmethod(host_elementwise.convert_tensor)

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
