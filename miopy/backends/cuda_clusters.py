"""What CUDA's driver knows of clusters of blocks, and CuPy has no words for."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from ..core.blocks import THREADS
from ..errors import DeviceError
from ._stepped import ffi, lib
from .cuda_errors import translated

MOST_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
NON_PORTABLE_CLUSTERS = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
PORTABLE_BLOCKS = 8
MOST_BLOCKS = {9: 16, 10: 16}  # by major compute capability; later ones have portable ones
NOTHING = 'extern "C" __global__ void nothing() {}'


def cluster_blocks(capability: int) -> int:
    """How many a cluster may have on devices of a compute capability, times 10; 0: none."""
    major = capability // 10
    return MOST_BLOCKS.get(major, PORTABLE_BLOCKS if major > 10 else 0)


@translated
def active_clusters(function: int, threads: int, shared_nbytes: int, blocks: int) -> int:
    """How many of so many blocks the current device runs at a time; lets the function be launched
    in such. Raises DeviceError if the driver refuses."""
    if blocks > PORTABLE_BLOCKS:
        import cupy

        cupy.cuda.driver.funcSetAttribute(function, NON_PORTABLE_CLUSTERS, 1)
    cluster = ffi.new("launch_attribute *", {"id": lib.CLUSTER_DIMENSION, "cluster_x": blocks})
    cluster.cluster_y = cluster.cluster_z = 1
    config = ffi.new("launch_config *")
    config.grid_x, config.block_x, config.shared_nbytes = blocks, threads, shared_nbytes
    config.grid_y = config.grid_z = config.block_y = config.block_z = 1
    config.attributes, config.num_attributes = cluster, 1
    found = ctypes.c_int()
    query = ctypes.CDLL("libcuda.so.1").cuOccupancyMaxActiveClusters
    address = int(ffi.cast("uintptr_t", config))
    error = query(ctypes.byref(found), ctypes.c_void_p(function), ctypes.c_void_p(address))
    if error:
        raise DeviceError("device", f"cannot have clusters of {blocks} blocks, error {error}")
    return found.value


@cache
def largest_cluster(device: int, most: int, shared_nbytes: int) -> int:
    """Blocks of the largest cluster, at most so many, that a device, the current one, runs of our
    kernels; 0: none. A part of a device may have fewer multiprocessors side by side than the whole.
    """
    if most <= 1:
        return 0
    function = _nothing(shared_nbytes)
    while most > 1 and not _runs(function.ptr, shared_nbytes, most):
        most //= 2
    return most if most > 1 else 0


def _nothing(shared_nbytes: int) -> Any:
    """CuPy's function that may have so much shared memory: its address lasts as long."""
    import cupy

    function = cupy.RawKernel(NOTHING, "nothing").kernel
    cupy.cuda.driver.funcSetAttribute(function.ptr, MOST_DYNAMIC_SHARED, shared_nbytes)
    return function


def _runs(function: int, shared_nbytes: int, blocks: int) -> bool:
    try:
        return active_clusters(function, THREADS, shared_nbytes, blocks) > 0
    except DeviceError:
        return False
