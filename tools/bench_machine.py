"""The machine that a benchmark runs on, and the threads that every side of it may use."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from importlib import metadata
from pathlib import Path

from miopy.backends.host import build

# By an instruction set: what keeps miopy, torch's own kernels, MKL and oneDNN to it on machines
# that have more.
KEPT_TO = {
    "avx2": {
        "MIOPY_ISA": "avx2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    }
}
# A program that keeps a processor busy for as long as the one that started it lives.
BUSY = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(100000):
        pass
"""


def threads() -> int:
    """MIOPY_NUM_THREADS, or as many as this process may run on."""
    return int(os.environ.get("MIOPY_NUM_THREADS") or len(os.sched_getaffinity(0)))


def share_threads() -> None:
    """Give every library that is loaded from now on the same number of threads, on the CPU."""
    os.environ["MIOPY_BACKEND"] = "host"
    os.environ["MIOPY_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads())


def keep_to(isa: str) -> None:
    """Keep what is loaded from now on, here and in processes to come, to an instruction set."""
    os.environ |= KEPT_TO[isa]


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """So many others run meanwhile, each of which would have a processor for itself."""
    command = [sys.executable, "-c", BUSY, str(os.getpid())]
    started = [subprocess.Popen(command) for _ in range(programs)]
    try:
        yield
    finally:
        for program in started:
            program.kill()
            program.wait()


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
