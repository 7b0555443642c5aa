"""The CUDA backend: kernels and products on a stream, one launch and one gemm per step and pass, or
one launch for many steps.

The loop over the steps is in C (`stepped.py`). Where a call repeats with the same pointers,
its launches are replayed as a graph. Nothing here waits for the device but the timer.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import algorithm, wavefront
from ..core.algorithm import Choice, DeviceProperties
from ..core.backend import BackwardRun, Contraction, ForwardRun, Layer, Matrix, Walk
from ..core.blocks import THREADS
from ..core.cluster import Cluster
from ..core.config import DTYPES, RNNConfig
from ..core.grid import Grid
from ..errors import BadParam, DeviceError, NotSupported
from . import cuda_cupy, cuda_source, stepped
from ._stepped import ffi, lib
from .arrays import element_type
from .cuda_device import Device
from .cuda_elementwise import SHORT, Elementwise
from .cuda_stream import Stream, check
from .quantized import Quantized
from .stepped import STORAGE, pointer

MOST_GRAPHS = 64

why_missing = cuda_cupy.why_missing


def create() -> CudaBackend:
    return CudaBackend(cuda_cupy.CupyDevice())


def stream_address(stream: Any) -> int:
    """The address behind a stream: an integer, CuPy's object, PyTorch's, or None."""
    for value in (stream, getattr(stream, "ptr", None), getattr(stream, "cuda_stream", None)):
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
            return int(value)
    if stream is None:
        return 0
    raise BadParam("stream", "must be the address of a stream or an object that has one", stream)


class CudaBackend:
    """One device and one stream; calls on it run one after the other."""

    name = "cuda"

    def __init__(self, device: Device) -> None:
        self.memory = device.memory
        self._stream = Stream(device)
        self._elementwise = simple = Elementwise(self._stream)
        self.quantized = quantized_on(self._stream)
        self._kernels: dict[Any, dict[str, int]] = {}  # by what they are for: see `kernels`
        # Calls seen before: None, or the graph that replays them, and the sequence they are for.
        self._graphs: OrderedDict[bytes, tuple[Any, Any]] = OrderedDict()
        self.gather_rows, self.scatter_rows = simple.gather_rows, simple.scatter_rows
        self.fill, self.copy = simple.fill, simple.copy
        self.plane_sums = simple.plane_sums
        self.initialize_dropout_states = simple.initialize_dropout_states
        self.dropout_states_nbytes = simple.dropout_states_nbytes
        self.dropout_mask, self.dropout_apply = simple.dropout_mask, simple.dropout_apply
        self.dropout, self.dropout_advance = simple.dropout, simple.dropout_advance
        self.set_tensor, self.scale_tensor = simple.set_tensor, simple.scale_tensor
        self.transform_tensor, self.op_tensor = simple.transform_tensor, simple.op_tensor
        self.convert_tensor = simple.convert_tensor

    @property
    def properties(self) -> DeviceProperties:
        """What `Plan.explain` asks for."""
        return self._stream.device.properties

    @property
    def stream(self) -> int:
        return self._stream.address

    def set_stream(self, stream: Any) -> None:
        self._stream.change(stream_address(stream))

    def wait_for(self, stream: int) -> None:
        legacy_default = 1  # as the array interface has it; an address of 0 means the same
        if stream not in (self.stream, self.stream or legacy_default):
            with self._stream:
                self._stream.device.wait(self.stream, stream)

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
            self._stream.close()
            self._stream.allocator.change(allocator, deallocator, context)

    def close(self) -> None:
        self._stream.close()
        self._graphs.clear()

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        with self._stream:
            return self._stream.device.empty(shape, element_type(dtype), self.stream)

    def prepare(self, walk: Walk, names: tuple[str, ...]) -> None:
        """What takes long is replayed as a graph already: see `Plan.replays`."""

    def layers_at_a_time(
        self, config: RNNConfig, batch_sizes: tuple[int, ...], *, backward: bool
    ) -> int:
        stack = wavefront.stack_of(self.properties, config, batch_sizes, backward=backward)
        return wavefront.layers_at_a_time(stack)

    def choose(self, layer: Layer, directions: int, layers: int, *, backward: bool) -> Choice:
        """Of `stepped.Engine`."""
        stack = wavefront.stack_of(
            self.properties, layer.config, layer.sequence.batch_sizes, backward=backward
        )
        if layers > 1:
            found = wavefront.choose(stack, layers)
            assert found is not None, "no more layers are given than layers_at_a_time says"
            return found
        shape = stack.config, stack.steps, stack.batch, directions
        return algorithm.choose(stack.device, *shape, backward=backward, asked=stack.asked)

    def kernels(self, layer: Layer, choice: Choice, *, backward: bool) -> dict[str, int]:
        """Of `stepped.Engine`."""
        cell, dtype, device = layer.config.cell, layer.config.dtype, self._stream.device
        slices, cluster = choice.slices, choice.cluster
        products = slices.products if slices else choice.products
        key = cell, dtype, layer.position, products, cluster is not None, backward
        if key not in self._kernels:
            sources = [cuda_source.recurrence(cell, dtype, layer.position)]
            sources.append(cuda_source.storage(dtype))
            if choice.products is not None:
                sources.append(cuda_source.persistent(cell, dtype, choice.products))
            if slices is not None:
                kind = cell, dtype, slices.products, backward, cluster is not None
                sources.append(cuda_source.grid(*kind))
            self._kernels[key] = {
                name.removesuffix(f"_{SHORT[dtype]}"): function
                for source in sources
                for name, function in device.load(source).items()
            }
        found = self._kernels[key]
        if choice.residency is not None:
            for name in ("persistent_forward", "persistent_backward"):
                device.allow_shared(found[name], choice.residency.shared_nbytes)
        sharing = found.get("grid_backward" if backward else "grid_forward", 0)
        if choice.grid is not None:
            self._allow_grid(sharing, choice.grid)
        if cluster is not None:
            self._allow_clusters(sharing, cluster)
        return found

    def _allow_grid(self, function: int, grid: Grid) -> None:
        device = self._stream.device
        device.allow_shared(function, grid.shared_nbytes)
        most = device.resident_blocks(function, THREADS, grid.shared_nbytes)
        if grid.blocks > most:
            raise DeviceError(
                "device", f"runs {most} of {grid.blocks} blocks that wait for each other"
            )

    def _allow_clusters(self, function: int, cluster: Cluster) -> None:
        device, blocks = self._stream.device, cluster.slices.parts
        device.allow_shared(function, cluster.shared_nbytes)
        if not device.resident_clusters(function, THREADS, cluster.shared_nbytes, blocks):
            raise DeviceError("device", f"runs no cluster of {blocks} blocks")

    @property
    def fault_address(self) -> int:
        """Of `stepped.Engine`."""
        return self._stream.device.fault_address

    def _check_faults(self) -> None:
        """Raise for a launch that has ended since the last call, because blocks waited in vain."""
        if self._stream.device.take_fault():
            raise DeviceError("stream", "a block waited for another in vain; its results are NaN")

    def regions(self, layer: Layer, *nbytes: int) -> list[int]:
        """Of `stepped.Engine`."""
        return self._stream.regions(*nbytes)

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        """Of `stepped.Engine`."""
        return self._stream.upload(array)

    def recurrence_forward(self, runs: list[ForwardRun]) -> None:
        for run in runs:
            check_layer(run.layer)
        self._check_faults()
        with self._stream:
            stepped.forward(self, runs)

    def recurrence_backward(self, runs: list[BackwardRun]) -> None:
        for run in runs:
            check_layer(run.layer)
        self._check_faults()
        with self._stream:
            stepped.backward(self, runs)

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        """Of `stepped.Engine`. Where the plan wants it, as a graph from the second time on that all
        pointers are the same."""
        stream = self._stream
        is_alone = stream.device.has_graphs and not stream.is_capturing
        if not (is_alone and layer.is_replayed):
            check(function(stream.calls, calls, len(calls)))
            return
        key = bytes(ffi.buffer(calls))  # kernels, addresses, sizes: all that the steps depend on
        graph, _ = self._graphs.get(key, (None, None))
        if graph is None and key in self._graphs:
            graph = stream.capture(function, calls)
        if graph is None:
            check(function(stream.calls, calls, len(calls)))
        else:
            graph.launch(stream.address)
        # The key has the addresses of the sequence's arrays: they must not become another's.
        self._graphs[key] = graph, layer.sequence
        self._graphs.move_to_end(key)
        if len(self._graphs) > MOST_GRAPHS:
            self._graphs.popitem(last=False)

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
        rows, columns, depth = shape
        check_extents("shape", *shape, a.row, a.column, b.row, b.column, c.row, c.column)
        with self._stream:
            if b.index is not None:
                itemsize = DTYPES[dtype].itemsize
                (gathered,) = self._stream.regions(depth * columns * itemsize)
                self._elementwise.gather(gathered, b, depth, columns * itemsize, itemsize)
                b = Matrix(gathered, columns)
            if c.column != 1:  # c' = b' a'
                c, a, b = _transposed(c), _transposed(b), _transposed(a)
                shape = columns, rows, depth
            call = ffi.new("product *")
            call.type = call.c_type = STORAGE[dtype]
            call.accumulate = accumulate
            call.M, call.N, call.K = shape
            call.a, call.a_row, call.a_column = pointer(a.address), a.row, a.column
            call.b, call.b_row, call.b_column = pointer(b.address), b.row, b.column
            call.c, call.c_row = pointer(c.address), c.row
            check(lib.multiply(self._stream.calls, call))

    def contract(
        self,
        dtype: str,
        a: Matrix,
        shape: tuple[int, int],
        products: list[Contraction],
        sums: list[int],
        *,
        accumulate: bool = False,
    ) -> None:
        rows, columns = shape
        for to, b, width in products:
            extents = columns, width, rows
            self.gemm(dtype, to, _transposed(a), b, extents, accumulate=accumulate)
        for out in sums:
            self._elementwise.column_sums(dtype, out, a, rows, columns, accumulate=accumulate)


def _transposed(matrix: Matrix) -> Matrix:
    return Matrix(matrix.address, matrix.column, matrix.row)


def quantized_on(stream: Stream) -> Quantized:
    """The kernels on 8-bit codes of a stream's device, loaded when they are first wanted."""

    def kernels() -> dict[str, int]:
        found = stream.device.load(cuda_source.quantized())
        return {name.removesuffix("_f32"): function for name, function in found.items()}

    return Quantized(lambda: stream, stream.calls, functools.cache(kernels), stream.upload)


def check_extents(argument: str, *extents: int) -> None:
    """BLAS counts rows, columns and what lies between them in 32 bits."""
    for extent in extents:
        if extent >= 2**31:
            raise NotSupported(argument, "must be below 2**31 on this backend", extent)


def check_layer(layer: Layer) -> None:
    config, sequence = layer.config, layer.sequence
    dgates = config.num_directions * config.record.num_planes * config.hidden_size
    check_extents("hidden size of rnnDesc", dgates)
    check_extents("input size", layer.input_size)
    check_extents("batch", sequence.batch, sequence.rows)
