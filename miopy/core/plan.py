"""What a run needs besides the caller's tensors: the regions of its workspace and reserve.

A size query builds the plan and answers `nbytes`; an execution finds the same plan and slices the
caller's buffers with it. Nothing survives between calls except those buffers.

In the shapes below T is the number of packed rows (the sum of the active batch over all steps),
P the planes of the cell's pre-activations, V the planes it saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .config import RNNConfig
from .space import Space


@dataclass(frozen=True, eq=False)
class Plan:
    """The buffers of one configuration over `rows` packed rows.

    reserve     what forward training leaves for the backward passes; empty for inference
    workspace   scratch of the forward passes; from backward data to backward weights, `dgates`
    """

    config: RNNConfig
    rows: int
    reserve: Space
    workspace: Space


@lru_cache(maxsize=256)
def plan(config: RNNConfig, rows: int, *, training: bool, padded: bool = False) -> Plan:
    """The plan for `rows` packed rows; `padded` adds room to pack the caller's x and y."""
    return Plan(config, rows, _reserve(config, rows, training), _workspace(config, rows, padded))


def _reserve(config: RNNConfig, rows: int, training: bool) -> Space:
    space = Space()
    if not training:
        return space
    layers, directions, hidden = config.num_layers, config.num_directions, config.hidden_size
    cell = config.record
    # The real type first: behind it every region is naturally aligned.
    if cell.has_cell_state:
        space.book("cells", (layers, directions, rows, hidden), config.real_itemsize)
    saved = (layers, directions, rows, len(cell.saved), hidden)
    space.book("saved", saved, config.itemsize)
    space.book("outputs", (layers, rows, config.output_size), config.itemsize)
    if config.dropout:
        space.book("dropped", (layers - 1, rows, config.output_size), config.itemsize)
        space.book("mask", (layers - 1, rows, config.output_size), 1)
    return space


def _workspace(config: RNNConfig, rows: int, padded: bool) -> Space:
    space = Space()
    layers, directions, hidden = config.num_layers, config.num_directions, config.hidden_size
    dgates = (layers, rows, directions, config.record.num_planes, hidden)
    space.book("dgates", dgates, config.itemsize)
    # Inference keeps no more than the output of the layer being read and of the one written.
    outputs = (min(2, max(layers - 1, 0)), rows, config.output_size)
    space.overlay("outputs", outputs, config.itemsize, over="dgates")
    if padded:
        space.book("packed_x", (rows, config.input_size), config.itemsize)
        space.book("packed_y", (rows, config.output_size), config.itemsize)
    return space
