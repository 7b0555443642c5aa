"""What launches take from CUDA's driver, beside the facts of its header, cuda.h of CUDA 12.9."""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from miopy.backends import _stepped, cuda_clusters, cuda_cupy
from miopy.errors import DeviceError

ffi, lib = _stepped.ffi, _stepped.lib
FACTS = json.loads((Path(__file__).parent / "data/cuda_driver.json").read_text())
FIELDS = {  # of the header: of kernels/stepped/calls.h
    "launch_config": {
        **{
            f"{what}Dim{axis}": f"{what}_{axis.lower()}"
            for what in ("grid", "block")
            for axis in "XYZ"
        },
        "sharedMemBytes": "shared_nbytes",
        "hStream": "stream",
        "attrs": "attributes",
        "numAttrs": "num_attributes",
    },
    "launch_attribute": {
        "id": "id",
        **{f"value.clusterDim.{axis}": f"cluster_{axis}" for axis in "xyz"},
    },
}
VENDORS = {"launch_config": "CUlaunchConfig", "launch_attribute": "CUlaunchAttribute"}
FUNCTIONS = {
    "cuLaunchKernel": "launch_function",
    "cuLaunchCooperativeKernel": "launch_together_function",
    "cuLaunchKernelEx": "launch_configured_function",
}
CLUSTERS = 7


@pytest.mark.parametrize("name", FIELDS)
def test_a_structure_lies_as_the_driver_reads_it(name):
    fields = FACTS["structures"][VENDORS[name]]
    assert ffi.sizeof(name) == fields["whole"][1]
    assert fields.keys() - {"whole"} == FIELDS[name].keys()
    ours = dict(ffi.typeof(name).fields)
    for theirs, own in FIELDS[name].items():
        found = ours[own].offset, ffi.sizeof(ours[own].type)
        assert list(found) == fields[theirs], theirs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_what_the_driver_does(name):
    parameters = ffi.typeof(f"{FUNCTIONS[name]} *").args
    kinds = ["pointer" if each.kind == "pointer" else each.cname for each in parameters]
    assert kinds == FACTS["parameters"][name]


def test_numbers_are_the_drivers():
    assert FACTS["numbers"] == {
        "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION": lib.CLUSTER_DIMENSION,
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": cuda_clusters.MOST_DYNAMIC_SHARED,
        "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED": cuda_clusters.NON_PORTABLE_CLUSTERS,
        "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": cuda_cupy.SHARED_MEMORY_ON_REQUEST,
    }


class Driver:
    """A driver that reads a configuration as the header says, and answers so many clusters."""

    error = 0

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def cuOccupancyMaxActiveClusters(self, *given):
        assert len(given) == len(FACTS["parameters"]["cuOccupancyMaxActiveClusters"])
        found, function, config = given
        self.seen = read("CUlaunchConfig", config.value)
        self.seen |= read("CUlaunchAttribute", self.seen["attrs"]) | {"function": function.value}
        ctypes.cast(found, ctypes.POINTER(ctypes.c_int))[0] = CLUSTERS
        return self.error


def read(structure: str, address: int) -> dict[str, int]:
    fields = FACTS["structures"][structure].items()
    return {
        name: int.from_bytes(ctypes.string_at(address + offset, nbytes), "little")
        for name, (offset, nbytes) in fields
        if name != "whole"
    }


@pytest.mark.parametrize(("blocks", "is_portable"), [(8, True), (16, False)])
def test_the_query_for_clusters_says_what_a_launch_will(monkeypatch, blocks, is_portable):
    driver, attributes = Driver(), []
    setter = SimpleNamespace(funcSetAttribute=lambda *given: attributes.append(given))
    cupy = SimpleNamespace(cuda=SimpleNamespace(driver=setter))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    assert cuda_clusters.active_clusters(1234, 256, 99_000, blocks) == CLUSTERS
    assert attributes == ([] if is_portable else [(1234, 14, 1)])
    assert driver.seen.pop("attrs")
    dims = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "YZ"}
    assert driver.seen == dims | {
        **{"function": 1234, "gridDimX": blocks, "blockDimX": 256, "sharedMemBytes": 99_000},
        **{"hStream": 0, "numAttrs": 1, "id": 4},
        **{"value.clusterDim.x": blocks, "value.clusterDim.y": 1, "value.clusterDim.z": 1},
    }
    driver.error = 912
    with pytest.raises(DeviceError, match=f"clusters of {blocks} blocks, error 912"):
        cuda_clusters.active_clusters(1234, 256, 99_000, blocks)


@pytest.mark.parametrize(
    ("most", "runs", "largest"),
    [(16, {16: 7}, 16), (16, {8: 14, 4: 30}, 8), (8, {2: 1}, 2), (16, {}, 0), (0, {2: 1}, 0)],
)
def test_a_device_has_the_clusters_that_it_runs(monkeypatch, most, runs, largest):
    def active_clusters(function, threads, shared_nbytes, blocks):
        if blocks == 16 and 16 not in runs:
            raise DeviceError("device", "cannot have clusters")
        return runs.get(blocks, 0)

    monkeypatch.setattr(cuda_clusters, "active_clusters", active_clusters)
    monkeypatch.setattr(cuda_clusters, "_nothing", lambda nbytes: SimpleNamespace(ptr=1234))
    cuda_clusters.largest_cluster.cache_clear()
    assert cuda_clusters.largest_cluster(0, most, 227 << 10) == largest
    cuda_clusters.largest_cluster.cache_clear()
