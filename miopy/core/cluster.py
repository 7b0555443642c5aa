"""How the blocks of a cluster share a recurrent matrix, see kernels/persistent/cluster_exchange.h.

A cluster is the `parts` blocks of a grid (grid.py), which exchange what they multiply through their
own shared memory; each takes sequences of its own. `best` finds the fastest way by an estimate, a
pure function of its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from .config import RNNConfig
from .grid import FOLDS, LARGE_NBYTES, TILE_COLUMNS, TILE_DEPTH_NBYTES, Grid, GridProducts

DTYPES = ("float16", "bfloat16")
SIZES = (2, 4, 8, 16)  # blocks of a cluster
# Of kernels/persistent/cluster_exchange.h.
SLOTS, MOST_ROW_TILES, PUSHED_UNITS = 2, 16, 8
BARRIER_NBYTES = 8

# Cycles of one step, fitted to what an H200 and an H100 took, as in grid.py; see `Cluster.cycles`.
EXCHANGE_CYCLES = 300, 8  # and for each plane that is pushed to each block
ROW_TILE_CYCLES = 2300, 2800
DEPTH_CYCLES, COLUMN_CYCLES = 100, 50
LATE_CYCLES = 3000  # of loading what a cell is given only when its products are there

# As many tiles in registers as leave room for the cell, on every target.
FORWARD = {  # by gates
    1: (GridProducts(4, 16), GridProducts(8, 14)),
    3: (
        *(GridProducts(3, 16), GridProducts(6, 16), GridProducts(9, 14)),
        GridProducts(12, 25, places=1, column_warps=2),
    ),
    4: (
        *(GridProducts(4, 16), GridProducts(8, 16), GridProducts(12, 12)),
        GridProducts(14, 25, places=1, column_warps=2, tile_rows=7),
    ),
}
BACKWARD = (
    *(GridProducts(1, 16), GridProducts(2, 16), GridProducts(3, 18)),
    GridProducts(3, 22, places=1),
)


@dataclass(frozen=True)
class Cluster:
    """A layer on clusters.

    slices      the same as a grid, whose copies are the clusters and whose size is rounded up
    at_a_time   clusters that the device runs, as far as can be told
    """

    slices: Grid
    at_a_time: int

    def together(self, runs: int) -> Cluster:
        """So many of these in one launch, each with a share of the device."""
        return Cluster(replace(self.slices, runs=runs), self.at_a_time * runs)

    @property
    def shared_nbytes(self) -> int:
        """Of a block."""
        tile_rows = self.slices.products.tile_rows
        row_tile = self.slices.depth_tiles * tile_rows * TILE_DEPTH_NBYTES + BARRIER_NBYTES
        return self.slices.shared_nbytes + SLOTS * self.slices.row_tiles * row_tile

    @property
    def cycles(self) -> float:
        """An estimate of one step of all sequences of a run; those of a launch share its time."""
        slices, runs = self.slices, self.slices.runs
        of_tile = ROW_TILE_CYCLES[slices.planes > 1]
        columns = COLUMN_CYCLES * slices.products.warp_tiles
        of_tile += slices.depth_per_warp * (DEPTH_CYCLES + columns)
        of_tile += LATE_CYCLES if slices.products.is_large else 0
        turns = -(-slices.copies * runs // self.at_a_time)
        exchange = EXCHANGE_CYCLES[0] + EXCHANGE_CYCLES[1] * slices.planes * slices.parts
        return turns * (exchange + slices.row_tiles * of_tile) / runs


def at_a_time(multiprocessors: int, size: int) -> int:
    """Clusters that a device runs: not across its groups of up to 18 multiprocessors each."""
    return max(1, multiprocessors // (size + size // 8))


@lru_cache(maxsize=1024)
def best(
    config: RNNConfig,
    batch: int,
    multiprocessors: int,
    most_blocks: int,
    shared_nbytes: int,
    backward: bool,
    directions: int = 1,
) -> Cluster | None:
    """The fastest clusters by the estimate; None if none can hold the matrix.

    batch           sequences in the first step
    most_blocks     of a cluster
    shared_nbytes   that a block may have
    directions      of the layer: they share the multiprocessors, or run one after the other
    """
    limits = multiprocessors, shared_nbytes
    sizes = [size for size in SIZES if size <= min(most_blocks, multiprocessors)]
    found = [
        _of_size(config, batch, size, *limits, backward, runs)
        for runs in range(1, directions + 1)
        for size in sizes
    ]
    every = [each for each in found if each is not None]
    return min(every, key=lambda each: (each.cycles, each.slices.blocks), default=None)


def _of_size(
    config: RNNConfig,
    batch: int,
    size: int,
    multiprocessors: int,
    shared_nbytes: int,
    backward: bool,
    runs: int,
) -> Cluster | None:
    """With the fewest columns in a block, and the most sequences that fit of those for one turn."""
    hidden, gates = _pushed(config.hidden_size), config.num_gates
    units, planes = _pushed(-(-hidden // size)), gates if backward else 1
    columns = units * (1 if backward else gates)
    most = at_a_time(multiprocessors, size)
    wanted = -(-batch // max(1, most // runs))
    for products in BACKWARD if backward else FORWARD[gates]:
        if columns > products.column_tiles * TILE_COLUMNS:
            continue
        if products.is_large and shared_nbytes < LARGE_NBYTES:
            continue
        if products.is_large and runs > 1:  # whose kernels know one only
            continue
        tile_rows = products.tile_rows
        for row_tiles in range(min(MOST_ROW_TILES, -(-wanted // tile_rows)), 0, -1):
            copies = -(-batch // min(wanted, row_tiles * tile_rows))
            rows = -(-batch // copies)
            for folds in (folds for folds in FOLDS if folds <= products.depth_warps):
                slices = Grid(
                    products=products,
                    itemsize=config.itemsize,
                    hidden_size=hidden,
                    units=units,
                    parts=size,
                    copies=copies,
                    rows=rows,
                    planes=planes,
                    folds=folds,
                    runs=runs,
                )
                cluster = Cluster(slices, most)
                if cluster.shared_nbytes <= shared_nbytes:
                    return cluster
    return None


def _pushed(units: int) -> int:
    """Units are pushed so many at a time."""
    return -(-units // PUSHED_UNITS) * PUSHED_UNITS
