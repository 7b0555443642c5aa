"""The kernels of the CUDA backend, and the backend itself, emulated under sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostcuda.run_sanitized import run

TESTS = Path(__file__).resolve().parent


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize(
    "file", ["test_device_kernels.py", "test_device_steps.py", "test_cuda_backend.py"]
)
def test_nothing_is_reported_in(file, sanitizer):
    # What pytest captured would be lost with the program that a report ends.
    options = "-x", "-q", "--capture=no", "-p", "no:cacheprovider"
    done = run(sanitizer, "-m", "pytest", *options, TESTS / file)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
