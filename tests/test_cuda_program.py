"""Passes that repeat on the CUDA backend: taken down once, then put on the stream in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import BATCH_PADDED, PACKED, SEQ_LAYOUTS, Case
from harness import PASSES, Run, assert_results, expected
from hostcuda.device import EmulatedDevice
from oracle import GATES

from miopy import miopen as mi
from miopy.backends import cuda, cuda_program
from miopy.core import backward_data, backward_weights, forward
from miopy.core.algorithm import PERSISTENT, STEPWISE, VARIABLE
from miopy.errors import BadParam, DeviceError

OUTSIDE = 0x9000  # a stream of the caller
LAYERS = Case("lstm", (9, 7, 7, 2), 5, 9, 2, 2)


class Counting(EmulatedDevice):
    """Counts the graphs that are made and replayed, and what is allocated."""

    def __init__(self) -> None:
        super().__init__()
        self.captures = self.replays = self.allocations = self.asked = 0

    def is_capturing(self, stream: int) -> bool:
        self.asked += 1
        return super().is_capturing(stream)

    def allocate(self, nbytes: int, stream: int) -> Any:
        self.allocations += 1
        return super().allocate(nbytes, stream)

    def end_capture(self, *stream: int) -> Any:
        self.captures += 1
        graph = super().end_capture(*stream)
        launch = graph.launch

        def counted(on: int) -> None:
            self.replays += 1
            launch(on)

        graph.launch = counted  # type: ignore[method-assign]
        return graph


@pytest.fixture
def device(monkeypatch) -> Counting:
    device = Counting()
    monkeypatch.setattr(cuda, "create", lambda: cuda.CudaBackend(device))
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    return device


@pytest.fixture
def taken(monkeypatch) -> list[Any]:
    """The programs that are made."""
    found: list[Any] = []
    take_down = cuda.take_down
    monkeypatch.setattr(cuda, "take_down", lambda *a: found.append(take_down(*a)) or found[-1])
    return found


def once(run: Run) -> dict[str, np.ndarray]:
    return run.forward_inference() | run.training()


def ready(case: Case = LAYERS, times: int = 3) -> tuple[Run, dict[str, np.ndarray]]:
    """A run whose passes are taken down after two calls, and what each of them gave."""
    run = Run(case)
    results = [once(run) for _ in range(times)]
    for other in results[1:]:
        for name, values in results[0].items():
            assert np.array_equal(values, other[name]), name
    return run, results[0]


def enqueue(run: Run) -> None:
    for name in ("forward_training", "backward_data", "backward_weights"):
        function, arguments = run.call(name)
        function(*arguments)


@pytest.mark.parametrize("layout", [PACKED, *SEQ_LAYOUTS])
@pytest.mark.parametrize("mode", GATES)
def test_every_pass_becomes_a_program_that_gives_the_same_bits(device, taken, mode, layout):
    lengths = (4, 0, 6, 1) if layout == BATCH_PADDED else (6, 4, 4, 1)
    ready(Case(mode, lengths, 5, 7, 3, 2, layout=layout), times=5)
    assert len(taken) == len(PASSES)
    assert all(isinstance(each, cuda_program.Program) for each in taken)


@pytest.mark.parametrize("options", [{"dropout": 0.4}, {"skip_input": True}, {"bias": False}])
def test_whatever_the_network_has(device, taken, options):
    ready(Case("gru", (6, 4, 4, 1), 7, 7, 3, 2, **options), times=4)
    assert len(taken) == len(PASSES) and None not in taken


def test_nothing_of_a_program_goes_through_the_layers_again(device, monkeypatch):
    run, first = ready()
    for module, name in (
        (forward, "forward"),
        (backward_data, "backward_data"),
        (backward_weights, "backward_weights"),
    ):
        monkeypatch.setattr(module, name, None)
    device.allocations = device.asked = 0
    again = once(run)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert device.allocations == 0
    assert device.asked == len(PASSES)  # once a call, whether the stream is captured


def test_a_pass_is_one_graph(device):
    run, _ = ready(times=4)
    device.captures = device.replays = 0
    enqueue(run)
    assert (device.captures, device.replays) == (0, 2)  # weights' gradients have no steps


def test_other_memory_is_not_served_by_a_graph(device):
    run, first = ready(times=4)
    kept = run.buffers
    data = {name: run.buffers[name].bytes.copy() for name in run.inputs}
    run.buffers = run.allocate()
    for name, content in data.items():
        run.buffers[name].bytes[:] = content
    before = {name: buffer.bytes.copy() for name, buffer in kept.items()}
    again = once(run)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert all(np.array_equal(before[name], kept[name].bytes) for name in kept)


def test_what_the_environment_asks_for_is_asked_for_in_every_call(device, taken, monkeypatch):
    run, _ = ready()
    for name in (STEPWISE, PERSISTENT, STEPWISE, PERSISTENT):
        monkeypatch.setenv(VARIABLE, name)
        assert_results(run.case, run.training(), expected(run.case).training)
    assert len(taken) == len(PASSES) + 2 * 3
    monkeypatch.setenv(VARIABLE, "fastest")
    with pytest.raises(BadParam, match=VARIABLE):
        run.training()


def test_a_program_goes_with_its_handle_to_another_stream(device):
    run, first = ready(times=4)
    mi.miopenSetStream(run.handle, OUTSIDE)
    device.allocations = 0
    again = once(run)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert device.allocations > 0  # what the first stream uses is not this one's


def test_a_caller_may_capture_programs(device):
    run, first = ready()
    mi.miopenSetStream(run.handle, OUTSIDE)
    device.begin_capture(OUTSIDE)
    enqueue(run)
    graph = device.end_capture(OUTSIDE)
    for name in ("y", "dx", "dw"):
        run.buffers[name].bytes[:] = 0xFF
    graph.launch(OUTSIDE)
    got = run.results("y", "dx", "dw")
    assert all(np.array_equal(first[name], got[name]) for name in got)


def test_a_program_tells_of_blocks_that_waited_in_vain(device):
    run, _ = ready()
    device._fault[0] = 1
    function, arguments = run.call("forward_inference")
    with pytest.raises(DeviceError, match="waited for another in vain"):
        function(*arguments)
    function(*arguments)


def test_an_error_of_the_device_is_an_error_of_the_call(device):
    run, _ = ready(Case("tanh", (3, 2), 5, 9))  # too few steps for a graph
    run.handle.backend._stream.calls.most_blocks = 0
    function, arguments = run.call("forward_inference")
    with pytest.raises(DeviceError, match="a launch, with error 1"):
        function(*arguments)


def test_a_launch_that_fails_in_a_capture_is_told_by_the_call(device):
    run, first = ready(times=2)  # the next call would be a graph
    calls = run.handle.backend._stream.calls
    most, calls.most_blocks = calls.most_blocks, 0
    function, arguments = run.call("forward_inference")
    for _ in range(2):
        with pytest.raises(DeviceError, match="a launch, with error 1"):
            function(*arguments)
    calls.most_blocks = most
    again = once(run)
    assert all(np.array_equal(first[name], again[name]) for name in first)
