"""The kernels of the CUDA backend, and the backend itself, emulated under sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostcuda.run_sanitized import REPORTED, run

TESTS = Path(__file__).resolve().parent
# Of the persistent kernels: by instruction, and by number.
PERSISTENT = [
    f"{TESTS}/test_device_persistent.py::test_many_steps_at_once_give_what_single_steps_give[{case}]"
    for case in ("lstm-float16", "gru-float32")
]
# Runs a layer in both directions with a text of persistent/steps.cu replaced by another.
WITH_A_FAULT = """
import dataclasses, os, sys
from core_run import CoreRun
from hostcuda.device import EmulatedDevice
from miopy.backends import cuda, cuda_source
from miopy.core.config import CONCAT, RNNConfig

right, (where, replaced, replacement) = cuda_source.persistent, sys.argv[1:]

def wrong(*arguments):
    source = right(*arguments)
    before, behind = source.text.split(where, 1)
    assert replaced in behind
    text = before + where + behind.replace(replaced, replacement, 1)
    return dataclasses.replace(source, text=text)

cuda_source.persistent = wrong
os.environ["MIOPY_RNN_ALGO"] = "persistent"
run = CoreRun(cuda.CudaBackend(EmulatedDevice()), RNNConfig("lstm", 3, 17, 1, CONCAT), (2, 1, 1))
run.forward()
run.backward()
"""
FORWARD, BACKWARD = "persistent_forward)", "persistent_backward)"
BARRIER = "__syncthreads();\n        "
FAULTS = {  # where, what is there, what it is replaced by
    "no barrier behind forward's steps": (FORWARD, f"{BARRIER}before", "before"),
    "forward writes inputs that it reads": (FORWARD, "(NUM_INPUTS(PLANE_TILES) - half)", "half"),
    "no barrier behind backward's steps": (BACKWARD, f"{BARRIER}after", "after"),
    "backward writes inputs that it reads": (
        BACKWARD,
        "(NUM_INPUTS(GATES * PLANE_TILES) - half)",
        "half",
    ),
    "all blocks run forward in one direction": (FORWARD, "[blockIdx.y]", "[0]"),
    "all blocks run backward in one direction": (BACKWARD, "[blockIdx.y]", "[0]"),
}
# All passes of both directions on a grid or clusters, through several rounds of a grid's
# exchange; in backward, the blocks of a grid share the depth. Clusters run as with the largest
# matrices. Arguments: the algorithm, the dtype, and what to plant.
ON_A_GRID = """
import dataclasses, os, sys
from core_run import CoreRun
from hostcuda.device import EmulatedDevice
from miopy.backends import cuda, cuda_source
from miopy.core import cluster, grid
from miopy.core.algorithm import DeviceProperties
from miopy.core.config import CONCAT, RNNConfig

right = cuda_source.grid

def planted(*arguments):
    source = right(*arguments)
    for old, new in zip(sys.argv[3::2], sys.argv[4::2]):
        assert old in source.text
        source = dataclasses.replace(source, text=source.text.replace(old, new))
    return source

cuda_source.grid = planted
way = grid.GridProducts(3, 2, shares=2, places=1)
grid.BACKWARD = dict.fromkeys(grid.BACKWARD, (way,))
cluster.FORWARD = {4: (grid.GridProducts(4, 1, places=1, column_warps=2, tile_rows=7),)}
cluster.BACKWARD = (grid.GridProducts(3, 2, places=1),)
os.environ["MIOPY_RNN_ALGO"] = sys.argv[1]
device = EmulatedDevice(properties=DeviceProperties(4, 227 << 10, grid.DTYPES, 2))
config = RNNConfig("lstm", 3, 13, 1, CONCAT, dtype=sys.argv[2])
CoreRun(cuda.CudaBackend(device), config, (9, 9, 2) + (1,) * 26).results()
"""
GRID_FAULTS = {
    "no barrier behind the products": (
        "store_slice_sums(&sum, sums, 0);\n    __syncthreads();",
        "store_slice_sums(&sum, sums, 0);",
    ),
    "no barrier before the only sums": (
        "__syncthreads(); /* what is there has been read */",
        ";",
    ),
    "one place for the sums of all tiles": (
        "in->sums + place *",
        "in->sums + place / PLACES * PLACES *",
    ),
    "all blocks run one direction": ("#define RUN blockIdx.y", "#define RUN 0"),
}


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_nothing_is_reported_in_kernels_and_steps(sanitizer):
    files = (f"test_device_{name}.py" for name in ("kernels", "states", "steps"))
    assert_nothing_is_reported(sanitizer, *(TESTS / file for file in files))


def test_nothing_is_reported_in_the_backend():
    assert_nothing_is_reported("address", TESTS / "test_cuda_backend.py")


def test_no_race_is_reported_in_the_backend():
    """In its kernels: what runs on the host is not watched."""
    which = "both_backends or become_graphs or graph_reads"
    assert_nothing_is_reported("thread", TESTS / "test_cuda_backend.py", "-k", which)


@pytest.mark.parametrize(
    ("sanitizer", "test"), list(zip(["address", "thread"], PERSISTENT, strict=True))
)
def test_nothing_is_reported_in_persistent_kernels(sanitizer, test):
    assert_nothing_is_reported(sanitizer, test)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_persistent_kernel_is_reported(fault):
    done = run("thread", "-c", WITH_A_FAULT, *FAULTS[fault])
    assert done.returncode == REPORTED, done.stderr
    assert "data race" in done.stderr


def test_reading_ahead_of_what_is_there_is_reported():
    """The last step has no next one."""
    where = "void load_units("
    done = run("address", "-c", WITH_A_FAULT, where, "if (b < rows.count && ", "if (")
    assert done.returncode == REPORTED, done.stderr
    assert "AddressSanitizer" in done.stderr


@pytest.mark.parametrize(("sanitizer", "asked"), [("address", "persistent"), ("thread", "grid")])
def test_nothing_is_reported_of_a_wavefront(sanitizer, asked):
    name = "test_each_layer_is_a_chunk_behind"
    assert_nothing_is_reported(sanitizer, f"{TESTS}/test_device_wavefront.py::{name}[{asked}]")


@pytest.mark.parametrize(
    ("sanitizer", "algorithm", "dtype"),
    [
        ("address", "grid", "float16"),
        ("address", "grid", "float32"),
        ("thread", "grid", "float32"),
        ("address", "cluster", "float16"),
        ("thread", "cluster", "float16"),
    ],
)
def test_nothing_is_reported_on_a_grid(sanitizer, algorithm, dtype):
    done = run(sanitizer, "-c", ON_A_GRID, algorithm, dtype)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    ("algorithm", "fault"),
    [
        *(("grid", fault) for fault in GRID_FAULTS),
        ("cluster", "no barrier before the only sums"),
    ],
)
def test_a_fault_in_the_kernels_of_a_grid_is_a_race(algorithm, fault):
    done = run("thread", "-c", ON_A_GRID, algorithm, "float16", *GRID_FAULTS[fault])
    assert done.returncode == REPORTED, done.stderr
    assert "data race" in done.stderr


def assert_nothing_is_reported(sanitizer: str, *tests: str | Path) -> None:
    # What pytest captured would be lost with the program that a report ends.
    options = "-x", "-q", "--capture=no", "--assert=plain", "-p", "no:cacheprovider"
    done = run(sanitizer, "-m", "pytest", *options, *tests)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
