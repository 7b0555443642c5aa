"""The passes of every build on arrays that end where memory ends, of sizes 0, 1 and odd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Case
from core_run import CoreRun, values
from fences import fenced, fenced_bytes
from harness import check
from oracle import GATES
from test_host_paths import PATHS

from miopy.backends import host
from miopy.core.config import DTYPES, RNNConfig

BATCH_SIZES = ((), (1,), (3, 1), (5, 4, 4, 1), (33,))
SIZES = ((3, 0), (0, 1), (1, 2), (19, 17), (1, 66), (7, 200))  # input, hidden


class FencedScratch(host.HostBackend):
    """Every call gets scratch that ends where memory ends, full of NaN.

    sizes   bytes that were asked for
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.memory = fenced_bytes(0)
        self.set_allocator(self.allocate, lambda *given: None, None)

    def allocate(self, context: object, nbytes: int) -> int:
        self.sizes.append(nbytes)
        if nbytes > self.memory.size:  # else the same again: there is one block at a time
            self.memory = fenced_bytes(nbytes)
        block = self.memory[self.memory.size - nbytes :]
        block[:] = 0xFF
        return block.ctypes.data + 1  # aligning it uses up what was asked for beyond the need

    def _do(self, *call: Any) -> None:
        self.close()
        super()._do(*call)

    def _compose(self, *call: Any) -> None:
        self.close()
        super()._compose(*call)


def run_fenced(device, config: RNNConfig) -> None:
    for batch_sizes in BATCH_SIZES:
        run = CoreRun(device, config, batch_sizes, max(batch_sizes, default=0) + 2, fenced)
        run.results()
        for name in ("y", "hy", "dx", "dhx", "dw"):
            assert np.isfinite(values(run.arrays[name], config.dtype)).all(), (name, batch_sizes)


@pytest.mark.usefixtures("host_device")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cell", GATES)
def test_no_pass_leaves_its_arrays_or_its_scratch(monkeypatch, cell, dtype):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "3")  # the last size is worth sharing
    device = FencedScratch()
    for input_size, hidden_size in SIZES:
        run_fenced(device, RNNConfig(cell, input_size, hidden_size, 2, "concat", dtype=dtype))
    for size in (1, 17):
        run_fenced(device, RNNConfig(cell, size, size, skip_input=True, dtype=dtype))


@pytest.mark.usefixtures("host_device")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("steps", [8, 24])
@pytest.mark.parametrize(("cell", "hidden_size"), [("tanh", 1789), ("lstm", 900), ("gru", 1031)])
def test_no_pass_leaves_large_weights(monkeypatch, cell, hidden_size, steps, dtype):
    """The recurrent matrix, where it lies and in many steps read together first, is what memory
    ends with."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    config = RNNConfig(cell, 3, hidden_size, bias="none", dtype=dtype)
    run = CoreRun(FencedScratch(), config, (1,) * steps, place=fenced)
    run.results()
    assert all(np.isfinite(values(run.arrays[name], dtype)).all() for name in ("y", "dx", "dw"))


@pytest.mark.parametrize("path", PATHS)
def test_no_path_reads_what_it_has_not_written(host_device, path):
    case = PATHS[path]
    sizes = (case.input_size, case.hidden_size, 1, "concat")
    config = RNNConfig("lstm", *sizes, skip_input=case.skip_input, dtype="float32")
    batch_sizes = tuple(sum(n > t for n in case.lengths) for t in range(max(case.lengths)))
    wanted = CoreRun(host_device, config, batch_sizes, case.batch).results()
    assert CoreRun(FencedScratch(), config, batch_sizes, case.batch).results() == wanted


@pytest.mark.usefixtures("host_device")
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
def test_every_build_agrees_with_the_reference(mode, dtype):
    check(Case(mode, (9, 4, 4, 1), 13, 37, 2, 2, dtype=dtype, dropout=0.3, seed=4))


@pytest.mark.usefixtures("host_device")
@pytest.mark.parametrize("batch_sizes", [(45,), (70,), (32,) * 3, (32, 14, 9, 3)])
@pytest.mark.parametrize("cell", GATES)
def test_no_step_of_many_sequences_leaves_its_weights(monkeypatch, cell, batch_sizes):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    config = RNNConfig(cell, 211, 475, bias="none", dtype="float32")
    run = CoreRun(FencedScratch(), config, batch_sizes, place=fenced)
    run.results()
    assert all(np.isfinite(run.arrays[name]).all() for name in ("y", "hy", "dx", "dw"))


@pytest.mark.parametrize("cell", ["lstm", "reset_before_gru"])  # in steps
def test_every_call_has_scratch_of_its_own(cell):
    device, config = FencedScratch(), RNNConfig(cell, 5, 7)
    for calls in (1, 2):
        CoreRun(device, config, (3, 2)).results()
        if calls == 1:
            once = len(device.sizes)
    assert len(device.sizes) == 2 * once >= 4


def test_a_fence_kills():
    program = "import numpy, fences; a = fences.fenced(numpy.zeros(3)); a.strides = (8,); "
    program += "print(numpy.lib.stride_tricks.as_strided(a, (4,)))"
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True)
    assert done.returncode < 0, done.stdout + done.stderr
