"""What only a GPU can show: CuPy's and torch's arrays, streams, graphs of the caller, cuBLAS."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pinned
import pytest
from cases import BATCH_PADDED, PACKED, PADDED, Case
from core_run import STORAGE, UNIT, CoreRun, values
from device_run import DeviceRun
from harness import assert_results, check, expected
from mpsgraph_run import MpsgraphRun, problem
from oracle import GATES
from tensorflow_run import DTYPES, TensorflowRun, numbers_of, tensorflow_case

from miopy import miopen
from miopy import tensorflow_cudnn as tc
from miopy.backends import host
from miopy.core.algorithm import GRID, PERSISTENT, STEPWISE, VARIABLE
from miopy.core.config import CONCAT, RNNConfig
from miopy.dialects.mpsgraph import memory as mpsgraph_memory
from miopy.dialects.tensorflow_cudnn import memory as tensorflow_memory
from miopy.errors import BadParam

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parent.parent
CASE = Case("lstm", (9, 7, 7, 2), 5, 33, 2, 2)
SPIN = r"""
extern "C" __global__ void spin(long long ticks)
{
    for (long long start = clock64(); clock64() - start < ticks;)
        ;
}
"""
LONG = 400_000_000  # clocks, a fifth of a second
OUTPUTS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")


@pytest.fixture(autouse=True)
def real_device(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")


@pytest.fixture
def cupy() -> Any:
    import cupy

    return cupy


@pytest.fixture
def keep_busy(cupy) -> Any:
    """A function that gives a stream work for a fifth of a second."""
    kernel = cupy.RawKernel(SPIN, "spin")
    warm = cupy.cuda.Stream(non_blocking=True)
    kernel((1,), (1,), (np.int64(1),), stream=warm)
    warm.synchronize()
    return lambda stream: kernel((1,), (1,), (np.int64(LONG),), stream=stream)


class Busy:
    """An array that says which stream still writes it."""

    def __init__(self, array: Any, stream: Any) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__ | {
            "stream": stream.ptr,
            "version": 3,
        }


def ready(case: Case = CASE) -> DeviceRun:
    """A case whose kernels are loaded and whose scratch is there."""
    run = DeviceRun(case)
    run.training()
    poison(run)
    return run


def poison(run: DeviceRun) -> None:
    """Fill all outputs on the device with NaN, where they are."""
    for name in OUTPUTS:
        run[name].fill(np.nan)
    run.download()


def enqueue(run: DeviceRun) -> None:
    """All passes of a training step, on the handle's stream."""
    for name in ("forward_training", "backward_data", "backward_weights"):
        function, arguments = run.call(name)
        function(*arguments)


def results(run: DeviceRun) -> dict[str, np.ndarray]:
    run.download()
    return run.results(*OUTPUTS)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", [PACKED, PADDED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_arrays_of_cupy_are_arguments(mode, layout, dtype):
    lengths = (2, 0, 5, 5) if layout == BATCH_PADDED else (5, 5, 2)
    check(Case(mode, lengths, 3, 17, 2, 2, layout=layout, dtype=dtype), DeviceRun)


@pytest.mark.parametrize("algorithm", [STEPWISE, PERSISTENT])
@pytest.mark.parametrize(
    "case",
    [
        Case("lstm", (60,) * 33, 64, 208, dtype="float16"),
        Case("gru", tuple(range(40, 0, -1)), 16, 256, 1, 2, dtype="float16"),
        Case("tanh", (30,) * 5, 16, 432, dtype="float16"),
        Case("lstm", (60, 60, 59, 7), 33, 80, 2, 2),
        Case("tanh", (5,) * 3000, 8, 24),
        Case("relu", (5,) * 30, 8, 24),
    ],
    ids=lambda case: f"{case.mode} {case.dtype} H{case.hidden_size}",
)
def test_both_algorithms_agree_with_the_reference(monkeypatch, case, algorithm):
    monkeypatch.setenv(VARIABLE, algorithm)
    check(case, DeviceRun)


def test_a_handle_that_needs_less_shared_memory_leaves_another_what_it_needs(monkeypatch):
    """Both launch the same function, whose limit is one."""
    monkeypatch.setenv(VARIABLE, PERSISTENT)
    large, small = (
        CoreRun(pinned.create(), RNNConfig("lstm", 8, size, dtype="float16"), (2,) * 5)
        for size in (208, 176)
    )
    for run in (large, small, large):
        run.forward()


@pytest.mark.parametrize("algorithm", [STEPWISE, GRID])
@pytest.mark.parametrize(
    "case",
    [
        Case("lstm", (60,) * 16, 64, 1024, dtype="float16"),
        Case("lstm", (30,) * 70, 33, 512, 2, 2, dtype="float16"),
        Case("lstm", (40, 31, 30, 2), 33, 1999, dtype="float16"),
        Case("gru", tuple(range(50, 0, -1)), 16, 1024, 1, 2, dtype="float16"),
        Case("tanh", (30,) * 5, 16, 1761, dtype="float16"),
        Case("lstm", (40, 31, 30, 2), 33, 1023, 1, 2),
        Case("gru", tuple(range(50, 0, -1)), 16, 1280),
        Case("gru", (30,) * 9, 16, 2560, dtype="float16"),
    ],
    ids=lambda case: f"{case.mode} {case.dtype} H{case.hidden_size}",
)
def test_a_whole_grid_agrees_with_the_reference(monkeypatch, case, algorithm):
    monkeypatch.setenv(VARIABLE, algorithm)
    check(case, DeviceRun)


@pytest.mark.parametrize(
    "case",
    [
        Case("lstm", (25,) * 64, 512, 512),
        Case("gru", tuple(range(60, 0, -1)), 161, 320, 2, 2),
        Case("tanh", (50,) * 33, 100, 1000, bias=False),
        Case("lstm", (300,) * 3, 64, 64, dtype="float16"),
        Case("gru", (1200,) * 64, 8, 8),
    ],
    ids=["square", "ragged", "odd", "long", "more than 65536 rows"],
)
def test_larger_networks_are_right_and_stay_inside_their_buffers(case):
    check(case, DeviceRun)


class TorchRun(DeviceRun):
    """The same memory as tensors of torch, which expose it by DLPack."""

    def __getitem__(self, name: str) -> Any:
        import torch

        array = super().__getitem__(name)
        return None if array is None else torch.from_dlpack(array)


def test_tensors_of_torch_are_arguments():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    check(CASE, TorchRun)


def test_an_array_of_numpy_is_refused():
    run = ready()
    function, arguments = run.call("forward_inference")
    on_host = [run.buffers["x"].array if each is run_x(arguments) else each for each in arguments]
    with pytest.raises(BadParam, match=r"`x` must be memory of the backend 'cuda', .* on host"):
        function(*on_host)


def run_x(arguments: tuple[Any, ...]) -> Any:
    """The argument x of a forward pass: handle, descriptor, steps and xDesc are before it."""
    return arguments[4]


def test_a_pass_waits_for_the_stream_that_writes_its_input(cupy, keep_busy):
    run, producer = ready(Case("tanh", (9, 7, 7, 2), 5, 33)), cupy.cuda.Stream(non_blocking=True)
    consumer = cupy.cuda.Stream(non_blocking=True)
    miopen.miopenSetStream(run.handle, consumer)
    function, arguments = run.call("forward_inference")
    function(*arguments)  # takes scratch for this stream
    x = run_x(arguments)
    right = x.copy()
    x.fill(np.nan)
    cupy.cuda.runtime.deviceSynchronize()
    keep_busy(producer)
    with producer:
        x[...] = right
    function(*(Busy(x, producer) if each is run_x(arguments) else each for each in arguments))
    assert not producer.done, "the producer was too quick for this test to show anything"
    run.download()
    assert_results(run.case, run.results("y", "hy"), expected(run.case).inference)


def test_a_call_returns_before_its_work_is_done(cupy, keep_busy):
    run, stream = ready(), cupy.cuda.Stream(non_blocking=True)
    miopen.miopenSetStream(run.handle, stream)
    enqueue(run)  # takes scratch for this stream
    stream.synchronize()
    keep_busy(stream)
    enqueue(run)
    assert not stream.done
    assert_results(CASE, results(run), expected(CASE).training)


def test_other_streams_are_left_alone(cupy, keep_busy):
    """Work on the handle's stream is done while the default stream still has its own."""
    run, stream = ready(), cupy.cuda.Stream(non_blocking=True)
    miopen.miopenSetStream(run.handle, stream)
    enqueue(run)
    stream.synchronize()
    keep_busy(cupy.cuda.Stream.null)
    with stream:  # or CuPy lets the handle's stream wait for the default one
        enqueue(run)
    stream.synchronize()
    assert not cupy.cuda.Stream.null.done
    assert_results(CASE, results(run), expected(CASE).training)


def test_a_training_step_may_be_captured_and_replayed(cupy):
    run, stream = ready(), cupy.cuda.Stream(non_blocking=True)
    miopen.miopenSetStream(run.handle, stream)
    with stream:
        enqueue(run)
        stream.begin_capture()
        enqueue(run)
        graph = stream.end_capture()
    poison(run)
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    assert_results(CASE, results(run), expected(CASE).training)


@pytest.mark.parametrize("is_used", [True, False], ids=["used", "not current"])
def test_a_capture_takes_whatever_stream_is_current(cupy, is_used):
    """`use` lasts, though the first call took memory for the handle's stream."""
    run, stream = ready(), cupy.cuda.Stream(non_blocking=True)
    try:
        if is_used:
            stream.use()
        miopen.miopenSetStream(run.handle, stream)
        enqueue(run)
        assert (cupy.cuda.get_current_stream() == stream) == is_used
        stream.begin_capture()
        enqueue(run)
        graph = stream.end_capture()
    finally:
        cupy.cuda.Stream.null.use()
    poison(run)
    graph.launch(stream)
    stream.synchronize()
    assert_results(CASE, results(run), expected(CASE).training)


def test_scratch_comes_from_the_callers_allocator_and_goes_back(cupy):
    blocks: dict[int, Any] = {}

    def allocate(context: object, nbytes: int) -> int:
        assert context == "context"
        block = cupy.cuda.alloc(nbytes)
        blocks[block.ptr] = block
        return block.ptr

    run = DeviceRun(CASE)
    miopen.miopenSetAllocator(run.handle, allocate, lambda _, at: blocks.pop(at), "context")
    assert_results(CASE, run.training(), expected(CASE).training)
    assert blocks  # scratch, and copies of what says where each step is
    miopen.miopenDestroy(run.handle)
    assert not blocks


def test_profiling_tells_the_time_on_the_device():
    run = ready()
    miopen.miopenEnableProfiling(run.handle, True)
    enqueue(run)
    alone = miopen.miopenGetKernelTime(run.handle)
    assert 0 < alone < 50


ERROR_OF_A_PRODUCT = """
import sys
sys.path[:0] = ["tests"]
import numpy as np, cupy
from miopy.backends import cuda
from miopy.core.backend import Matrix
rng = np.random.default_rng(0)
a, b = (rng.standard_normal((512, 512)).astype(np.float32) for _ in "ab")
x, y, z = cupy.asarray(a), cupy.asarray(b), cupy.empty((512, 512), np.float32)
matrices = [Matrix(each.data.ptr, 512) for each in (z, x, y)]
cuda.create().gemm("float32", *matrices, (512, 512, 512))
exact = a.astype(float) @ b
print(np.linalg.norm(cupy.asnumpy(z) - exact) / np.linalg.norm(exact))
"""


def test_float32_products_are_exact_unless_tf32_is_allowed(cupy):
    errors = {}
    for allowed in "01":
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"MIOPY_ALLOW_TF32": allowed, "PYTHONPATH": path}
        command = [sys.executable, "-c", ERROR_OF_A_PRODUCT]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        errors[allowed] = float(done.stdout)
    assert errors["0"] < 2e-6
    has_tf32 = int(cupy.cuda.Device().compute_capability) >= 80
    assert (errors["1"] > 1e-5) == has_tf32
    assert errors["1"] < 2e-3


def test_two_handles_on_two_streams_do_not_disturb_one_another(cupy):
    cases = CASE, Case("gru", (20, 20, 5), 40, 64, 2, 2)
    runs = [ready(case) for case in cases]
    for run in runs:
        miopen.miopenSetStream(run.handle, cupy.cuda.Stream(non_blocking=True))
    for _ in range(20):
        for run in runs:
            enqueue(run)
    for case, run in zip(cases, runs, strict=True):
        assert_results(case, results(run), expected(case).training)


@pytest.mark.parametrize("dtype", STORAGE)
@pytest.mark.parametrize("cell", GATES)
def test_all_types_agree_with_float64_on_the_host(cell, dtype):
    """bfloat16 and float64 have no other tests on a device: MIOpen's RNNs lack them."""
    shape = 33, 64, 2, CONCAT
    wanted = CoreRun(host.create(), RNNConfig(cell, *shape, dtype="float64"), (7, 7, 5, 2))
    got = CoreRun(pinned.create(), RNNConfig(cell, *shape, dtype=dtype), (7, 7, 5, 2))
    for name in ("x", "w", "hx", "cx", "dy", "dhy", "dcy"):
        wanted.arrays[name][...] = values(got.arrays[name], dtype)
    for run in (wanted, got):
        run.results()
    for name in ("y", "hy", "dx", "dhx", "dw"):
        difference = values(got.arrays[name], dtype) - wanted.arrays[name]
        error = np.linalg.norm(difference) / np.linalg.norm(wanted.arrays[name])
        assert error < 40 * UNIT[dtype], name


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensorflows_ops_take_and_give_cupys_arrays(cupy, dtype):
    case = tensorflow_case(num_layers=2, num_directions=2, dtype=dtype, layout=BATCH_PADDED)
    run, reference = TensorflowRun(case), expected(case).training
    lengths = run.inputs.pop("sequence_lengths")
    arrays = {name: cupy.asarray(each) for name, each in (run.inputs | run.gradients).items()}
    given = {name: arrays[name] for name in run.inputs} | {"sequence_lengths": lengths}
    tensorflow_memory.home.cache_clear()
    forward = tc.CudnnRNNV3(**given, **run.attributes)
    arrays |= forward._asdict() | {"sequence_lengths": lengths}
    backprop = tc.CudnnRNNBackpropV3(**arrays, **run.attributes)
    tensorflow_memory.home.cache_clear()
    found = {"hy": forward.output_h.swapaxes(0, 1), "dw": backprop.params_backprop}
    got = {name: numbers_of(cupy.asnumpy(array), dtype) for name, array in found.items()}
    assert isinstance(forward.output, cupy.ndarray)
    assert_results(case, got, {name: reference[name] for name in got})


@pytest.mark.parametrize("dtype", DTYPES)
def test_mpsgraphs_operations_take_and_give_cupys_arrays(cupy, dtype):
    mpsgraph_memory.home.cache_clear()
    run = MpsgraphRun(problem("LSTM", bidirectional=True, dtype=dtype), place=cupy.asarray)
    h, c, z = results = run.forward()
    gradients = run.gradients(results)
    mpsgraph_memory.home.cache_clear()
    assert all(isinstance(array, cupy.ndarray) for array in (h, c, z, *gradients.values()))
    run.assert_close("h", cupy.asnumpy(h), run.reference.run.y)
    for name, gradient in run.expected_gradients().items():
        run.assert_close(name, cupy.asnumpy(gradients[name]), gradient)
