"""How a device runs the steps of a layer: one by one, or many in one launch.

`choose` is a pure function of the device, the configuration, the shape and what was asked for. All
algorithms leave the same in the caller's buffers, but for the rounding of sums, so each pass of a
layer may choose for itself.

stepwise     a product and a kernel per step (kernels/stepped)
persistent   blocks take sequences through many steps, each with the whole recurrent matrix in its
             registers and shared memory (kernels/persistent/steps.cu)
grid         the same with all blocks of the device, which share the matrix and exchange what they
             multiply it with (kernels/persistent/grid.h)
cluster      the same with few blocks, which exchange through their shared memory; several such
             clusters take sequences of their own (kernels/persistent/cluster_exchange.h)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from ..errors import BadParam, NotSupported
from . import cluster, grid
from .blocks import TILE_NBYTES, WARPS
from .cluster import Cluster
from .config import RNNConfig
from .grid import Grid

AUTO, STEPWISE, PERSISTENT, GRID, CLUSTER = NAMES = (
    *("auto", "stepwise", "persistent"),
    *("grid", "cluster"),
)
VARIABLE = "MIOPY_RNN_ALGO"
PERSISTENT_CELLS = ("relu", "tanh", "lstm", "gru")
PERSISTENT_DTYPES = ("float32", "float16", "bfloat16")
LEAST_STEPS = 4  # fewer do not repay reading the matrix into every block
LEAST_STEPS_OF_GRID = 8
# An estimate of a step by itself, in cycles: launches, and the product on all multiprocessors.
STEP_CYCLES = 8000
STEP_OPERATIONS_PER_CYCLE, OF_TF32, OF_FLOAT32 = 2000, 1000, 200

# Of a block's matrix, see kernels/persistent/matrix.h.
TILE_COLUMNS, TILE_DEPTH_NBYTES = 32, 32
INPUT_GAP = 8  # elements between rows of inputs, for the matrix instruction


@dataclass(frozen=True)
class DeviceProperties:
    """What a choice depends on.

    multiprocessors      how many blocks run at a time
    shared_nbytes        shared memory that a block may have
    matrix_instruction   dtypes for which it has the instruction of kernels/persistent/block.h
    cluster_blocks       that a cluster may have; 0: it knows no clusters
    allows_tf32          whether factors of float32 may be rounded to TF32
    """

    multiprocessors: int
    shared_nbytes: int
    matrix_instruction: tuple[str, ...] = ()
    cluster_blocks: int = 0
    allows_tf32: bool = False


@dataclass(frozen=True)
class Products:
    """How a persistent kernel multiplies.

    matrix_instruction   by that instruction, or number by number
    resident             tiles that each warp keeps in registers
    most_rows            sequences in a block
    """

    matrix_instruction: bool
    resident: int
    most_rows: int


BY_INSTRUCTION = Products(True, 22, 8)
# Compilers may keep both elements of a 16-bit pair unpacked.
BY_NUMBER = {"float32": Products(False, 18, 4)} | dict.fromkeys(
    ("float16", "bfloat16"), Products(False, 8, 4)
)


@dataclass(frozen=True)
class Residency:
    """How a block of `rows` sequences holds a matrix (depth, columns).

    depth_tiles, num_tiles   along its depth, and in all
    tiles_per_warp, slots    as in kernels/persistent/matrix.h
    shared_nbytes            of a block, states and sums included
    """

    rows: int
    depth: int
    columns: int
    depth_tiles: int
    num_tiles: int
    tiles_per_warp: int
    slots: int
    shared_nbytes: int


@dataclass(frozen=True)
class Choice:
    """What runs the steps of a layer in one pass, and why.

    products, residency   of the persistent algorithm; None for the others
    grid, cluster         of the algorithms so called; None for the others
    runs                  directions or layers that one launch runs; 0 where steps run one by one
    chunk_steps           of a launch, at most; 0: all
    """

    algorithm: str
    reason: str
    products: Products | None = None
    residency: Residency | None = None
    grid: Grid | None = None
    cluster: Cluster | None = None
    runs: int = 0
    chunk_steps: int = 0

    @property
    def is_persistent(self) -> bool:
        """Whether many steps run in one launch."""
        return self.algorithm != STEPWISE

    @property
    def slices(self) -> Grid | None:
        """How blocks share the matrix, if they do."""
        return self.cluster.slices if self.cluster else self.grid

    @property
    def cycles(self) -> float:
        """An estimate of a step of a run by blocks that share the matrix."""
        shared = self.cluster or self.grid
        return shared.cycles if shared else inf

    @property
    def scratch_nbytes(self) -> int:
        """Of a device's scratch: the matrix once more, in the order in which blocks by themselves
        load it."""
        return WARPS * self.residency.tiles_per_warp * TILE_NBYTES if self.residency else 0


def asked() -> str:
    """MIOPY_RNN_ALGO: one of `NAMES`."""
    name = os.environ.get(VARIABLE) or AUTO
    if name not in NAMES:
        raise BadParam(VARIABLE, f"must be one of {', '.join(NAMES)}", name)
    return name


def products_of(device: DeviceProperties, dtype: str) -> Products:
    """A block by itself multiplies float32 number by number."""
    by_instruction = dtype in device.matrix_instruction and dtype != "float32"
    return BY_INSTRUCTION if by_instruction else BY_NUMBER[dtype]


@lru_cache(maxsize=1024)
def residency(config: RNNConfig, products: Products, rows: int, backward: bool) -> Residency:
    """Forward multiplies h with the matrices of all gates, backward the gates' gradients."""
    hidden, gates = config.hidden_size, config.num_gates * config.hidden_size
    depth, columns = (gates, hidden) if backward else (hidden, gates)
    tile_depth = TILE_DEPTH_NBYTES // config.itemsize
    depth_tiles = -(-depth // tile_depth)
    num_tiles = -(-columns // TILE_COLUMNS) * depth_tiles
    per_warp = -(-num_tiles // WARPS)
    slots = max(
        (first + depth_tiles - 1) // per_warp - first // per_warp + 1
        for first in range(0, num_tiles, depth_tiles)
    )
    if products.matrix_instruction:
        inputs = rows * (depth_tiles * tile_depth + INPUT_GAP) * config.itemsize
    else:
        inputs = products.most_rows * depth_tiles * tile_depth * config.real_itemsize
    states = (2 if config.record.has_cell_state else 1) * rows * hidden
    shared_nbytes = (
        WARPS * max(0, per_warp - products.resident) * TILE_NBYTES
        + inputs
        + (slots * rows * columns + states) * config.real_itemsize
    )
    return Residency(rows, depth, columns, depth_tiles, num_tiles, per_warp, slots, shared_nbytes)


@lru_cache(maxsize=1024)
def choose(
    device: DeviceProperties,
    config: RNNConfig,
    steps: int,
    batch: int,
    directions: int = 1,
    *,
    backward: bool,
    asked: str = AUTO,
) -> Choice:
    """What runs the steps of a layer in one pass.

    batch        sequences in the first step
    directions   that are run together
    asked        one of `NAMES`; raises NotSupported for one that cannot run the layer
    """
    if asked == STEPWISE:
        return Choice(STEPWISE, f"{VARIABLE} says so")
    if not batch or not config.hidden_size:
        return Choice(STEPWISE, "there is nothing to run")
    if asked == PERSISTENT:
        return _insist(_persistent(device, config, batch, directions, backward), asked)
    if asked == GRID:
        return _insist(_grid(device, config, batch, directions, backward), asked)
    if asked == CLUSTER:
        return _insist(_cluster(device, config, batch, directions, backward), asked)
    if steps < LEAST_STEPS:
        return Choice(STEPWISE, f"there are fewer than {LEAST_STEPS} steps")
    found = _persistent(device, config, batch, directions, backward)
    if found.residency is not None and batch <= found.residency.rows * device.multiprocessors:
        return found
    reason = found.reason
    if found.residency is not None:
        reason = "there are more sequences than blocks at a time take"
    shared = _shared_if_faster(device, config, steps, batch, directions, backward)
    if shared.is_persistent or shared.reason == reason:
        return shared
    return Choice(STEPWISE, f"{reason}; {shared.reason}")


def _insist(found: Choice, asked: str) -> Choice:
    if not found.is_persistent:
        raise NotSupported(VARIABLE, f"cannot be {asked}: {found.reason}", asked)
    return found


def _shared_if_faster(
    device: DeviceProperties,
    config: RNNConfig,
    steps: int,
    batch: int,
    directions: int,
    backward: bool,
) -> Choice:
    """A grid or clusters, if they can run a layer and are worth it; else stepwise, and why."""
    on_grid = _grid(device, config, batch, directions, backward)
    on_clusters = _cluster(device, config, batch, directions, backward)
    found = min(on_grid, on_clusters, key=lambda choice: choice.cycles)
    if not found.is_persistent:
        return found
    if steps < LEAST_STEPS_OF_GRID:
        return Choice(STEPWISE, f"for a grid, there are fewer than {LEAST_STEPS_OF_GRID} steps")
    operations = 2 * batch * config.num_gates * config.hidden_size**2
    per_cycle = STEP_OPERATIONS_PER_CYCLE
    if config.dtype == "float32":
        per_cycle = OF_TF32 if device.allows_tf32 else OF_FLOAT32
    alone = STEP_CYCLES + operations / (per_cycle * device.multiprocessors)
    if found.cycles < alone:
        return found
    times = f"{found.cycles / alone:.1f} times as long"
    return Choice(STEPWISE, f"a {found.algorithm} would take about {times}")


def _is_not_for_blocks(config: RNNConfig) -> str | None:
    """Why blocks cannot run many steps of a layer, whatever its size; None if they can."""
    if config.cell not in PERSISTENT_CELLS:
        return f"there is no persistent kernel for {config.cell}"
    if config.dtype not in PERSISTENT_DTYPES:
        return f"there is no persistent kernel for {config.dtype}"
    if config.projection_size or config.initial_size != config.hidden_size:
        return "there is no persistent kernel for h of another size than the cell"
    if config.recurrent_mask:
        return "there is no persistent kernel with a mask on h"
    return None


def _grid(
    device: DeviceProperties, config: RNNConfig, batch: int, directions: int, backward: bool
) -> Choice:
    """That algorithm if it can run a layer; else stepwise, and why."""
    if reason := _is_not_for_blocks(config):
        return Choice(STEPWISE, reason)
    if config.dtype not in grid.DTYPES or config.dtype not in device.matrix_instruction:
        return Choice(STEPWISE, f"this device has no matrix instruction for {config.dtype}")
    split = config.dtype == "float32" and not device.allows_tf32
    resources = batch, device.multiprocessors, device.shared_nbytes
    found = grid.best(config, *resources, backward, split, directions)
    if found is None:
        held = f"{device.multiprocessors} multiprocessors cannot hold the recurrent matrix"
        return Choice(STEPWISE, held)
    reason = _shared(found, config.dtype, split) + _of_directions(directions, found.runs)
    return Choice(GRID, reason, grid=found, runs=found.runs)


def _of_directions(directions: int, runs: int) -> str:
    """How many of them a launch runs, in words."""
    if directions == 1:
        return ""
    return "; both directions at a time" if runs > 1 else "; one direction after the other"


def _shared(found: Grid, dtype: str, split: bool) -> str:
    """What a grid does, in words."""
    blocks = f"{found.parts} blocks of {found.units} units, {found.copies} times"
    shares = found.products.shares
    columns = f", each column by {shares}" if shares > 1 else ""
    factors = ("rounded to TF32", "in two parts")[split]
    of_float = f"; factors {factors}" if dtype == "float32" else ""
    return f"{blocks} for {found.rows} sequences, share the recurrent matrix{columns}{of_float}"


def _cluster(
    device: DeviceProperties, config: RNNConfig, batch: int, directions: int, backward: bool
) -> Choice:
    """That algorithm if it can run a layer; else stepwise, and why."""
    if reason := _is_not_for_blocks(config):
        return Choice(STEPWISE, reason)
    if config.dtype not in cluster.DTYPES:
        return Choice(STEPWISE, f"there is no kernel on clusters for {config.dtype}")
    if not device.cluster_blocks:
        return Choice(STEPWISE, "this device has no clusters of blocks")
    most = device.cluster_blocks
    limits = device.multiprocessors, most, device.shared_nbytes
    found = cluster.best(config, batch, *limits, backward, directions)
    if found is None:
        return Choice(STEPWISE, f"a cluster of {most} blocks cannot hold the recurrent matrix")
    slices = found.slices
    blocks = f"{slices.copies} clusters of {slices.parts} blocks of {slices.units} units"
    reason = f"{blocks} share the recurrent matrix, each for {slices.rows} sequences"
    reason += _of_directions(directions, slices.runs)
    return Choice(CLUSTER, reason, cluster=found, runs=slices.runs)


def _persistent(
    device: DeviceProperties, config: RNNConfig, batch: int, directions: int, backward: bool
) -> Choice:
    """That algorithm if it can run a layer; else stepwise, and why."""
    if reason := _is_not_for_blocks(config):
        return Choice(STEPWISE, reason)
    products = products_of(device, config.dtype)
    # As few in a block as keep all blocks running at a time, or those of one direction.
    for together in (directions, 1):
        most = -(-batch * together // device.multiprocessors)
        held = residency(config, products, min(most, products.most_rows), backward)
        needed = (
            f"a block of {held.rows} sequences takes {held.shared_nbytes} bytes of shared memory"
        )
        if held.shared_nbytes <= device.shared_nbytes:
            return Choice(PERSISTENT, needed, products, held, runs=directions)
    return Choice(STEPWISE, f"{needed} and may have {device.shared_nbytes}")
