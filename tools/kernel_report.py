"""What the kernels take of a GPU, compiled for every supported architecture; needs no GPU.

    python tools/kernel_report.py           print the table
    python tools/kernel_report.py --write   and write it to benchmarks/kernels.json and kernels.md
    python tools/kernel_report.py --check   exit 1 if a kernel spills or those files differ

Registers depend on the version of the compiler, which is pinned in pyproject.toml and recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nvrtc
from rich.console import Console
from rich.table import Table

from miopy import layouts
from miopy.backends import cuda_source
from miopy.backends.cuda_source import Source
from miopy.core.cells import CELLS
from miopy.core.config import DTYPES, RNNConfig
from miopy.core.layout import Layout

ROOT = Path(__file__).resolve().parent.parent
JSON = ROOT / "benchmarks/kernels.json"
MARKDOWN = ROOT / "benchmarks/kernels.md"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

# Kernel to target to usage, for each source.
Report = dict[str, dict[str, dict[str, nvrtc.Usage]]]


def sources() -> list[Source]:
    """Every source that a backend may ask for."""
    every = [
        cuda_source.recurrence(cell, dtype, order)
        for cell in CELLS
        for order in gate_orders(cell)
        for dtype in DTYPES
    ]
    every += map(cuda_source.storage, cuda_source.STORAGE)
    return [*every, cuda_source.bytes_and_masks(), cuda_source.quantized()]


def gate_orders(cell: str) -> list[tuple[int, ...]]:
    """The orders in which vendors keep the gates of a cell."""
    config = RNNConfig(cell, 1, 1)
    vendors = [layout for layout in vars(layouts).values() if isinstance(layout, Layout)]
    return sorted({layout.order(config) for layout in vendors})


def compile_all() -> Report:
    """Raises ValueError if a source does not compile, or not to the kernels that it names."""
    jobs = [(source, target) for source in sources() for target in TARGETS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        usages = list(
            pool.map(lambda job: nvrtc.compile_source(job[0].name, job[0].text, job[1]), jobs)
        )
    report: Report = {}
    for (source, target), usage in zip(jobs, usages, strict=True):
        if set(usage) != set(source.kernels):
            raise ValueError(f"{source.name} names {source.kernels}, compiled to {list(usage)}")
        kernels = report.setdefault(source.name, {kernel: {} for kernel in source.kernels})
        for kernel in source.kernels:
            kernels[kernel][target] = usage[kernel]
    return report


def faults(report: Report) -> list[str]:
    """Kernels that keep something of a thread in memory."""
    return [
        f"{source}: {kernel} on {target}: {usage.stack} bytes of stack, {usage.spills} spilled"
        for source, kernels in report.items()
        for kernel, targets in kernels.items()
        for target, usage in targets.items()
        if usage.stack or usage.spills
    ]


def rows(report: Report) -> list[list[str]]:
    """One per kernel: source, kernel, shared memory, registers on each target."""
    return [
        [source, kernel, str(most), *(str(targets[target].registers) for target in TARGETS)]
        for source, kernels in report.items()
        for kernel, targets in kernels.items()
        for most in [max(usage.shared for usage in targets.values())]
    ]


def as_json(report: Report) -> str:
    """One line per kernel, so that a change shows where it is."""
    lines = [
        json.dumps({"source": source, "kernel": kernel, "shared_nbytes": int(shared)})[:-1]
        + f', "registers": {json.dumps(dict(zip(TARGETS, map(int, registers), strict=True)))}}}'
        for source, kernel, shared, *registers in rows(report)
    ]
    compiler = {"name": nvrtc.DISTRIBUTION, "version": nvrtc.version(), "options": nvrtc.OPTIONS}
    joined = ",\n    ".join(lines)
    return f'{{\n  "compiler": {json.dumps(compiler)},\n  "kernels": [\n    {joined}\n  ]\n}}\n'


def as_markdown(report: Report) -> str:
    header = ["source", "kernel", "shared", *TARGETS]
    alignment = ["---", "---", *["--:"] * (len(header) - 2)]
    table = [header, alignment, *rows(report)]
    return (
        "# Registers per thread\n\n"
        "Written by `python tools/kernel_report.py --write`; no kernel uses stack or spills.\n"
        f"Compiled by {nvrtc.DISTRIBUTION} {nvrtc.version()} with `{' '.join(nvrtc.OPTIONS)}`.\n"
        "Blocks have 256 threads; shared memory in bytes per block.\n\n"
        + "".join(f"| {' | '.join(line)} |\n" for line in table)
    )


def outdated(report: Report) -> list[str]:
    """The written files that say something else, or were written by another compiler."""
    return [
        str(path.relative_to(ROOT))
        for path, text in ((JSON, as_json(report)), (MARKDOWN, as_markdown(report)))
        if not path.exists() or path.read_text() != text
    ]


def show(report: Report) -> None:
    table = Table("source", "kernel", "shared", *TARGETS, title="Registers per thread")
    for row in rows(report):
        table.add_row(*row)
    Console(width=120).print(table)  # as wide as the table, whatever the terminal


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="What the kernels take of a GPU.")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="write benchmarks/kernels.*")
    action.add_argument("--check", action="store_true", help="exit 1 if something is wrong")
    chosen = parser.parse_args(arguments)
    report = compile_all()
    wrong = faults(report)
    if chosen.write and not wrong:
        JSON.write_text(as_json(report))
        MARKDOWN.write_text(as_markdown(report))
    if chosen.check:
        wrong += [f"{path} is out of date: use --write" for path in outdated(report)]
    else:
        show(report)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
