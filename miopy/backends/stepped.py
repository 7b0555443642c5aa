"""The stepwise composition of a recurrence: a product and a kernel per step, for any engine; or, if
the engine chooses so, a launch for many steps of both directions.

The loop over the steps is C (kernels/stepped): this module gives it addresses, strides and scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..core.algorithm import Choice, Residency
from ..core.backend import BackwardRun, ForwardRun, Layer, dropout_scale
from ..core.blocks import THREADS
from ..core.cells import input_runs
from ..core.config import RNNConfig
from ..core.grid import SLOTS, Grid
from ._stepped import ffi, lib
from .numbering import STORAGE

VOID = ffi.typeof("void *")
AHEAD_NBYTES = 128 << 20  # input products that run ahead of the steps
# Where scratch belongs that is not in `stepped_forward` or `stepped_backward` itself.
PARTS_OF_LAYER = {"fragments": "persistent"} | dict.fromkeys(
    ("slices", "words", "arrivals"), "grid"
)
# Of a block that waits for another: some seconds, where steps take microseconds. On an H100 a
# poll takes 0.7 us in a grid, and 4 us at the barrier of a cluster.
GRID_POLL_LIMIT, CLUSTER_POLL_LIMIT = 1 << 22, 1 << 19


class Engine(Protocol):
    """What launches, multiplies and has memory: a device, or the host."""

    def choose(self, layer: Layer, directions: int, layers: int, *, backward: bool) -> Choice:
        """What is to run the steps of so many directions of a layer, or layers, in one pass."""

    def kernels(self, layer: Layer, choice: Choice, *, backward: bool) -> dict[str, int]:
        """Functions of pointwise.c, states.c, project.c and recurrent_mask.c for a layer's cell,
        dtype and gate order, by name, of operand.c for a cell with a late gate, and of
        persistent/steps.cu, a grid's or a cluster's where that was chosen, to be launched with its
        shared memory. Raises DeviceError if the device does not run at a time all blocks of the
        grid, or of one cluster."""

    @property
    def fault_address(self) -> int:
        """Of a word that a kernel makes 1 if a block has waited in vain for another."""

    def regions(self, layer: Layer, *nbytes: int) -> list[int]:
        """Addresses of scratch for a run of a layer. The contents last until the next call."""

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        """The address of an index array where kernels can read it; 0 for None."""

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        """Run a function of kernels/stepped/steps.h with what it is given for each direction."""


def pointer(address: int | None) -> Any:
    return ffi.cast(VOID, address or 0)


def real_number(config: RNNConfig) -> int:
    """The storage number of the real type."""
    return STORAGE["float64" if config.real_itemsize == 8 else "float32"]


def forward(engine: Engine, runs: Sequence[ForwardRun]) -> None:
    """As `recurrence_forward` of `core.backend`."""
    layer, choice = runs[0].layer, _choose(engine, runs, backward=False)
    kernels = engine.kernels(layer, choice, backward=False)
    calls = ffi.new("stepped_forward[]", len(runs))
    chunk_rows = _chunk_rows(layer, choice, len(runs))
    multiplies = any(run.layer.input is not None for run in runs)
    scratch = _forward_scratch(layer, choice, chunk_rows if multiplies else 0)
    _give_scratch(engine, calls, layer, scratch)
    for call, run in zip(calls, runs, strict=True):
        _fill_layer(engine, call.layer, run, choice, kernels, "forward")
        call.layer.follows = run.layer.layer != layer.layer
        _fill_forward(call, run, kernels)
        call.chunk_rows = chunk_rows
    engine.run(lib.run_forward, calls, layer)


def _choose(
    engine: Engine, runs: Sequence[ForwardRun] | Sequence[BackwardRun], *, backward: bool
) -> Choice:
    layers = len({run.layer.layer for run in runs})
    return engine.choose(runs[0].layer, len(runs) // layers, layers, backward=backward)


def _give_scratch(engine: Engine, calls: Any, layer: Layer, scratch: dict[str, int]) -> None:
    """Scratch for each run: bytes by name in kernels/stepped/steps.h; 0 is NULL."""
    regions = engine.regions(layer, *list(scratch.values()) * len(calls))
    for number, (name, nbytes) in enumerate(scratch.items()):
        for direction, call in enumerate(calls):
            part = PARTS_OF_LAYER.get(name)
            target = getattr(call.layer, part) if part else call
            address = regions[direction * len(scratch) + number] if nbytes else None
            setattr(target, name, pointer(address))


def _fill_forward(call: Any, run: ForwardRun, kernels: dict[str, int]) -> None:
    layer, config = run.layer, run.layer.config
    call.layer.apply_mask = pointer(kernels["mask_states"])
    call.masked = pointer(run.masked)
    call.pointwise = pointer(kernels["pointwise_forward"])
    if layer.input is not None:
        call.w = pointer(layer.input.address)
        call.w_out, call.w_in = layer.input.row, layer.input.column
    call.input_bias = list(map(pointer, layer.input_biases))
    call.recurrent_bias = list(map(pointer, layer.recurrent_biases))
    call.x, call.x_row = pointer(run.x.address), run.x.row
    call.x_gate = config.hidden_size if layer.takes_products else 0
    call.hx, call.cx = pointer(run.hx), pointer(run.cx)
    call.output, call.output_row = pointer(run.output.address), run.output.row
    if run.y is not None:
        call.y, call.y_row = pointer(run.y.address), run.y.row
    call.hy, call.cy = pointer(run.hy), pointer(run.cy if config.record.has_cell_state else None)
    call.cells, call.saved = pointer(run.cells), pointer(run.saved)
    call.hidden = pointer(run.hidden)
    if run.dropped is not None and call.layer.follows:
        call.drop = pointer(kernels["dropout_apply"])
        call.drop_from, call.drop_mask = pointer(run.dropped.source), pointer(run.dropped.mask)
        call.drop_scale = dropout_scale(run.dropped.rate)


def _chunk_rows(layer: Layer, choice: Choice, runs: int) -> int:
    """How many rows' input products run ahead of the steps."""
    config, sequence = layer.config, layer.sequence
    nbytes = config.num_gates * config.hidden_size * config.real_itemsize * runs
    most = max(sequence.batch_sizes, default=0)
    rows = min(sequence.rows, most * (choice.chunk_steps or sequence.steps))
    return max(most, min(rows, AHEAD_NBYTES // max(nbytes, 1)))


def _forward_scratch(layer: Layer, choice: Choice, ahead_rows: int) -> dict[str, int]:
    """Bytes of a run's scratch, by its name in kernels/stepped/steps.h; 0: none of it."""
    config, sequence = layer.config, layer.sequence
    most, real = max(sequence.batch_sizes, default=0), config.real_itemsize
    hidden_size, initial = config.hidden_size, sequence.batch * config.initial_size
    row_nbytes = config.num_gates * hidden_size * real
    return {
        "h": sequence.batch * max(config.state_size, config.initial_size) * real,
        "c": sequence.batch * hidden_size * real if config.record.has_cell_state else 0,
        "sorted": initial * config.itemsize if sequence.order and not choice.is_persistent else 0,
        "operand": most * hidden_size * config.itemsize if config.has_operand else 0,
        "masked_step": most * config.initial_size * config.itemsize if config.recurrent_mask else 0,
        "x_products": ahead_rows * row_nbytes,
        "h_products": 0 if choice.is_persistent else most * row_nbytes,
        **_persistent_scratch(choice, sequence.steps),
    }


def backward(engine: Engine, runs: Sequence[BackwardRun]) -> None:
    """As `recurrence_backward` of `core.backend`."""
    layer, choice = runs[0].layer, _choose(engine, runs, backward=True)
    kernels = engine.kernels(layer, choice, backward=True)
    calls = ffi.new("stepped_backward[]", len(runs))
    _give_scratch(engine, calls, layer, _backward_scratch(layer, choice))
    for call, run in zip(calls, runs, strict=True):
        _fill_layer(engine, call.layer, run, choice, kernels, "backward")
        call.layer.follows = run.layer.layer != layer.layer
        _fill_backward(call, run, kernels)
    engine.run(lib.run_backward, calls, layer)


def _fill_backward(call: Any, run: BackwardRun, kernels: dict[str, int]) -> None:
    call.layer.apply_mask = pointer(kernels["mask_products"])
    call.pointwise = pointer(kernels["pointwise_backward"])
    call.dy, call.dy_row = pointer(run.dy.address), run.dy.row
    if run.mask is not None:
        call.mask, call.mask_row = pointer(run.mask.address), run.mask.row
    call.scale = run.scale
    call.hx, call.cx = pointer(run.hx), pointer(run.cx)
    call.output, call.output_row = pointer(run.output.address), run.output.row
    call.cells, call.saved = pointer(run.cells), pointer(run.saved)
    call.hidden = pointer(run.hidden)
    call.dhy, call.dcy, call.dhx = pointer(run.dhy), pointer(run.dcy), pointer(run.dhx)
    call.dcx = pointer(run.dcx if run.layer.config.record.has_cell_state else None)
    call.dgates, call.dgates_row = pointer(run.dgates.address), run.dgates.row
    if run.dprojected is not None:
        call.dprojected, call.dprojected_row = pointer(run.dprojected.address), run.dprojected.row
    if run.layer.input is not None:
        call.w = pointer(run.layer.input.address)
        call.w_out, call.w_in = run.layer.input.row, run.layer.input.column
        call.inputs = input_runs(run.layer.config.record, run.layer.position)


def _backward_scratch(layer: Layer, choice: Choice) -> dict[str, int]:
    """As `_forward_scratch`."""
    config, sequence = layer.config, layer.sequence
    most, real = max(sequence.batch_sizes, default=0), config.real_itemsize
    cells = sequence.batch * config.hidden_size * real
    return {
        "dh": sequence.batch * config.state_size * real,
        "dc": cells if config.record.has_cell_state else 0,
        "products": 0 if choice.is_persistent else most * config.initial_size * real,
        "dhidden": most * config.hidden_size * real if config.has_operand else 0,
        **_persistent_scratch(choice, sequence.steps),
    }


def _fill_layer(
    engine: Engine,
    target: Any,
    run: ForwardRun | BackwardRun,
    choice: Choice,
    kernels: dict[str, int],
    pass_name: str,
) -> None:
    """The part that both passes share."""
    layer = run.layer
    config, sequence, record = layer.config, layer.sequence, layer.config.record
    target.attention = pointer(run.attention)
    target.mask = pointer(run.recurrent_mask)
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
    target.together = choice.runs
    target.chunk_steps = choice.chunk_steps or sequence.steps
    if choice.is_persistent:
        target.uploaded = ffi.cast("int64_t *", engine.upload(sequence.offsets))
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
        _fill_persistent(target.persistent, choice.residency)
    if choice.slices is not None:
        target.grid.gather = pointer(kernels["gather_slices"])
        target.grid.clear = pointer(kernels["clear_exchange"])
        target.grid.steps = pointer(kernels[f"grid_{pass_name}"])
        target.grid.fault = pointer(engine.fault_address)
        _fill_grid(target.grid, choice.slices)
    if choice.cluster is not None:
        target.grid.in_clusters = True
        target.grid.poll_limit = CLUSTER_POLL_LIMIT
        target.grid.shared_nbytes = choice.cluster.shared_nbytes


def _fill_persistent(target: Any, held: Residency) -> None:
    target.threads = THREADS
    for name in ("rows", "shared_nbytes", "tiles_per_warp"):
        setattr(target, name, getattr(held, name))


def _fill_grid(target: Any, grid: Grid) -> None:
    target.threads, target.slots, target.poll_limit = THREADS, SLOTS, GRID_POLL_LIMIT
    for name in (
        *("slices_nbytes", "shared_nbytes", "units", "parts", "copies", "rows", "row_tiles"),
        *("plane_width", "depth_tiles", "depth_per_warp", "sum_slots"),
    ):
        setattr(target, name, getattr(grid, name))


def _persistent_scratch(choice: Choice, steps: int) -> dict[str, int]:
    """Bytes of what only blocks that run many steps have, by name as in `_forward_scratch`."""
    if choice.slices is None:
        return {"fragments": choice.scratch_nbytes}
    scratch = {"slices": choice.slices.slices_nbytes}
    if choice.grid is not None:
        scratch |= {"words": choice.grid.exchange_nbytes(steps), "arrivals": 4 * choice.grid.copies}
    return scratch
