"""Plots of a record: speed-ups by shape, the roofline, and time against each size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from bench_limits import bandwidth_of
from bench_record import Record, Row, best_peer
from bench_shapes import MIDDLE, MODES, SCALING_MODES, SWEEPS, Shape
from bench_sides import OURS, TITLES

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

# Sides are told apart by colour or by shape.
COLOURS = {
    "miopy": "black",
    "torch": "#D55E00",
    "compiled": "#E69F00",
    "unrolled": "#F0E442",
    "onednn": "#0072B2",
    "onnxruntime": "#009E73",
}
MARKERS = dict(zip(COLOURS, "osDvX^", strict=True))
MODE_COLOURS = dict(zip(MODES, ("#0072B2", "#009E73", "#D55E00"), strict=True))
SIZES = {
    "seq_len": "steps T",
    "batch": "batch B",
    "hidden_size": "units H",
    "num_layers": "layers L",
}
ROOFS_MIB = 1, 16, 64  # working sets whose bandwidth is drawn


def write_plots(record: Record, path: Path) -> None:
    """PATH.png, PATH-roofline.png and PATH-scaling.png, as far as the record has their rows."""
    for suffix, figure in figures(record):
        figure.savefig(path.with_name(f"{path.name}{suffix}.png"), dpi=120)
        pyplot.close(figure)


def figures(record: Record) -> Iterator[tuple[str, Figure]]:
    compared = [row for row in record.table_rows() if OURS in row["ms"] and best_peer(row)]
    if compared:
        yield "", speed_ups(record, compared)
        yield "-roofline", roofline(record, compared)
    if any((MIDDLE.name, mode) in record.rows for mode in SCALING_MODES):
        yield "-scaling", scaling(record)


def speed_ups(record: Record, rows: list[Row]) -> Figure:
    """Every peer's time over miopy's: a panel per pass, a line per shape."""
    modes = [mode for mode in MODES if any(row["mode"] == mode for row in rows)]
    names = list(dict.fromkeys(row["name"] for row in rows))
    size = 3.2 + 2.6 * len(modes), 1.9 + 0.27 * len(names)
    figure, axes = pyplot.subplots(
        *(1, len(modes)),
        figsize=size,
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    drawn: dict[str, Any] = {}
    for panel, mode in zip(axes[0], modes, strict=True):
        panel.axvspan(1e-9, 1, color="#D55E00", alpha=0.08, linewidth=0)
        panel.axvline(1, color="black", linewidth=1)
        for row in (row for row in rows if row["mode"] == mode):
            ours, y = row["ms"][OURS], names.index(row["name"])
            panel.plot([1, row["ms"][best_peer(row)] / ours], [y, y], color="0.6", zorder=1)
            for side in (side for side in row["ms"] if side != OURS):
                style = {"color": COLOURS[side], "marker": MARKERS[side], "edgecolor": "black"}
                x = row["ms"][side] / ours
                drawn[side] = panel.scatter(x, y, s=34, linewidth=0.5, zorder=2, **style)
        panel.set_title(mode, fontsize="medium")
        panel.grid(axis="y", color="0.92")
        panel.set_axisbelow(True)
    shown = [side / row["ms"][OURS] for row in rows for side in row["ms"].values()]
    panel.set_xscale("log", base=2)
    panel.set_xlim(min(*shown, 0.8) / 1.15, max(*shown, 1.25) * 1.15)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.set_yticks(range(len(names)), names)
    figure.supxlabel(
        "speed-up of miopy over each peer (right of 1 miopy is faster)", fontsize="medium"
    )
    order = [side for side in TITLES if side in drawn]
    figure.legend(
        *([drawn[side] for side in order], [TITLES[side] for side in order]),
        **{"loc": "outside upper left", "ncols": len(order), "fontsize": "small"},
    )
    heading(figure, record)
    return figure


def roofline(record: Record, rows: list[Row]) -> Figure:
    """Rate of products against their number per byte of recurrent weights that is read."""
    figure, panel = pyplot.subplots(figsize=(8, 6), layout="constrained")
    peak = record.limits["gflops"]
    for mode, colour in MODE_COLOURS.items():
        points = []
        for row in (row for row in rows if row["mode"] == mode):
            shape = Shape(**row["shape"])
            flops = shape.flops(mode)
            intensity = flops / (shape.recurrent_nbytes * shape.recurrences(mode))
            sides = row["ms"][OURS], row["ms"][best_peer(row)]
            points.append([intensity, *(flops / ms / 1e6 for ms in sides)])
        if points:
            x, ours, theirs = np.transpose(points)
            panel.vlines(x, ours, theirs, color="0.7", linewidth=1, zorder=1)
            panel.scatter(x, theirs, s=26, facecolor="white", edgecolor=colour, zorder=2)
            panel.scatter(x, ours, s=30, color=colour, label=f"{mode}: miopy", zorder=3)
    panel.scatter([], [], s=26, facecolor="white", edgecolor="0.3", label="best peer")
    panel.set_xscale("log", base=2)
    left, right = panel.get_xlim()
    reach = np.geomspace(left, right, 300)
    for mib, style in zip(ROOFS_MIB, ("-", "--", ":"), strict=True):
        bandwidth = bandwidth_of(record.limits, mib << 20)
        label = f"reads at {bandwidth:.0f} GB/s ({mib} MiB)"
        roof = np.minimum(reach * bandwidth, peak)
        panel.plot(reach, roof, style, color="black", linewidth=1.2, label=label, zorder=0)
    panel.set_yscale("log", base=2)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter("{x:g}")
    panel.text(
        reach[-1], peak * 1.04, f"{peak:.0f} GFLOP/s, measured", ha="right", fontsize="small"
    )
    panel.set_xlim(left, right)
    panel.set_ylim(top=peak * 1.35)
    panel.set_xlabel("operations per byte of recurrent weights read")
    panel.set_ylabel("GFLOP/s")
    panel.grid(color="0.93")
    figure.legend(fontsize="small", loc="outside lower center", ncols=3)
    heading(figure, record)
    return figure


def scaling(record: Record) -> Figure:
    """Milliseconds against one size at a time, of all sides."""
    grid = {"sharey": "row", "sharex": "col", "layout": "constrained"}
    figure, axes = pyplot.subplots(len(SCALING_MODES), len(SWEEPS), figsize=(11, 6), **grid)
    for panels, mode in zip(axes, SCALING_MODES, strict=True):
        for panel, (field, sizes) in zip(panels, SWEEPS.items(), strict=True):
            curves: dict[str, list[tuple[int, float]]] = {}
            for size in sizes:
                row = record.rows.get((replace(MIDDLE, **{field: size}).name, mode), {"ms": {}})
                for side, ms in row["ms"].items():
                    curves.setdefault(side, []).append((size, ms))
            for side, points in curves.items():
                style = {"color": COLOURS[side], "marker": MARKERS[side], "markersize": 4}
                style |= {"linewidth": 2.2 if side == OURS else 1.1, "label": TITLES[side]}
                panel.plot(*np.transpose(points), zorder=3 if side == OURS else 2, **style)
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
            panel.yaxis.set_major_formatter("{x:g}")
            panel.grid(color="0.93")
        panels[0].set_ylabel(f"{mode}, ms")
    for panel, name in zip(axes[-1], SIZES.values(), strict=True):
        panel.set_xlabel(name)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    heading(figure, record, f"{MIDDLE.name}, one size changed; ")
    return figure


def heading(figure: Figure, record: Record, start: str = "") -> None:
    about = record.machine
    text = f"{start}{about['cpu']}, {about['threads']} threads, {about['date']}, {record.dtype}"
    if record.beside:
        text += f", busy programs {record.beside}"
    figure.suptitle(text, fontsize="medium", x=0.99, ha="right")
