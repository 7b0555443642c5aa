"""The table of a record, for terminals and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench_record import Record, Row, best_peer, ratio, summary
from bench_sides import SIDES, TITLES
from rich import box
from rich.console import Console
from rich.table import Table

SIZES = "other sizes"
LEAST_WIDTH = 100  # of a table, so that names of shapes are not cut
TEXT = """\
# miopy and its peers on the CPU

Written by `python tools/bench.py --output`: medians in milliseconds, {dtype}, all sides with as
many threads and in turn, their results compared before. The ratio is miopy's time to the best
peer's (bold): below 1 miopy is faster. oneDNN, torch.compile and ONNX Runtime have their weights
packed beforehand; miopy packs in every call, as MIOpen's API has it. A share of the limit is the
time that the machine needs at least, for the products at its peak or to read the recurrent weights
at every step, of miopy's. On a matrix unit a product of floats counts as six of bfloat16.
"""
OF_BFLOAT16 = """\
miopy runs through its core, as MIOpen's functions refuse the type; oneDNN only forward, as its
gradients of weights are float32. All are compared with miopy in float32: whose results are further
away than rounding explains is wrong, and not timed.
"""
OF_KEPT = """\
The processor has more instructions than those of {isa}, to which all sides were kept; who cannot
be, {others}, is left out.
"""
OF_BESIDE = """\
Meanwhile {count} other {programs} busy without pause, and no turn that this disturbed is left out.
The machine's limits are those without.
"""
# By what follows a record's name in those of its plots.
PLOTS = {
    "": "Speed-up of miopy over each peer, shape by shape",
    "-roofline": "Speed of each row beside the machine's limits",
    "-scaling": "Time by each size of a network",
}
UNKEPT = " and ".join(side.title for side in SIDES.values() if side.is_default and not side.is_kept)


def headings(record: Record) -> list[str]:
    sides = [TITLES[side] for side in record.sides()]
    return ["shape", "pass", *(f"{title} ms" for title in sides), "ratio", "of limit"]


def cells(record: Record, row: Row, bold: str) -> list[str]:
    """The entries of a row; `bold` is a template for the best peer's."""
    best, figures = best_peer(row), []
    for side in record.sides():
        text = "wrong" if side in row.get("wrong", {}) else "-"
        text = f"{row['ms'][side]:.3g}" if side in row["ms"] else text
        figures.append(bold.format(text) if side == best else text)
    found, share = ratio(row), record.of_limit(row)
    figures += ["-" if found is None else f"{found:.2f}", "-" if share is None else f"{share:.0%}"]
    return [row["name"], row["mode"], *figures]


def title(record: Record) -> str:
    machine = dict(record.machine)
    threads = machine.pop("threads")
    start = f"{machine.pop('cpu')}, {threads} threads, {machine.pop('date')}"
    if dtype := machine.pop("dtype", ""):
        start += f", {dtype}"
    return ", ".join([start, *(f"{name} {version}" for name, version in machine.items())])


def print_table(record: Record) -> None:
    """A section per pass, and behind them those of one network's sizes."""
    names = headings(record)
    groups = {"": record.table_rows(), SIZES + ", ": record.scaling_rows()}
    sections = {
        group + mode: [row for row in rows if row["mode"] == mode]
        for group, rows in groups.items()
        for mode in dict.fromkeys(row["mode"] for row in rows)
    }
    table = Table(title=title(record), box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names[:1] + names[2:]:
        is_figure = name != names[0]
        heading = name.replace(" ", "\n") if is_figure else name
        table.add_column(heading, justify="right" if is_figure else "left", no_wrap=True)
    for section, rows in sections.items():
        table.add_section()
        table.add_row(f"[italic]{section}[/]")
        for row in rows:
            name, _, *figures, found, share = cells(record, row, "[bold]{}[/]")
            found = f"[bold red]{found}[/]" if (ratio(row) or 0) > 1 else found
            table.add_row(name, *figures, found, share)
    console = Console()
    console.width = max(console.width, LEAST_WIDTH)
    if sections:
        console.print(table)
    for line in summary(record):
        console.print(line, highlight=False)


def write_markdown(record: Record, path: Path) -> None:
    names = headings(record)
    lines = [
        TEXT.format(dtype=record.dtype),
        *([OF_BFLOAT16] if record.dtype == "bfloat16" else []),
        *([OF_KEPT.format(isa=record.kept_to, others=UNKEPT)] if record.kept_to else []),
        *([beside_text(record.beside)] if record.beside else []),
        f"{title(record)}.",
        "",
        *(f"- {line}" for line in summary(record)),
        *limits_text(record),
        *plots_text(path),
    ]
    titles = [""], ["", f"{SIZES.capitalize()}:", ""]
    for above, rows in zip(titles, (record.table_rows(), record.scaling_rows()), strict=True):
        if rows:
            lines += above
            lines += [markdown(names), "|---|---|" + "--:|" * (len(names) - 2)]
            lines += [markdown(cells(record, row, "**{}**")) for row in rows]
    path.write_text("\n".join([*lines, ""]))


def beside_text(count: int) -> str:
    return OF_BESIDE.format(count=count, programs="program was" if count == 1 else "programs were")


def limits_text(record: Record) -> list[str]:
    """What the limits of rows follow from."""
    if not record.limits:
        return []
    at = ", ".join(f"{gb:.0f} at {n / 2**20:.3g} MiB" for n, gb in record.limits["bandwidth"])
    return ["", f"Peak {record.limits['gflops']:.0f} GFLOP/s; reads, GB/s: {at}."]


def plots_text(path: Path) -> list[str]:
    """The plots that lie beside a record."""
    names = {f"{path.stem}{suffix}.png": text for suffix, text in PLOTS.items()}
    found = (f"![{text}]({name})" for name, text in names.items() if path.with_name(name).exists())
    return [line for plot in found for line in ("", plot)]


def markdown(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"
