"""Part of gpu_check that plants a block which never hands anything on.

The launch must end by itself within seconds and leave NaN, the next call must say so, once, and all
that follows must be as if nothing had been.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from bench_jobs import Miopy, Network
from bench_shapes import Shape
from gpu_places import place, sharing

from miopy.backends import cuda_source, stepped
from miopy.core.algorithm import CLUSTER, GRID, VARIABLE
from miopy.errors import DeviceError

SHAPE, TINY = Shape("lstm", 512, 16, 25), Shape("lstm", 18, 3, 4)
DTYPE = "float16"
EMULATED_POLLS = 500
MOST_SECONDS = 10.0
# What is published, and what by all blocks but one.
PLANTED = {
    GRID: ("if (is_published", "if (blockIdx.x != 1 && is_published"),
    CLUSTER: ("(~0u, is_published", "(~0u, blockIdx.x != 1 && is_published"),
}


def waits(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    where = place(device)
    shape = SHAPE
    if where.is_emulated:
        sharing()
        stepped.GRID_POLL_LIMIT = stepped.CLUSTER_POLL_LIMIT = EMULATED_POLLS
        shape = TINY
    yield {"total": len(PLANTED)}
    for algorithm in PLANTED:
        name = f"a block of a {algorithm} that never hands anything on"
        if algorithm == CLUSTER and not where.new_handle().backend.properties.cluster_blocks:
            yield {"name": name, "skipped": "this device has no clusters of blocks"}
            continue
        os.environ[VARIABLE] = algorithm
        try:
            faults, detail = wait_in_vain(where, shape, algorithm)
        except DeviceError as error:
            faults, detail = [str(error)], ""
        finally:
            del os.environ[VARIABLE]
        yield {"name": name, "passed": not faults, "detail": "; ".join([*faults, detail])}


@contextlib.contextmanager
def planted(old: str, new: str) -> Iterator[None]:
    right = cuda_source.grid

    def wrong(*arguments: Any) -> cuda_source.Source:
        source = right(*arguments)
        assert old in source.text
        return dataclasses.replace(source, text=source.text.replace(old, new))

    cuda_source.grid = wrong
    try:
        yield
    finally:
        cuda_source.grid = right


def wait_in_vain(where: Any, shape: Shape, algorithm: str) -> tuple[list[str], str]:
    """What is not as it must be, and how long the launch took."""
    faults = []
    right = run_of(where, shape)
    right.forward()
    where.synchronize()
    wanted = where.to_host(right.y)
    with planted(*PLANTED[algorithm]):
        wrong = run_of(where, shape)
        start = time.monotonic()
        wrong.forward()
        where.synchronize()
        took = time.monotonic() - start
    if took > MOST_SECONDS:
        faults.append("it took too long")
    if not np.isnan(where.to_host(wrong.y)).any():
        faults.append("no result is NaN")
    if not is_refused(wrong):
        faults.append("the next call does not say so")
    if is_refused(right):
        faults.append("another handle is told of it")
    right.y.fill(np.nan)
    right.forward()
    where.synchronize()
    if not np.array_equal(where.to_host(right.y), wanted):
        faults.append("what follows is wrong")
    return faults, f"ended after {took:.1f} s"


def run_of(where: Any, shape: Shape) -> Miopy:
    network = Network(shape, where.new_handle(), DTYPE)
    return Miopy(network, network.draw(), where.arrays)


def is_refused(run: Miopy) -> bool:
    try:
        run.forward()
    except Exception as error:
        return "waited for another in vain" in str(error)
    return False
