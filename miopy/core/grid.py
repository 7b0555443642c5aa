"""How the blocks of a whole device share a recurrent matrix, see kernels/persistent/grid.h.

`parts` blocks keep the matrix, `units` units each; `copies` of them keep it too, each for sequences
of its own. `best` finds the fastest such grid by an estimate, a pure function of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from .blocks import TILE_NBYTES, WARPS
from .config import RNNConfig

DTYPES = ("float16", "bfloat16", "float32")
MOST_TILE_ROWS, TILE_DEPTH_NBYTES, TILE_COLUMNS = 8, 64, 16
TILE_SUMS = 4  # between rows of sums, beyond the columns
LARGE_NBYTES = 227 << 10
SLOTS = 24  # of kernels/persistent/exchange.h
FOLDS = (1, 2, 4, 8)

# Cycles of one step, fitted to what an H200 and an H100 took; see `Grid.cycles`.
EXCHANGE_CYCLES = 1300
SHARE_CYCLES = 500, 300  # of exchanging sums, of a tile and of each row of it
# Of a tile of rows, forward and backward: besides its products; and of each of a warp's tiles of
# depth: besides its columns, and for each tile of these.
ROW_TILE_CYCLES = 2000, 2600
DEPTH_CYCLES = 100, 150
COLUMN_CYCLES = 85, 120
PRODUCTS_OF_PARTS = 3
INGESTED_PER_CYCLE = 23  # bytes, when all multiprocessors read


@dataclass(frozen=True)
class GridProducts:
    """How a block multiplies, see kernels/persistent/slice.h.

    column_tiles   of its slice of the matrix
    resident       tiles that each warp keeps in registers
    split          whether factors of float32 are taken in two parts, not rounded to TF32
    shares         blocks with the same columns, each of which has a share of the depth
    places         for sums; less than two are for devices with LARGE_NBYTES of shared memory for a
                   block, all of which is the matrix's but for that
    column_warps   groups of warps, each with columns of its own
    tile_rows      of a tile of inputs, of the 8 that are multiplied at a time
    """

    column_tiles: int
    resident: int
    split: bool = False
    shares: int = 1
    places: int = 2
    column_warps: int = 1
    tile_rows: int = MOST_TILE_ROWS

    @property
    def is_large(self) -> bool:
        return self.places < 2

    @property
    def depth_warps(self) -> int:
        """With the same columns, each with a share of the depth."""
        return WARPS // self.column_warps

    @property
    def warp_tiles(self) -> int:
        """Of columns, of a warp."""
        return self.column_tiles // self.column_warps


# As many tiles in registers as leave room for the cell, on every target; by gates and itemsize.
FORWARD = {
    (1, 2): (GridProducts(2, 16), GridProducts(4, 12)),
    (3, 2): (GridProducts(2, 16), GridProducts(4, 16)),
    (4, 2): (GridProducts(2, 16), GridProducts(4, 16), GridProducts(5, 22, places=1)),
    (1, 4): (GridProducts(2, 16), GridProducts(4, 12)),
    (3, 4): (GridProducts(2, 16), GridProducts(3, 16), GridProducts(4, 16)),
    (4, 4): (GridProducts(2, 16), GridProducts(3, 16), GridProducts(4, 14)),
}
ALONE = GridProducts(1, 15), GridProducts(2, 16)
SHARED = (*ALONE, GridProducts(3, 15, shares=4))
BACKWARD = {
    (1, 2): SHARED,
    (3, 2): (*SHARED, GridProducts(5, 18, shares=4, places=1)),
    (4, 2): (*SHARED, GridProducts(5, 20, shares=4, places=1)),
} | dict.fromkeys(((1, 4), (3, 4), (4, 4)), (*ALONE, GridProducts(3, 14, shares=4)))


def products(
    gates: int, itemsize: int, backward: bool, split: bool = False
) -> tuple[GridProducts, ...]:
    """The ways to multiply that there are kernels for."""
    ways = (BACKWARD if backward else FORWARD)[gates, itemsize]
    return tuple(replace(way, split=split) for way in ways)


@dataclass(frozen=True)
class Grid:
    """A layer on a grid of `copies` times `parts` blocks.

    itemsize         bytes of a number of the matrix
    units            of a block, an even number
    rows             sequences of a copy, at most
    planes           of the exchanged inputs: one, or a gradient for each gate
    depth_per_warp   tiles of depth that a warp has
    folds            warps whose sums share a place
    runs             directions or layers that one launch runs, each with blocks of its own
    shared_nbytes    of a block
    """

    products: GridProducts
    itemsize: int
    hidden_size: int
    units: int
    parts: int
    copies: int
    rows: int
    planes: int
    folds: int
    runs: int = 1

    @property
    def blocks(self) -> int:
        return self.parts * self.copies * self.runs

    @property
    def row_tiles(self) -> int:
        return -(-self.rows // self.products.tile_rows)

    @property
    def tile_depth(self) -> int:
        return TILE_DEPTH_NBYTES // self.itemsize

    @property
    def plane_width(self) -> int:
        """The hidden size, rounded up to words."""
        in_a_word = 4 // self.itemsize
        return -(-self.hidden_size // in_a_word) * in_a_word

    @property
    def depth_tiles(self) -> int:
        return -(-self.planes * self.plane_width // self.tile_depth)

    @property
    def share_tiles(self) -> int:
        """Of the depth, of one block."""
        return -(-self.depth_tiles // self.products.shares)

    @property
    def depth_per_warp(self) -> int:
        return -(-self.share_tiles // self.products.depth_warps)

    @property
    def shared_tiles(self) -> int:
        """Of a warp, in shared memory."""
        tiles = self.depth_per_warp * self.products.warp_tiles
        return max(0, tiles - self.products.resident)

    @property
    def sum_slots(self) -> int:
        """Places for the sums of warps."""
        return self.products.depth_warps // self.folds

    @property
    def place_nbytes(self) -> int:
        """Of the sums of a tile of rows."""
        row = (self.products.column_tiles * TILE_COLUMNS + TILE_SUMS) * 4
        return self.sum_slots * self.products.tile_rows * row

    @property
    def shared_nbytes(self) -> int:
        tiles = WARPS * self.shared_tiles * TILE_NBYTES
        return tiles + self.products.places * self.place_nbytes

    @property
    def slices_nbytes(self) -> int:
        return self.parts * WARPS * self.depth_per_warp * self.products.warp_tiles * TILE_NBYTES

    def exchange_nbytes(self, steps: int) -> int:
        """Of the words that blocks exchange in so many steps."""
        row = self.depth_tiles * TILE_DEPTH_NBYTES + self.sums_nbytes
        return min(SLOTS, steps + 1) * self.copies * self.row_tiles * self.products.tile_rows * row

    @property
    def sums_nbytes(self) -> int:
        """Of a row, that the blocks exchange which share the depth."""
        return self.parts * self.units * 16 if self.products.shares > 1 else 0

    @property
    def cycles(self) -> float:
        """An estimate of one step of a run; those of a launch share its time."""
        backward = self.planes > 1
        slower = PRODUCTS_OF_PARTS if self.products.split else 1
        columns = COLUMN_CYCLES[backward] * self.products.warp_tiles * slower
        of_tile = ROW_TILE_CYCLES[backward]
        of_tile += self.depth_per_warp * (DEPTH_CYCLES[backward] + columns)
        if self.products.shares > 1:
            of_tile += SHARE_CYCLES[0] + SHARE_CYCLES[1] * min(self.rows, self.products.tile_rows)
        return (EXCHANGE_CYCLES + self.row_tiles * of_tile) / self.runs


@lru_cache(maxsize=1024)
def best(
    config: RNNConfig,
    batch: int,
    multiprocessors: int,
    shared_nbytes: int,
    backward: bool,
    split: bool = False,
    directions: int = 1,
) -> Grid | None:
    """The fastest grid by the estimate; None if no multiprocessors can hold the matrix.

    batch           sequences in the first step
    shared_nbytes   that a block may have
    split           as in `GridProducts`
    directions      of the layer: they share the multiprocessors, or run one after the other
    """
    ways = products(config.num_gates, config.itemsize, backward, split)
    found = [
        replace(grid, runs=together)
        for together in range(1, directions + 1)
        for grid in _grids(
            config, batch, multiprocessors // together, shared_nbytes, backward, ways
        )
        if together == 1 or not grid.products.is_large  # whose kernels know one run only
    ]
    return min(found, key=lambda grid: (grid.cycles, grid.blocks), default=None)


def _grids(
    config: RNNConfig,
    batch: int,
    multiprocessors: int,
    shared_nbytes: int,
    backward: bool,
    ways: tuple[GridProducts, ...],
) -> Iterator[Grid]:
    hidden, gates = config.hidden_size, config.num_gates
    for way in ways:
        if way.is_large and shared_nbytes < LARGE_NBYTES:
            continue
        columns = way.column_tiles * TILE_COLUMNS // (1 if backward else gates)
        groups = -(-hidden // (columns // way.shares // 2 * 2 * way.shares))
        units = -(-hidden // (groups * way.shares))
        units += units % 2
        parts = -(-hidden // (units * way.shares)) * way.shares
        if parts > multiprocessors:
            continue
        copies = min(multiprocessors // parts, -(-batch // way.tile_rows))
        rows = -(-batch // copies)
        copies = -(-batch // rows)
        planes = gates if backward else 1
        for folds in FOLDS:
            sizes = units, parts, copies, rows, planes, folds
            grid = Grid(way, config.itemsize, hidden, *sizes)
            if grid.shared_nbytes <= shared_nbytes:
                yield grid
                break
