"""What a run needs besides the caller's tensors: the regions of its workspace and reserve.

A size query builds the plan and answers `nbytes`; an execution finds the same plan and slices the
caller's buffers with it. Nothing survives between calls except those buffers.

In the shapes below T is the number of packed rows (the sum of the active batch over all steps),
P the planes of the cell's pre-activations, V the planes it saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from . import wavefront
from .algorithm import DeviceProperties
from .config import SUM, RNNConfig
from .sequence import Sequence
from .space import Space

MOST_REPLAYED_STEPS = 4096  # of all layers and directions: a graph may be a whole pass
REPLAYED_OPERATIONS = 4e9  # a step with more keeps a device busy for longer than its launches take


@dataclass(frozen=True, eq=False)
class Plan:
    """The buffers of one configuration over `rows` packed rows.

    reserve     what forward training leaves for the backward passes; empty for inference
    workspace   scratch of the forward passes; from backward data to backward weights, `dgates`,
                unless they are in the reserve
    keeps_planes   the reserve is read by others than the passes: see `core.backend.Layer`
    """

    config: RNNConfig
    rows: int
    reserve: Space
    workspace: Space
    keeps_planes: bool = False

    def gradient(self, workspace: int, reserve: int, name: str, *index: int) -> int:
        """The address of a region that backward data leaves for backward weights."""
        if name in self.workspace.regions:
            return self.workspace.address(workspace, name, *index)
        return self.reserve.address(reserve, name, *index)

    def replays(self, batch_sizes: tuple[int, ...]) -> bool:
        """Whether the steps of a layer are worth a graph when a call repeats: where launching takes
        longer than what is launched."""
        config = self.config
        operations = 2.0 * max(batch_sizes, default=0) * config.num_gates * config.hidden_size**2
        steps = len(batch_sizes)
        replayed = steps * config.num_layers * config.num_directions
        is_short = steps >= 4 and replayed <= MOST_REPLAYED_STEPS
        return is_short and operations < REPLAYED_OPERATIONS

    def explain(self, device: DeviceProperties, sequence: Sequence) -> dict[str, str]:
        """For each pass, what runs the steps of the layers on a device, and why."""
        explained = {}
        for name, backward in (("forward", False), ("backward", True)):
            stack = wavefront.stack_of(device, self.config, sequence.batch_sizes, backward=backward)
            explained[name] = wavefront.explain(stack)
        return explained


@lru_cache(maxsize=256)
def plan(
    config: RNNConfig,
    rows: int,
    *,
    training: bool,
    padded: bool = False,
    keeps_gradients: bool = False,
    keeps_planes: bool = False,
) -> Plan:
    """The plan for `rows` packed rows.

    padded            adds room to pack the caller's x and y
    keeps_gradients   backward data leaves dgates in the reserve, so that backward weights may get
                      another workspace
    keeps_planes      others than the passes read the reserve
    """
    reserve, workspace = Space(), Space()
    if training:
        _book_reserve(reserve, config, rows)
    if not keeps_gradients:
        _book_gradients(workspace, config, rows)
    elif training:
        _book_gradients(reserve, config, rows)
    if training and config.dropout:  # bytes are last: behind them nothing would be aligned
        layers, width = config.num_layers, config.layer_output_size
        reserve.book("mask", (layers - 1, rows, width), 1)
    _book_outputs(workspace, config, rows)
    if padded:
        workspace.book("packed_x", (rows, config.input_size), config.itemsize)
        workspace.book("packed_y", (rows, config.output_size), config.itemsize)
    if config.record.attention:
        workspace.book("ones", (config.hidden_size,), config.itemsize)
        if padded:
            workspace.book("packed_attention", (rows,), config.itemsize)
    return Plan(config, rows, reserve, workspace, keeps_planes)


def _book_reserve(space: Space, config: RNNConfig, rows: int) -> None:
    layers, directions, hidden = config.num_layers, config.num_directions, config.hidden_size
    cell = config.record
    # The real type first, then the storage type: every region is naturally aligned.
    if cell.has_cell_state:
        space.book("cells", (layers, directions, rows, hidden), config.real_itemsize)
    saved = (layers, directions, rows, len(cell.saved), hidden)
    space.book("saved", saved, config.itemsize)
    space.book("outputs", (layers, rows, config.layer_output_size), config.itemsize)
    if config.has_operand:
        space.book("hidden", (layers, directions, rows, hidden), config.itemsize)
    if config.recurrent_mask:
        space.book("masked", (layers, directions, rows, config.initial_size), config.itemsize)
    if config.dropout:
        space.book("dropped", (layers - 1, rows, config.layer_output_size), config.itemsize)


def _book_gradients(space: Space, config: RNNConfig, rows: int) -> None:
    layers, directions, hidden = config.num_layers, config.num_directions, config.hidden_size
    dgates = (layers, rows, directions, config.record.num_planes, hidden)
    space.book("dgates", dgates, config.itemsize)
    if config.projection_size:
        space.book("dprojected", (layers, rows, config.layer_output_size), config.itemsize)


def _book_outputs(space: Space, config: RNNConfig, rows: int) -> None:
    """Inference keeps no more than the output of the layer being read and of the one written, which
    at the top is y, unless its directions are still to be added."""
    kept = config.num_layers - (config.direction != SUM)
    shape = (min(2, max(kept, 0)), rows, config.layer_output_size)
    under = space.regions.get("dgates")
    if under is not None and under.nbytes >= prod(shape) * config.itemsize:
        space.overlay("outputs", shape, config.itemsize, over="dgates")
    else:
        space.book("outputs", shape, config.itemsize)
