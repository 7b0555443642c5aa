"""What passes call of the CUDA backend, put on a stream or taken down: see `core.backend`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import algorithm, wavefront
from ..core.algorithm import Choice, DeviceProperties
from ..core.backend import BackwardRun, Contraction, ForwardRun, Layer, Matrix
from ..core.config import DTYPES, RNNConfig
from ..errors import NotSupported
from . import stepped
from ._stepped import ffi
from .cuda_elementwise import Elementwise
from .cuda_kernels import Kernels
from .cuda_stream import Puts
from .numbering import STORAGE
from .stepped import pointer


class Operations:
    """Of one stream; calls run one after the other. It is an engine of `stepped`, too."""

    def __init__(self, stream: Puts, kernels: Kernels) -> None:
        self._puts, self._kernels = stream, kernels
        self._elementwise = simple = Elementwise(stream)
        self.kernels = kernels.of
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
        return self._puts.device.properties

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

    @property
    def fault_address(self) -> int:
        """Of `stepped.Engine`."""
        return self._puts.device.fault_address

    def regions(self, layer: Layer, *nbytes: int) -> list[int]:
        """Of `stepped.Engine`."""
        return self._puts.regions(*nbytes)

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        """Of `stepped.Engine`."""
        return self._puts.upload(array)

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        """Of `stepped.Engine`."""
        raise NotImplementedError

    def recurrence_forward(self, runs: list[ForwardRun]) -> None:
        for run in runs:
            check_layer(run.layer, run.x, run.output)
        with self._puts:
            stepped.forward(self, runs)

    def recurrence_backward(self, runs: list[BackwardRun]) -> None:
        for run in runs:
            check_layer(run.layer, run.dy, run.output, run.dgates, run.dprojected)
        with self._puts:
            stepped.backward(self, runs)

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
        with self._puts:
            if b.index is not None:
                itemsize = DTYPES[dtype].itemsize
                (gathered,) = self._puts.regions(depth * columns * itemsize)
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
            self._puts.multiply(call)

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


def check_extents(argument: str, *extents: int) -> None:
    """BLAS counts rows, columns and what lies between them in 32 bits."""
    for extent in extents:
        if extent >= 2**31:
            raise NotSupported(argument, "must be below 2**31 on this backend", extent)


def check_layer(layer: Layer, *rows: Matrix | None) -> None:
    """Whether BLAS can count what steps multiply: the layer's matrices, and the run's."""
    config, sequence = layer.config, layer.sequence
    dgates = config.num_directions * config.record.num_planes * config.hidden_size
    check_extents("hidden size", dgates)
    check_extents("input size", layer.input_size)
    check_extents("batch", sequence.batch, sequence.rows)
    for matrix in (layer.input, layer.recurrent, layer.projection, *rows):
        if matrix is not None:
            check_extents("strides", matrix.row, matrix.column)
