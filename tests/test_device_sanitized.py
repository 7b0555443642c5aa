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
WITHOUT_A_BARRIER = """
import dataclasses, os
from core_run import CoreRun
from hostcuda.device import EmulatedDevice
from miopy.backends import cuda, cuda_source
from miopy.core.config import RNNConfig

right = cuda_source.persistent

def wrong(*arguments):
    source = right(*arguments)
    before, behind = source.text.split("__syncthreads();\\n        const forward_step s", 1)
    return dataclasses.replace(source, text=f"{before}const forward_step s{behind}")

cuda_source.persistent = wrong
os.environ["MIOPY_RNN_ALGO"] = "persistent"
CoreRun(cuda.CudaBackend(EmulatedDevice()), RNNConfig("tanh", 3, 17), (2, 1)).forward()
"""


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize(
    "file", ["test_device_kernels.py", "test_device_steps.py", "test_cuda_backend.py"]
)
def test_nothing_is_reported_in(file, sanitizer):
    assert_nothing_is_reported(sanitizer, TESTS / file)


@pytest.mark.parametrize(
    ("sanitizer", "test"), list(zip(["address", "thread"], PERSISTENT, strict=True))
)
def test_nothing_is_reported_in_persistent_kernels(sanitizer, test):
    assert_nothing_is_reported(sanitizer, test)


def test_a_missing_barrier_of_a_persistent_kernel_is_reported():
    done = run("thread", "-c", WITHOUT_A_BARRIER)
    assert done.returncode == REPORTED
    assert "data race" in done.stderr


def assert_nothing_is_reported(sanitizer: str, *tests: str | Path) -> None:
    # What pytest captured would be lost with the program that a report ends.
    options = "-x", "-q", "--capture=no", "-p", "no:cacheprovider"
    done = run(sanitizer, "-m", "pytest", *options, *tests)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
