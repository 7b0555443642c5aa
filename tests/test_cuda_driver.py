"""What launches take from CUDA's driver, beside the facts of its header, cuda.h of CUDA 12.9."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pytest

from miopy.backends import _stepped, cuda_cupy
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
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": cuda_cupy.MOST_DYNAMIC_SHARED,
        "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED": cuda_cupy.NON_PORTABLE_CLUSTERS,
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


def test_the_query_for_clusters_says_what_a_launch_will(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    assert cuda_cupy._active_clusters(1234, 256, 99_000, 16) == CLUSTERS
    assert driver.seen.pop("attrs")
    dims = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "YZ"}
    assert driver.seen == dims | {
        **{"function": 1234, "gridDimX": 16, "blockDimX": 256, "sharedMemBytes": 99_000},
        **{"hStream": 0, "numAttrs": 1, "id": 4},
        **{"value.clusterDim.x": 16, "value.clusterDim.y": 1, "value.clusterDim.z": 1},
    }
    driver.error = 912
    with pytest.raises(DeviceError, match="clusters of 16 blocks, error 912"):
        cuda_cupy._active_clusters(1234, 256, 99_000, 16)
