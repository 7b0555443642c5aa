"""One shape on all sides: agreement first, then times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import bench_sides
from bench_jobs import Network, disagreement, matrices_apart
from bench_shapes import STEP, Shape
from bench_sides import OURS, TITLES
from bench_timing import figures, interleaved

from miopy import miopen as mi

# Over up to 200 steps; a wrong result is off by far more.
AGREE = {"float32": 1e-4, "bfloat16": 3e-2}
# A relu whose argument rounds to another side of 0 changes the gradients of a sequence, and with
# them a little of those of all weights: three of 8 million arguments were 6e-4 of these.
AGREE_OF_RELU = {"float32": 5e-3, "bfloat16": 0.3}


def time_shape(
    shape: Shape, modes: Sequence[str], sides: Sequence[str], budget: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures of each mode, as records have them. Ends the program where sides disagree."""
    network = Network(shape, mi.miopenCreate())
    data = network.draw()
    made = {side: bench_sides.make(side, network, data) for side in sides}
    for mode in modes:
        jobs = {side: job for side, each in made.items() if (job := each.job(mode))}
        peers = [side for side in jobs if side != OURS and OURS in jobs]
        apart = {side: difference(network, made[OURS], made[side], mode) for side in peers}
        for side, found in apart.items():
            if not found < agreement(shape, mode):
                where = f"{shape.name}, {mode}: {TITLES[side]}'s results"
                raise SystemExit(f"{where} differ by {found:.1e}, nothing is timed")
        yield mode, figures(interleaved(jobs, budget)) | {"difference": apart}


def agreement(shape: Shape, mode: str) -> float:
    """What `difference` stays below."""
    bounds = AGREE_OF_RELU if shape.cell == "relu" and mode == STEP else AGREE
    return bounds[shape.dtype]


def difference(network: Network, ours: Any, theirs: Any, mode: str) -> float:
    """Relative to the size of what a pass writes."""
    mine = ours.results(mode)
    apart = disagreement(mine, theirs.results(mode))
    if mode != STEP:
        return apart
    return max(apart, matrices_apart(network.arrays(mine["dw"], "torch"), theirs.matrices()))
