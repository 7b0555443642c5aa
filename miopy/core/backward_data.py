"""The forward walk in reverse: gradients of x and of the initial states.

The gradients of the pre-activations stay in the workspace, where backward weights finds them. The
gradient of a layer's output needs no memory of its own: it is written where plane 0 of the layer's
dgates will stand, and each element is read before it is overwritten.
"""

from __future__ import annotations

from .backend import Backend, Layer, Matrix
from .config import RNNConfig
from .forward import Rows, columns, layer_of, state_address
from .layout import Block, Layout
from .plan import Plan
from .sequence import Sequence


def dgates_of(plan: Plan, workspace: int, layer: int, direction: int) -> Matrix:
    """The gradients of a layer's pre-activations in one direction: (T, P, H)."""
    config = plan.config
    width = config.record.num_planes * config.hidden_size
    base = plan.workspace.address(workspace, "dgates", layer)
    return Matrix(base + direction * width * config.itemsize, config.num_directions * width)


def input_runs(config: RNNConfig, position: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Gates whose input planes are adjacent: (first gate in layout order, plane, how many)."""
    cell = config.record
    planes = [0] * config.num_gates
    for gate, at in enumerate(position):
        plane = cell.input_plane(gate)
        planes[at] = plane if plane >= config.num_gates else at
    runs: list[tuple[int, int, int]] = []
    for at, plane in enumerate(planes):
        if runs and plane == runs[-1][1] + runs[-1][2]:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((at, plane, 1))
    return runs


def backward_data(
    plan: Plan,
    backend: Backend,
    layout: Layout,
    sequence: Sequence,
    *,
    dy: Rows,
    dhy: int | None,
    dcy: int | None,
    hx: int | None,
    cx: int | None,
    weights: int,
    dx: Rows,
    dhx: int | None,
    dcx: int | None,
    workspace: int,
    reserve: int,
    scale: float = 1.0,
) -> None:
    """Gradients of x, hx and cx from those of y, hy and cy.

    dy           (T, D*H)     read
    dhy, dcy     (L*D, N, H)  None means zeros
    hx, cx       (L*D, N, H)  as forward got them
    dx           (T, I)       overwritten; rows of a padded dx that hold no step stay untouched
    dhx, dcx     (L*D, N, H)  overwritten unless None
    workspace    plan.workspace.nbytes; holds dgates afterwards
    reserve      as forward left it; only read
    scale        1 / (1 - p) of the inter-layer dropout, in storage precision
    """
    config = plan.config
    top = dy.address
    if dy.index is not None:
        top = plan.workspace.address(workspace, "packed_y")
        backend.gather_rows(top, dy.address, dy.index, config.output_size * config.itemsize)
    packed_dx = dx.address
    if dx.index is not None:
        packed_dx = plan.workspace.address(workspace, "packed_x")
    for layer in reversed(range(config.num_layers)):
        for direction in range(config.num_directions):
            run = layer_of(plan, layout, sequence, layer, direction)
            index = layer * config.num_directions + direction
            dgates = dgates_of(plan, workspace, layer, direction)
            is_top = layer == config.num_layers - 1
            backend.recurrence_backward(
                run,
                weights=weights,
                dy=columns(config, top, direction) if is_top else dgates,
                mask=None if is_top else _mask(plan, reserve, layer, direction),
                scale=scale,
                hx=state_address(plan, sequence, hx, index),
                cx=state_address(plan, sequence, cx, index),
                output=columns(config, plan.reserve.address(reserve, "outputs", layer), direction),
                cells=_saved(plan, reserve, "cells", layer, direction),
                saved=_saved(plan, reserve, "saved", layer, direction),
                dhy=state_address(plan, sequence, dhy, index),
                dcy=state_address(plan, sequence, dcy, index),
                dhx=state_address(plan, sequence, dhx, index),
                dcx=state_address(plan, sequence, dcx, index),
                dgates=dgates,
            )
        _input_gradient(plan, backend, layout, sequence, weights, workspace, layer, packed_dx)
    if dx.index is not None:
        backend.scatter_rows(dx.address, packed_dx, dx.index, config.input_size * config.itemsize)


def _saved(plan: Plan, reserve: int, name: str, layer: int, direction: int) -> int | None:
    if name not in plan.reserve.regions:
        return None
    return plan.reserve.address(reserve, name, layer, direction)


def _mask(plan: Plan, reserve: int, layer: int, direction: int) -> Matrix | None:
    """The dropout mask of a direction's half of a layer's output, one byte per element."""
    config = plan.config
    if "mask" not in plan.reserve.regions:
        return None
    base = plan.reserve.address(reserve, "mask", layer)
    return Matrix(base + direction * config.hidden_size, config.output_size)


def _input_gradient(
    plan: Plan,
    backend: Backend,
    layout: Layout,
    sequence: Sequence,
    weights: int,
    workspace: int,
    layer: int,
    dx: int,
) -> None:
    """The gradient of a layer's input: of x, or of the output of the layer below."""
    config = plan.config
    if layer == 0 and config.skip_input:
        _skip_gradient(plan, backend, layout, sequence, workspace, dx)
        return
    for direction in range(config.num_directions):
        run = layer_of(plan, layout, sequence, layer, direction)
        dgates = dgates_of(plan, workspace, layer, direction)
        if layer == 0:
            target = Matrix(dx, config.input_size)
            _times_weights(plan, backend, run, weights, dgates, target, 0, config.input_size)
            continue
        for below in range(config.num_directions):
            target = dgates_of(plan, workspace, layer - 1, below)
            first = below * config.hidden_size
            _times_weights(plan, backend, run, weights, dgates, target, first, config.hidden_size)


def _times_weights(
    plan: Plan,
    backend: Backend,
    run: Layer,
    weights: int,
    dgates: Matrix,
    target: Matrix,
    first: int,
    count: int,
) -> None:
    """target (T, count) += dgates times columns [first, first + count) of the input matrices.

    Direction 0 overwrites, the others add to it.
    """
    config, block = plan.config, run.input
    accumulate = run.direction > 0
    for gate, plane, gates in input_runs(config, run.position):
        depth = gates * config.hidden_size
        backend.gemm(
            config.dtype,
            target,
            Matrix(dgates.address + plane * config.hidden_size * config.itemsize, dgates.row),
            gate_rows(config, block, weights, gate, first),
            (plan.rows, count, depth),
            accumulate=accumulate,
        )
        accumulate = True


def gate_rows(config: RNNConfig, block: Block, base: int, gate: int, column: int = 0) -> Matrix:
    """The matrices from layout gate `gate` on, one row per output unit, from a column on."""
    assert block.offset is not None
    offset = block.offset + gate * block.gate_stride + column * block.in_stride
    return Matrix(base + offset * config.itemsize, block.out_stride, block.in_stride)


def _skip_gradient(
    plan: Plan, backend: Backend, layout: Layout, sequence: Sequence, workspace: int, dx: int
) -> None:
    """x was added to every gate of both directions, so its gradient is the sum of theirs."""
    config = plan.config
    width = config.record.num_planes * config.hidden_size
    planes = []
    for direction in range(config.num_directions):
        position = layout.order(config)
        for _, plane, count in input_runs(config, position):
            planes += [direction * width + (plane + i) * config.hidden_size for i in range(count)]
    dgates = dgates_of(plan, workspace, 0, 0)
    target = Matrix(dx, config.input_size)
    backend.plane_sums(config.dtype, target, dgates, plan.rows, config.hidden_size, planes)
