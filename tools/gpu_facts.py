"""Parts of gpu_check about the machine: what it is, and what its memory checker finds."""

from __future__ import annotations

import hashlib
import itertools
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_jobs import CELLS, Miopy, Network
from bench_shapes import Shape
from gpu_places import Cuda, Place, place

import miopy

ROOT = Path(__file__).resolve().parent.parent
SANITIZERS = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer")


def environment(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Facts, and the two ceilings that times may be compared with."""
    where = place(device)
    facts = {"miopy": miopy.__version__, "python": platform.python_version()}
    facts["numpy"] = np.__version__
    if isinstance(where, Cuda):
        facts |= device_facts(where) | torch_facts()
    else:
        facts["device"] = "emulated"
    yield {"total": len(facts) + (0 if where.is_emulated else 1)}
    for name, detail in facts.items():
        yield {"name": name, "detail": str(detail), "passed": True}
    if isinstance(where, Cuda):
        yield {"name": "copy, GB/s", "detail": f"{copy_rate(where):.0f}", "passed": True}


def device_facts(where: Cuda) -> dict[str, object]:
    cupy = where.arrays
    device = cupy.cuda.Device()
    properties = cupy.cuda.runtime.getDeviceProperties(device.id)
    return {
        "device": properties["name"].decode(),
        "compute capability": device.compute_capability,
        "multiprocessors": properties["multiProcessorCount"],
        "memory, GiB": f"{properties['totalGlobalMem'] / 2**30:.0f}",
        "driver": driver_version(),
        "CUDA of the driver": cupy.cuda.runtime.driverGetVersion(),
        "CUDA of CuPy": cupy.cuda.runtime.runtimeGetVersion(),
        "CuPy": cupy.__version__,
    }


def driver_version() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"unknown: {error}"


def torch_facts() -> dict[str, object]:
    try:
        import torch
    except ImportError:
        return {"torch": "not installed"}
    return {"torch": torch.__version__, "cuDNN": torch.backends.cudnn.version()}


def copy_rate(where: Cuda) -> float:
    """Gigabytes read and written in a second by a large copy."""
    source = where.arrays.random.random(1 << 27)
    to = where.arrays.empty_like(source)
    times = [
        where.milliseconds(lambda: to.data.copy_from_async(source.data, source.nbytes))
        for _ in range(9)
    ]
    return 2 * source.nbytes / sorted(times)[4] / 1e6


def memcheck(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """`short` under CUDA's memory checker."""
    name = "compute-sanitizer memcheck"
    yield {"total": 1}
    tool = next(filter(None, map(shutil.which, SANITIZERS)), None)
    if device == "emulated" or tool is None:
        yield {"name": name, "skipped": "not installed" if tool is None else "there is no GPU"}
        return
    part = str(ROOT / "tools/gpu_part.py")
    command = [tool, "--tool", "memcheck", sys.executable, part, "short", device, str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        yield {"name": name, "skipped": f"not done after {seconds:.0f} s"}
        return
    networks = done.stdout.count('"passed": true')
    summary = re.search(r"ERROR SUMMARY: (\d+) error", done.stdout + done.stderr)
    if summary is None:
        lines = (done.stderr or done.stdout).strip().splitlines()
        yield {"name": name, "skipped": f"it did not run: {lines[-1] if lines else 'no output'}"}
        return
    passed = summary[1] == "0" and done.returncode == 0 and networks > 0
    yield {"name": name, "passed": passed, "detail": f"{summary[0]}s, {networks} networks"}


def short(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """A few training steps, directly and replayed, every array an allocation of its own."""
    where: Place = place(device)
    if isinstance(where, Cuda):
        where.arrays.cuda.set_allocator(None)
    for cell, dtype, (layers, directions) in itertools.product(
        CELLS, ("float32", "float16"), ((1, 1), (2, 2))
    ):
        shape = Shape(cell, 33, 5, 6, 7, layers, directions)
        network = Network(shape, where.handle, dtype)
        run = Miopy(network, network.draw(), where.arrays)
        for _ in range(3):
            run.step()
        run.inference()
        where.synchronize()
        yield {"name": f"{shape.name} {dtype}", "passed": True}


def commit() -> str:
    """Of the checkout, unless it came without its history."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def sources() -> str:
    """A digest of what ran, which a commit without its history can be compared with."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "miopy").rglob("*")):
        if path.suffix in (".py", ".c", ".cu", ".h", ".inc") and "_sdk" not in path.parts:
            digest.update(path.read_bytes() if not path.name.startswith("_") else b"")
    return digest.hexdigest()[:16]
