"""What the kernels take of a GPU, compiled for every supported architecture; needs no GPU.

    python tools/kernel_report.py           print the table
    python tools/kernel_report.py --write   and write it to benchmarks/kernels.json and kernels.md
    python tools/kernel_report.py --check   exit 1 if a kernel spills or those files differ

Registers depend on the version of the compiler, which is pinned in pyproject.toml and recorded.
All sources for all targets take minutes, so what the record says of one is believed while it was
made of the same text by the same compiler.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import nvrtc
from rich.console import Console
from rich.progress import track
from rich.table import Table

from miopy import layouts
from miopy.backends import cuda_source
from miopy.backends.cuda_clusters import cluster_blocks
from miopy.backends.cuda_cupy import matrix_instruction
from miopy.backends.cuda_source import Source
from miopy.backends.numbering import MACROS
from miopy.core import cluster, grid
from miopy.core.algorithm import (
    PERSISTENT_CELLS,
    PERSISTENT_DTYPES,
    TILE_UNITS,
    DeviceProperties,
    products_of,
    residency,
)
from miopy.core.cells import CELLS
from miopy.core.config import DTYPES, RNNConfig
from miopy.core.layout import Layout

ROOT = Path(__file__).resolve().parent.parent
JSON = ROOT / "benchmarks/kernels.json"
MARKDOWN = ROOT / "benchmarks/kernels.md"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
SHARED_NBYTES = {  # that a block may have
    **dict.fromkeys(TARGETS, 99 << 10),
    **{"sm_75": 64 << 10, "sm_80": 163 << 10, "sm_90": 227 << 10, "sm_100": 227 << 10},
}
# Of 16 units, of layers that blocks run by themselves. Of LSTM and GRU for half of the warps, for
# each of them, and every number behind that; fewer leave more registers. Of tanh and ReLU, whose
# kernels differ in a line, between them the fewest and the most for each number that a warp may
# have: all would take half an hour more.
TILES = {
    **dict.fromkeys(("lstm", "gru"), (4, *range(8, 28))),
    **{"tanh": (8, 9, 17, 25), "relu": (4, 16, 24, 27)},
}
ROWS = 1, 2, 3, 8  # of a block: every kernel's
LARGE = ("sm_90", "sm_100")  # with grid.LARGE_NBYTES of shared memory for a block

# Kernel to target to usage, for each source.
Report = dict[str, dict[str, dict[str, nvrtc.Usage]]]


def sources() -> list[Source]:
    """Every source that a backend may ask for, but for those of `persistent`."""
    every = [
        cuda_source.recurrence(cell, dtype, order)
        for cell in CELLS
        for order in gate_orders(cell)
        for dtype in DTYPES
    ]
    every += map(cuda_source.storage, MACROS)
    return [*every, cuda_source.bytes_and_masks(), cuda_source.quantized()]


def gate_orders(cell: str) -> list[tuple[int, ...]]:
    """The orders in which vendors keep the gates of a cell."""
    config = RNNConfig(cell, 1, 1)
    vendors = [layout for layout in vars(layouts).values() if isinstance(layout, Layout)]
    return sorted({layout.order(config) for layout in vendors})


def every() -> dict[Source, list[str]]:
    """All sources, and the targets that a backend may compile each for."""
    return {source: list(TARGETS) for source in sources()} | persistent()


def persistent() -> dict[Source, list[str]]:
    """The same of persistent kernels."""
    found: dict[Source, list[str]] = {}
    for cell, dtype, rows in itertools.product(PERSISTENT_CELLS, PERSISTENT_DTYPES, ROWS):
        for tiles, target in itertools.product(TILES[cell], TARGETS):
            config = RNNConfig(cell, 1, tiles * TILE_UNITS, dtype=dtype)
            device = DeviceProperties(1, SHARED_NBYTES[target], instruction_of(target))
            products = products_of(device, config, rows)
            held = [residency(config, products, 1, backward) for backward in (False, True)]
            targets = found.setdefault(cuda_source.persistent(cell, dtype, products), [])
            fits = min(each.shared_nbytes for each in held) <= device.shared_nbytes
            if fits and target not in targets:
                targets.append(target)
    for cell, dtype, backward in itertools.product(PERSISTENT_CELLS, grid.DTYPES, (False, True)):
        targets = [target for target in TARGETS if dtype in instruction_of(target)]
        large = [target for target in targets if target in LARGE]
        for split in (False, True) if dtype == "float32" else (False,):
            gates, itemsize = len(CELLS[cell].gates), DTYPES[dtype].itemsize
            for products in grid.products(gates, itemsize, backward, split):
                for source in runs_of(cell, dtype, products, backward):
                    found[source] = large if products.is_large else targets
    return {source: targets for source, targets in found.items() if targets} | on_clusters()


def on_clusters() -> dict[Source, list[str]]:
    """Those of them whose blocks are clusters."""
    targets = [target for target in TARGETS if cluster_blocks(capability(target))]
    large = [target for target in targets if target in LARGE]
    found: dict[Source, list[str]] = {}
    for cell, dtype in itertools.product(PERSISTENT_CELLS, cluster.DTYPES):
        forward = [(each, False) for each in cluster.FORWARD[len(CELLS[cell].gates)]]
        for products, backward in (*forward, *((each, True) for each in cluster.BACKWARD)):
            for source in runs_of(cell, dtype, products, backward, cluster=True):
                found[source] = large if products.is_large else targets
    return found


def runs_of(
    cell: str, dtype: str, products: grid.GridProducts, backward: bool, cluster: bool = False
) -> list[Source]:
    """For launches of one run, and of several."""
    kind = cell, dtype, products, backward, cluster
    ways = (True,) if products.is_large else (True, False)
    return [cuda_source.grid(*kind, single) for single in ways]


def capability(target: str) -> int:
    """Compute capability, times 10."""
    return int(target.removeprefix("sm_"))


def instruction_of(target: str) -> tuple[str, ...]:
    """The dtypes for which a target has the matrix instruction."""
    return matrix_instruction(capability(target))


def compile_all() -> Report:
    """Raises ValueError if a source does not compile, or not to the kernels that it names."""
    report, sources = recorded(), every()
    jobs = [
        (source, target)
        for source, targets in sources.items()
        for target in targets
        if source.name not in report
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:  # the compiler keeps threads apart
        usages = zip(jobs, pool.map(compiled, *zip(*jobs, strict=True)), strict=True)
        console = Console(stderr=True)
        for (source, target), usage in track(usages, "compiling", len(jobs), console=console):
            kernels = report.setdefault(source.name, {kernel: {} for kernel in source.kernels})
            for kernel in source.kernels:
                kernels[kernel][target] = usage[kernel]
    return {source.name: report[source.name] for source in sources}


def compiled(source: Source, target: str) -> dict[str, nvrtc.Usage]:
    """Kernel to usage; raises as `compile_all`."""
    usage = nvrtc.compile_source(source.name, source.text, target)
    if set(usage) != set(source.kernels):
        raise ValueError(f"{source.name} names {source.kernels}, compiled to {list(usage)}")
    return usage


def digest(source: Source) -> str:
    """Of a text without its comments, lines that only number, and numbers that it never names."""
    text = re.sub(r"(?s:/\*.*?\*/)|(?m:^#line .*$)", "", source.text)
    words = Counter(re.findall(r"\w+", text))
    lines = [line.rstrip() for line in text.splitlines()]
    defined = (re.fullmatch(r"#define (\w+) \w+", line) for line in lines)
    kept = [
        line
        for line, name in zip(lines, defined, strict=True)
        if line and not (name and words[name[1]] == 1)
    ]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:16]


def digests() -> dict[str, str]:
    """By the names of sources."""
    return {source.name: digest(source) for source in every()}


def record(only: Callable[[dict[str, Any]], bool] = lambda row: True) -> Report:
    """What the record says in some of its rows; nothing spills, or there would be none."""
    report: Report = {}
    for row in filter(only, json.loads(JSON.read_text())["kernels"]):
        report.setdefault(row["source"], {})[row["kernel"]] = {
            target: nvrtc.Usage(registers, 0, 0, row["shared_nbytes"])
            for target, registers in row["registers"].items()
        }
    return report


def recorded() -> Report:
    """What is on record of kernels whose text and compiler are the same."""
    if not JSON.exists() or json.loads(JSON.read_text())["compiler"] != compiler():
        return {}
    texts = digests()
    return record(lambda row: row.get("text") == texts.get(row["source"]))


def compiler() -> dict[str, Any]:
    version, options = nvrtc.version(), list(nvrtc.OPTIONS)
    return {"name": nvrtc.DISTRIBUTION, "version": version, "options": options}


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
    """One per kernel: source, kernel, shared memory, registers on each target that it is for."""
    return [
        [source, kernel, str(most), *(_registers(targets.get(target)) for target in TARGETS)]
        for source, kernels in report.items()
        for kernel, targets in kernels.items()
        for most in [max(usage.shared for usage in targets.values())]
    ]


def _registers(usage: nvrtc.Usage | None) -> str:
    return str(usage.registers) if usage else "-"


def as_json(report: Report) -> str:
    """One line per kernel, so that a change shows where it is."""
    texts, lines = digests(), []
    for source, kernel, shared, *registers in rows(report):
        line: dict[str, Any] = {"source": source, "kernel": kernel, "shared_nbytes": int(shared)}
        line["text"] = texts[source]
        counts = zip(TARGETS, registers, strict=True)
        line["registers"] = {target: int(count) for target, count in counts if count != "-"}
        lines.append(json.dumps(line))
    joined = ",\n    ".join(lines)
    return f'{{\n  "compiler": {json.dumps(compiler())},\n  "kernels": [\n    {joined}\n  ]\n}}\n'


def as_markdown(report: Report) -> str:
    header = ["source", "kernel", "shared", *TARGETS]
    alignment = ["---", "---", *["--:"] * (len(header) - 2)]
    table = [header, alignment, *rows(report)]
    return (
        "# Registers per thread\n\n"
        "Written by `python tools/kernel_report.py --write`; none of these uses stack or spills.\n"
        f"Compiled by {nvrtc.DISTRIBUTION} {nvrtc.version()} with `{' '.join(nvrtc.OPTIONS)}`.\n"
        "Blocks have 256 threads; shared memory in bytes per block, less what persistent kernels\n"
        'get when they are launched. "-": not for that target. Layers that blocks run by\n'
        "themselves have kernels for every 16 units; here are those of LSTM and GRU for 64 units,\n"
        "128 and more, and some of tanh and ReLU.\n\n"
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
