"""Times of sides that take turns in one process, so that a slow phase of the machine hits all."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Job = Callable[[], Any]

TURN = 0.03  # seconds that a side is called for, at least once, before the next one's turn
LEAST_TURNS = 3
SHORT = 0.05  # a call of fewer seconds is first made untimed, to fill caches and wake threads
QUIET, PATIENCE = 0.2, 2.0  # of a core, seconds


def settle() -> None:
    """Wait until this process idles: pools of threads spin before they sleep, on others' cores."""
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end:
        start, used = time.perf_counter(), time.process_time()
        time.sleep(0.002)
        if time.process_time() - used < QUIET * (time.perf_counter() - start):
            return
    raise SystemExit(f"threads of this process kept running for {PATIENCE} s, nothing is timed")


def timed(job: Job) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def turn(job: Job, is_short: bool) -> list[float]:
    """Seconds of each call of one turn."""
    settle()
    if is_short:
        job()
    end, times = time.perf_counter() + TURN, []
    while not times or time.perf_counter() < end:
        times.append(timed(job))
    return times


def interleaved(jobs: Mapping[str, Job], budget: float) -> dict[str, list[float]]:
    """Milliseconds of every call, by job, in about `budget` seconds; nobody always comes first."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    order = list(jobs)
    is_short = {}
    for name in order:
        settle()
        is_short[name] = timed(jobs[name]) < SHORT
    end, turns = time.perf_counter() + budget, 0
    gc.collect()
    gc.disable()
    try:
        while turns < LEAST_TURNS or time.perf_counter() < end:
            for name in order:
                times[name] += turn(jobs[name], is_short[name])
            order.append(order.pop(0))
            turns += 1
    finally:
        gc.enable()
    return {name: [seconds * 1e3 for seconds in found] for name, found in times.items()}


def figures(times: Mapping[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Median milliseconds, quartiles and number of calls, by job."""
    medians, quartiles, runs = {}, {}, {}
    for name, found in times.items():
        first, medians[name], third = statistics.quantiles(found, n=4, method="inclusive")
        quartiles[name], runs[name] = [first, third], len(found)
    return {"ms": medians, "quartiles": quartiles, "runs": runs}
