"""How the blocks of a whole device share a recurrent matrix, see kernels/persistent/grid.h.

`parts` blocks keep the matrix, `units` units each; `copies` of them keep it too, each for sequences
of its own. `best` finds the fastest such grid by an estimate, a pure function of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .blocks import TILE_NBYTES, WARPS
from .config import RNNConfig

DTYPES = ("float16", "bfloat16")
TILE_ROWS, TILE_DEPTH, TILE_COLUMNS = 8, 32, 16
TILE_SUMS = 4  # between rows of sums, beyond the columns
SLOTS = 24  # of kernels/persistent/exchange.h
FOLDS = (1, 2, 4, 8)

# Cycles of one step, from published measurements of one H100; see `Grid.cycles`.
EXCHANGE_CYCLES = 1250
ROW_TILE_CYCLES = 200
OPERATIONS_PER_CYCLE = 2560  # of a multiprocessor, by the matrix instruction
INGESTED_PER_CYCLE = 23  # bytes, when all multiprocessors read
SHARED_PER_CYCLE = 128  # bytes


@dataclass(frozen=True)
class GridProducts:
    """How a block multiplies, see kernels/persistent/slice.h.

    column_tiles   of its slice of the matrix
    resident       tiles that each warp keeps in registers
    """

    column_tiles: int
    resident: int


# As many tiles in registers as leave room for the cell, on every target.
FORWARD = {  # by gates
    1: (GridProducts(2, 16), GridProducts(4, 12)),
    3: (GridProducts(2, 16), GridProducts(4, 16)),
    4: (GridProducts(2, 16), GridProducts(4, 16)),
}
BACKWARD = GridProducts(1, 16), GridProducts(2, 16)


@dataclass(frozen=True)
class Grid:
    """A layer on a grid of `copies` times `parts` blocks.

    units            of a block, an even number
    rows             sequences of a copy, at most
    planes           of the exchanged inputs: one, or a gradient for each gate
    depth_per_warp   tiles of depth that a warp has
    folds            warps whose sums share a place
    shared_nbytes    of a block
    """

    products: GridProducts
    hidden_size: int
    units: int
    parts: int
    copies: int
    rows: int
    planes: int
    folds: int

    @property
    def blocks(self) -> int:
        return self.parts * self.copies

    @property
    def row_tiles(self) -> int:
        return -(-self.rows // TILE_ROWS)

    @property
    def plane_width(self) -> int:
        return self.hidden_size + self.hidden_size % 2

    @property
    def depth_tiles(self) -> int:
        return -(-self.planes * self.plane_width // TILE_DEPTH)

    @property
    def depth_per_warp(self) -> int:
        return -(-self.depth_tiles // WARPS)

    @property
    def shared_tiles(self) -> int:
        """Of a warp, in shared memory."""
        return max(0, self.depth_per_warp * self.products.column_tiles - self.products.resident)

    @property
    def shared_nbytes(self) -> int:
        row = (self.products.column_tiles * TILE_COLUMNS + TILE_SUMS) * 4
        sums = 2 * WARPS // self.folds * TILE_ROWS * row
        return WARPS * self.shared_tiles * TILE_NBYTES + sums

    @property
    def slices_nbytes(self) -> int:
        return self.parts * WARPS * self.depth_per_warp * self.products.column_tiles * TILE_NBYTES

    def exchange_nbytes(self, steps: int) -> int:
        """Of the words that blocks exchange in so many steps."""
        tiles = self.copies * self.row_tiles * self.depth_tiles
        return min(SLOTS, steps + 1) * tiles * TILE_ROWS * TILE_DEPTH * 2

    @property
    def ingested_nbytes(self) -> int:
        """That a block reads of others in one step."""
        return self.rows * self.depth_tiles * TILE_DEPTH * 2

    @property
    def product_cycles(self) -> float:
        """An estimate of the products of one step."""
        tiles = self.products.column_tiles * self.depth_tiles
        operations = tiles * TILE_COLUMNS * TILE_DEPTH * TILE_ROWS * 2
        read = WARPS * self.shared_tiles * TILE_NBYTES
        of_tile = operations / OPERATIONS_PER_CYCLE + read / SHARED_PER_CYCLE
        return self.row_tiles * of_tile + (self.row_tiles - 1) * ROW_TILE_CYCLES

    @property
    def cycles(self) -> float:
        """An estimate of one step."""
        return EXCHANGE_CYCLES + self.product_cycles + self.ingested_nbytes / INGESTED_PER_CYCLE


@lru_cache(maxsize=1024)
def best(
    config: RNNConfig, batch: int, multiprocessors: int, shared_nbytes: int, backward: bool
) -> Grid | None:
    """The fastest grid by the estimate; None if no multiprocessors can hold the matrix.

    batch           sequences in the first step
    shared_nbytes   that a block may have
    """
    found = _grids(config, batch, multiprocessors, shared_nbytes, backward)
    return min(found, key=lambda grid: (grid.cycles, grid.blocks), default=None)


def _grids(
    config: RNNConfig, batch: int, multiprocessors: int, shared_nbytes: int, backward: bool
) -> Iterator[Grid]:
    hidden, gates = config.hidden_size, config.num_gates
    for products in BACKWARD if backward else FORWARD[gates]:
        most_units = products.column_tiles * TILE_COLUMNS // (1 if backward else gates) // 2 * 2
        parts = -(-hidden // most_units)
        if parts > multiprocessors:
            continue
        units = -(-hidden // parts)
        units += units % 2
        parts = -(-hidden // units)
        copies = min(multiprocessors // parts, -(-batch // TILE_ROWS))
        rows = -(-batch // copies)
        copies = -(-batch // rows)
        planes = gates if backward else 1
        for folds in FOLDS:
            grid = Grid(products, hidden, units, parts, copies, rows, planes, folds)
            if grid.shared_nbytes <= shared_nbytes:
                yield grid
                break
