"""The forward walk in reverse: gradients of x and of the initial states.

The gradients of the pre-activations stay where the plan has booked them, for backward weights. The
gradient of a layer's output needs no memory of its own: it is written where plane 0 of the layer's
dgates, or its dprojected, will stand, and each element is read before it is overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass

from .backend import Backend, BackwardRun, Layer, Matrix
from .cells import input_runs
from .config import DTYPES, SUM, RNNConfig
from .forward import Rows, columns, layer_of, packed_attention, reserved, state_address
from .placement import Placement
from .plan import Plan
from .sequence import Sequence


@dataclass(frozen=True)
class Gradients:
    """Where a plan's buffers hold what backward data leaves for backward weights."""

    plan: Plan
    workspace: int
    reserve: int

    def dgates(self, layer: int, direction: int) -> Matrix:
        """The gradients of a layer's pre-activations in one direction: (T, planes, H)."""
        config = self.plan.config
        width = config.record.num_planes * config.hidden_size
        base = self.plan.gradient(self.workspace, self.reserve, "dgates", layer)
        return Matrix(base + direction * width * config.itemsize, config.num_directions * width)

    def dprojected(self, layer: int, direction: int) -> Matrix | None:
        """The gradient of a layer's projected output in one direction: (T, P)."""
        config = self.plan.config
        if not config.projection_size:
            return None
        base = self.plan.gradient(self.workspace, self.reserve, "dprojected", layer)
        return columns(config, base, direction)

    def output(self, layer: int, direction: int) -> Matrix:
        """The gradient of the output of a layer that another reads: (T, S)."""
        return self.dprojected(layer, direction) or self.dgates(layer, direction)


def backward_data(
    plan: Plan,
    backend: Backend,
    sequence: Sequence,
    *,
    weights: Placement,
    dy: Rows,
    dhy: int | None,
    dcy: int | None,
    hx: int | None,
    cx: int | None,
    dx: Rows,
    dhx: int | None,
    dcx: int | None,
    workspace: int,
    reserve: int,
    scale: float = 1.0,
    attention: Rows | None = None,
    dattention: Rows | None = None,
    recurrent_mask: int | None = None,
) -> None:
    """Gradients of x, hx and cx from those of y, hy and cy.

    dy           as y of forward, read
    dhy, dcy     (L*D, N, S), (L*D, N, H)  None means zeros
    hx, cx       as forward got them
    dx           (T, I)       overwritten; rows of a padded dx that hold no step stay untouched
    dhx, dcx     as hx, cx    overwritten unless None
    workspace    plan.workspace.nbytes; holds dgates afterwards
    reserve      as forward left it; only read, unless the plan keeps dgates there
    scale        1 / (1 - p) of the inter-layer dropout, in storage precision
    attention, recurrent_mask  as forward got them
    dattention   (T, 1)       overwritten, as dx, unless None
    """
    config, left = plan.config, Gradients(plan, workspace, reserve)
    top = dy.address
    if dy.index is not None:
        top = plan.workspace.address(workspace, "packed_y")
        backend.gather_rows(top, dy.address, dy.index, config.output_size * config.itemsize)
    packed_dx = dx.address
    if dx.index is not None:
        packed_dx = plan.workspace.address(workspace, "packed_x")
    taken = packed_attention(plan, backend, attention, workspace)
    together = backend.layers_at_a_time(config, sequence.batch_sizes, backward=True)
    runs: list[BackwardRun] = []
    for layer in reversed(range(config.num_layers)):
        is_top = layer == config.num_layers - 1
        for direction in range(config.num_directions):
            run = layer_of(plan, weights, sequence, layer, direction)
            output = plan.reserve.address(reserve, "outputs", layer)
            runs.append(
                BackwardRun(
                    run,
                    dy=_top(config, top, direction) if is_top else left.output(layer, direction),
                    mask=None if is_top else _mask(plan, reserve, layer, direction),
                    scale=scale,
                    hx=state_address(run, hx, config.initial_size),
                    cx=state_address(run, cx, config.hidden_size),
                    output=columns(config, output, direction),
                    cells=reserved(plan, reserve, "cells", layer, direction),
                    saved=reserved(plan, reserve, "saved", layer, direction),
                    dhy=state_address(run, dhy, config.state_size),
                    dcy=state_address(run, dcy, config.hidden_size),
                    dhx=state_address(run, dhx, config.initial_size),
                    dcx=state_address(run, dcx, config.hidden_size),
                    dgates=left.dgates(layer, direction),
                    dprojected=left.dprojected(layer, direction),
                    hidden=reserved(plan, reserve, "hidden", layer, direction),
                    attention=taken,
                    recurrent_mask=state_address(run, recurrent_mask, config.initial_size),
                )
            )
        if layer and len(runs) < together:
            continue
        backend.recurrence_backward(runs)
        for each in runs[-config.num_directions :]:
            _input_gradient(backend, each.layer, left, packed_dx)
        runs = []
    if config.skip_input and config.num_layers:
        _skip_gradient(backend, weights.order(config), left, packed_dx)
    if dx.index is not None:
        backend.scatter_rows(dx.address, packed_dx, dx.index, config.input_size * config.itemsize)
    if dattention is not None:
        _attention_gradient(backend, left, dattention)


def _attention_gradient(backend: Backend, left: Gradients, dattention: Rows) -> None:
    """The sum of its plane over all units, of all layers and directions."""
    plan, config = left.plan, left.plan.config
    plane = config.record.num_planes - 1
    ones = plan.workspace.address(left.workspace, "ones")
    backend.fill(ones, DTYPES[config.dtype].one, config.hidden_size)
    packed = dattention.address
    if dattention.index is not None:
        packed = plan.workspace.address(left.workspace, "packed_attention")
    for index in range(config.num_layers * config.num_directions):
        dgates = left.dgates(*divmod(index, config.num_directions))
        units = Matrix(dgates.address + plane * config.hidden_size * config.itemsize, dgates.row)
        shape = (plan.rows, 1, config.hidden_size)
        total = Matrix(packed, 1)
        backend.gemm(config.dtype, total, units, Matrix(ones, 1), shape, accumulate=index > 0)
    if dattention.index is not None:
        backend.scatter_rows(dattention.address, packed, dattention.index, config.itemsize)


def _top(config: RNNConfig, dy: int, direction: int) -> Matrix:
    """The part of dy that a direction gets; of a sum, all."""
    if config.direction == SUM:
        return Matrix(dy, config.state_size)
    return columns(config, dy, direction)


def _mask(plan: Plan, reserve: int, layer: int, direction: int) -> Matrix | None:
    """The dropout mask of a direction's half of a layer's output, one byte per element."""
    config = plan.config
    if "mask" not in plan.reserve.regions:
        return None
    base = plan.reserve.address(reserve, "mask", layer)
    return Matrix(base + direction * config.state_size, config.layer_output_size)


def _input_gradient(backend: Backend, run: Layer, left: Gradients, dx: int) -> None:
    """The gradient of what a layer reads: of x, or of the output of the layer below, which both
    directions add to unless each has its own. Not of x that a layer adds: see _skip_gradient."""
    config, direction = run.config, run.direction
    if run.layer == 0:
        target = Matrix(dx, config.input_size)
        if config.has_input_matrices:
            _times_weights(backend, run, left, target, 0, config.input_size, direction > 0)
        elif config.given_products:
            _product_gradient(backend, run, left, dx)
        return
    below = [direction] if config.independent else range(config.num_directions)
    adds = direction > 0 and not config.independent
    for part, source in enumerate(below):
        target, count = left.output(run.layer - 1, source), config.state_size
        _times_weights(backend, run, left, target, part * count, count, adds)


def _times_weights(
    backend: Backend,
    run: Layer,
    left: Gradients,
    target: Matrix,
    first: int,
    count: int,
    accumulate: bool,
) -> None:
    """target (T, count) = dgates times columns [first, first + count) of the input matrices; +=
    with `accumulate`."""
    config, dgates = run.config, left.dgates(run.layer, run.direction)
    assert run.input is not None
    for gate, plane, gates in input_runs(config.record, run.position):
        backend.gemm(
            config.dtype,
            target,
            Matrix(dgates.address + plane * config.hidden_size * config.itemsize, dgates.row),
            gate_rows(config, run.input, gate, first),
            (left.plan.rows, count, gates * config.hidden_size),
            accumulate=accumulate,
        )
        accumulate = True


def gate_rows(config: RNNConfig, matrix: Matrix, gate: int, column: int = 0) -> Matrix:
    """The matrices from layout gate `gate` on, one row per output unit, from a column on."""
    offset = gate * config.hidden_size * matrix.row + column * matrix.column
    return Matrix(matrix.address + offset * config.itemsize, matrix.row, matrix.column)


def _skip_gradient(backend: Backend, position: tuple[int, ...], left: Gradients, dx: int) -> None:
    """x was added to every gate of both directions, so its gradient is the sum of theirs."""
    config = left.plan.config
    width = config.record.num_planes * config.hidden_size
    planes = []
    for direction in range(config.num_directions):
        for _, plane, count in input_runs(config.record, position):
            planes += [direction * width + (plane + i) * config.hidden_size for i in range(count)]
    rows, target = left.plan.rows, Matrix(dx, config.input_size)
    dgates = left.dgates(0, 0)
    backend.plane_sums(config.dtype, target, dgates, rows, config.hidden_size, planes)


def _product_gradient(backend: Backend, run: Layer, left: Gradients, dx: int) -> None:
    """x was the input products of every gate, so its gradient is theirs."""
    config, dgates = run.config, left.dgates(0, run.direction)
    hidden = config.hidden_size
    for gate, plane, count in input_runs(config.record, run.position):
        column = (run.direction * config.num_gates + gate) * hidden * config.itemsize
        target, columns = Matrix(dx + column, config.input_size), count * hidden
        rows, first = left.plan.rows, [plane * hidden]
        backend.plane_sums(config.dtype, target, dgates, rows, columns, first)
