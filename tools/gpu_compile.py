"""Part of gpu_check that compiles every kernel for the device, on all cores, into CuPy's cache.

Later parts find them there: one at a time they would take minutes. None may keep anything of a
thread in memory.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import kernel_report
from gpu_places import Cuda, place

from miopy.backends import cuda_cupy
from miopy.backends.cuda_source import Source

MOST_PROCESSES = 16  # each has a context on the device
LOCAL_NBYTES = 3  # CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
EMULATED = 2  # sources, of which g++ takes long


def compile_all(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    where = place(device)
    if not isinstance(where, Cuda):
        chosen = kernel_report.sources()[:EMULATED]
        yield {"total": len(chosen)}
        for source in chosen:
            where.device.load(source)
            yield {"name": source.name, "passed": True}
        return
    chosen = sources_for(int(where.arrays.cuda.Device().compute_capability))
    yield {"total": len(chosen)}
    context = multiprocessing.get_context("spawn")
    count = max(1, min(MOST_PROCESSES, os.cpu_count() or 1))
    with ProcessPoolExecutor(count, context) as pool:
        try:
            yield from pool.map(compiled, chosen)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def sources_for(capability: int) -> list[Source]:
    """What a device of a compute capability, times 10, may be asked to run, largest first; as for
    the next lower one that is known."""
    known = [
        target for target in kernel_report.TARGETS if kernel_report.capability(target) <= capability
    ]
    target = max(known, key=kernel_report.capability)
    found = [source for source, targets in kernel_report.every().items() if target in targets]
    return sorted(found, key=lambda source: -len(source.text))


def compiled(source: Source) -> dict[str, Any]:
    """A row; in a process of its own."""
    import cupy

    try:
        functions, _ = cuda_cupy._load(cupy.cuda.runtime.getDevice(), source)
    except Exception as error:  # of CuPy, NVRTC or the driver
        return {"name": source.name, "passed": False, "detail": str(error)[:500]}
    read = cupy.cuda.driver.funcGetAttribute
    kept = {name: read(LOCAL_NBYTES, function) for name, function in functions.items()}
    spilled = [f"{name} keeps {nbytes} bytes in memory" for name, nbytes in kept.items() if nbytes]
    row = {"name": source.name, "passed": not spilled}
    return row | {"detail": ", ".join(spilled)} if spilled else row
