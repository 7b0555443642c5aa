"""Every kernel compiles for AMD's GPUs, with Debian's clang and without ROCm."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import kernel_report
import pytest

from miopy.backends import cuda_source
from miopy.backends.cuda_source import Source
from miopy.core.algorithm import (
    BY_NUMBER,
    PERSISTENT_CELLS,
    PERSISTENT_DTYPES,
    DeviceProperties,
    products_of,
    residency,
)
from miopy.core.config import RNNConfig

COMPILER = "clang-19"
TARGETS = ("gfx90a", "gfx942", "gfx1100")  # MI200, MI300, RDNA 3
LANGUAGE = Path(__file__).resolve().parent / "hip_language.h"
OPTIONS = (
    *("-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-std=c++17", "-O3"),
    *("-Wall", "-Werror", "-include", str(LANGUAGE)),
)
SOURCES = kernel_report.sources()
NO_INSTRUCTION = DeviceProperties(1, 64 << 10)


def largest(cell: str, dtype: str, rows: int) -> Source:
    """The persistent kernels of the largest layer that a block of so many sequences can hold."""
    configs = [RNNConfig(cell, 1, units, dtype=dtype) for units in range(16, 512, 16)]
    every = [(config, products_of(NO_INSTRUCTION, config, rows)) for config in configs]
    fitting = [
        products
        for config, products in every
        if residency(config, products, rows, False).shared_nbytes <= NO_INSTRUCTION.shared_nbytes
    ]
    return cuda_source.persistent(cell, dtype, fitting[-1])


# They take seconds: of each cell and type one, for other numbers of rows and another target.
PERSISTENT = [
    largest(cell, dtype, list(BY_NUMBER[dtype])[number % len(BY_NUMBER[dtype])])
    for dtype in PERSISTENT_DTYPES
    for number, cell in enumerate(PERSISTENT_CELLS)
]
# Every one for one target, and another for the next: the four types of a cell come one after
# another, so that every cell and every type meets all targets. Sources of a type alone are for all.
BY_CELL = [source for source in SOURCES if "pointwise_forward" in source.text]
JOBS = [
    (source, TARGETS[n % len(TARGETS)])
    for sources in (BY_CELL, PERSISTENT)
    for n, source in enumerate(sources)
]
JOBS += [(source, target) for source in SOURCES if source not in BY_CELL for target in TARGETS]

pytestmark = pytest.mark.skipif(
    shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed; .ci/run installs it"
)


def compiled(source: Source, target: str) -> str:
    """Assembly, which ends in a description of every kernel."""
    done = subprocess.run(
        [COMPILER, *OPTIONS, f"--offload-arch={target}", "-S", "-o", "-", "-"],
        input=source.text,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, f"{source.name} for {target}:\n{done.stderr}"
    return done.stdout


def usages(assembly: str) -> dict[str, dict[str, str]]:
    """Kernel to the fields of its description."""
    return {
        found["kernel"]: dict(re.findall(r"\.(\w+): +(\w+)", found["fields"]))
        for found in re.finditer(r"\.name: +(?P<kernel>\w+)\n(?P<fields>(?: {4}\..*\n)+)", assembly)
    }


@pytest.mark.parametrize(
    ("source", "target"), JOBS, ids=[f"{source.name} {target}" for source, target in JOBS]
)
def test_a_source_compiles_and_keeps_nothing_of_a_thread_in_memory(source, target):
    kernels = usages(compiled(source, target))
    assert set(kernels) == set(source.kernels)
    for kernel, usage in kernels.items():
        in_memory = (usage["private_segment_fixed_size"], usage["vgpr_spill_count"])
        assert in_memory == ("0", "0"), kernel
        assert usage["uses_dynamic_stack"] == "false", kernel
