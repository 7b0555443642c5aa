"""The host's matrix product against the OpenBLAS of NumPy, one thread each, shape by shape.

`python tools/bench.py --gemm [--output PATH]`: C calls on both sides, timed in turn by the time
their thread ran, so that other programs of the machine hardly count.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import platform
import shlex
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_info, threadpool_limits

from miopy.backends._host import ffi, lib
from miopy.backends.stepped import STORAGE

SOURCE = Path(__file__).with_suffix(".c")
KERNELS = SOURCE.parent.parent / "miopy/kernels/host"
SIZES = (1, 2, 4, 16, 64, 250, 1024)
LAYOUTS = ("NN", "NT", "TN", "TT")  # whether a and b lie transposed
ROUND_NS, MOST_ROUNDS = 50_000, 41
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
        for name in "abc":
            array = getattr(self, name)
            row, column = (stride // array.itemsize for stride in array.strides)
            setattr(self.call, name, ffi.cast("void *", array.ctypes.data))
            setattr(self.call, f"{name}_row", row)
            if name != "c":
                setattr(self.call, f"{name}_column", column)

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


def grid() -> Iterable[tuple[tuple[int, int, int], str, str]]:
    shapes = [shape for shape in itertools.product(SIZES, repeat=3) if np.prod(shape) <= 1 << 28]
    return itertools.product(shapes, LAYOUTS, DTYPES)
