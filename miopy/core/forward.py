"""The forward walk: layers, then directions; a backend runs the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .backend import Backend, Layer, Matrix
from .config import INPUT, PEEPHOLE, PROJECTION, RECURRENT, RNNConfig
from .layout import Layout
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


def layer_of(plan: Plan, layout: Layout, sequence: Sequence, layer: int, direction: int) -> Layer:
    """What a backend needs to know of one layer and direction."""
    config = plan.config
    return Layer(
        config,
        sequence,
        layer,
        direction,
        layout.block(config, layer, direction, INPUT),
        layout.block(config, layer, direction, RECURRENT),
        layout.order(config),
        layout.block(config, layer, direction, PROJECTION) if config.projection_size else None,
        layout.block(config, layer, direction, PEEPHOLE) if config.record.peepholes else None,
        plan.replays(sequence.batch_sizes),
    )


def h_address(config: RNNConfig, sequence: Sequence, state: int | None, index: int) -> int | None:
    """Row block `index` (layer * D + direction) of a tensor of hidden states (L * D, N, S)."""
    nbytes = sequence.batch * config.state_size * config.itemsize
    return None if state is None else state + index * nbytes


def c_address(config: RNNConfig, sequence: Sequence, state: int | None, index: int) -> int | None:
    """The same of cell states (L * D, N, H)."""
    nbytes = sequence.batch * config.hidden_size * config.itemsize
    return None if state is None else state + index * nbytes


def columns(config: RNNConfig, base: int, direction: int) -> Matrix:
    """The part of an output (T, D * S) that a direction writes."""
    return Matrix(base + direction * config.state_size * config.itemsize, config.output_size)


def forward(
    plan: Plan,
    backend: Backend,
    layout: Layout,
    sequence: Sequence,
    *,
    x: Rows,
    hx: int | None,
    cx: int | None,
    weights: int,
    y: Rows,
    hy: int | None,
    cy: int | None,
    workspace: int,
    reserve: int | None,
    dropout: Dropout | None = None,
    attention: Rows | None = None,
) -> None:
    """Run all layers over the whole sequence; training if `reserve` is given.

    x            (T, I)       read
    hx, cx       (L*D, N, S), (L*D, N, H)  initial states; None means zeros
    y            (T, D*S)     written; rows of a padded y that hold no step stay untouched
    hy, cy       as hx, cx    written unless None
    workspace    plan.workspace.nbytes; contents do not matter before or after
    reserve      plan.reserve.nbytes, written; None runs inference, which ignores dropout
    attention    (T, 1)       read by every layer and direction, if the cell takes it
    """
    config, last = plan.config, plan.config.num_layers - 1
    source = x.address
    if x.index is not None:
        source = plan.workspace.address(workspace, "packed_x")
        backend.gather_rows(source, x.address, x.index, config.input_size * config.itemsize)
    taken = packed_attention(plan, backend, attention, workspace)
    for layer in range(config.num_layers):
        output = _output(plan, layer, y, workspace, reserve)
        copy = y.address if layer == last and y.index is None and output != y.address else None
        for direction in range(config.num_directions):
            index = layer * config.num_directions + direction
            run = layer_of(plan, layout, sequence, layer, direction)
            backend.recurrence_forward(
                run,
                weights=weights,
                x=Matrix(source, run.input_size),
                hx=h_address(config, sequence, hx, index),
                cx=c_address(config, sequence, cx, index),
                output=columns(config, output, direction),
                y=None if copy is None else columns(config, copy, direction),
                hy=h_address(config, sequence, hy, index),
                cy=c_address(config, sequence, cy, index),
                cells=reserved(plan, reserve, "cells", layer, direction),
                saved=reserved(plan, reserve, "saved", layer, direction),
                hidden=reserved(plan, reserve, "hidden", layer, direction),
                attention=taken,
            )
        source = output
        if dropout and reserve is not None and layer < last:
            source = _drop(plan, backend, layer, output, reserve, dropout)
    if y.index is not None:
        backend.scatter_rows(y.address, output, y.index, config.output_size * config.itemsize)


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
    if layer < plan.config.num_layers - 1:
        return plan.workspace.address(workspace, "outputs", layer % 2)
    return y.address if y.index is None else plan.workspace.address(workspace, "packed_y")


def reserved(plan: Plan, reserve: int | None, name: str, *index: int) -> int | None:
    """A region of the reserve, None where there is none."""
    if reserve is None or name not in plan.reserve.regions:
        return None
    return plan.reserve.address(reserve, name, *index)


def _drop(
    plan: Plan, backend: Backend, layer: int, output: int, reserve: int, dropout: Dropout
) -> int:
    """Drop elements of a layer's output; the next layer reads the result."""
    elements = plan.rows * plan.config.output_size
    mask = plan.reserve.address(reserve, "mask", layer)
    dropped = plan.reserve.address(reserve, "dropped", layer)
    backend.dropout_mask(mask, dropout.states, elements, dropout.rate)
    if dropout.advances:
        backend.dropout_advance(dropout.states, elements)
    backend.dropout_apply(plan.config.dtype, dropped, output, mask, elements, dropout.rate)
    return dropped
