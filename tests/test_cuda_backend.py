"""The CUDA backend itself: graphs, streams, scratch, its errors. Numbers are the other tests'."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import threading
import weakref
from types import SimpleNamespace

import hostcuda
import numpy as np
import pytest
from cases import BATCH_PADDED, SEQ_PADDED, Case
from core_run import UNIT, CoreRun, values
from harness import Run, assert_results, expected
from hostcuda.build import sampled
from watched_device import Allocator, Watched

from miopy import cudnn, miopen
from miopy.backends import cuda, host
from miopy.backends.cuda_operations import check_layer
from miopy.core.backend import ForwardRun, Matrix
from miopy.core.cells import CELLS
from miopy.core.config import DTYPES, RNNConfig
from miopy.core.sequence import from_batch_sizes
from miopy.errors import BadParam, DeviceError, NotSupported, OutOfMemory

CONFIG = RNNConfig("lstm", 5, 7, 2, "concat")
STEPS = (4, 4, 3, 3, 1)
OUTSIDE = 0x9000  # a stream of the caller


@pytest.fixture
def device() -> Watched:
    return Watched()


@pytest.fixture
def emulated(device: Watched) -> cuda.CudaBackend:
    return cuda.CudaBackend(device)


def test_repeated_calls_become_graphs_and_give_the_same_bits(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    first = run.results()
    assert (device.captures, device.replays) == (0, 0)
    second = run.results()
    passes = 2 * CONFIG.num_layers  # of both directions
    assert (device.captures, device.replays) == (passes, passes)
    third = run.results()
    assert (device.captures, device.replays) == (passes, 2 * passes)
    assert first == second == third


@pytest.mark.parametrize("spoilt", ["begin_capture", "use_stream", "end_capture"])
def test_calls_whose_capture_is_spoilt_run_without_a_graph(device, emulated, monkeypatch, spoilt):
    run = CoreRun(emulated, CONFIG, STEPS)
    first = run.results()
    original, own = getattr(device, spoilt), device.begin_capture()
    device.end_capture()

    def spoil(*arguments: int) -> object:
        if spoilt == "use_stream" and arguments[0] != own:
            return original(*arguments)
        original(*arguments)
        if spoilt == "begin_capture":
            device.end_capture()
        raise DeviceError("device", "another thread has waited for all of it")

    monkeypatch.setattr(device, spoilt, spoil)
    assert run.results() == first
    monkeypatch.undo()
    assert not device.is_capturing(own)
    device.captures = device.replays = 0
    assert run.results() == first
    assert (device.captures, device.replays) == (0, 0)
    other = CoreRun(emulated, CONFIG, STEPS)
    assert other.results() == other.results() == first
    assert device.captures


def test_a_graph_reads_what_its_arrays_hold_now(emulated):
    run, fresh = CoreRun(emulated, CONFIG, STEPS), CoreRun(hostcuda.create(), CONFIG, STEPS)
    for _ in range(3):
        run.results()
    for name in ("x", "w", "hx", "cx", "dy", "dhy", "dcy"):
        fresh.arrays[name][...] = run.arrays[name][...] = run.arrays[name][::-1].copy()
    assert run.results() == fresh.results()


def test_other_arrays_are_not_served_by_a_graph(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    for _ in range(3):
        run.forward()
    replays = device.replays
    other = CoreRun(emulated, CONFIG, STEPS)
    other.forward()
    assert device.replays == replays
    assert other.arrays["y"].tobytes() == run.arrays["y"].tobytes()


def test_graphs_are_kept_for_a_bounded_number_of_calls(device, emulated):
    runs = [CoreRun(emulated, RNNConfig("tanh", 2, 3), (1,) * 4) for _ in range(70)]
    for run in [*runs, *runs]:
        run.forward()
    assert device.captures == 0  # each call was forgotten before it came again
    runs[-1].forward()
    assert device.captures == 1


def test_a_device_without_graphs_runs_every_call(device, emulated):
    device.has_graphs = False
    run = CoreRun(emulated, CONFIG, STEPS)
    assert run.results() == run.results() == run.results()
    assert device.captures == 0


def test_no_repeated_call_allocates_or_waits(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    run.results()
    device.allocated.clear()
    run.results()
    run.results()
    assert device.allocated == []
    assert device.synchronized == []


@pytest.mark.parametrize("layout", [SEQ_PADDED, BATCH_PADDED])
def test_repeated_calls_on_padded_tensors_allocate_nothing_either(device, monkeypatch, layout):
    monkeypatch.setattr(cuda, "create", lambda: cuda.CudaBackend(device))
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    run = Run(Case("gru", (2, 5, 3), 4, 6, layout=layout))
    run.training()
    device.allocated.clear()
    run.training()
    assert device.allocated == []


def test_scratch_comes_from_the_callers_allocator_and_goes_back(device, emulated):
    caller = Allocator()
    emulated.set_allocator(caller.allocate, caller.free, "context")
    CoreRun(emulated, CONFIG, STEPS).results()
    assert len(caller.blocks) == 4  # scratch, and index arrays: of each direction, and of the steps
    assert not device.synchronized
    emulated.set_allocator(None, None, None)
    assert not caller.blocks
    assert device.synchronized == [0] * 4  # what is given back is no longer in use


def test_index_arrays_are_in_memory_of_the_caller_while_they_are_needed(device, emulated):
    caller = Allocator()
    emulated.set_allocator(caller.allocate, caller.free, "context")
    device.allocated.clear()
    run = CoreRun(emulated, CONFIG, (4, 3, 1))  # too few steps for a graph, which would keep them
    run.results()
    assert device.allocated == [device.workspace_nbytes]
    scratch_and_arrays = len(caller.blocks)
    del run
    from_batch_sizes.cache_clear()
    gc.collect()
    CoreRun(emulated, CONFIG, (2, 2, 1)).results()
    assert len(caller.blocks) == scratch_and_arrays == 3  # an array for each direction
    emulated.close()
    assert not caller.blocks


def test_an_allocator_that_fails_is_named(emulated):
    emulated.set_allocator(lambda context, nbytes: 0, lambda context, address: None, None)
    with pytest.raises(OutOfMemory, match=r"allocator.*returned NULL"):
        CoreRun(emulated, CONFIG, STEPS).forward()


class CupyStream:
    ptr = 64


class TorchStream:
    cuda_stream = 128


@pytest.mark.parametrize(
    ("stream", "address"),
    [(None, 0), (0, 0), (256, 256), (np.int64(256), 256), (CupyStream(), 64), (TorchStream(), 128)],
)
def test_a_stream_is_an_address_or_stands_for_one(emulated, stream, address):
    emulated.set_stream(stream)
    assert emulated.stream == address


@pytest.mark.parametrize("stream", ["fast", 1.5, -1, True, object()])
def test_anything_else_is_no_stream(emulated, stream):
    with pytest.raises(BadParam, match="stream"):
        emulated.set_stream(stream)
    assert emulated.stream == 0


def test_a_handle_goes_to_its_stream_and_gives_it_back_as_it_was(monkeypatch):
    monkeypatch.setattr(cuda, "create", hostcuda.create)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    stream = CupyStream()
    handle = miopen.miopenCreateWithStream(stream)
    assert handle.backend.stream == 64
    miopen.miopenSetStream(handle, 256)
    assert handle.backend.stream == 256
    with pytest.raises(BadParam):
        miopen.miopenSetStream(handle, "fast")
    assert miopen.miopenGetStream(handle) == 256


def test_what_is_no_stream_is_called_as_the_function_calls_it(monkeypatch):
    monkeypatch.setattr(cuda, "create", hostcuda.create)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    own, other = miopen.miopenCreate(), cudnn.cudnnCreate()
    for function, arguments, name in (
        (miopen.miopenCreateWithStream, (), "stream"),
        (miopen.miopenSetStream, (own,), "streamID"),
        (cudnn.cudnnSetStream, (other,), "streamId"),
    ):
        with pytest.raises(BadParam, match=f"{function.__name__}: `{name}` must be the address"):
            function(*arguments, "fast")


def test_other_streams_are_waited_for(device, emulated):
    emulated.wait_for(512)
    emulated.wait_for(1)  # how the array interface calls the default stream
    emulated.set_stream(512)
    emulated.wait_for(512)
    emulated.wait_for(1)
    assert device.waits == [(0, 512), (512, 1)]


def test_scratch_of_one_stream_is_not_used_on_another(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    run.forward()
    device.allocated.clear()
    emulated.set_stream(OUTSIDE)
    run.forward()
    assert device.allocated


def test_finalizers_of_index_arrays_go_with_their_copies(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    before = len(weakref.finalize._registry)
    for stream in (OUTSIDE, 0) * 3:
        run.results()
        emulated.set_stream(stream)
    emulated.close()
    assert len(weakref.finalize._registry) == before


def test_a_device_that_cannot_be_made_current_keeps_no_other_thread_out(device, emulated):
    def fail() -> None:
        raise DeviceError("device", "must do")

    device.__class__ = type("Failing", (Watched,), {"__enter__": lambda self: fail()})
    with pytest.raises(DeviceError):
        emulated.empty((1,), "float32")
    device.__class__ = Watched
    thread = threading.Thread(target=lambda: emulated.empty((1,), "float32"), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_what_blas_cannot_count_of_a_layer_is_in_no_vendors_words():
    sequence = SimpleNamespace(batch=1, rows=1)
    layer = SimpleNamespace(config=RNNConfig("lstm", 1, 2**30), sequence=sequence)
    with pytest.raises(NotSupported, match=r"`hidden size` must be below 2\*\*31"):
        check_layer(layer)


def test_extents_that_blas_cannot_count_are_refused(emulated):
    with pytest.raises(NotSupported, match=r"must be below 2\*\*31"):
        emulated.gemm("float32", *[Matrix(64, 2**31)] * 3, (1, 1, 1))


@pytest.mark.parametrize("name", ["x", "output", "recurrent", "input"])
def test_strides_that_blas_cannot_count_are_refused(emulated, monkeypatch, name):
    run = CoreRun(emulated, CONFIG, STEPS)

    def with_stride(runs: list[ForwardRun]) -> None:
        first, wide = runs[0], Matrix(64, 2**31)
        if name in ("x", "output"):
            runs = [first._replace(**{name: wide})]
        else:
            runs = [first._replace(layer=dataclasses.replace(first.layer, **{name: wide}))]
        cuda.CudaBackend.recurrence_forward(emulated, runs)

    monkeypatch.setattr(emulated, "recurrence_forward", with_stride)
    with pytest.raises(NotSupported, match=r"`strides` must be below 2\*\*31"):
        run.forward()


def test_an_error_of_the_device_is_an_error_of_the_call(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    emulated._stream.calls.most_blocks = 0  # a grid without blocks, which the driver refuses
    with pytest.raises(DeviceError, match="a launch, with error 1"):
        run.forward()


def test_profiling_measures_on_the_stream(monkeypatch):
    hostcuda_case = Case("gru", (3, 2), 4, 5)
    monkeypatch.setattr(cuda, "create", hostcuda.create)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    run = Run(hostcuda_case)
    miopen.miopenEnableProfiling(run.handle, True)
    assert_results(hostcuda_case, run.training(), expected(hostcuda_case).training)
    assert miopen.miopenGetKernelTime(run.handle) > 0


@pytest.mark.parametrize(("cell", "dtype"), sampled(itertools.product(CELLS, DTYPES), first=1))
@pytest.mark.parametrize("steps", [(3,) * 4, STEPS], ids=["equal", "ragged"])
def test_both_backends_give_the_same_within_rounding(emulated, monkeypatch, cell, dtype, steps):
    """With data that puts no unit of relu so near its kink that rounding decides on which side.

    Step by step: test_device_persistent.py compares what runs otherwise.
    """
    monkeypatch.setenv("MIOPY_RNN_ALGO", "stepwise")
    config = RNNConfig(cell, 5, 7, 2, "concat", dtype=dtype)
    ours, hosts = (CoreRun(each, config, steps, 5, seed=4) for each in (emulated, host.create()))
    for run in (ours, hosts):
        run.results()
    for name in ("y", "hy", "dx", "dhx", "dw", *("dattention",) * CELLS[cell].attention):
        got, wanted = (values(run.arrays[name], dtype) for run in (ours, hosts))
        scale = np.sqrt(np.mean(wanted**2))
        assert np.abs(got - wanted).max() < 40 * UNIT[dtype] * scale, name
