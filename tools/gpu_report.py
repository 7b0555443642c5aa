"""What gpu_check leaves behind: a table in Markdown, a plot, and the same in short to look at."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gpu_judge
from bench_shapes import MODES

EMULATED = "EMULATED on a CPU: shows that the checks run, and nothing about any GPU"
CONTENDERS = (
    *("miopy", "miopy graph", "stepwise", "stepwise graph"),
    *("grid", "grid graph", "cluster", "cluster graph", "layerwise", "layerwise graph"),
    *("torch", "torch graph", *(f"cudnn {name}" for name in ("standard", "static", "small"))),
    "cudnn dynamic",
)

HEADINGS = (
    *("miopy ms", "fastest peer ms", "ratio", "us per step", "bound ms", "estimate ms"),
    *("to bound", "to estimate", "to measured estimate", "bars"),
)
TOLD = ("limits", "waits in vain")  # parts whose rows all say something
RATIOS = """\
The ratio is that of miopy, called directly or as a graph, to the fastest of torch, torch as a graph
and cuDNN's algorithms: below 1, miopy is faster. The bound is what the hardware needs at least, the
estimate what careful kernels should, both for one H200 by published figures; the measured estimate
is by this record's micro-benchmarks. A step is without the products that do not depend on the one
before."""
BARS = f"""\
The bars are at most {gpu_judge.MOST_RATIO:g} times the fastest peer's time and
{gpu_judge.MOST_OF_ESTIMATE:g} times the estimate."""

Record = dict[str, Any]
Row = dict[str, Any]


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
        if part["status"] not in ("complete", "out of time", "not reached", "interrupted"):
            found.append(f"{part['name']}: {part['status']}")
    return found


def skipped(record: Record) -> list[str]:
    return [
        f"{part['name']}: {row['name']}: {row['skipped']}"
        for part in record["parts"]
        for row in part["rows"]
        if "skipped" in row
    ]


def facts(record: Record) -> list[dict[str, Any]]:
    """Rows about the machine, what was measured of it, and its faults."""
    told = (part for part in record["parts"] if part["name"] in ("environment", *TOLD))
    return [row for part in told for row in part["rows"] if "detail" in row]


def markdown(record: Record) -> str:
    verdict = "passed" if record["passed"] else "FAILED"
    lines = [f"# {title(record)}", "", f"Checks: **{verdict}**. Commit {record['commit']}, "]
    lines[-1] += f"sources {record['sources']}, {record['seconds']:.0f} s."
    lines += ["", *(f"- {row['name']}: {row['detail']}" for row in facts(record))]
    lines += ["", "| part | reached | status | seconds |", "|---|---|---|---|"]
    for part in record["parts"]:
        reached = f"{part['done']} of {part['total'] or '?'}"
        lines.append(f"| {part['name']} | {reached} | {part['status']} | {part['seconds']:.0f} |")
    for heading, entries in (("Failures", failures(record)), ("Skipped", skipped(record))):
        if entries:
            lines += ["", f"## {heading}", "", *(f"- {entry}" for entry in entries)]
    return "\n".join([*lines, *benchmark_table(record), ""])


def benchmark_table(record: Record) -> list[str]:
    """Ratios, then all times."""
    rows = timings(record)
    if not rows:
        return []
    return [
        *("", "## Ratios", "", RATIOS, BARS, ""),
        *ratio_table(record, rows),
        *("", *(f"- {line}" for line in summary(record))),
        *("", "## Milliseconds, medians", ""),
        "All run on data that the caches may hold, in turn on one stream, short ones several times",
        "one after the other.",
        *("", *time_table(rows)),
    ]


def ratio_table(record: Record, rows: list[Row]) -> list[str]:
    measured = gpu_judge.measurements(record)
    lines = table(("shape", "type", "mode", "steps by"), HEADINGS)
    for row in rows:
        verdict = gpu_judge.verdict(row, measured)
        peer = f"{verdict.peer[1]:.3g} {verdict.peer[0]}" if verdict.peer else "-"
        limit = verdict.limit
        cells = [row["shape"], row["dtype"], row["mode"], ", ".join(row["algorithms"])]
        cells += [f"{verdict.ours:.3g}", peer]
        cells.append(f"{verdict.ratio:.2f}" if verdict.ratio else "-")
        cells += [f"{verdict.step_us:.2f}", f"{limit.bound:.3g}", f"{limit.estimate:.3g}"]
        of_measured = verdict.ours / verdict.measured
        cells += [f"{verdict.ours / limit.bound:.2f}", f"{verdict.of_estimate:.2f}"]
        cells += [f"{of_measured:.2f}", ", ".join(verdict.missed) or "met"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def time_table(rows: list[Row]) -> list[str]:
    contenders = [name for name in CONTENDERS if any(name in row["milliseconds"] for row in rows)]
    lines = table(("shape", "type", "mode"), contenders)
    for row in rows:
        times = [row["milliseconds"].get(name) for name in contenders]
        cells = [f"{ms:.3g}" if ms else "-" for ms in times]
        lines.append(f"| {' | '.join([row['shape'], row['dtype'], row['mode'], *cells])} |")
    said = Counter(note for row in rows for note in row["notes"])
    return [*lines, "", *(f"- {note} (rows: {count})" for note, count in said.items())]


def table(texts: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """The head of a table."""
    return [
        f"| {' | '.join([*texts, *numbers])} |",
        "|---" * len(texts) + "|---:" * len(numbers) + "|",
    ]


def summary(record: Record) -> list[str]:
    """A line per type and mode, and how many rows meet the bars."""
    groups: dict[tuple[str, str], list[float]] = {}
    rows = timings(record)
    for row in rows:
        if row["ratio"]:
            groups.setdefault((row["dtype"], row["mode"]), []).append(row["ratio"])
    lines = [
        f"{dtype} {mode}: ratio {statistics.geometric_mean(ratios):.2f} (geometric mean of "
        f"{len(ratios)}), best {min(ratios):.2f}, worst {max(ratios):.2f}"
        for (dtype, mode), ratios in groups.items()
    ]
    promised = [row for row in rows if gpu_judge.is_promised(row)]
    for name, chosen in (("all", rows), ("DeepBench's and the cited, of 16 bits", promised)):
        measured = gpu_judge.measurements(record)
        met = sum(not gpu_judge.verdict(row, measured).missed for row in chosen)
        if chosen:
            lines.append(f"bars met by {met} of {len(chosen)} rows: {name}")
    return lines


def plot(record: Record, path: Path) -> None:
    """How much faster than the fastest peer, per shape and type, a panel per mode; and how much
    faster the estimate is."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in timings(record) if row["ratio"]]
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    measured = gpu_judge.measurements(record)
    size = 15, 1.5 + 0.3 * len(shapes)
    figure, panels = pyplot.subplots(1, len(MODES), sharey=True, figsize=size, layout="constrained")
    for panel, mode in zip(panels, MODES, strict=True):
        for dtype in dict.fromkeys(row["dtype"] for row in rows):
            chosen = [row for row in rows if (row["dtype"], row["mode"]) == (dtype, mode)]
            places = [shapes.index(row["shape"]) for row in chosen]
            (drawn,) = panel.plot([1 / row["ratio"] for row in chosen], places, "o", label=dtype)
            verdicts = [gpu_judge.verdict(row, measured) for row in chosen]
            aims = [verdict.of_estimate / verdict.ratio for verdict in verdicts if verdict.ratio]
            panel.plot(aims, places, "|", color=drawn.get_color(), label=f"{dtype}, estimate")
        panel.axvline(1, color="black", linewidth=1)
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:g}")
        panel.set_yticks(range(len(shapes)), shapes)
        panel.grid(axis="y", alpha=0.3)
        panel.set_ylim(len(shapes) - 0.5, -0.5)  # the first one on top
        panel.set_title(mode)
        panel.set_xlabel("speed-up over the fastest peer (1: equal)")
    if rows:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    figure.suptitle(title(record))
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
