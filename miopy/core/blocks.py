"""Numbers that persistent kernels are compiled for: see kernels/persistent."""

from __future__ import annotations

THREADS, LANES = 256, 32
WARPS = THREADS // LANES
TILE_NBYTES = 1024  # of a matrix: what a warp loads as 8 words of each lane
