"""What the machine can do at most, measured, and how long a row takes at least because of it."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from bench_machine import threads
from bench_shapes import Shape

from miopy.backends.host import build as build_of_host

SOURCE = Path(__file__).with_suffix(".c")
KIB = 1 << 10
# Bytes of all threads together, from their first caches to memory.
WORKING_SETS = tuple(
    KIB * size
    for size in (16, 64, 256, 1024, 2048, 4096, 8192, 16384, 24576, 32768, 49152, 98304, 196608)
)
# What compilers call what a build of the host has, where that is not all that the machine has.
MARCH = {"avx2": "haswell"}
PIECES = 6  # products of bfloat16 that are one of floats
ROUNDS, SECONDS = 7, 0.02  # per figure, of which the best counts


def build(folder: str) -> ctypes.CDLL:
    output = Path(folder, "bench_limits.so")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-O3", f"-march={MARCH.get(build_of_host(), 'native')}", "-shared", "-fPIC"]
    subprocess.run([*compiler, *flags, str(SOURCE), "-o", str(output)], check=True)
    library = ctypes.CDLL(str(output))
    names = "multiply_add", "multiply_add_pairs", "multiply_add_pieces"
    for products in (getattr(library, name) for name in names):
        products.restype, products.argtypes = ctypes.c_double, [ctypes.c_long]
    library.read_memory.restype = ctypes.c_double
    library.read_memory.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long]
    return library


def rate(pool: ThreadPoolExecutor, count: int, work: Callable[[int, int], float]) -> float:
    """The best rate, per second, of `work(thread, repeats)`, which returns how much it did."""
    barrier = threading.Barrier(count)

    def alone(thread: int, repeats: int) -> tuple[float, float, float]:
        barrier.wait()
        start = time.perf_counter()
        done = work(thread, repeats)
        return done, start, time.perf_counter()

    def together(repeats: int) -> tuple[float, float]:
        done, starts, ends = zip(*pool.map(alone, range(count), [repeats] * count), strict=True)
        return sum(done), max(ends) - min(starts)

    repeats = 2
    while together(repeats)[1] < SECONDS:
        repeats *= 2
    found = (together(repeats) for _ in range(ROUNDS))
    return max(done / seconds for done, seconds in found)


def units(library: ctypes.CDLL, dtype: str) -> Iterator[tuple[Callable[[int], float], int]]:
    """What miopy's products of a type can run on here, and how many of the type's are one of those
    that it counts."""
    yield library.multiply_add, 1
    its_build = build_of_host()  # asking is what allows the use of a matrix unit
    if its_build in ("amx", "avx512_bf16") and dtype == "bfloat16":
        yield library.multiply_add_pairs, 1
    if its_build == "amx":
        yield library.multiply_add_pieces, PIECES if dtype == "bfloat16" else 1


def measure(dtype: str = "float32") -> dict[str, Any]:
    """GFLOP/s of all threads in a type, and GB/s of each working set, which every thread has a
    share of. Six products of a matrix unit are one of floats."""
    count = threads()
    values = np.ones(WORKING_SETS[-1] // 4 + 16, np.float32)  # untouched zeros share one page
    start = values.ctypes.data + -values.ctypes.data % 64
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(count) as pool:
        library = build(folder)

        def best_of(run: Callable[[int], float]) -> float:
            return rate(pool, count, lambda _, repeats: run(100_000 * repeats))

        # A compiler may not know what the machine has.
        known = [(run, scale) for run, scale in units(library, dtype) if run(1)]
        peak = max(scale * best_of(run) for run, scale in known)
        bandwidth = []
        for nbytes in WORKING_SETS:
            share = nbytes // count // 64 * 64

            def read(thread: int, repeats: int, share: int = share) -> float:
                return library.read_memory(start + thread * share, share, repeats)

            bandwidth.append([nbytes, rate(pool, count, read) / 1e9])
    return {"gflops": peak / 1e9, "bandwidth": bandwidth}


def best(some: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """The higher figures of two measurements; either may be empty."""
    if not (some and others):
        return some or others
    pairs = zip(some["bandwidth"], others["bandwidth"], strict=True)
    bandwidth = [[nbytes, max(one, other)] for (nbytes, one), (_, other) in pairs]
    return {"gflops": max(some["gflops"], others["gflops"]), "bandwidth": bandwidth}


def bandwidth_of(limits: dict[str, Any], nbytes: int) -> float:
    """GB/s at a working set: that of the largest measured one that is not larger."""
    sizes = [size for size, _ in limits["bandwidth"]]
    return limits["bandwidth"][max(bisect_left(sizes, nbytes + 1) - 1, 0)][1]


def least_ms(limits: dict[str, Any], shape: Shape, mode: str) -> float:
    """Milliseconds that a row takes at least: for its products, or to read recurrent weights.

    Every step needs the recurrent weights of its layer and direction, from wherever as many bytes
    fit.
    """
    nbytes = shape.recurrent_nbytes
    reading = nbytes * shape.recurrences(mode) / bandwidth_of(limits, nbytes) / 1e6
    return max(shape.flops(mode) / limits["gflops"] / 1e6, reading)
