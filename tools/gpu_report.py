"""What gpu_check leaves behind: a table in Markdown, a plot, and the same in short to look at."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from bench_shapes import MODES

EMULATED = "EMULATED on a CPU: shows that the checks run, and nothing about any GPU"
CONTENDERS = (
    *("miopy", "miopy graph", "stepwise", "stepwise graph"),
    *("grid", "grid graph", "cluster", "cluster graph", "layerwise", "layerwise graph"),
    *("torch", "torch graph"),
)

Record = dict[str, Any]


def title(record: Record) -> str:
    name = f"gpu_check on {record['device']}, {record['date']}"
    return f"{name} - {EMULATED}" if record["emulated"] else name


def timings(record: Record) -> list[dict[str, Any]]:
    return [row for part in record["parts"] for row in part["rows"] if "milliseconds" in row]


def failures(record: Record) -> list[str]:
    found = []
    for part in record["parts"]:
        for row in part["rows"]:
            if row.get("passed") is False:
                found.append(f"{part['name']}: {row['name']}: {row.get('detail', '')}")
        if part["status"] not in ("complete", "out of time", "not reached"):
            found.append(f"{part['name']}: {part['status']}")
    return found


def skipped(record: Record) -> list[str]:
    return [
        f"{part['name']}: {row['name']}: {row['skipped']}"
        for part in record["parts"]
        for row in part["rows"]
        if "skipped" in row
    ]


def markdown(record: Record) -> str:
    verdict = "passed" if record["passed"] else "FAILED"
    lines = [f"# {title(record)}", "", f"Checks: **{verdict}**. Commit {record['commit']}, "]
    lines[-1] += f"sources {record['sources']}, {record['seconds']:.0f} s."
    facts = record["parts"][0]["rows"]
    lines += ["", *(f"- {row['name']}: {row['detail']}" for row in facts if "detail" in row)]
    lines += ["", "| part | reached | status | seconds |", "|---|---|---|---|"]
    for part in record["parts"]:
        reached = f"{part['done']} of {part['total'] or '?'}"
        lines.append(f"| {part['name']} | {reached} | {part['status']} | {part['seconds']:.0f} |")
    for heading, entries in (("Failures", failures(record)), ("Skipped", skipped(record))):
        if entries:
            lines += ["", f"## {heading}", "", *(f"- {entry}" for entry in entries)]
    return "\n".join([*lines, *benchmark_table(record), ""])


def benchmark_table(record: Record) -> list[str]:
    rows = timings(record)
    if not rows:
        return []
    lines = ["", "## Milliseconds, medians", ""]
    lines += [
        "The ratio is that of the faster forms, miopy to torch: below 1, miopy is faster. All"
    ]
    lines += ["run on data that the caches may hold, in turn on one stream.", ""]
    lines += [f"| shape | type | mode | {' | '.join(CONTENDERS)} | ratio |"]
    lines += ["|---|---|---|" + "---:|" * (len(CONTENDERS) + 1)]
    for row in rows:
        times = [row["milliseconds"].get(name) for name in CONTENDERS]
        cells = [f"{ms:.3g}" if ms else "-" for ms in times]
        cells.append(f"{row['ratio']:.2f}" if row["ratio"] else "-")
        lines.append(f"| {row['shape']} | {row['dtype']} | {row['mode']} | {' | '.join(cells)} |")
    return [*lines, "", *(f"- {line}" for line in summary(record))]


def summary(record: Record) -> list[str]:
    """A line per type and mode."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in timings(record):
        if row["ratio"]:
            groups.setdefault((row["dtype"], row["mode"]), []).append(row["ratio"])
    return [
        f"{dtype} {mode}: ratio {statistics.geometric_mean(ratios):.2f} (geometric mean of "
        f"{len(ratios)}), best {min(ratios):.2f}, worst {max(ratios):.2f}"
        for (dtype, mode), ratios in groups.items()
    ]


def plot(record: Record, path: Path) -> None:
    """How much faster than torch, per shape and type, a panel per mode."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in timings(record) if row["ratio"]]
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    size = 15, 1.5 + 0.3 * len(shapes)
    figure, panels = pyplot.subplots(1, len(MODES), sharey=True, figsize=size, layout="constrained")
    for panel, mode in zip(panels, MODES, strict=True):
        for dtype in dict.fromkeys(row["dtype"] for row in rows):
            chosen = [row for row in rows if (row["dtype"], row["mode"]) == (dtype, mode)]
            places = [shapes.index(row["shape"]) for row in chosen]
            panel.plot([1 / row["ratio"] for row in chosen], places, "o", label=dtype)
        panel.axvline(1, color="black", linewidth=1)
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:g}")
        panel.set_yticks(range(len(shapes)), shapes)
        panel.grid(axis="y", alpha=0.3)
        panel.set_title(mode)
        panel.set_xlabel("speed-up over torch (1: equal)")
    panels[0].invert_yaxis()
    panels[0].legend()
    figure.suptitle(title(record))
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
