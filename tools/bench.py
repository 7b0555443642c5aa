"""Time miopy against torch on the CPU, shape by shape, and write a table, JSON and a plot.

    python tools/bench.py                      all shapes, all modes
    python tools/bench.py --only H512 --budget 3
    python tools/bench.py --output benchmarks/results/mine
    python tools/bench.py --abi              what calls from C cost beside the work
    python tools/bench.py --gemm             the matrix product alone, against NumPy's OpenBLAS

Both sides of a row run in one process, in turn (A B A B ...), so that a slow phase of the machine
hits them alike; the figures are medians. A row is timed only if the results of both sides agree.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import bench_abi
from bench_jobs import SHAPES, Miopy, Network, Shape, Torch, disagreement
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from miopy import miopen as mi

AGREE = 1e-4  # float32 over up to 200 steps; a wrong result is off by far more


def interleaved(jobs: list[Callable[[], object]], budget: float) -> list[list[float]]:
    """Milliseconds of every call; the jobs take turns until the budget of seconds is spent."""
    times: list[list[float]] = [[] for _ in jobs]
    for job in jobs:
        job()
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(times[0]) < 3:
        for job, mine in zip(jobs, times, strict=True):
            start = time.perf_counter()
            job()
            mine.append((time.perf_counter() - start) * 1e3)
            time.sleep(0.002)  # lets the other side's idle threads go to sleep
    return times


def time_shape(shape: Shape, budget: float, advance: Callable[[], None]) -> list[dict]:
    """One record per mode; raises where the two sides disagree."""
    network = Network(shape, mi.miopenCreate())
    data = network.draw()
    ours, theirs = Miopy(network, data), Torch(network, data)
    difference = disagreement(ours.results(), theirs.results())
    if not difference < AGREE:
        raise SystemExit(f"{shape.name}: results differ by {difference:.1e}, nothing is timed")
    records = []
    for mode in shape.modes:
        mine, peer = interleaved([ours.job(mode), theirs.job(mode)], budget)
        medians = statistics.median(mine), statistics.median(peer)
        records.append(
            {
                "shape": shape.name,
                "mode": mode,
                "miopy_ms": medians[0],
                "torch_ms": medians[1],
                "ratio": medians[0] / medians[1],
                "gflops": shape.flops(mode) / medians[0] / 1e6,
                "runs": len(mine),
            }
        )
        advance()
    return records


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    import numpy
    import torch

    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        name = models[0].partition(":")[2].strip() if models else name
    return {
        "cpu": name,
        "threads": torch.get_num_threads(),
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": torch.__version__,
    }


def print_table(records: list[dict], about: dict[str, object]) -> None:
    title = f"{about['cpu']}, {about['threads']} threads, torch {about['torch']}, float32, medians"
    table = Table("shape", "mode", title=title)
    for heading in ("miopy ms", "torch ms", "miopy / torch", "GFLOP/s"):
        table.add_column(heading, justify="right")
    for row in records:
        ratio = f"{row['ratio']:.2f}"
        table.add_row(
            row["shape"],
            row["mode"],
            f"{row['miopy_ms']:.3g}",
            f"{row['torch_ms']:.3g}",
            f"[bold red]{ratio}[/]" if row["ratio"] > 1 else ratio,
            f"{row['gflops']:.0f}",
        )
    mean = statistics.geometric_mean(row["ratio"] for row in records)
    worst = max(row["ratio"] for row in records)
    table.caption = f"miopy / torch: geometric mean {mean:.2f}, worst {worst:.2f}"
    Console().print(table)


def plot(records: list[dict], about: dict[str, object], path: Path) -> None:
    """Speed-up over torch per shape, one bar per mode."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shapes = list(dict.fromkeys(row["shape"] for row in records))
    modes = list(dict.fromkeys(row["mode"] for row in records))
    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.42 * len(shapes)), layout="constrained")
    height = 0.8 / len(modes)
    for i, mode in enumerate(modes):
        rows = [row for row in records if row["mode"] == mode]
        places = [shapes.index(row["shape"]) + (i - (len(modes) - 1) / 2) * height for row in rows]
        axes.barh(places, [1 / row["ratio"] - 1 for row in rows], height, left=1, label=mode)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(shapes)), shapes)
    axes.invert_yaxis()
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("speed-up over torch (1: equal)")
    axes.set_title(f"{about['cpu']}, {about['threads']} threads, {about['date']}")
    axes.legend()
    figure.savefig(path, dpi=120)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only shapes whose name contains this")
    per_row = "seconds per row (default 2); of --gemm milliseconds per product"
    parser.add_argument("--budget", type=float, default=2.0, help=per_row)
    parser.add_argument("--output", type=Path, help="write PATH.json and PATH.png or .md")
    parser.add_argument("--abi", action="store_true", help="instead: what calls from C cost")
    parser.add_argument("--gemm", action="store_true", help="instead: products against OpenBLAS")
    options = parser.parse_args(argv)
    if options.abi:
        return bench_abi.main()
    if options.gemm:
        import bench_gemm

        about = machine()
        del about["torch"]
        return bench_gemm.main(about, options.budget / 1000, options.output)
    import torch

    os.environ["MIOPY_BACKEND"] = "host"
    threads = int(os.environ.get("MIOPY_NUM_THREADS") or len(os.sched_getaffinity(0)))
    torch.set_num_threads(threads)
    shapes = [shape for shape in SHAPES if options.only in shape.name]
    if not shapes:
        names = ", ".join(shape.name for shape in SHAPES)
        parser.error(f"--only {options.only!r} matches none of: {names}")
    records: list[dict] = []
    with Progress(transient=True) as progress:
        bar = progress.add_task("timing", total=sum(len(shape.modes) for shape in shapes))
        for shape in shapes:
            progress.update(bar, description=shape.name)
            records += time_shape(shape, options.budget, lambda: progress.advance(bar))
    about = machine()
    print_table(records, about)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        record = json.dumps({"machine": about, "rows": records}, indent=1)
        options.output.with_suffix(".json").write_text(record + "\n")
        plot(records, about, options.output.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
