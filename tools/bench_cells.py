"""oneDNN's cells on miopy's oneDNN functions and on the real library.

`python tools/bench.py --cells [--only "projection"] [--output PATH]`: the same program on both, in
turn, in float32. A row is timed only if what both put out agrees. A selection replaces its rows of
what PATH.json holds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_onednn import Device, Layer, Tensor
from bench_shapes import MODES, STEP, Shape
from bench_timing import figures, interleaved
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from miopy import onednn as dn

CELLS = {
    "LSTM": ("lstm", ""),
    "LSTM, peepholes": ("lstm", "weights_peephole"),
    "LSTM, projection": ("lstm", "weights_projection"),
    "GRU": ("vanilla_gru", ""),
    "AUGRU": ("augru", "augru_attention"),
    "LBR-AUGRU": ("lbr_augru", "augru_attention"),
}
SIZES = ((64, 8, 100), (256, 16, 50), (512, 64, 25), (1024, 32, 50), (512, 1, 25), (512, 16, 2))
AGREE = 1e-5  # of the largest number, both in float32
TEXT = """\
# miopy's oneDNN functions and oneDNN

Written by `python tools/bench.py --cells --output`: medians in milliseconds, float32, both sides
with as many threads and in turn, their results compared before. A projection halves h. oneDNN's
weights are packed beforehand, miopy's lie as `any` has them.
"""


class Problem(NamedTuple):
    cell: str
    hidden_size: int
    batch: int
    seq_len: int

    @property
    def name(self) -> str:
        return f"{self.cell} H{self.hidden_size} B{self.batch} T{self.seq_len}"

    @property
    def shape(self) -> Shape:
        sizes = self.hidden_size, self.batch, self.seq_len
        return Shape(CELLS[self.cell][0], *sizes)

    def draw(self) -> dict[str, np.ndarray]:
        """All tensors by oneDNN's names."""
        (kind, extra), (_, H, N, T) = CELLS[self.cell], self
        gates, P = 4 if kind == "lstm" else 3, H // 2 if "projection" in extra else H
        dims = {"src_layer": (T, N, H), "weights_layer": (1, 1, H, gates, H)}
        dims |= {"weights_iter": (1, 1, P, gates, H), "dst_layer": (T, N, P)}
        dims["bias"] = (1, 1, gates + kind.startswith("lbr"), H)
        dims |= dict.fromkeys(("src_iter", "dst_iter"), (1, 1, N, P))
        if kind == "lstm":
            dims |= dict.fromkeys(("src_iter_c", "dst_iter_c"), (1, 1, N, H))
        others = {
            "weights_peephole": (1, 1, 3, H),
            "weights_projection": (1, 1, H, P),
            "augru_attention": (T, N, 1),
        }
        dims |= {name: others[name] for name in (extra,) if name}
        rng, drawn = np.random.default_rng(0), {}
        for name, shape in dims.items():
            low, scale = 0.0 if name == "augru_attention" else -1.0, 1.0
            if name.startswith("weights"):
                scale = 1 / math.sqrt(H)
            drawn[name] = (rng.uniform(low, 1, shape) * scale).astype(np.float32)
        return drawn


class Ours:
    """miopy's functions as `onednn_library.Library` has the real ones."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(dn, name)  # type: ignore[no-any-return]

    def execution(self, primitive: Any, stream: Any, pairs: Sequence[Any]) -> Callable[[], None]:
        arguments = dict(pairs)
        return lambda: dn.dnnl_primitive_execute(primitive, stream, len(arguments), arguments)


class Side:
    """A problem on one of the two."""

    def __init__(self, device: Device, problem: Problem, values: dict[str, np.ndarray]) -> None:
        self._device, self._values = device, values
        self.tensors = {name: Tensor(device, array) for name, array in values.items()}
        self._layer = Layer(device, problem.shape, self.tensors)

    def job(self, mode: str) -> Callable[[], None]:
        forward = self._layer.forward(mode)
        if mode != STEP:
            return forward
        dy = np.ones_like(self._values["dst_layer"])
        backward = self._layer.backward(Tensor(self._device, dy))

        def step() -> None:
            forward()
            backward()

        return step

    def result(self, mode: str) -> np.ndarray:
        return self._layer.dx.values if mode == STEP else self.tensors["dst_layer"].values


def measure(problem: Problem, devices: dict[str, Device], budget: float) -> list[dict[str, Any]]:
    """A row for each pass."""
    rows, values = [], problem.draw()
    sides = {name: Side(device, problem, values) for name, device in devices.items()}
    for mode in MODES:
        jobs = {name: side.job(mode) for name, side in sides.items()}
        for job in jobs.values():
            job()
        ours, theirs = (side.result(mode) for side in sides.values())
        found = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        if not found < AGREE * problem.seq_len:
            raise SystemExit(f"{problem.name}, {mode}: results differ by {found}")
        times = figures(interleaved(jobs, budget))
        rows.append({"name": problem.name, "mode": mode, "difference": found, **times})
    return rows


def ratio(row: dict[str, Any]) -> float:
    return float(row["ms"]["miopy"] / row["ms"]["oneDNN"])


def cells_of(row: dict[str, Any]) -> list[str]:
    times = (f"{row['ms'][side]:.3g}" for side in ("miopy", "oneDNN"))
    return [row["name"], row["mode"], *times, f"{ratio(row):.2f}"]


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each pass."""
    lines = []
    for mode in MODES:
        of_mode = [row for row in rows if row["mode"] == mode]
        mean = math.exp(np.mean([math.log(ratio(row)) for row in of_mode]))
        worst = max(of_mode, key=ratio)
        lines.append(
            f"{mode}: {mean:.2f} of oneDNN's time, worst {ratio(worst):.2f} ({worst['name']}); "
            f"{sum(ratio(row) > 1 for row in of_mode)} of {len(of_mode)} above 1"
        )
    return lines


HEADINGS = ["cell and sizes", "pass", "miopy ms", "oneDNN ms", "ratio"]


def kept(about: dict[str, Any], output: Path, problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Rows that a record of the same machine has of these problems."""
    path = output.with_suffix(".json")
    record = json.loads(path.read_text()) if path.exists() else {"machine": about, "rows": []}
    if record["machine"] != about:
        raise SystemExit(f"--only: {path} was measured with {record['machine']}")
    names = {each.name for each in problems}
    return [row for row in record["rows"] if row["name"] in names]


def write(about: dict[str, Any], rows: list[dict[str, Any]], output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": about, "rows": rows}, indent=1)
    output.with_suffix(".json").write_text(text + "\n")
    lines = [TEXT, ", ".join(f"{name} {value}" for name, value in about.items()) + ".", ""]
    lines += [f"- {line}" for line in summary(rows)]
    lines += ["", f"| {' | '.join(HEADINGS)} |", "|---|---|--:|--:|--:|"]
    lines += [f"| {' | '.join(cells_of(row))} |" for row in rows]
    output.with_suffix(".md").write_text("\n".join(lines) + "\n")


def main(about: dict[str, Any], budget: float, only: list[str], output: Path | None) -> int:
    os.environ["MIOPY_ONEDNN_EXACT"] = "1"  # what oneDNN has of AUGRU's backward is no gradient
    problems = [Problem(cell, *sizes) for sizes in SIZES for cell in CELLS]
    chosen = [each for each in problems if any(text in each.name for text in only)]
    if not chosen:
        names = ", ".join(each.name for each in problems)
        raise SystemExit(f"--only {only[0]!r} matches none of: {names}")
    others = [each for each in problems if each not in chosen]
    rows = kept(about, output, others) if output and others else []
    devices = {"miopy": Device(Ours()), "oneDNN": Device()}
    for problem in track(chosen, "cells", transient=True):
        rows += measure(problem, devices, budget)
    order = {each.name: place for place, each in enumerate(problems)}
    rows.sort(key=lambda row: order[row["name"]])  # passes of a problem stay in their order
    table = Table(*(Column(heading, no_wrap=True) for heading in HEADINGS))
    for row in rows:
        table.add_row(*cells_of(row))
    Console().print(table)
    for line in summary(rows):
        print(line)
    if output:
        write(about, rows, output)
    return 0
