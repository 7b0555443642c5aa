"""The emulated CUDA device: what it launches, its memory, its streams and graphs."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest
from hostcuda.calls import SUCCESS, Array, gemm, launch
from hostcuda.device import CAN_FLUSH, COMPUTE_32F, EmulatedDevice, configure, count_damaged, view

from miopy.backends.cuda_source import Source
from miopy.errors import DeviceError, OutOfMemory

INVALID_VALUE, INVALID_HANDLE = 1, 400
STREAM, OTHER_STREAM = 0x100, 0x200


@pytest.fixture
def device() -> Iterator[EmulatedDevice]:
    yield EmulatedDevice()
    configure()


def loaded(device: EmulatedDevice, signature: str, body: str) -> int:
    """The function of a kernel named `test`."""
    text = f'extern "C" __global__ void test({signature})\n{{\n{body}\n}}\n'
    return device.load(Source("test.cu", text, ("test",)))["test"]


GEOMETRY = """
    const unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned *at = out + 4 * (b * blockDim.x * blockDim.y * blockDim.z + t);
    at[0] += 1;
    at[1] = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z;
    at[2] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z;
    at[3] = t;
"""


@pytest.mark.parametrize("fibers", [False, True])
def test_every_thread_of_a_grid_runs_once_and_knows_its_place(device, fibers):
    grid, block = (3, 2, 4), (5, 3, 2)
    out = Array(device, np.zeros((24, 30, 4)), np.uint32)
    # More blocks than fit, so that some follow others.
    configure(most_threads=200)
    body = GEOMETRY + ("__syncthreads();" if fibers else "")
    function = loaded(device, "unsigned *out", body)
    assert launch(device, function, [out], grid=grid, block=block) == SUCCESS
    place = [
        np.array([x + 10 * y + 100 * z for z in range(c) for y in range(b) for x in range(a)])
        for a, b, c in (grid, block)
    ]
    assert (out.values[..., 0] == 1).all()
    assert (out.values[..., 1] == place[0][:, None]).all()
    assert (out.values[..., 2] == place[1]).all()
    assert (out.values[..., 3] == np.arange(30)).all()


@pytest.mark.parametrize(
    ("grid", "block", "shared_nbytes"),
    [
        ((0, 1, 1), (1, 1, 1), 0),
        ((1, 0, 1), (1, 1, 1), 0),
        ((1, 1, 0), (1, 1, 1), 0),
        ((2**31, 1, 1), (1, 1, 1), 0),
        ((1, 65536, 1), (1, 1, 1), 0),
        ((1, 1, 65536), (1, 1, 1), 0),
        ((1, 1, 1), (0, 1, 1), 0),
        ((1, 1, 1), (1025, 1, 1), 0),
        ((1, 1, 1), (1, 1025, 1), 0),
        ((1, 1, 1), (1, 1, 65), 0),
        ((1, 1, 1), (32, 33, 1), 0),
        ((1, 1, 1), (1, 1, 1), 227 * 1024 + 1),
    ],
)
def test_a_launch_beyond_the_driver_s_limits_is_refused(device, grid, block, shared_nbytes):
    function = loaded(device, "int *out", "*out = 1;")
    out = Array(device, [0], np.int32)
    answer = launch(device, function, [out], grid=grid, block=block, shared_nbytes=shared_nbytes)
    assert (answer, out.values[0]) == (INVALID_VALUE, 0)


def test_a_launch_of_no_kernel_is_refused(device):
    for function in (None, 1, ctypes.addressof(ctypes.create_string_buffer(64))):
        assert launch(device, function, []) == INVALID_HANDLE


def test_arguments_arrive_by_value(device):
    class Record(ctypes.Structure):
        _fields_ = (("low", ctypes.c_byte), ("high", ctypes.c_double), ("at", ctypes.c_int64 * 3))

    text = """
        struct record { signed char low; double high; long long at[3]; };
        extern "C" __global__ void test(double *out, record r, short s, float f, unsigned long u)
        {
            out[0] = r.low; out[1] = r.high; out[2] = r.at[2]; out[3] = s; out[4] = f; out[5] = u;
            r.low = 0;
        }
    """
    function = device.load(Source("by_value.cu", text, ("test",)))["test"]
    out = Array(device, np.zeros(6), np.float64)
    record = Record(-3, 0.1, (1, 2, 2**40))
    arguments = (record, ctypes.c_short(-7), ctypes.c_float(0.5), ctypes.c_ulong(9))
    answer = launch(device, function, [out, *arguments], block=(2, 1, 1))
    assert answer == SUCCESS
    assert out.values.tolist() == [-3, 0.1, 2**40, -7, 0.5, 9]


def test_a_source_that_does_not_compile_is_reported(device):
    with pytest.raises(RuntimeError, match=r"undeclared.* was not declared"):
        loaded(device, "int *out", "*out = undeclared;")


def test_static_shared_memory_does_not_compile(device):
    with pytest.raises(RuntimeError, match="__shared__"):
        loaded(device, "int *out", "__shared__ int tile[32]; *out = tile[0];")


@pytest.mark.parametrize("flush", [False, True] if CAN_FLUSH else [False])
def test_subnormals_are_flushed_on_demand(device, flush):
    smallest = np.float32(2.0**-126)
    x, y = Array(device, [smallest, smallest / 2]), Array(device, [0, 0])
    function = loaded(device, "float *y, const float *x", "y[0] = 0.5f * x[0]; y[1] = 2.0f * x[1];")
    configure(flush_subnormals=flush)
    assert launch(device, function, [y, x], block=(1, 1, 1)) == SUCCESS
    assert y.values.tolist() == ([0, 0] if flush else [smallest / 2, smallest])
    assert np.float32(0.5) * smallest > 0  # here nothing has changed


def test_memory_begins_as_nan_in_every_type(device):
    block = device.allocate(64, 0)
    assert block.address % 256 == 0
    for dtype in (np.float16, np.float32, np.float64):
        assert np.isnan(view(block, dtype)).all()


@pytest.mark.parametrize("freed", [False, True])
@pytest.mark.parametrize("at", [-1, 100])
def test_a_byte_written_beside_a_block_is_noticed_once_it_is_freed(device, at, freed):
    block = device.allocate(100, 0)
    ctypes.memset(block.address + at, 0, 1)
    if not freed:
        assert count_damaged() == count_damaged() == 1
    del block
    assert count_damaged() == 1
    assert count_damaged() == 0


def test_more_memory_than_there_is_is_out_of_memory(device):
    with pytest.raises(OutOfMemory, match="on the device"):
        device.allocate(1 << 60, 0)


def test_a_copy_moves_bytes_and_refuses_an_overlap(device):
    block, source = device.allocate(10, 0), np.arange(10, dtype=np.uint8)
    device.copy(block.address, source.ctypes.data, 10, 0)
    assert view(block, np.uint8).tolist() == list(range(10))
    device.copy(0, 0, 0, 0)
    with pytest.raises(DeviceError, match="copy"):
        device.copy(block.address, block.address + 4, 5, 0)


class Adding:
    """y += by, on a stream."""

    def __init__(self, device: EmulatedDevice) -> None:
        self.device = device
        self.y = Array(device, [0, 0])
        self.function = loaded(device, "float *y, float by", "y[threadIdx.x] += by;")

    def __call__(self, by: float, stream: int) -> None:
        arguments = self.y, ctypes.c_float(by)
        answer = launch(self.device, self.function, arguments, block=(2, 1, 1), stream=stream)
        assert answer == SUCCESS


def test_a_graph_repeats_what_its_stream_was_given(device):
    add = Adding(device)
    source, blas = np.float32([10, 20]), np.float32([2])
    stream = device.begin_capture()
    device.copy(add.y.address, source.ctypes.data, 8, stream)
    add(0.5, stream)
    device.use_stream(stream, 0)
    multiply_by_itself(device, add.y, blas)
    device.use_stream(0, 0)
    assert add.y.values.tolist() == [0, 0]  # nothing has run
    graph = device.end_capture()
    for _ in range(2):
        graph.launch(OTHER_STREAM)
        assert add.y.values.tolist() == [21, 41]
    source[:] = 1
    graph.launch(0)
    assert add.y.values.tolist() == [3, 3]


def multiply_by_itself(device: EmulatedDevice, y: Array, factor: np.ndarray) -> None:
    """y = y * factor, a product of a column and a matrix of one element."""
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    column, matrix = (y.address, 0, 2), (factor.ctypes.data, 0, 1)
    answer = gemm(device, (0, 0), (2, 1, 1), (one, zero), column, matrix, column, COMPUTE_32F)
    assert answer == SUCCESS


def test_other_streams_run_during_a_capture(device):
    add = Adding(device)
    device.begin_capture(STREAM)
    assert (device.is_capturing(STREAM), device.is_capturing(OTHER_STREAM)) == (True, False)
    add(1, STREAM)
    add(2, OTHER_STREAM)
    assert add.y.values.tolist() == [2, 2]
    device.end_capture(STREAM)
    assert not device.is_capturing(STREAM)
    add(4, STREAM)
    assert add.y.values.tolist() == [6, 6]


def test_a_failure_ends_a_graph(device):
    stream = device.begin_capture()
    body = "if (threadIdx.x) __syncthreads();"
    assert launch(device, loaded(device, "", body), [], block=(2, 1, 1), stream=stream) == SUCCESS
    add = Adding(device)
    add(1, stream)
    with pytest.raises(DeviceError, match="graph"):
        device.end_capture().launch(0)
    assert add.y.values.tolist() == [0, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda device: device.synchronize(STREAM),
        lambda device: device.timer(STREAM),
        lambda device: device.wait(STREAM, 0),
        lambda device: device.wait(0, STREAM),
        lambda device: device.begin_capture(STREAM),
    ],
    ids=["synchronize", "timer", "wait", "wait for it", "begin_capture"],
)
def test_a_stream_that_is_captured_allows_no(device, call):
    device.begin_capture(STREAM)
    with pytest.raises(DeviceError):
        call(device)
    device.end_capture(STREAM)
    call(device)
    if device.is_capturing(STREAM):
        device.end_capture(STREAM)  # or the next test would find it so


def test_only_captures_end_and_the_default_stream_has_none(device):
    with pytest.raises(DeviceError, match="captured"):
        device.end_capture()
    with pytest.raises(DeviceError, match="begin_capture"):
        device.begin_capture(0)


def test_a_timer_takes_the_time_of_the_work(device):
    body = "for (int n = 0; n < 1000; n++) y[threadIdx.x] += by;"
    function = loaded(device, "volatile float *y, float by", body)
    y = Array(device, np.zeros(256))
    timer = device.timer(0)
    assert launch(device, function, [y, ctypes.c_float(1)]) == SUCCESS
    assert 0.05 < timer.stop() < timer.stop() < 60_000
