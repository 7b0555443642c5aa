"""A CUDA device on the CPU: kernel sources compiled by g++ and run thread by thread.

`device.EmulatedDevice` answers what the CUDA backend asks of a device (`backends/cuda_device.py`).
Kernels, products, streams and device memory are in C++ (`*.cpp`, one shared library) so that the
host code under test calls them as it calls the driver; `kernel.h` is CUDA's language for g++.
"""

from __future__ import annotations

from miopy.backends import cuda

from .device import EmulatedDevice


def create() -> cuda.CudaBackend:
    return cuda.CudaBackend(EmulatedDevice())


def emulate() -> None:
    """From here on the CUDA backend of this process is emulated."""
    cuda.create, cuda.why_missing = create, lambda: None
