"""Running the kernels of faults.cu: python -m hostcuda.faults good|faulty KERNEL..."""

from __future__ import annotations

import ctypes
import re
import sys

import numpy as np

from miopy.backends.cuda_source import Source

from . import build
from .calls import Array, launch
from .device import EmulatedDevice

THREADS = 32
_TEXT = (build.FOLDER / "faults.cu").read_text()
KERNELS = tuple(re.findall(r"^FAULT\((\w+)\)$", _TEXT, re.MULTILINE))


def source(faulty: bool) -> Source:
    name = "faulty.cu" if faulty else "good.cu"
    return Source(name, f'#define FAULTY {faulty:d}\n#line 1 "faults.cu"\n{_TEXT}', KERNELS)


def run(kernel: str, faulty: bool) -> tuple[int, np.ndarray]:
    """The answer to the launch, and what y holds; x is 0, 1, 2, ..."""
    device = EmulatedDevice()
    blocks = 2 if kernel == "relaxed_counter" else 1
    y, x = Array(device, np.full(blocks * THREADS, np.nan)), Array(device, np.arange(THREADS))
    counter = Array(device, [0], np.uint32)
    result = launch(
        device,
        device.load(source(faulty))[kernel],
        (y, x, ctypes.c_int(THREADS), counter),
        grid=(blocks, 1, 1),
        block=(THREADS, 1, 1),
        shared_nbytes=4 * THREADS,
    )
    return result, y.values.copy()


if __name__ == "__main__":
    mode, *kernels = sys.argv[1:]
    for kernel in kernels:
        answer, result = run(kernel, mode == "faulty")
        print(kernel, answer, *result)
