"""Where gpu_check runs: a GPU through CuPy, or the emulated device of the tests."""

from __future__ import annotations

import contextlib
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from miopy import miopen as mi
from miopy.backends import cuda
from miopy.core.algorithm import DeviceProperties

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("cuda", "emulated")
Job = Callable[[], object]
SHARING = DeviceProperties(16, 227 << 10, ("float16", "bfloat16", "float32"), 4)
SPAN_MS, MOST_REPEATS = 1.0, 20  # between two events, of short jobs
WARM = 4  # runs that are not timed, fewer where they take long
RUNS, LEAST_RUNS = 15, 5  # that a median is taken of; the fewer where they take long


class Emulated:
    """Host memory and a clock on the wall: shows that the code runs, and nothing about a GPU."""

    name = "emulated"
    is_emulated = True
    arrays = np
    stream = None

    def __init__(self) -> None:
        sys.path.insert(0, str(ROOT / "tests"))
        importlib.import_module("hostcuda").emulate()
        os.environ["MIOPY_BACKEND"] = "cuda"
        self.handle = mi.miopenCreate()
        self.device = self.handle.backend._stream.device

    def new_handle(self) -> Any:
        """Of a backend that knows no kernels yet."""
        return mi.miopenCreate()

    def synchronize(self) -> None: ...

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def free_nbytes(self) -> int:
        return 1 << 28

    def give_back(self) -> None: ...

    def milliseconds(self, job: Job) -> float:
        start = time.perf_counter()
        job()
        return (time.perf_counter() - start) * 1e3

    def capture(self, job: Job) -> Job | None:
        """There is nothing that a graph would save here."""


class Cuda:
    """A device through CuPy, and a stream of its own."""

    name = "cuda"
    is_emulated = False

    def __init__(self) -> None:
        import cupy

        reason = cuda.why_missing()
        if reason:
            raise SystemExit(f"no GPU can be used: {reason}")
        os.environ["MIOPY_BACKEND"] = "cuda"
        self.arrays = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()
        self.handle = mi.miopenCreateWithStream(self.stream)
        self.device = self.handle.backend._stream.device

    def new_handle(self) -> Any:
        """Of a backend that knows no kernels yet, on the same stream."""
        return mi.miopenCreateWithStream(self.stream)

    def synchronize(self) -> None:
        self.arrays.cuda.runtime.deviceSynchronize()

    def to_host(self, array: Any) -> np.ndarray:
        return self.arrays.asnumpy(array)

    def free_nbytes(self) -> int:
        return self.arrays.cuda.runtime.memGetInfo()[0]

    def give_back(self) -> None:
        """Return unused memory of CuPy's pool to the device."""
        self.synchronize()
        self.arrays.get_default_memory_pool().free_all_blocks()

    def milliseconds(self, job: Job) -> float:
        """On the stream, by events."""
        start, stop = self.arrays.cuda.Event(), self.arrays.cuda.Event()
        start.record(self.stream)
        job()
        stop.record(self.stream)
        stop.synchronize()
        return self.arrays.cuda.get_elapsed_time(start, stop)

    def capture(self, job: Job) -> Job | None:
        """A function that replays what job puts on the stream."""
        self.synchronize()
        self.stream.begin_capture()
        try:
            job()
        except BaseException:
            # What ends a capture also says that it was spoilt: the job says by what.
            with contextlib.suppress(RuntimeError):
                self.stream.end_capture()
            raise
        graph = self.stream.end_capture()
        return lambda: graph.launch(self.stream)


Place = Emulated | Cuda


def place(name: str) -> Place:
    return Cuda() if name == "cuda" else Emulated()


def sharing() -> None:
    """From here on emulated devices have as many multiprocessors as blocks need to share a matrix,
    and clusters."""
    from hostcuda.device import EmulatedDevice

    cuda.create = lambda: cuda.CudaBackend(EmulatedDevice(properties=SHARING))


def medians(where: Place, jobs: dict[str, Job], seconds: float) -> tuple[dict[str, float], int]:
    """Median milliseconds of each job, and of how many runs; the jobs take turns."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    start, warm = time.perf_counter(), 0
    while warm < (1 if where.is_emulated else WARM) and (
        not warm or time.perf_counter() < start + seconds
    ):
        for job in jobs.values():
            job()
        where.synchronize()
        warm += 1
    repeats = {name: repeats_of(where.milliseconds(job)) for name, job in jobs.items()}
    end, runs = start + seconds, 0
    while runs < LEAST_RUNS or (runs < RUNS and time.perf_counter() < end):
        for name, job in jobs.items():
            count = repeats[name]
            times[name].append(where.milliseconds(repeated(job, count)) / count)
        runs += 1
    return {name: statistics.median(each) for name, each in times.items()}, runs


def repeats_of(milliseconds: float) -> int:
    """How often a job is done between two events, so that launching the first one tells little."""
    return max(1, min(MOST_REPEATS, int(SPAN_MS / max(milliseconds, 1e-6))))


def repeated(job: Job, count: int) -> Job:
    def run() -> None:
        for _ in range(count):
            job()

    return run
