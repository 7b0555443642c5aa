"""Threads of the emulated device that wait for each other; faults that it and sanitizers find."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hostcuda import build, faults
from hostcuda.calls import SUCCESS, Array, launch
from hostcuda.device import EmulatedDevice, configure
from hostcuda.run_sanitized import REPORTED, run

from miopy.backends.cuda_source import Source

TIMEOUT, MISALIGNED, FAILED = 702, 716, 719


@pytest.fixture
def device() -> Iterator[EmulatedDevice]:
    yield EmulatedDevice()
    configure()


def loaded(device: EmulatedDevice, signature: str, body: str) -> int:
    """The function of a kernel named `test`."""
    text = f'extern "C" __global__ void test({signature})\n{{\n{body}\n}}\n'
    return device.load(Source("test.cu", text, ("test",)))["test"]


def test_what_waits_is_found_in_a_source():
    assert build.needs_fibers("if (x) __syncthreads();")
    assert build.needs_fibers("while (!load_acquire(flag)) {}")
    assert build.needs_fibers("DYNAMIC_SHARED(memory);")
    assert not build.needs_fibers("y[i] = atomicAdd(x, 1); // no __syncthreads_at_all")


def test_lanes_exchange_values(device):
    body = """
        const int t = threadIdx.x, lane = t % 32, base = t - lane;
        out[0 * n + t] = __shfl_sync(~0u, x[t], lane == 3 ? 7 : 31 - lane);
        out[1 * n + t] = __shfl_xor_sync(~0u, x[t], 5);
        out[2 * n + t] = __shfl_down_sync(~0u, x[t], 4);
        out[3 * n + t] = __ballot_sync(~0u, x[t] % 3 == 0) & 0xffffff;
        const unsigned mask = lane < 10 ? 0x3ff : ~0x3ffu;
        out[4 * n + t] = __shfl_sync(mask, x[t], lane < 10 ? 9 : 10);
    """
    n = 64
    x, out = Array(device, np.arange(n) * 7 % 31), Array(device, np.zeros((5, n)))
    function = loaded(
        device,
        "float *out, const float *floats, int n",
        "int x[64];for (int i = 0; i < n; i++) x[i] = floats[i];" + body,
    )
    arguments = out, x, ctypes.c_int(n)
    assert launch(device, function, arguments, block=(n, 1, 1)) == SUCCESS
    lanes = np.arange(n) % 32
    base, values = np.arange(n) - lanes, x.values
    source = np.where(lanes == 3, 7, 31 - lanes)
    bits = (values.reshape(2, 32) % 3 == 0)[:, :24]
    ballots = (bits * 2.0 ** np.arange(24)).sum(axis=1)
    assert np.array_equal(out.values[0], values[base + source])
    assert np.array_equal(out.values[1], values[np.arange(n) ^ 5])
    assert np.array_equal(
        out.values[2], values[np.where(lanes < 28, np.arange(n) + 4, np.arange(n))]
    )
    assert np.array_equal(out.values[3], np.repeat(ballots, 32))
    assert np.array_equal(out.values[4], values[base + np.where(lanes < 10, 9, 10)])


def test_a_warp_that_is_not_full_exchanges_among_its_own(device):
    out = Array(device, np.zeros(40))
    body = "out[threadIdx.x] = __shfl_xor_sync(~0u, (int)threadIdx.x, 1); __syncwarp();"
    assert launch(device, loaded(device, "float *out", body), [out], block=(40, 1, 1)) == SUCCESS
    assert out.values.tolist() == [t ^ 1 for t in range(40)]


def test_atomics_count_all_threads(device):
    body = """
        atomicAdd(count, 1);
        atomicAdd(sum, 0.5f);
        unsigned seen = *most;
        while (threadIdx.x > seen) {
            const unsigned now = atomicCAS(most, seen, threadIdx.x);
            if (now == seen)
                break;
            seen = now;
        }
    """
    count, most = Array(device, [0], np.int32), Array(device, [0], np.uint32)
    total = Array(device, [0])
    function = loaded(device, "int *count, float *sum, unsigned *most", body)
    arguments = count, total, most
    assert launch(device, function, arguments, grid=(3, 1, 1), block=(100, 1, 1)) == SUCCESS
    assert (count.values[0], total.values[0], most.values[0]) == (300, 150, 99)


GRID_BARRIER = """
    out[blockIdx.x] = blockIdx.x;
    sync_grid();
    out[gridDim.x + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x];
"""


def test_blocks_wait_for_each_other_at_a_grid_barrier(device):
    out = Array(device, np.zeros((2, 5)))
    function = loaded(device, "float *out", GRID_BARRIER)
    assert launch(device, function, [out], grid=(5, 1, 1), block=(1, 1, 1)) == SUCCESS
    assert out.values[1].tolist() == [1, 2, 3, 4, 0]


def test_a_grid_barrier_of_more_blocks_than_fit_is_a_deadlock(device, capfd):
    out = Array(device, np.zeros((2, 5)))
    configure(most_threads=4)
    function = loaded(device, "float *out", GRID_BARRIER)
    assert launch(device, function, [out], grid=(5, 1, 1), block=(1, 1, 1)) == FAILED
    assert capfd.readouterr().err == "hostcuda: kernel test: deadlock\n" + "".join(
        f"  block ({block}, 0, 0), threads 0 to 0: at sync_grid (test.cu:5)\n" for block in range(4)
    )


def order_of_threads(device: EmulatedDevice, seed: int) -> list[float]:
    configure(seed=seed)
    out, ticket = Array(device, np.zeros(64)), Array(device, [0], np.int32)
    function = loaded(
        device,
        "float *out, int *ticket",
        "out[threadIdx.x] = atomicAdd(ticket, 1); __syncthreads();",
    )
    assert launch(device, function, [out, ticket], block=(64, 1, 1)) == SUCCESS
    return out.values.tolist()


def test_the_order_of_threads_depends_on_the_seed_alone(device):
    first, second = order_of_threads(device, 1), order_of_threads(device, 2)
    assert order_of_threads(device, 0) == sorted(first) == sorted(second) == list(range(64))
    assert first != second != sorted(second)
    assert order_of_threads(device, 1) == first


# --- planted faults -------------------------------------------------------------------------------

N = faults.THREADS
X = np.arange(N, dtype=np.float32)
GOOD = dict.fromkeys(faults.KERNELS, X) | {
    "missing_barrier": X[::-1],
    "early_overwrite": np.full(N, X.sum()),
    "racing_neighbours": X + np.append(X[1:], 0),
    "relaxed_counter": np.tile(X, 2),
    "misaligned_access": X // 2,
}
# What the report of a build says, and the line of faults.cu that it names; the text on that line.
FOUND = {
    "missing_barrier": ("thread", "data race", "y[threadIdx.x] = tile[n - 1 - threadIdx.x];"),
    "early_overwrite": ("thread", "data race", "tile[threadIdx.x] = passed;"),
    "racing_neighbours": ("thread", "data race", "y[i] += FAULTY ? y[i + 1] : x[i + 1];"),
    "relaxed_counter": ("thread", "data race", "y[n + threadIdx.x] = y[threadIdx.x];"),
    "past_shared_memory": (
        "address",
        "heap-buffer-overflow",
        "tile[threadIdx.x + FAULTY] = x[threadIdx.x];",
    ),
    "past_device_memory": (
        "address",
        "heap-buffer-overflow",
        "y[threadIdx.x + FAULTY] = x[threadIdx.x];",
    ),
    "overflowing_index": (
        "address",
        "signed integer overflow",
        "const int at = (int)threadIdx.x * stride;",
    ),
    "misaligned_access": (
        "address",
        "misaligned address",
        "y[threadIdx.x] = ((const float *)from)[threadIdx.x / 2];",
    ),
}
REPORTED_BY_ANY_BUILD = {
    "skipped_barrier": (FAILED, "are reached by threads of one block"),
    "returned_early": (FAILED, "deadlock"),
    "endless_spin": (TIMEOUT, "endless spin"),
    "wrong_mask": (FAILED, "a mask without the lane that calls __shfl_sync"),
}


@pytest.mark.parametrize("kernel", faults.KERNELS)
def test_a_kernel_without_its_fault_is_right(kernel):
    answer, y = faults.run(kernel, faulty=False)
    assert answer == SUCCESS
    assert np.array_equal(y, GOOD[kernel])


@pytest.mark.parametrize("sanitizer", ["address", "thread", build.PORTABLE])
def test_no_build_reports_what_is_right(sanitizer):
    done = run(sanitizer, "-m", "hostcuda.faults", "good", *faults.KERNELS)
    expected = [" ".join(map(str, (name, 0, *GOOD[name]))) for name in faults.KERNELS]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize("kernel", FOUND)
def test_a_sanitizer_finds(kernel):
    sanitizer, message, line = FOUND[kernel]
    lines = (build.FOLDER / "faults.cu").read_text().splitlines()
    number = 1 + [text.strip() for text in lines].index(line)
    done = run(sanitizer, "-m", "hostcuda.faults", "faulty", kernel)
    assert done.returncode == REPORTED
    assert message in done.stderr
    assert f"faults.cu:{number}" in done.stderr


@pytest.mark.parametrize("kernel", REPORTED_BY_ANY_BUILD)
def test_a_launch_that_cannot_end_says_why(device, capfd, kernel):
    configure(most_switches=10_000)
    expected, message = REPORTED_BY_ANY_BUILD[kernel]
    answer, _ = faults.run(kernel, faulty=True)
    printed = capfd.readouterr().err
    assert answer == expected
    assert f"kernel {kernel}: " in printed and message in printed
    assert "block (0, 0, 0), threads " in printed


def test_an_access_that_is_not_aligned_fails_the_launch():
    answer, _ = faults.run("misaligned_access", faulty=True)
    assert answer == MISALIGNED
    answer, _ = faults.run("misaligned_access", faulty=False)
    assert answer == SUCCESS


def test_the_device_works_after_a_launch_that_could_not_end(device, capfd):
    faults.run("returned_early", faulty=True)
    answer, y = faults.run("missing_barrier", faulty=False)
    assert (answer, y.tolist()) == (SUCCESS, GOOD["missing_barrier"].tolist())


def test_a_copy_that_is_not_awaited_has_not_arrived():
    answer, y = faults.run("copy_not_awaited", faulty=True)
    assert answer == SUCCESS
    assert np.isnan(y).all()


def test_a_program_under_a_sanitizer_keeps_its_arguments_and_status(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text("import sys; print(sys.argv[1:]); sys.exit(3)")
    done = run("thread", program, "one", "two words")
    assert (done.returncode, done.stdout) == (3, "['one', 'two words']\n")
