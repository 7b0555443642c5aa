"""What a handle takes of a GPU, for which stream, and when it gives it back."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from cases import Case
from core_run import CoreRun
from harness import Run
from watched_device import Watched

from miopy import miopen as mi
from miopy.backends import cuda
from miopy.core.config import RNNConfig
from miopy.errors import DeviceError

CONFIG = RNNConfig("lstm", 5, 7, 2, "concat")
STEPS = (4, 4, 3, 3, 1)
OUTSIDE, OTHER = 0x9000, 0x9100  # streams of the caller


class Placed(Watched):
    """Remembers for which stream memory was taken, and which of it products were given."""

    def __init__(self) -> None:
        super().__init__()
        self.places: set[tuple[int, int]] = set()  # addresses and streams
        self.blocks: list[weakref.ref[Any]] = []
        self.workspaces: dict[int, list[int]] = {}  # by stream

    def allocate(self, nbytes: int, stream: int) -> Any:
        block = super().allocate(nbytes, stream)
        self.places.add((block.address, stream))
        if nbytes == self.workspace_nbytes:
            self.blocks.append(weakref.ref(block))
        return block

    def use_stream(self, stream: int, workspace: int) -> int:
        self.workspaces.setdefault(stream, []).append(workspace)
        return super().use_stream(stream, workspace)


@pytest.fixture
def device() -> Placed:
    return Placed()


@pytest.fixture
def emulated(device: Placed) -> cuda.CudaBackend:
    return cuda.CudaBackend(device)


@pytest.fixture
def without_gc() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_products_on_each_stream_have_a_workspace_taken_for_it(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    run.results()
    held = device.blocks[0]()
    emulated.set_stream(OUTSIDE)
    run.results()
    assert held is not None  # the other one is elsewhere, or the call would come again
    (on_default,), (outside,) = device.workspaces[0], device.workspaces[OUTSIDE]
    assert {(on_default, 0), (outside, OUTSIDE)} <= device.places


def test_a_graph_has_the_workspace_of_the_stream_it_runs_on(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    first = [run.results() for _ in range(3)]
    captures, held = device.captures, device.blocks[0]()
    emulated.set_stream(OUTSIDE)
    assert [run.results() for _ in range(3)] == first
    assert device.captures == 2 * captures
    assert held is not None  # the other one is elsewhere
    own = [
        each
        for stream in device.workspaces.keys() - {0, OUTSIDE}
        for each in device.workspaces[stream]
    ]
    assert own == [*device.workspaces[0][:1] * captures, *device.workspaces[OUTSIDE][:1] * captures]


def test_products_leave_a_capture_whatever_becomes_of_it(device, emulated, monkeypatch):
    run = CoreRun(emulated, RNNConfig("lstm", 5, 7), STEPS)
    run.forward()
    wanted, use_stream, streams = run.arrays["y"].tobytes(), device.use_stream, []

    def fail_once(stream: int, workspace: int) -> int:
        streams.append(stream)
        if len(streams) == 2:
            raise DeviceError("device", "must do")
        return use_stream(stream, workspace)

    monkeypatch.setattr(device, "use_stream", fail_once)
    run.forward()
    assert streams[1:] == [0, 0]
    assert run.arrays["y"].tobytes() == wanted


def test_what_only_launches_has_no_workspace(device, emulated):
    array = emulated.empty((4,), "float32")
    emulated.fill(array.ctypes.data, bytes(4), 4)
    emulated.set_stream(OUTSIDE)
    assert not array.any() and not device.allocated


def test_a_workspace_that_a_graph_of_the_caller_uses_stays_the_streams(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    for _ in range(2):
        emulated.set_stream(OUTSIDE)
        device.begin_capture(OUTSIDE)
        run.results()
        device.end_capture(OUTSIDE)
        emulated.set_stream(OTHER)
        run.results()
        emulated.set_stream(None)
    assert len(set(device.workspaces[OUTSIDE])) == 1
    captured, *others = device.blocks
    assert captured() is not None and not any(block() for block in others)
    emulated.close()
    assert captured() is None


def test_a_stream_that_is_no_more_may_be_left(device, emulated, monkeypatch):
    emulated.set_stream(OUTSIDE)
    run = CoreRun(emulated, CONFIG, STEPS)
    first = run.results()

    def is_capturing(stream: int) -> bool:
        assert stream != OUTSIDE
        return False

    monkeypatch.setattr(device, "is_capturing", is_capturing)
    emulated.set_stream(OTHER)
    assert run.results() == first


def test_a_handle_that_is_destroyed_is_gone_at_once(device, without_gc, monkeypatch):
    devices = []

    def create() -> cuda.CudaBackend:
        device = Placed()
        devices.append(weakref.ref(device))
        return cuda.CudaBackend(device)

    monkeypatch.setattr(cuda, "create", create)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    run = Run(Case("lstm", (9, 7, 7, 2), 5, 9, 2, 2))
    for _ in range(4):
        run.training()
    mi.miopenDestroy(run.handle)
    del run
    assert devices[0]() is None


def test_a_backend_that_is_closed_gives_all_back_and_may_be_used_again(device, emulated):
    run = CoreRun(emulated, CONFIG, STEPS)
    first = [run.results() for _ in range(3)]
    emulated.close()
    assert not any(block() for block in device.blocks)
    assert device.blas == 0
    assert [run.results() for _ in range(3)] == first
