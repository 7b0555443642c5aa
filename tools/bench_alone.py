"""Whether sides that take turns in one process disturb each other: `python tools/bench.py --alone`.

Each side is timed in turn with the others, and alone in a process of its own.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench_apart import time_apart
from bench_shapes import Shape
from bench_sides import TITLES
from rich.console import Console
from rich.table import Table


def medians(shape: Shape, mode: str, sides: Sequence[str], budget: float) -> dict[str, float]:
    """Milliseconds by side, of a process of their own."""
    ((_, found),) = time_apart(shape, [mode], sides, budget)
    return found["ms"]


def main(work: Sequence[tuple[Shape, str]], sides: Sequence[str], budget: float) -> int:
    """Print a table."""
    table, ratios = Table("shape", "pass", "side", title="medians, ms"), []
    for heading in ("in turn", "alone", "in turn / alone"):
        table.add_column(heading, justify="right")
    for shape, mode in work:
        together = medians(shape, mode, sides, budget)
        for side, ms in together.items():
            alone = medians(shape, mode, [side], budget / len(together))[side]
            ratios.append(ms / alone)
            figures = f"{ms:.3g}", f"{alone:.3g}", f"{ratios[-1]:.2f}"
            table.add_row(shape.name, mode, TITLES[side], *figures)
    mean = statistics.geometric_mean(ratios)
    table.caption = f"geometric mean {mean:.3f}, from {min(ratios):.2f} to {max(ratios):.2f}"
    Console().print(table)
    return 0
