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
from .blocks import WARPS
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
# Estimates in cycles, fitted to what one H200 took. Of a step by itself: two launches, forward and
# backward, reading the matrix from the second cache, and the product on all multiprocessors.
STEP_CYCLES = 7000, 8500
STEP_NBYTES_PER_CYCLE = 3000
STEP_OPERATIONS_PER_CYCLE, OF_TF32, OF_FLOAT32 = 2000, 250, 50
# Of a step of blocks by themselves: besides its products, these, and reading shared memory.
BLOCK_CYCLES, OPERATIONS_PER_CYCLE, NUMBERS_PER_CYCLE = 900, 16000, 128
SHARED_PER_CYCLE = 40
LEAST_ROWS = 8  # that the matrix instruction multiplies

# Of a block's matrix, see kernels/persistent/matrix.h.
TILE_UNITS, TILE_DEPTH_NBYTES = 16, 32
TILE_NBYTES = TILE_UNITS * TILE_DEPTH_NBYTES


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
    hidden_tiles         that the units of a layer are: the kernel is compiled for them
    """

    matrix_instruction: bool
    resident: int
    most_rows: int
    hidden_tiles: int


# Sequences in a block to the tiles that each warp keeps in registers, at most; first by gates.
BY_INSTRUCTION = {
    1: {2: 36, 4: 34, 8: 24},
    3: {2: 41, 4: 34, 8: 24},
    4: {2: 36, 4: 33, 8: 24},
}
# Compilers may keep both elements of a 16-bit pair unpacked.
BY_NUMBER = {
    "float32": {1: 36, 2: 32, 4: 18},
    "float16": {1: 16, 2: 16, 4: 6},
    "bfloat16": {1: 16, 2: 16, 4: 6},
}


@dataclass(frozen=True)
class Residency:
    """How a block of `rows` sequences holds a matrix (depth, columns).

    tiles_per_warp   at most, see kernels/persistent/matrix.h
    shared_nbytes    of a block, inputs and biases included
    """

    rows: int
    depth: int
    columns: int
    tiles_per_warp: int
    shared_nbytes: int

    def cycles(self, products: Products) -> float:
        """An estimate of a step."""
        each, read = 2 * self.depth * self.columns, self.shared_nbytes / SHARED_PER_CYCLE
        if products.matrix_instruction:
            return BLOCK_CYCLES + each * LEAST_ROWS / OPERATIONS_PER_CYCLE + read
        return BLOCK_CYCLES + each * self.rows / NUMBERS_PER_CYCLE + read


@dataclass(frozen=True)
class Choice:
    """What runs the steps of a layer in one pass, and why.

    products, residency   of the persistent algorithm; None for the others
    grid, cluster         of the algorithms so called; None for the others
    runs                  directions or layers that one launch runs; 0 where steps run one by one
    turns                 that blocks by themselves take, where not all run at a time
    chunk_steps           of a launch, at most; 0: all
    """

    algorithm: str
    reason: str
    products: Products | None = None
    residency: Residency | None = None
    grid: Grid | None = None
    cluster: Cluster | None = None
    runs: int = 0
    turns: int = 1
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
        """An estimate of a step of a run; those of a launch share its time."""
        if self.residency is not None and self.products is not None:
            return self.turns * self.residency.cycles(self.products) / self.runs
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


def products_of(device: DeviceProperties, config: RNNConfig, rows: int) -> Products:
    """Of a block by itself with so many rows or more, if it can have them; it multiplies float32
    number by number."""
    by_instruction = config.dtype in device.matrix_instruction and config.dtype != "float32"
    resident = BY_INSTRUCTION[config.num_gates] if by_instruction else BY_NUMBER[config.dtype]
    most_rows = min((most for most in resident if most >= rows), default=max(resident))
    hidden_tiles = -(-config.hidden_size // TILE_UNITS)
    each = _tiles_of_units(config, hidden_tiles) * -(-hidden_tiles // WARPS)
    return Products(by_instruction, min(resident[most_rows], each), most_rows, hidden_tiles)


def _tiles_of_units(config: RNNConfig, hidden_tiles: int) -> int:
    """Of a matrix, which a warp has for each of its tiles of units."""
    return config.num_gates * hidden_tiles * TILE_UNITS * config.itemsize // TILE_DEPTH_NBYTES


@lru_cache(maxsize=1024)
def residency(config: RNNConfig, products: Products, rows: int, backward: bool) -> Residency:
    """Forward multiplies h with the matrices of all gates, backward the gates' gradients."""
    hidden, gates = config.hidden_size, config.num_gates * config.hidden_size
    depth, columns = (gates, hidden) if backward else (hidden, gates)
    units = products.hidden_tiles * TILE_UNITS
    each = _tiles_of_units(config, products.hidden_tiles)
    per_warp = [each * len(range(warp, products.hidden_tiles, WARPS)) for warp in range(WARPS)]
    others = sum(max(0, tiles - products.resident) for tiles in per_warp)
    width = units * (config.num_gates if backward else 1)
    if products.matrix_instruction:
        two_tiles = 2 * TILE_DEPTH_NBYTES // config.itemsize
        inputs = products.most_rows * (-(-width // two_tiles) | 1) * two_tiles * config.itemsize
    else:
        inputs = products.most_rows * width * config.real_itemsize
    biases = 0 if backward else config.record.num_planes * units * config.real_itemsize
    shared_nbytes = others * TILE_NBYTES + 2 * inputs + biases
    return Residency(rows, depth, columns, max(per_warp), shared_nbytes)


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
    reason = found.reason
    if found.residency is not None and batch > found.residency.rows * device.multiprocessors:
        reason = "there are more sequences than blocks at a time take"
        found = Choice(STEPWISE, reason)
    shared = _shared_if_faster(device, config, steps, batch, directions, backward)
    if found.is_persistent:
        return min(found, shared, key=lambda choice: choice.cycles)
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
    matrix_nbytes = config.num_gates * config.hidden_size**2 * config.itemsize
    alone = STEP_CYCLES[backward] + matrix_nbytes / STEP_NBYTES_PER_CYCLE
    alone += operations / (per_cycle * device.multiprocessors)
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
    # As few in a block as keep all blocks running at a time, or those of one direction.
    for together in (directions, 1):
        most = -(-batch * together // device.multiprocessors)
        products = products_of(device, config, most)
        held = residency(config, products, min(most, products.most_rows), backward)
        needed = (
            f"a block of {held.rows} sequences takes {held.shared_nbytes} bytes of shared memory"
        )
        if held.shared_nbytes <= device.shared_nbytes:
            blocks = directions * -(-batch // held.rows)
            turns = -(-blocks // device.multiprocessors)
            return Choice(PERSISTENT, needed, products, held, runs=directions, turns=turns)
    return Choice(STEPWISE, f"{needed} and may have {device.shared_nbytes}")
