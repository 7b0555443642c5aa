"""The stepwise composition of a recurrence: a product and a kernel per step, for any engine; or, if
the engine chooses so, a launch for many steps.

The loop over the steps is C (kernels/stepped): this module gives it addresses, strides and scratch.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..core.algorithm import THREADS, Choice, Residency
from ..core.backend import Layer, Matrix
from ..core.config import RNNConfig
from ._stepped import ffi, lib

STORAGE = {"float32": 0, "float16": 1, "bfloat16": 2, "float64": 3}  # of kernels/target.h
VOID = ffi.typeof("void *")
AHEAD_NBYTES = 128 << 20  # input products that run ahead of the steps


class Engine(Protocol):
    """What launches, multiplies and has memory: a device, or the host."""

    def choose(self, layer: Layer, *, backward: bool) -> Choice:
        """What is to run the steps of a layer in one pass."""

    def kernels(self, layer: Layer, choice: Choice) -> dict[str, int]:
        """Functions of pointwise.c, states.c, project.c and recurrent_mask.c for a layer's cell,
        dtype and gate order, by name, of operand.c for a cell with a late gate, and of
        persistent/steps.cu where that was chosen, to be launched with its shared memory."""

    def regions(self, layer: Layer, *nbytes: int) -> list[int]:
        """Addresses of scratch for a run of a layer. The contents last until the next call."""

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        """The address of an index array where kernels can read it; 0 for None."""

    def run(self, function: Any, call: Any, layer: Layer) -> None:
        """Run a function of kernels/stepped/steps.h."""


def pointer(address: int | None) -> Any:
    return ffi.cast(VOID, address or 0)


def real_number(config: RNNConfig) -> int:
    """The storage number of the real type."""
    return STORAGE["float64" if config.real_itemsize == 8 else "float32"]


def forward(
    engine: Engine,
    layer: Layer,
    *,
    x: Matrix,
    hx: int | None,
    cx: int | None,
    output: Matrix,
    y: Matrix | None,
    hy: int | None,
    cy: int | None,
    cells: int | None,
    saved: int | None,
    hidden: int | None = None,
    attention: int | None = None,
    recurrent_mask: int | None = None,
    masked: int | None = None,
) -> None:
    """As `recurrence_forward` of `core.backend`."""
    config = layer.config
    call = ffi.new("stepped_forward *")
    choice = engine.choose(layer, backward=False)
    kernels = _fill_layer(engine, call.layer, layer, choice, "forward")
    call.layer.attention = pointer(attention)
    call.layer.apply_mask = pointer(kernels["mask_states"])
    call.layer.mask, call.masked = pointer(recurrent_mask), pointer(masked)
    call.pointwise = pointer(kernels["pointwise_forward"])
    if layer.input is not None:
        call.w = pointer(layer.input.address)
        call.w_out, call.w_in = layer.input.row, layer.input.column
    call.input_bias = list(map(pointer, layer.input_biases))
    call.recurrent_bias = list(map(pointer, layer.recurrent_biases))
    call.x, call.x_row = pointer(x.address), x.row
    call.x_gate = layer.config.hidden_size if layer.takes_products else 0
    call.hx, call.cx = pointer(hx), pointer(cx)
    call.output, call.output_row = pointer(output.address), output.row
    if y is not None:
        call.y, call.y_row = pointer(y.address), y.row
    call.hy, call.cy = pointer(hy), pointer(cy if config.record.has_cell_state else None)
    call.cells, call.saved, call.hidden = pointer(cells), pointer(saved), pointer(hidden)
    _fill_forward_scratch(engine, call, layer, choice)
    engine.run(lib.run_forward, call, layer)


def _fill_forward_scratch(engine: Engine, call: Any, layer: Layer, choice: Choice) -> None:
    config, sequence = layer.config, layer.sequence
    most, real = max(sequence.batch_sizes, default=0), config.real_itemsize
    hidden_size, initial = config.hidden_size, sequence.batch * config.initial_size
    row_nbytes = config.num_gates * hidden_size * real
    call.chunk_rows = max(most, min(sequence.rows, AHEAD_NBYTES // max(row_nbytes, 1)))
    has_cell = config.record.has_cell_state
    regions = engine.regions(
        layer,
        sequence.batch * max(config.state_size, config.initial_size) * real,
        sequence.batch * hidden_size * real if has_cell else 0,
        initial * config.itemsize if sequence.order and not choice.is_persistent else 0,
        most * hidden_size * config.itemsize if config.has_operand else 0,
        most * config.initial_size * config.itemsize if config.recurrent_mask else 0,
        call.chunk_rows * row_nbytes if layer.input is not None else 0,
        0 if choice.is_persistent else most * row_nbytes,
        choice.scratch_nbytes,
    )
    call.h, call.c, call.sorted, call.operand, call.masked_step = map(pointer, regions[:5])
    call.x_products, call.h_products = map(pointer, regions[5:7])
    if not has_cell:
        call.c = ffi.NULL
    if choice.is_persistent:
        call.sorted = ffi.NULL
    call.layer.persistent.fragments = pointer(regions[7])


def backward(
    engine: Engine,
    layer: Layer,
    *,
    dy: Matrix,
    mask: Matrix | None,
    scale: float,
    hx: int | None,
    cx: int | None,
    output: Matrix,
    cells: int | None,
    saved: int | None,
    hidden: int | None = None,
    attention: int | None = None,
    recurrent_mask: int | None = None,
    dhy: int | None,
    dcy: int | None,
    dhx: int | None,
    dcx: int | None,
    dgates: Matrix,
    dprojected: Matrix | None = None,
) -> None:
    """As `recurrence_backward` of `core.backend`."""
    config, sequence = layer.config, layer.sequence
    has_cell, real = config.record.has_cell_state, config.real_itemsize
    call = ffi.new("stepped_backward *")
    choice = engine.choose(layer, backward=True)
    kernels = _fill_layer(engine, call.layer, layer, choice, "backward")
    call.layer.attention = pointer(attention)
    call.layer.apply_mask = pointer(kernels["mask_products"])
    call.layer.mask = pointer(recurrent_mask)
    call.pointwise = pointer(kernels["pointwise_backward"])
    call.dy, call.dy_row = pointer(dy.address), dy.row
    if mask is not None:
        call.mask, call.mask_row = pointer(mask.address), mask.row
    call.scale = scale
    call.hx, call.cx = pointer(hx), pointer(cx)
    call.output, call.output_row = pointer(output.address), output.row
    call.cells, call.saved, call.hidden = pointer(cells), pointer(saved), pointer(hidden)
    call.dhy, call.dcy = pointer(dhy), pointer(dcy)
    call.dhx, call.dcx = pointer(dhx), pointer(dcx if has_cell else None)
    call.dgates, call.dgates_row = pointer(dgates.address), dgates.row
    if dprojected is not None:
        call.dprojected, call.dprojected_row = pointer(dprojected.address), dprojected.row
    most = max(sequence.batch_sizes, default=0)
    regions = engine.regions(
        layer,
        sequence.batch * config.state_size * real,
        sequence.batch * config.hidden_size * real if has_cell else 0,
        0 if choice.is_persistent else most * config.initial_size * real,
        most * config.hidden_size * real if config.has_operand else 0,
        choice.scratch_nbytes,
    )
    call.dh, call.dc, call.products, call.dhidden = map(pointer, regions[:4])
    if not has_cell:
        call.dc = ffi.NULL
    call.layer.persistent.fragments = pointer(regions[4])
    engine.run(lib.run_backward, call, layer)


def _fill_layer(
    engine: Engine, target: Any, layer: Layer, choice: Choice, pass_name: str
) -> dict[str, int]:
    """The part that both passes share; answers the cell's kernels."""
    config, sequence, record = layer.config, layer.sequence, layer.config.record
    kernels = engine.kernels(layer, choice)
    target.storage, target.real = STORAGE[config.dtype], real_number(config)
    target.reverse, target.gates = layer.reverse, config.num_gates
    target.planes, target.saved = record.num_planes, len(record.saved)
    target.idle_keeps_state = config.idle_keeps_state
    target.steps, target.batch = sequence.steps, sequence.batch
    target.input_size, target.hidden_size = layer.input_size, config.hidden_size
    target.state_size, target.initial_size = config.state_size, config.initial_size
    target.batch_sizes = ffi.cast("int64_t *", sequence.batch_sizes_array.ctypes.data)
    target.offsets = ffi.cast("int64_t *", sequence.offsets.ctypes.data)
    target.order = ffi.cast("int64_t *", engine.upload(sequence.order_array))
    target.load_states = pointer(kernels["load_states"])
    target.store_states = pointer(kernels["store_states"])
    target.u = pointer(layer.recurrent.address)
    target.u_out, target.u_in = layer.recurrent.row, layer.recurrent.column
    if layer.projection is not None:
        target.project = pointer(kernels[f"project_{pass_name}"])
        target.matrix = pointer(layer.projection.address)
        target.matrix_out, target.matrix_in = layer.projection.row, layer.projection.column
    target.late = -1
    if record.late is not None:
        target.late = layer.position[record.gates.index(record.late)]
        target.operand = pointer(kernels[f"operand_{pass_name}"])
    if layer.peepholes:
        target.peepholes = pointer(layer.peepholes[0])
    for plane in range(record.num_planes):
        target.position[plane] = layer.position[plane] if plane < config.num_gates else plane
    for number, value in enumerate(config.scalars):
        target.scalars[number] = value
    if choice.residency is not None:
        target.persistent.gather = pointer(kernels["gather_fragments"])
        target.persistent.steps = pointer(kernels[f"persistent_{pass_name}"])
        _fill_persistent(engine, target.persistent, layer, choice.residency)
    return kernels


def _fill_persistent(engine: Engine, target: Any, layer: Layer, held: Residency) -> None:
    target.offsets = ffi.cast("int64_t *", engine.upload(layer.sequence.offsets))
    target.threads = THREADS
    for name in (
        *("rows", "shared_nbytes", "depth", "columns"),
        *("depth_tiles", "num_tiles", "tiles_per_warp", "slots"),
    ):
        setattr(target, name, getattr(held, name))
