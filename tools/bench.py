"""Time miopy against torch, oneDNN and ONNX Runtime on the CPU, shape by shape.

    python tools/bench.py                        all rows and the scaling plots, in some 15 minutes
    python tools/bench.py --quick                a minute and a half's worth
    python tools/bench.py --output PATH          also write PATH.json, PATH.md and plots
    python tools/bench.py --output PATH --append --seconds 60
                                                 go on with a record for a minute
    python tools/bench.py --only "lstm H512" --passes inference --budget 5
    python tools/bench.py --shapes "gru H300 B7 T40" "lstm H512 B16 T25 I161 L2 bi"
                                                 your own: units, batch, steps; inputs, layers
                                                 and both directions where they are not H, 1, no
    python tools/bench.py --alone --quick        whether sides that take turns disturb each other
    python tools/bench.py --dtype bfloat16       the rows in the other type
    python tools/bench.py --isa avx2             as on a machine that has no more, as far as sides
                                                 can be kept to that
    python tools/bench.py --beside 1 --quick     while another program keeps a processor busy
    python tools/bench.py --abi                  what calls from C cost beside the work
    python tools/bench.py --gemm                 the matrix product, against NumPy's OpenBLAS
    python tools/bench.py --cells                oneDNN's cells, in its words, against it

All sides of a shape run in one process, which is new, in turn, with the same number of threads
(MIOPY_NUM_THREADS, else all cores); nobody's turn begins before the threads of the others sleep.
The figures are medians. A row is timed only if the results of all sides agree.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import bench_abi
import bench_alone
import bench_limits
import bench_report
import bench_sides
from bench_apart import time_apart
from bench_machine import KEPT_TO, keep_to, machine, share_threads
from bench_record import Record
from bench_shapes import (
    FORWARD,
    INFERENCE,
    NBYTES,
    QUICK,
    SCALING,
    SCALING_MODES,
    SHAPES,
    STEP,
    Shape,
    named,
)
from bench_sides import SIDES
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SUITES = {"all": (*SHAPES, *SCALING), "rows": SHAPES, "scaling": SCALING, "quick": QUICK}
PASSES = {"inference": INFERENCE, "forward": FORWARD, "step": STEP}
Work = tuple[Shape, str]


def run(record: Record, work: list[Work], options: argparse.Namespace) -> None:
    """Add the rows to the record, and write it after each."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    given = options.sides, options.budget, options.beside
    end = time.perf_counter() + options.seconds
    # A thread that draws the bar would take a core from those that are timed.
    with Progress(*columns, TimeRemainingColumn(), auto_refresh=False, transient=True) as progress:
        bar = progress.add_task("", total=len(work))
        for shape in dict.fromkeys(shape for shape, _ in work):
            if time.perf_counter() > end:
                break
            progress.update(bar, description=shape.name, refresh=True)
            modes = [mode for each, mode in work if each == shape]
            for mode, found in time_apart(shape, modes, *given):
                record.add(shape, mode, found)
                progress.update(bar, advance=1, refresh=True)
                if options.output:
                    record.write(options.output.with_suffix(".json"))
                if time.perf_counter() > end:
                    break


def select(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Work]:
    """What is to be timed, of the suite."""
    shapes, suite = [], options.shapes or SUITES[options.suite]
    for text in options.only:
        found = [shape for shape in suite if shape.name == text]
        found = found or [shape for shape in suite if text in shape.name]
        if not found:
            names = ", ".join(shape.name for shape in suite)
            parser.error(f"--only {text!r} matches none of: {names}")
        shapes += found
    modes = [PASSES[name] for name in options.passes]
    return [
        (replace(shape, dtype=options.dtype), mode)
        for shape in dict.fromkeys(shapes)
        for mode in (SCALING_MODES if shape in SCALING and not options.shapes else shape.modes)
        if mode in modes
    ]


def shape_named(name: str) -> Shape:
    try:
        return named(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse(argv: list[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=SUITES, default="all", help="which shapes")
    parser.add_argument("--quick", dest="suite", action="store_const", const="quick")
    parser.add_argument("--shapes", nargs="+", type=shape_named, help="instead of a suite's")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="shapes, products: names contain these"
    )
    parser.add_argument("--dtype", choices=NBYTES, default="float32", help="of all numbers")
    parser.add_argument(
        "--isa", choices=KEPT_TO, help="keep all sides to it, which leaves some out"
    )
    busy = "programs that keep a processor busy each meanwhile"
    parser.add_argument("--beside", type=int, default=0, metavar="N", help=busy)
    passes = {"nargs": "+", "choices": PASSES, "default": list(PASSES)}
    parser.add_argument("--passes", **passes, help="of these")
    parser.add_argument("--sides", nargs="+", choices=SIDES, help="instead of all but unrolled")
    per_row = "seconds per row (2; --quick: 0.5); of --gemm milliseconds per product"
    parser.add_argument("--budget", type=float, help=per_row)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then begin no row")
    parser.add_argument("--output", type=Path, help="write PATH.json, PATH.md and plots")
    parser.add_argument("--append", action="store_true", help="add what the record lacks")
    parser.add_argument("--alone", action="store_true", help="instead: sides alone and in turn")
    parser.add_argument("--abi", action="store_true", help="instead: what calls from C cost")
    parser.add_argument("--gemm", action="store_true", help="instead: products against OpenBLAS")
    parser.add_argument("--cells", action="store_true", help="instead: oneDNN's cells against it")
    options = parser.parse_args(argv)
    complete(parser, options)
    return parser, options


def complete(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the program if the options contradict each other; else sets what others imply."""
    if options.budget is None:
        options.budget = 0.5 if options.suite == "quick" else 2.0
    for side in options.sides or []:
        if options.dtype not in SIDES[side].dtypes:
            parser.error(f"--sides {side}: it has no {options.dtype}")
        if options.isa and not SIDES[side].is_kept:
            parser.error(f"--sides {side}: it cannot be kept to {options.isa}")
        if lacking := bench_sides.missing(side, options.dtype):
            parser.error(f"--sides {side}: {lacking}")
    options.sides = options.sides or bench_sides.defaults(options.dtype, options.isa)
    if not options.budget > 0:
        parser.error(f"--budget must be above 0, got {options.budget:g}")
    if options.beside < 0:
        parser.error(f"--beside must not be negative, got {options.beside}")
    others = options.abi or options.gemm or options.cells
    if options.beside and (others or options.alone):
        parser.error("--beside is of rows, neither --alone, --abi, --gemm nor --cells")
    if others:
        if options.isa:
            parser.error("--isa keeps rows to it, neither --abi, --gemm nor --cells")
        if options.shapes:
            parser.error("--shapes are of rows, not of --abi, --gemm or --cells")
    if options.append and not options.output:
        parser.error("--append needs --output")


def open_record(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Record:
    about = machine(bench_sides.packages(options.sides))
    if options.dtype != "float32":  # which records do not say
        about["dtype"] = options.dtype
    if options.isa:
        about["all kept to"] = options.isa
    if options.beside:
        about["busy programs"] = options.beside
    path = options.output and options.output.with_suffix(".json")
    if not (options.append and path.exists()):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
        return Record(about)
    record = Record.read(path)
    if other := record.differs(about):
        parser.error(f"--append: {path} was measured with {other}")
    return record


def main(argv: list[str] | None = None) -> int:
    parser, options = parse(argv)
    if options.isa:
        keep_to(options.isa)
    if options.abi:
        return bench_abi.main()
    if options.gemm:
        import bench_gemm

        about = machine(["numpy"])
        return bench_gemm.main(about, options.budget / 1000, options.only, options.output)
    share_threads()
    if options.cells:
        if lacking := bench_sides.missing("onednn"):
            parser.error(f"--cells: {lacking}")
        import bench_cells

        about = machine([bench_sides.SIDES["onednn"].package])
        return bench_cells.main(about, options.budget, options.only, options.output)
    work = select(parser, options)
    if options.alone:
        return bench_alone.main(work, options.sides, options.budget)
    record = open_record(parser, options)
    record.limits = bench_limits.best(record.limits, bench_limits.measure(options.dtype))
    run(record, [each for each in work if (each[0].name, each[1]) not in record.rows], options)
    bench_report.print_table(record)
    missing = [each for each in work if (each[0].name, each[1]) not in record.rows]
    if missing:
        print(f"{len(missing)} rows are left; the same command with --append goes on")
    if options.output:
        import bench_plots

        record.write(options.output.with_suffix(".json"))
        bench_plots.write_plots(record, options.output)
        bench_report.write_markdown(record, options.output.with_suffix(".md"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
