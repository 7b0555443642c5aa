"""Times of sides that take turns in one process, so that a slow phase of the machine hits all."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Job = Callable[[], Any]

TURN = 0.03  # seconds that a side is called for, at least once, before the next one's turn
LEAST_TURNS, LEAST_CALLS = 3, 7  # of each side, however long they take
SHORT = 0.05  # a call of fewer seconds is first made untimed, to fill caches and wake threads
QUIET, PATIENCE = 0.2, 2.0  # of a core, seconds
PREEMPTIONS = 2, 20  # that the system itself needs: in any turn, and more per second


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


def turn(job: Job, is_short: bool) -> tuple[list[float], bool]:
    """Milliseconds of each call of one turn, and whether other programs took a core meanwhile."""
    settle()
    if is_short:
        job()
    preempted = preemptions()
    end, times = time.perf_counter() + TURN, []
    while not times or time.perf_counter() < end:
        times.append(timed(job) * 1e3)
    usual = PREEMPTIONS[0] + PREEMPTIONS[1] * sum(times) / 1e3
    return times, preemptions() - preempted > usual


def preemptions() -> int:
    """How often the system has taken a core from a thread of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def are_enough(turns: list[list[float]]) -> bool:
    return len(turns) >= LEAST_TURNS and sum(map(len, turns)) >= LEAST_CALLS


def interleaved(
    jobs: Mapping[str, Job], budget: float, *, keeps_all: bool = False
) -> dict[str, list[float]]:
    """Milliseconds of every call, by job, in about `budget` seconds; nobody always comes first.

    Turns that other programs disturbed are left out, unless too few others remain or `keeps_all`.
    """
    quiet: dict[str, list[list[float]]] = {name: [] for name in jobs}
    disturbed: dict[str, list[list[float]]] = {name: [] for name in jobs}
    order = list(jobs)
    is_short = {}
    for name in order:
        settle()
        is_short[name] = timed(jobs[name]) < SHORT
    end = time.perf_counter() + budget
    gc.collect()
    gc.disable()
    try:
        while time.perf_counter() < end or not all(
            are_enough(quiet[name] + disturbed[name]) for name in jobs
        ):
            for name in order:
                times, was_disturbed = turn(jobs[name], is_short[name])
                (disturbed if was_disturbed and not keeps_all else quiet)[name].append(times)
            order.append(order.pop(0))
    finally:
        gc.enable()
    for name, turns_of in quiet.items():
        others = sorted(disturbed[name], key=statistics.median)
        while others and not are_enough(turns_of):
            turns_of.append(others.pop(0))
    return {name: [ms for times in turns_of for ms in times] for name, turns_of in quiet.items()}


def figures(times: Mapping[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Median milliseconds, quartiles and number of calls, by job."""
    medians, quartiles, runs = {}, {}, {}
    for name, found in times.items():
        first, medians[name], third = statistics.quantiles(found, n=4, method="inclusive")
        quartiles[name], runs[name] = [first, third], len(found)
    return {"ms": medians, "quartiles": quartiles, "runs": runs}
