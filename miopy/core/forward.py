"""The forward walk: layers, then directions; a backend runs the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .backend import Backend, Dropped, ForwardRun, Layer, Matrix
from .config import SUM, RNNConfig
from .placement import Placement, placed
from .plan import Plan
from .sequence import Sequence


@dataclass(frozen=True)
class Rows:
    """The caller's x or y: packed rows at `address`, or row index[i] of a padded tensor there."""

    address: int
    index: Any = None


@dataclass(frozen=True)
class Dropout:
    """Inter-layer dropout: the rate p and the address of the random states.

    advances   whether the states go on with every mask; else all masks of a seed are the same
    """

    rate: float
    states: int
    advances: bool = False


def layer_of(
    plan: Plan, placement: Placement, sequence: Sequence, layer: int, direction: int
) -> Layer:
    """One layer in one direction, with its parameters, or the gradients of these."""
    here = placed(placement, plan.config, layer, direction)
    replays = plan.replays(sequence.batch_sizes)
    return Layer(
        *(plan.config, sequence, layer, direction, *here),
        is_replayed=replays,
        keeps_planes=plan.keeps_planes,
    )


def state_address(layer: Layer, state: int | None, size: int) -> int | None:
    """The part of a layer and direction in a tensor of states (L * D, N, size)."""
    index = layer.layer * layer.config.num_directions + layer.direction
    nbytes = layer.sequence.batch * size * layer.config.itemsize
    return None if state is None else state + index * nbytes


def columns(config: RNNConfig, base: int, direction: int) -> Matrix:
    """The part of a layer's output (T, D * S) that a direction writes."""
    offset = direction * config.state_size * config.itemsize
    return Matrix(base + offset, config.layer_output_size)


def layer_input(layer: Layer, source: int) -> Matrix:
    """What a layer reads in one direction: x, or its part of x or of the output below."""
    config = layer.config
    if layer.takes_products:
        source += layer.direction * config.num_gates * config.hidden_size * config.itemsize
    if layer.layer and config.independent:
        return columns(config, source, layer.direction)
    return Matrix(source, layer.input_size)


def forward(
    plan: Plan,
    backend: Backend,
    sequence: Sequence,
    *,
    weights: Placement,
    x: Rows,
    hx: int | None,
    cx: int | None,
    y: Rows,
    hy: int | None,
    cy: int | None,
    workspace: int,
    reserve: int | None,
    dropout: Dropout | None = None,
    attention: Rows | None = None,
    recurrent_mask: int | None = None,
) -> None:
    """Run all layers over the whole sequence; training if `reserve` is given.

    x            (T, I)       read
    hx           (L*D, N, S'), S' being the config's initial_size; None means zeros
    cx           (L*D, N, H)  as hx
    y            (T, D*S), or (T, S) of directions that are added; written, but rows of a padded y
                 that hold no step stay untouched
    hy, cy       (L*D, N, S), (L*D, N, H)  written unless None
    workspace    plan.workspace.nbytes; contents do not matter before or after
    reserve      plan.reserve.nbytes, written; None runs inference, which ignores dropout
    attention    (T, 1)       read by every layer and direction, if the cell takes it
    recurrent_mask  (L*D, N, S')  if the config has one: multiplies the states that the recurrent
                              matrices read, in every step
    """
    config, last = plan.config, plan.config.num_layers - 1
    source = x.address
    if x.index is not None:
        source = plan.workspace.address(workspace, "packed_x")
        backend.gather_rows(source, x.address, x.index, config.input_size * config.itemsize)
    taken = packed_attention(plan, backend, attention, workspace)
    together = backend.layers_at_a_time(config, sequence.batch_sizes, backward=False)
    runs: list[ForwardRun] = []
    dropped = None
    for layer in range(config.num_layers):
        output = _output(plan, layer, y, workspace, reserve)
        is_copied = layer == last and y.index is None and output != y.address
        copy = y.address if is_copied and config.direction != SUM else None
        for direction in range(config.num_directions):
            run = layer_of(plan, weights, sequence, layer, direction)
            runs.append(
                ForwardRun(
                    run,
                    x=layer_input(run, source),
                    hx=state_address(run, hx, config.initial_size),
                    cx=state_address(run, cx, config.hidden_size),
                    output=columns(config, output, direction),
                    y=None if copy is None else columns(config, copy, direction),
                    hy=state_address(run, hy, config.state_size),
                    cy=state_address(run, cy, config.hidden_size),
                    cells=reserved(plan, reserve, "cells", layer, direction),
                    saved=reserved(plan, reserve, "saved", layer, direction),
                    hidden=reserved(plan, reserve, "hidden", layer, direction),
                    attention=taken,
                    recurrent_mask=state_address(run, recurrent_mask, config.initial_size),
                    masked=reserved(plan, reserve, "masked", layer, direction),
                    dropped=dropped,
                )
            )
        source, dropped = output, None
        if dropout and reserve is not None and layer < last:
            source = plan.reserve.address(reserve, "dropped", layer)
            dropped = _draw(plan, backend, layer, output, reserve, dropout)
        if layer == last or (layer + 1) % together == 0:
            backend.recurrence_forward(runs)
            runs = []
            if dropped is not None:
                elements = plan.rows * config.layer_output_size
                backend.dropout_apply(config.dtype, source, *dropped[:2], elements, dropped.rate)
                dropped = None
    if config.direction == SUM:
        output = _add_directions(plan, backend, output, y, workspace)
    if y.index is not None:
        backend.scatter_rows(y.address, output, y.index, config.output_size * config.itemsize)


def _add_directions(plan: Plan, backend: Backend, output: int, y: Rows, workspace: int) -> int:
    """The address of the sum (T, S) of both directions of the top layer's output: a packed y, or
    what a padded one gets."""
    config, address = plan.config, y.address
    if y.index is not None:
        address = plan.workspace.address(workspace, "packed_y")
    to, source = Matrix(address, config.state_size), columns(config, output, 0)
    starts = [0, config.state_size]
    backend.plane_sums(config.dtype, to, source, plan.rows, config.state_size, starts)
    return address


def packed_attention(
    plan: Plan, backend: Backend, attention: Rows | None, workspace: int
) -> int | None:
    """The address of attention as packed rows."""
    if attention is None or attention.index is None:
        return None if attention is None else attention.address
    packed = plan.workspace.address(workspace, "packed_attention")
    backend.gather_rows(packed, attention.address, attention.index, plan.config.itemsize)
    return packed


def _output(plan: Plan, layer: int, y: Rows, workspace: int, reserve: int | None) -> int:
    """Where a layer's packed output (T, D * S) goes."""
    if reserve is not None:
        return plan.reserve.address(reserve, "outputs", layer)
    if layer < plan.config.num_layers - 1 or plan.config.direction == SUM:
        return plan.workspace.address(workspace, "outputs", layer % 2)
    return y.address if y.index is None else plan.workspace.address(workspace, "packed_y")


def reserved(plan: Plan, reserve: int | None, name: str, *index: int) -> int | None:
    """A region of the reserve, None where there is none."""
    if reserve is None or name not in plan.reserve.regions:
        return None
    return plan.reserve.address(reserve, name, *index)


def _draw(
    plan: Plan, backend: Backend, layer: int, output: int, reserve: int, dropout: Dropout
) -> Dropped:
    """What to drop of a layer's output, by a mask that is drawn here."""
    elements = plan.rows * plan.config.layer_output_size
    mask = plan.reserve.address(reserve, "mask", layer)
    backend.dropout_mask(mask, dropout.states, elements, dropout.rate)
    if dropout.advances:
        backend.dropout_advance(dropout.states, elements)
    return Dropped(output, mask, dropout.rate)
