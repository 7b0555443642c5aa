"""How a timed row does: beside the fastest peer, the bound and the estimate of the design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gpu_limits
import gpu_shapes
from gpu_limits import Limit, Machine

PEERS = ("torch", "cudnn")
MOST_RATIO, MOST_OF_ESTIMATE = 1.0, 1.3  # the bars: to the fastest peer, to the estimate

Row = dict[str, Any]


def best(times: Mapping[str, float], *sides: str) -> tuple[str, float] | None:
    """The fastest contender of these sides, and its milliseconds."""
    of_sides = [(ms, name) for name, ms in times.items() if name.split()[0] in sides]
    return min(of_sides)[::-1] if of_sides else None


def ratio(times: Mapping[str, float]) -> float | None:
    """Of miopy to the fastest peer."""
    ours, theirs = best(times, "miopy"), best(times, *PEERS)
    return ours[1] / theirs[1] if ours and theirs else None


@dataclass(frozen=True)
class Verdict:
    """Of a row; times in milliseconds.

    peer       the fastest one and its time, if there is one
    step_us    of a step of a layer, without the products that are not part of it
    limit      of an H200 as published
    measured   the estimate with what was measured on the device
    """

    ours: float
    peer: tuple[str, float] | None
    step_us: float
    limit: Limit
    measured: float

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer[1] if self.peer else None

    @property
    def of_estimate(self) -> float:
        return self.ours / self.limit.estimate

    @property
    def missed(self) -> list[str]:
        """Bars, by name."""
        missed = ["peer"] if self.ratio is not None and self.ratio > MOST_RATIO else []
        return missed + ["estimate"] * (self.of_estimate > MOST_OF_ESTIMATE)


def is_promised(row: Row) -> bool:
    """Whether the bars are for this row above all: DeepBench and the cited shape, of 16 bits."""
    promised = (*gpu_shapes.DEEPBENCH, gpu_shapes.CITED)
    return row["dtype"] in gpu_shapes.HALVES and gpu_shapes.BY_NAME[row["shape"]] in promised


def measurements(record: Mapping[str, Any]) -> dict[str, float]:
    """What the micro-benchmarks of a record found."""
    rows = (row for part in record["parts"] for row in part["rows"])
    return {name: value for row in rows for name, value in row.get("measured", {}).items()}


def verdict(row: Row, measured: Mapping[str, float]) -> Verdict:
    shape, dtype, mode = gpu_shapes.BY_NAME[row["shape"]], row["dtype"], row["mode"]
    times = row["milliseconds"]
    ours = best(times, "miopy")
    assert ours is not None
    machine = _calibrated(tuple(sorted(measured.items())))
    steps = shape.seq_len * shape.num_layers
    products = gpu_limits.products_ms(shape, dtype, mode, machine)
    return Verdict(
        ours=ours[1],
        peer=best(times, *PEERS),
        step_us=(ours[1] - products) / steps * 1e3,
        limit=gpu_limits.of(shape, dtype, mode),
        measured=gpu_limits.of(shape, dtype, mode, machine).estimate,
    )


@lru_cache(maxsize=4)
def _calibrated(measured: tuple[tuple[str, float], ...]) -> Machine:
    return gpu_limits.calibrated(dict(measured))
