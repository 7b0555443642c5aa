"""Inference on 8-bit codes behind `core.codes`, for any device that launches kernels.

The loop over the steps is C (kernels/stepped/quantized.c).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import prod
from typing import Any

import numpy as np

from ..core.cells import CELLS
from ..core.codes import CodeScale, Matrices, QuantizedLayer, Steps, Values, WeightScale
from ..errors import DeviceError
from ._stepped import ffi, lib
from .stepped import pointer

KERNELS = (  # as numbered in kernels/host/quantized/quantized.h
    *("copy_codes", "copy_weights", "sum_codes", "multiply_codes", "quantized_lstm"),
    *("quantized_gru_operand", "quantized_gru", "quantized_project", "join_codes"),
)
CELL_KERNEL = {"lstm": "quantized_lstm", "reset_before_gru": "quantized_gru"}


class Quantized:
    """`QuantizedKernels` of a device.

    hold      gives what keeps other threads out of the device
    calls     device_calls of kernels/stepped/calls.h
    kernels   gives the address of each of KERNELS, by name
    upload    gives the address of an array where kernels can read it
    owner     of what `calls` point to
    """

    def __init__(
        self,
        hold: Callable[[], AbstractContextManager[Any]],
        calls: Any,
        kernels: Callable[[], dict[str, int]],
        upload: Callable[[np.ndarray[Any, Any]], int],
        owner: Any = None,
    ) -> None:
        self._hold, self._calls, self._kernels, self._upload = hold, calls, kernels, upload
        self._owner = owner

    def _launch(self, name: str, elements: int, structure: Any) -> None:
        arguments = ffi.new("void *[]", [structure])
        function = pointer(self._kernels()[name])
        _check(lib.launch_elements(self._calls, function, elements, arguments))

    def _fill_weights(self, target: Any, scale: WeightScale) -> None:
        target.scales = ffi.cast("float *", self._upload(scale.array))
        target.per_output = len(scale.scales) > 1

    def copy(self, scale: CodeScale, to: Values, source: Values | None, count: int) -> None:
        call = ffi.new("code_copy *")
        call.to, call.to_float, call.count = pointer(to.address), to.is_float, count
        if source is not None:
            setattr(call, "from", pointer(source.address))
            call.from_float = source.is_float
        _fill_data(call.data, scale)
        with self._hold():
            self._launch("copy_codes", count, call)

    def pack(
        self,
        to: Matrices,
        source: int,
        strides: tuple[int, ...],
        lengths: tuple[int, ...],
        scale: WeightScale | None,
    ) -> None:
        call, sums = ffi.new("weight_copy *"), ffi.new("code_sums *")
        call.codes = sums.codes = ffi.cast("int8_t *", to.codes)
        setattr(call, "from", pointer(source))
        call.lengths, call.strides = lengths, strides
        sums.sums = ffi.cast("int32_t *", to.sums)
        sums.rows, sums.K = prod(lengths[:-1]), lengths[-1]
        with self._hold():
            if scale is not None:
                call.from_float = 1
                self._fill_weights(call.weights, scale)
            self._launch("copy_weights", prod(lengths), call)
            self._launch("sum_codes", sums.rows, sums)

    def layer(
        self,
        layer: QuantizedLayer,
        data: CodeScale,
        *,
        x: Steps,
        initial: int,
        cell_state: int | None,
        input: Matrices,
        recurrent: Matrices,
        bias: int,
        scale: WeightScale,
        projection: Matrices | None,
        projection_scale: WeightScale | None,
        output: int,
        scratch: dict[str, int],
    ) -> None:
        call = ffi.new("quantized_run *")
        _fill_layer(call, layer, scratch)
        call.x, call.x_step, call.x_row = pointer(x.address), x.step, x.row
        call.initial, call.output = pointer(initial), pointer(output)
        call.w, call.u = _bytes(input.codes), _bytes(recurrent.codes)
        step = call.step
        step.c = ffi.cast("float *", cell_state or 0)
        step.input_sums, step.recurrent_sums = _sums(input), _sums(recurrent)
        step.bias = ffi.cast("float *", bias)
        _fill_data(step.data, data)
        with self._hold():
            kernels = self._kernels()
            call.multiply = pointer(kernels["multiply_codes"])
            call.cell = pointer(kernels[CELL_KERNEL[layer.cell]])
            if CELLS[layer.cell].late is not None:
                call.make_operand = pointer(kernels["quantized_gru_operand"])
            self._fill_weights(step.weights, scale)
            if projection is not None and projection_scale is not None:
                call.project = pointer(kernels["quantized_project"])
                call.matrix = _bytes(projection.codes)
                self._fill_projection(call.projection, projection, projection_scale, call)
            _check(lib.run_quantized(self._calls, call))

    def _fill_projection(
        self, target: Any, projection: Matrices, scale: WeightScale, call: Any
    ) -> None:
        target.products, target.sums = call.projected, _sums(projection)
        target.rows, target.size = call.step.rows, call.state_size
        target.data = call.step.data
        self._fill_weights(target.weights, scale)

    def join(
        self,
        data: CodeScale,
        y: Steps,
        outputs: tuple[int, ...],
        shape: tuple[int, int, int],
        *,
        is_sum: bool,
    ) -> None:
        call = ffi.new("joined_codes *")
        call.to, call.to_float = pointer(y.address), y.is_float
        call.to_step, call.to_row, call.is_sum = y.step, y.row, is_sum
        call.first = pointer(outputs[0])
        if len(outputs) > 1:
            call.second = pointer(outputs[1])
        call.steps, call.batch, call.size = shape
        _fill_data(call.data, data)
        elements = prod(shape) * (1 if is_sum else len(outputs))
        with self._hold():
            self._launch("join_codes", elements, call)


def _bytes(address: int) -> Any:
    return ffi.cast("int8_t *", address)


def _sums(matrices: Matrices) -> Any:
    return ffi.cast("int32_t *", matrices.sums)


def _fill_data(target: Any, data: CodeScale) -> None:
    target.scale, target.shift, target.is_signed = data.scale, data.shift, data.signed


def _fill_layer(call: Any, layer: QuantizedLayer, scratch: dict[str, int]) -> None:
    call.reverse, call.gates = layer.reverse, len(CELLS[layer.cell].gates)
    call.steps, call.chunk_steps = layer.steps, layer.chunk_steps
    call.input_size, call.state_size = layer.input_size, layer.state_size
    call.step.rows, call.step.hidden_size = layer.batch, layer.hidden_size
    for name in ("x_products", "h_products", "projected"):
        setattr(call, name, ffi.cast("int32_t *", scratch.get(name, 0)))
    call.operand = pointer(scratch.get("operand"))


def _check(error: int) -> None:
    if error:
        raise DeviceError("stream", "failed in a launch, with error", error)
