"""Calls that the caller captures into graphs, on the emulated device: what these read and keep."""

from __future__ import annotations

import gc
from collections.abc import Callable

import hostcuda
import numpy as np
import pytest
from core_run import CoreRun
from watched_device import Allocator, Watched

from miopy.backends import cuda
from miopy.core.backend import NOTHING_WAITS
from miopy.core.config import RNNConfig
from miopy.core.sequence import from_batch_sizes

CONFIG = RNNConfig("lstm", 5, 7, 2, "concat")
STEPS = (4, 4, 3, 3, 1)
SHORT = (4, 3, 1)  # too few steps for a graph of the backend's own
OUTSIDE = 0x9000  # a stream of the caller
OUTPUTS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")


@pytest.fixture
def device() -> Watched:
    return Watched()


@pytest.fixture
def emulated(device: Watched) -> cuda.CudaBackend:
    backend = cuda.CudaBackend(device)
    backend.set_stream(OUTSIDE)
    return backend


def captured(device: Watched, call: Callable[[], object]) -> hostcuda.device.Graph:
    device.begin_capture(OUTSIDE)
    call()
    return device.end_capture(OUTSIDE)


def assert_right(run: CoreRun) -> None:
    fresh = CoreRun(hostcuda.create(), run.config, SHORT)
    fresh.results()
    for name in OUTPUTS:
        assert np.array_equal(run.arrays[name], fresh.arrays[name]), name


def spoil(run: CoreRun) -> None:
    for name in OUTPUTS:
        run.arrays[name].fill(np.nan)


def test_a_caller_may_capture_a_whole_training_step(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    before = run.arrays["y"].copy()
    emulated.set_stream(OUTSIDE)
    device.begin_capture(OUTSIDE)
    run.forward()
    run.backward()
    graph = device.end_capture(OUTSIDE)
    bigger = CoreRun(emulated, RNNConfig("lstm", 50, 70), (40,) * 5)
    bigger.results()  # takes more scratch; the graph's must live on
    assert np.array_equal(run.arrays["y"], before)
    graph.launch(OUTSIDE)
    fresh = CoreRun(hostcuda.create(), CONFIG, STEPS)
    fresh.results()
    for name in ("y", "hy", "cy", "dx", "dhx", "dcx", "dw"):
        assert np.array_equal(run.arrays[name], fresh.arrays[name]), name


def test_index_arrays_of_a_captured_graph_stay(device, emulated):
    caller = Allocator()
    emulated.set_allocator(caller.allocate, caller.free, "context")
    emulated.set_stream(OUTSIDE)
    device.begin_capture(OUTSIDE)
    run = CoreRun(emulated, CONFIG, (4, 3, 1))
    run.results()
    device.end_capture(OUTSIDE)
    read_by_graph = set(caller.blocks)
    del run
    from_batch_sizes.cache_clear()
    emulated.set_stream(None)
    CoreRun(emulated, CONFIG, (2, 2, 1)).results()
    assert read_by_graph < set(caller.blocks)
    emulated.close()
    assert not caller.blocks


def test_within_a_capture_nothing_outside_is_waited_for(device, emulated):
    """To try would spoil it: a graph cannot wait for what is not in it."""
    emulated.set_stream(OUTSIDE)
    assert emulated.awaiting == OUTSIDE
    device.begin_capture(OUTSIDE)
    emulated.wait_for(512)
    assert emulated.awaiting == NOTHING_WAITS
    device.end_capture(OUTSIDE)
    assert not device.waits


def test_a_call_after_a_capture_reads_no_copy_that_only_the_graph_makes(device, emulated):
    run = CoreRun(emulated, CONFIG, SHORT)
    graph = captured(device, run.results)
    spoil(run)
    run.results()
    assert_right(run)
    spoil(run)
    graph.launch(OUTSIDE)
    assert_right(run)


def test_a_graph_reads_no_copy_that_only_another_one_makes(device, emulated):
    run = CoreRun(emulated, CONFIG, SHORT)
    captured(device, run.results)
    second = captured(device, run.results)
    spoil(run)
    second.launch(OUTSIDE)
    assert_right(run)


def test_captures_of_what_was_called_before_take_no_memory(device, emulated):
    run = CoreRun(emulated, CONFIG, SHORT)
    run.results()
    device.allocated.clear()
    captured(device, run.results)
    kept = len(emulated._stream._uploads._kept)
    captured(device, run.results)
    assert device.allocated == []
    assert len(emulated._stream._uploads._kept) == kept


def test_scratch_that_grows_within_a_capture_waits_for_nothing(device, emulated):
    caller = Allocator()
    emulated.set_allocator(caller.allocate, caller.free, "context")
    CoreRun(emulated, CONFIG, (1,)).forward()
    small = set(caller.blocks)
    run = CoreRun(emulated, CONFIG, SHORT)
    graph = captured(device, run.results)
    assert small < set(caller.blocks)
    assert not device.synchronized
    graph.launch(OUTSIDE)
    assert_right(run)
    emulated.close()
    assert not caller.blocks


def test_arrays_that_are_no_more_are_not_given_back_within_a_capture(device, emulated):
    caller = Allocator()
    emulated.set_allocator(caller.allocate, caller.free, "context")
    run = CoreRun(emulated, CONFIG, (3, 2, 2))
    run.results()
    del run
    from_batch_sizes.cache_clear()
    gc.collect()
    run = CoreRun(emulated, CONFIG, SHORT)
    captured(device, run.results).launch(OUTSIDE)
    assert not device.synchronized
    assert_right(run)
    before = len(caller.blocks)
    run.results()
    assert device.synchronized
    assert len(caller.blocks) <= before + 3


def test_a_stream_may_be_left_while_it_is_captured(device, emulated):
    caller = Allocator()
    emulated.set_allocator(caller.allocate, caller.free, "context")
    run = CoreRun(emulated, CONFIG, SHORT)
    run.results()
    graph = captured(device, lambda: (run.results(), emulated.set_stream(None)))
    assert not device.synchronized
    spoil(run)
    graph.launch(OUTSIDE)
    assert_right(run)
    emulated.close()
    assert not caller.blocks


def test_another_allocator_leaves_graphs_what_they_use(device, emulated):
    caller = Allocator()
    emulated.set_allocator(caller.allocate, caller.free, "context")
    run = CoreRun(emulated, CONFIG, SHORT)
    graph = captured(device, run.results)
    used = set(caller.blocks)
    emulated.set_allocator(None, None, None)
    assert used == set(caller.blocks)
    spoil(run)
    graph.launch(OUTSIDE)
    assert_right(run)
    emulated.close()
    assert not caller.blocks
