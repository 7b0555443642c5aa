"""One shape on all sides: agreement first, then times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import bench_sides
import numpy as np
from bench_jobs import Miopy, Network, disagreement, matrices_apart
from bench_machine import busy
from bench_shapes import STEP, Shape
from bench_sides import OURS, TITLES
from bench_timing import figures, interleaved

from miopy import miopen as mi

# Over up to 200 steps; a wrong result is off by far more.
AGREE = {"float32": 1e-4, "bfloat16": 3e-2}
# A relu whose argument rounds to another side of 0 changes the gradients of a sequence, and with
# them a little of those of all weights: three of 8 million arguments were 6e-4 of these. In
# bfloat16 many more do: of three layers of 12 units and 3 sequences they were 0.25.
AGREE_OF_RELU = {"float32": 5e-3, "bfloat16": 0.3}


def time_shape(
    shape: Shape, modes: Sequence[str], sides: Sequence[str], budget: float, beside: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures of each mode, as records have them, measured beside so many busy programs.

    Ends the program where sides disagree; but in bfloat16, where floats tell who is right, a peer
    that is wrong is left out and named.
    """
    network = Network(shape, mi.miopenCreate())
    data = network.draw()
    made = {side: bench_sides.make(side, network, data) for side in sides}
    floats = Miopy(network, data) if shape.dtype != "float32" else made.get(OURS)
    for mode in modes:
        jobs = {side: job for side, each in made.items() if (job := each.job(mode))}
        compared = [side for side in jobs if made[side] is not floats and floats]
        apart = {side: difference(network, floats, made[side], mode) for side in compared}
        wrong = {side: apart[side] for side in apart if not apart[side] < agreement(shape, mode)}
        for side, found in wrong.items():
            if side == OURS or shape.dtype == "float32":
                where = f"{shape.name}, {mode}: {TITLES[side]}'s results"
                raise SystemExit(f"{where} differ by {found:.1e}, nothing is timed")
            del jobs[side]
        with busy(beside):
            times = interleaved(jobs, budget, keeps_all=bool(beside))
        row = figures(times) | {"difference": apart}
        yield mode, row | ({"wrong": wrong} if wrong else {})


def agreement(shape: Shape, mode: str) -> float:
    """What `difference` stays below."""
    bounds = AGREE_OF_RELU if shape.cell == "relu" and mode == STEP else AGREE
    return bounds[shape.dtype]


def difference(network: Network, ours: Any, theirs: Any, mode: str) -> float:
    """Relative to the size of what a pass writes. `ours` is miopy, the other may be as well."""
    mine, others = ours.results(mode), theirs.results(mode)
    apart = disagreement(mine, others)
    if mode != STEP:
        return apart
    matrices = network.arrays(mine["dw"], "torch")
    if "dw" in others:
        found = network.arrays(others["dw"], "torch").items()
        theirs_of = {name: array for name, array in found if "weight" in name}
    else:
        theirs_of = theirs.matrices()
    return float(np.max([apart, matrices_apart(matrices, theirs_of)]))  # NaN if one is
