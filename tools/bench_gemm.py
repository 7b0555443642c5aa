"""The host's matrix product against the OpenBLAS of NumPy, one thread each, shape by shape.

`python tools/bench.py --gemm [--only "float32 NT"] [--output PATH]`: C calls on both sides, timed
in turn by the time their thread ran, so that other programs of the machine hardly count. A
selection replaces its rows of what PATH.json holds.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import os
import shlex
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_info, threadpool_limits

from miopy.backends.host import BUILDS, ffi, lib
from miopy.backends.host import build as fastest_build
from miopy.backends.numbering import STORAGE

SOURCE = Path(__file__).with_suffix(".c")
KERNELS = SOURCE.parent.parent / "miopy/kernels/host/products"
SIZES = (1, 2, 3, 4, 8, 16, 64, 250, 1024)
LAYOUTS = ("NN", "NT", "TN", "TT")  # whether a and b lie transposed
ROUND_NS, MOST_ROUNDS = 50_000, 41
MOST_WORK = 1 << 28  # multiply-adds
LEVEL = 1.05  # what noise alone does not explain
DTYPES = ("float32", "float64")
FUNCTIONS = ("sgemm", "sgemv", "dgemm", "dgemv")


class Blas(ctypes.Structure):
    """As bench_gemm.c declares it."""

    _fields_ = [(name, ctypes.c_void_p) for name in FUNCTIONS]


def numpy_blas() -> Blas:
    """The functions of the library that NumPy has loaded."""
    loaded = [info for info in threadpool_info() if info["internal_api"] == "openblas"]
    library = ctypes.CDLL(loaded[0]["filepath"])
    found = (getattr(library, f"scipy_cblas_{name}64_") for name in FUNCTIONS)
    return Blas(*(ctypes.cast(function, ctypes.c_void_p) for function in found))


def build(folder: str) -> Any:
    """bench_gemm.c as a library."""
    output = Path(folder, "bench_gemm.so")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-O2", "-shared", "-fPIC", f"-I{KERNELS}"]
    subprocess.run([*compiler, *flags, str(SOURCE), "-o", str(output)], check=True)
    return ctypes.CDLL(str(output))


def address(of: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(int(ffi.cast("intptr_t", of)))


def drawn(rows: int, columns: int, transposed: bool, dtype: str) -> np.ndarray:
    shape = (columns, rows) if transposed else (rows, columns)
    values = np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype)
    return values.T if transposed else values


class Product:
    """One product, ready to be called from C."""

    def __init__(self, shape: tuple[int, int, int], layout: str, dtype: str) -> None:
        M, N, K = shape
        self.a = drawn(M, K, layout[0] == "T", dtype)
        self.b = drawn(K, N, layout[1] == "T", dtype)
        self.c = np.zeros((M, N), dtype)
        self.is_double = dtype == "float64"
        self.call = ffi.new("gemm_call *")
        self.call.storage = self.call.c_storage = STORAGE[dtype]
        self.call.M, self.call.N, self.call.K = shape
        self.call.c, self.call.c_row = ffi.cast("void *", self.c.ctypes.data), N
        for operand, array in ((self.call.a, self.a), (self.call.b, self.b.T)):
            operand.at = ffi.cast("void *", array.ctypes.data)
            operand.across, operand.along = (step // array.itemsize for step in array.strides)

    def compare(self, library: Any, blas: Blas, pool: Any, budget_ns: int) -> tuple[float, float]:
        """Nanoseconds of ours, and the median of the ratio of ours to theirs."""
        nbytes = lib.gemm_scratch(pool, self.call)
        scratch = np.empty(nbytes + 64, np.uint8)
        start = scratch.ctypes.data + -scratch.ctypes.data % 64
        own = address(ffi.addressof(lib, "gemm"))
        arguments = own, address(pool), address(self.call), ctypes.c_void_p(start)

        def timed(rounds: int, calls: int) -> tuple[np.ndarray, np.ndarray]:
            ours, theirs = np.zeros((2, rounds), np.int64)
            pointers = (ctypes.c_void_p(times.ctypes.data) for times in (ours, theirs))
            counts = int(self.is_double), rounds, calls
            library.compare(*arguments, ctypes.byref(blas), *counts, *pointers)
            return ours, theirs

        lib.gemm(pool, self.call, ffi.cast("void *", start))
        expected = self.a.astype(np.float64) @ self.b.astype(np.float64)
        if not np.allclose(self.c, expected, atol=1e-5 * len(self.b) ** 0.5):
            raise SystemExit(f"{expected.shape}: a wrong result, nothing is timed")
        once = sum(map(int, np.concatenate(timed(1, 3)))) // 3
        calls = max(1, 2 * ROUND_NS // once)
        rounds = max(5, min(MOST_ROUNDS, budget_ns // (once * calls)))
        ours, theirs = timed(rounds, calls)
        return float(np.median(ours)) / calls, float(np.median(ours / theirs))


def name_of(record: dict[str, Any]) -> str:
    """What --only selects by: float32 NT 64x1024x250."""
    return "{dtype} {layout} {M}x{N}x{K}".format(**record)


def selected(only: list[str]) -> list[dict[str, Any]]:
    """The products whose name contains one of these."""
    shapes = [
        dict(zip("MNK", shape, strict=True))
        for shape in itertools.product(SIZES, repeat=3)
        if math.prod(shape) <= MOST_WORK
    ]
    cases = itertools.product(DTYPES, LAYOUTS, shapes)
    all_of = [{"dtype": dtype, "layout": layout, **shape} for dtype, layout, shape in cases]
    return [case for case in all_of if any(text in name_of(case) for text in only)]


def measure(cases: list[dict[str, Any]], budget: float) -> list[dict[str, Any]]:
    """One record per product; `budget` is seconds of each, at most."""
    records = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        library, blas = build(folder), numpy_blas()
        pool = lib.pool_create(1, BUILDS.index(fastest_build()))
        for case in track(cases, "products", transient=True):
            shape = case["M"], case["N"], case["K"]
            product = Product(shape, case["layout"], case["dtype"])
            ns, ratio = product.compare(library, blas, pool, int(budget * 1e9))
            records.append(case | {"ns": round(ns), "ratio": round(ratio, 3)})
        lib.pool_destroy(pool)
    return records


def merged(records: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """The records among those of the file that are of other products, in the order of all."""
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    known = {name_of(record): record for record in [*before, *records]}
    names = map(name_of, selected([""]))
    return [known[name] for name in names if name in known]


def summary(records: list[dict[str, Any]]) -> list[list[str]]:
    """Rows of a table: one per type, layout and amount of work."""
    groups = defaultdict(list)
    for record in records:
        work = record["M"] * record["N"] * record["K"]
        names = ("below 10^4", "10^4 to 10^6", "above 10^6")
        size = names[(work >= 10**4) + (work >= 10**6)]
        groups[record["dtype"], record["layout"], size].append(record)
    rows = []
    for (dtype, layout, size), group in groups.items():
        ratios = [record["ratio"] for record in group]
        worst = max(group, key=lambda record: record["ratio"])
        shape = " x ".join(str(worst[name]) for name in "MNK")
        slower = sum(ratio > LEVEL for ratio in ratios)
        figures = [f"{statistics.geometric_mean(ratios):.2f}", f"{slower} of {len(group)}"]
        rows.append([dtype, layout, size, *figures, f"{worst['ratio']:.2f}", shape])
    return sorted(rows)


HEADINGS = ("type", "layout", "M N K", "mean", f"above {LEVEL}", "worst", "at M x N x K")


def markdown(rows: list[list[str]], about: dict[str, Any]) -> str:
    machine = "; ".join(f"{name} {value}" for name, value in about.items())
    lines = [
        "# Matrix products: miopy's time / OpenBLAS's",
        "",
        "Written by `python tools/bench.py --gemm --output`: C calls, one thread each, in turn, by",
        "the time their thread ran; medians of ratios, means are geometric. Below 1 miopy is",
        "faster. Layouts tell whether a and b lie transposed (T) or not (N).",
        "",
        f"{machine}.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + " --- |" * 3 + " --: |" * 3 + " --- |",
    ]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


def main(about: dict[str, Any], budget: float, only: list[str], output: Path | None) -> int:
    """Print the summary; write PATH.json with every product and PATH.md."""
    about = about | {"threads": 1}
    cases = selected(only)
    if not cases:
        raise SystemExit(f"--only {only!r} matches none, as of 'float32 NT 64x1024x250'")
    records = measure(cases, budget)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        records = merged(records, output.with_suffix(".json"))
    rows = summary(records)
    table = Table(*HEADINGS, title="miopy / OpenBLAS, one thread each")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    if output:
        lines = ",\n".join(json.dumps(record) for record in records)
        text = f'{{"machine": {json.dumps(about)}, "rows": [\n{lines}\n]}}\n'
        output.with_suffix(".json").write_text(text)
        output.with_suffix(".md").write_text(markdown(rows, about))
    return 0
