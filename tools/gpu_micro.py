"""Part of gpu_check that measures what the limits of gpu_limits.py are made of.

Barriers and exchanges of a whole grid and of clusters, reading by all blocks at once, the matrix
instruction, copies and one large product, each by the accesses and launches of the kernels proper.
Every row says what it measured and whether what was handed on arrived.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gpu_facts import copy_rate
from gpu_limits import Machine
from gpu_places import Cuda, Place, place

from miopy.backends import cuda_source
from miopy.backends.cuda_source import Source
from miopy.core.blocks import THREADS, WARPS
from miopy.core.grid import MOST_TILE_ROWS
from miopy.errors import DeviceError

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from hostcuda.calls import launch

TOOLS = Path(__file__).resolve().parent
Row = dict[str, Any]
UNWRITTEN = 0xFFFFFFFF
POLL_LIMIT = 1 << 22
EXCHANGED_KIB = 2, 8, 16, 32, 64, 128
PUSHED_KIB = 1, 4, 16, 32
CLUSTERS = 2, 4, 8, 16
CHAINS = 1, 8
INSTRUCTION_OPERATIONS = 16 * 8 * 16 * 2
GEMM_SIZE = 8192
RUNS = 5
CACHED_NBYTES = 24 << 20  # that surely stay in the second cache
CLOCK_RATE = 13  # cudaDevAttrClockRate, in kHz


def source(kind: str, chains: int = CHAINS[0]) -> Source:
    """The kernels of gpu_micro_<kind>.cu, "grid" or "cluster"."""
    exchange = {"grid": "exchange", "cluster": "cluster_exchange"}[kind]
    defines = {"STORAGE": "BF16", "THREADS": THREADS, "MATRIX_INSTRUCTION": 1}
    defines |= {"COLUMN_TILES": 1, "TILE_ROWS": MOST_TILE_ROWS, "CHAINS": chains}
    defines |= {"SINGLE": 1}
    lines = [f"#define {name} {value}" for name, value in defines.items()]
    own = (TOOLS / f"gpu_micro_{kind}.cu").read_text()
    text = "\n".join([*lines, *cuda_source.resolved(f"persistent/{exchange}.h"), own])
    names = tuple(re.findall(r"^MICRO (\w+)", own, re.MULTILINE))
    return Source(f"micro {kind} {chains}", text, names)


def micro(device: str, seconds: float) -> Iterator[Row]:
    bench = Bench(place(device))
    rows = [*bench.of_grid(), *bench.of_matrices(), *bench.of_clusters(), *bench.of_memory()]
    yield {"total": len(rows)}
    for row in rows:
        try:
            yield row()
        except (DeviceError, RuntimeError) as error:
            yield {"name": "a launch", "passed": False, "detail": str(error)}


class Bench:
    """Launches on the device of a place; `blocks` of a grid that all run at a time."""

    def __init__(self, where: Place) -> None:
        self.where, self.device, self.arrays = where, where.device, where.arrays
        emulated = where.is_emulated
        self.blocks = 3 if emulated else self.device.properties.multiprocessors
        self.steps = 5 if emulated else 1000
        self.exchanged = (1,) if emulated else EXCHANGED_KIB
        self.pushed = (1,) if emulated else PUSHED_KIB
        most = 4 if emulated else self.device.properties.cluster_blocks
        self.sizes = tuple(size for size in CLUSTERS if size <= most)
        self.clock = Machine.clock
        if isinstance(where, Cuda):
            runtime = self.arrays.cuda.runtime
            self.clock = runtime.deviceGetAttribute(CLOCK_RATE, runtime.getDevice()) * 1e3
        self.fault = self.arrays.zeros(1, np.uint32)

    # --- rows: functions, so that how many there are is known before they run ---

    def of_grid(self) -> list[Callable[[], Row]]:
        barriers = [lambda: self.barrier("count_together", "counter barrier")]
        barriers.append(lambda: self.barrier("watch_each_other", "barrier of a counter per block"))
        each = [
            (lambda kib=kib, run=run: run(kib))
            for kib in self.exchanged
            for run in (self.exchange, self.read)
        ]
        return [*barriers, *each]

    def of_matrices(self) -> list[Callable[[], Row]]:
        if "bfloat16" not in self.device.properties.matrix_instruction:
            skipped = {"name": "matrix instruction", "skipped": "this device has none for bfloat16"}
            return [lambda: skipped]
        return [lambda chains=chains: self.multiply(chains) for chains in CHAINS]

    def of_clusters(self) -> list[Callable[[], Row]]:
        meetings = [lambda size=size: self.meet(size) for size in self.sizes]
        pushes = [
            (lambda size=size, kib=kib: self.push(size, kib))
            for size, kib in itertools.product(self.sizes, self.pushed)
        ]
        if not self.sizes:
            skipped = {"name": "clusters", "skipped": "this device has no clusters of blocks"}
            return [lambda: skipped]
        return [*meetings, *pushes]

    def of_memory(self) -> list[Callable[[], Row]]:
        return [self.copy, self.gemm] if isinstance(self.where, Cuda) else []

    # --- launching ---

    def address(self, array: Any) -> ctypes.c_void_p:
        is_host = isinstance(array, np.ndarray)
        return ctypes.c_void_p(array.ctypes.data if is_host else array.data.ptr)

    def seconds(
        self,
        kernel: str,
        arguments: tuple[Any, ...],
        *,
        prepare: Callable[[], object] = lambda: None,
        chains: int = CHAINS[0],
        blocks: int = 0,
        cluster: int = 0,
        shared_nbytes: int = 0,
    ) -> float:
        """Of a launch, a median. Arrays are passed as addresses, integers as 32 bits. Raises
        DeviceError if a launch fails."""
        loaded = self.device.load(source("cluster" if cluster else "grid", chains))[kernel]
        self.device.allow_shared(loaded, shared_nbytes)
        if cluster:
            self.device.resident_clusters(loaded, THREADS, shared_nbytes, cluster)
        given = [ctypes.c_uint32(a) if isinstance(a, int) else self.address(a) for a in arguments]
        options = {"cluster": cluster} if cluster else {"together": True}
        stream = self.where.stream.ptr if self.where.stream is not None else 0

        def run() -> None:
            grid = (blocks or self.blocks, 1, 1)
            options.update(grid=grid, block=(THREADS, 1, 1), shared_nbytes=shared_nbytes)
            answer = launch(self.device, loaded, given, stream=stream, **options)
            if answer:
                raise RuntimeError(f"{kernel}: the launch fails with error {answer}")

        times = []
        for _ in range(RUNS):
            prepare()
            self.where.synchronize()
            times.append(self.where.milliseconds(run) / 1e3)
        self.where.synchronize()
        return sorted(times)[RUNS // 2]

    def waits(self) -> tuple[Any, int]:
        """The last arguments of kernels that wait."""
        return self.fault, POLL_LIMIT

    def row(self, name: str, detail: str, is_right: bool = True, **measured: float) -> Row:
        in_vain = bool(self.where.to_host(self.fault)[0])
        self.fault.fill(0)
        if in_vain:
            detail += "; a block waited in vain"
        passed = bool(is_right) and not in_vain
        return {"name": name, "detail": detail, "passed": passed, "measured": measured}

    def sums(self, blocks: int) -> Any:
        return self.arrays.zeros((blocks, THREADS), np.uint32)

    def all_are(self, sums: Any, wanted: int) -> bool:
        """Whether the words that each block summed up are so much, modulo 2^32."""
        totals = self.where.to_host(sums).astype(np.uint64).sum(axis=1) % 2**32
        return bool((totals == wanted % 2**32).all())

    # --- what is measured ---

    def barrier(self, kernel: str, name: str) -> Row:
        counters = self.arrays.zeros((self.blocks, 8), np.uint32)
        arguments = counters, self.steps, *self.waits()
        seconds = self.seconds(kernel, arguments, prepare=lambda: counters.fill(0))
        counted = int(self.where.to_host(counters).sum())
        microseconds = seconds / self.steps * 1e6
        is_right = counted == self.blocks * self.steps
        return self.row(name, f"{microseconds:.3f} us, {self.blocks} blocks", is_right)

    def words(self, kib: int) -> int:
        """Of so many KiB, 4 or a multiple for each block."""
        return max(1, kib * 256 // (4 * self.blocks)) * 4 * self.blocks

    def exchange(self, kib: int) -> Row:
        count = self.words(kib)
        steps = min(self.steps, CACHED_NBYTES // (4 * count))
        words = self.arrays.zeros((steps + 1, count), np.uint32)
        sums = self.sums(self.blocks)
        arguments = words, count, steps, sums, *self.waits()

        def prepare() -> None:
            words[1:] = UNWRITTEN

        microseconds = self.seconds("hand_on_words", arguments, prepare=prepare) / steps * 1e6
        is_right = self.all_are(sums, count * steps * (steps - 1) // 2)
        measured = {"grid_exchange_us": microseconds} if kib == self.exchanged[0] else {}
        name = f"words that prove their arrival, {count / 256:.1f} KiB to all"
        return self.row(name, f"{microseconds:.3f} us", is_right, **measured)

    def read(self, kib: int) -> Row:
        count, sums = self.words(kib), self.sums(self.blocks)
        words = self.arrays.ones(count, np.uint32)
        seconds = self.seconds("read_words", (words, count, self.steps, sums)) / self.steps
        rate = 4 * count * self.blocks / seconds
        measured = {"l2_rate": rate} if kib == self.exchanged[-1] else {}
        detail = f"{seconds * 1e6:.3f} us, {rate / 1e12:.2f} TB/s"
        is_right = self.all_are(sums, count * self.steps)
        return self.row(f"reading of {count / 256:.1f} KiB by all", detail, is_right, **measured)

    def multiply(self, chains: int) -> Row:
        steps = self.steps * (1 if self.where.is_emulated else 10)
        sums = self.arrays.zeros((self.blocks, THREADS), np.float32)
        seconds = self.seconds("multiply_ones", (sums, steps), chains=chains)
        clocks = seconds * self.clock
        rate = INSTRUCTION_OPERATIONS * chains * WARPS * steps / clocks
        wanted = 2 * sum(chain + 16 * steps for chain in range(chains))
        is_right = bool((self.where.to_host(sums) == wanted).all())
        measured = {"tensor_rate": rate} if chains == CHAINS[-1] else {}
        detail = f"{rate:.0f} operations per clock and multiprocessor"
        detail += f", {clocks / steps / chains:.1f} clocks for each of {WARPS} warps"
        name = f"matrix instruction, {chains} at a time"
        return self.row(name, detail, is_right, **measured)

    def meet(self, size: int) -> Row:
        blocks = size * self.clusters(size, "meet", 0)
        seconds = self.seconds("meet", (self.steps,), blocks=blocks, cluster=size)
        detail = f"{seconds / self.steps * 1e6:.3f} us, {blocks // size} clusters"
        return self.row(f"barrier of a cluster of {size}", detail)

    def push(self, size: int, kib: int) -> Row:
        count = kib * 256 // size // 4 * 4
        shared_nbytes = 2 * size * count * 4 + 16
        blocks = size * self.clusters(size, "push_around", shared_nbytes)
        sums = self.sums(blocks)
        arguments = size, count, self.steps, sums, *self.waits()
        options = {"blocks": blocks, "cluster": size, "shared_nbytes": shared_nbytes}
        microseconds = self.seconds("push_around", arguments, **options) / self.steps * 1e6
        is_right = self.all_are(sums, size * count * self.steps * (self.steps - 1) // 2)
        is_least = (size, kib) == (self.sizes[-1], self.pushed[0])
        measured = {"cluster_exchange_us": microseconds} if is_least else {}
        detail = f"{microseconds:.3f} us, {blocks // size} clusters"
        return self.row(f"{kib} KiB pushed to all of {size}", detail, is_right, **measured)

    def clusters(self, size: int, kernel: str, shared_nbytes: int) -> int:
        """How many run at a time."""
        loaded = self.device.load(source("cluster"))[kernel]
        self.device.allow_shared(loaded, shared_nbytes)
        return self.device.resident_clusters(loaded, THREADS, shared_nbytes, size)

    def copy(self) -> Row:
        assert isinstance(self.where, Cuda)
        rate = copy_rate(self.where)
        return self.row("copy", f"{rate:.0f} GB/s", memory_rate=rate * 1e9)

    def gemm(self) -> Row:
        """Of random numbers: zeros take less power."""
        assert isinstance(self.where, Cuda)
        a, b = (
            self.arrays.random.random((GEMM_SIZE, GEMM_SIZE), np.float32).astype(np.float16)
            for _ in range(2)
        )
        for _ in range(2):
            a @ b
        milliseconds = sorted(self.where.milliseconds(lambda: a @ b) for _ in range(RUNS))
        rate = 2 * GEMM_SIZE**3 / milliseconds[RUNS // 2] * 1e3
        name = f"product of {GEMM_SIZE} cubed, float16"
        return self.row(name, f"{rate / 1e12:.0f} TFLOP/s", gemm_rate=rate)
