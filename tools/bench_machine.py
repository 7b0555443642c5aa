"""The machine that a benchmark runs on, and the threads that every side of it may use."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from datetime import date
from importlib import metadata
from pathlib import Path

from miopy.backends.host import build


def threads() -> int:
    """MIOPY_NUM_THREADS, or as many as this process may run on."""
    return int(os.environ.get("MIOPY_NUM_THREADS") or len(os.sched_getaffinity(0)))


def share_threads() -> None:
    """Give every library that is loaded from now on the same number of threads, on the CPU."""
    os.environ["MIOPY_BACKEND"] = "host"
    os.environ["MIOPY_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads())


def cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine(packages: Iterable[str]) -> dict[str, object]:
    """What figures were measured on, with the kernels that miopy chose and versions of packages."""
    about = {"cpu": cpu(), "threads": threads(), "date": date.today().isoformat()}
    about["MIOPY_ISA"] = build()
    versions = {package: metadata.version(package) for package in packages}
    return about | {"python": platform.python_version()} | versions
