"""The passes of every build on arrays that end where memory ends, of sizes 0, 1 and odd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from core_run import CoreRun
from fences import fenced
from oracle import GATES

from miopy.backends import host
from miopy.core.config import DTYPES, RNNConfig

BATCH_SIZES = ((), (1,), (5, 4, 4, 1), (33,))
SIZES = ((3, 0), (0, 1), (1, 2), (19, 17), (1, 66))  # input, hidden


@pytest.fixture(params=host.builds())
def device(request, monkeypatch):
    monkeypatch.setenv("MIOPY_ISA", request.param)
    return host.create()


def run_fenced(device, config: RNNConfig) -> None:
    for batch_sizes in BATCH_SIZES:
        run = CoreRun(device, config, batch_sizes, max(batch_sizes, default=0) + 2, fenced)
        run.results()
        for name in ("y", "hy", "dx", "dhx", "dw"):
            values = run.arrays[name]
            if config.dtype == "bfloat16":
                values = (values.astype(np.uint32) << 16).view(np.float32)
            assert np.isfinite(values).all(), (name, batch_sizes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cell", GATES)
def test_no_pass_leaves_its_arrays(device, cell, dtype):
    for input_size, hidden_size in SIZES:
        run_fenced(device, RNNConfig(cell, input_size, hidden_size, 2, True, dtype=dtype))
    for size in (1, 17):
        run_fenced(device, RNNConfig(cell, size, size, skip_input=True, dtype=dtype))


def test_a_fence_kills():
    program = "import numpy, fences; a = fences.fenced(numpy.zeros(3)); a.strides = (8,); "
    program += "print(numpy.lib.stride_tricks.as_strided(a, (4,)))"
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True)
    assert done.returncode < 0, done.stdout + done.stderr
