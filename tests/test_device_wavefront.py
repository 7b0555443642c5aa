"""Layers of a stack as a wavefront, emulated: against the reference, and against a layer at a
time."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from cases import BATCH_PADDED, Case
from core_run import CoreRun
from device_launches import Watched
from harness import check
from hostcuda.device import configure

from miopy.backends import cuda, stepped
from miopy.core import algorithm, cluster, grid, wavefront
from miopy.core.algorithm import (
    AUTO,
    CLUSTER,
    GRID,
    PERSISTENT,
    STEPWISE,
    VARIABLE,
    DeviceProperties,
)
from miopy.core.config import CONCAT, RIGHT_TO_LEFT, RNNConfig

DEVICE = DeviceProperties(12, 227 << 10, grid.DTYPES, 16)
STEPS = (11,) * 4 + (9,) * 7 + (3,) * 17 + (1,) * 2  # more rows than a tile has
LSTM = RNNConfig("lstm", 5, 21, 3, dtype="float16", idle_keeps_state=True)


@pytest.fixture(autouse=True)
def wavefronts(monkeypatch: pytest.MonkeyPatch):
    """Launches cost so little that all layers run at a time, in about ten chunks; grids of any size
    add up in the same order."""
    monkeypatch.setattr(wavefront, "_launch", lambda *_: 600.0)
    only = (grid.GridProducts(2, 16),)
    monkeypatch.setattr(grid, "FORWARD", dict.fromkeys(grid.FORWARD, only))
    monkeypatch.setattr(grid, "BACKWARD", dict.fromkeys(grid.BACKWARD, only))
    monkeypatch.setattr(cluster, "FORWARD", dict.fromkeys(cluster.FORWARD, cluster.FORWARD[4][:1]))
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    monkeypatch.setattr(cuda, "create", backend)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    clear_choices()
    yield
    clear_choices()
    configure()


def clear_choices() -> None:
    grid.best.cache_clear()
    cluster.best.cache_clear()
    algorithm.choose.cache_clear()
    wavefront.choose.cache_clear()
    wavefront.layers_at_a_time.cache_clear()


def backend() -> cuda.CudaBackend:
    return cuda.CudaBackend(Watched(properties=DEVICE))


def core_run(config: RNNConfig, steps: tuple[int, ...] = STEPS, **options: Any) -> CoreRun:
    return CoreRun(backend(), config, steps, max(steps) + 2, seed=4, **options)


def runs_of_launches(handle: cuda.CudaBackend) -> list[int]:
    """How many layers each launch of many steps had."""
    launches = handle._stream.device.launches
    return [y for name, _, y in launches if name.startswith(("grid_", "persistent_"))]


def a_layer_at_a_time(monkeypatch: pytest.MonkeyPatch, run: CoreRun) -> bytes:
    with monkeypatch.context() as patched:
        patched.setenv(wavefront.VARIABLE, "0")
        found = run.results()
    assert set(runs_of_launches(run.backend)) == {1}
    return found


@pytest.mark.parametrize(
    ("asked", "case"),
    [
        (GRID, Case("lstm", (29, 5, 5, 3), 6, 21, 3, dropout=0.4, dtype="float16")),
        (PERSISTENT, Case("gru", (2, 0, 5, 15, 7), 4, 17, 4, layout=BATCH_PADDED)),
        (PERSISTENT, Case("tanh", (19, 4), 19, 19, 3, skip_input=True, bias=False, dropout=0.5)),
        (GRID, Case("tanh", (19, 8), 2, 40, 2, null=("hx", "dhy", "dhx"), dtype="float16")),
        (CLUSTER, Case("gru", (29, 5, 5, 3), 6, 21, 3, dropout=0.4, dtype="float16")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.mode,
)
def test_all_passes_agree_with_the_reference(monkeypatch, asked, case):
    made: list[cuda.CudaBackend] = []
    monkeypatch.setattr(cuda, "create", lambda: made.append(backend()) or made[-1])
    monkeypatch.setenv(VARIABLE, asked)
    check(case)
    assert max(max(runs_of_launches(each), default=0) for each in made) == case.num_layers


@pytest.mark.parametrize("asked", [GRID, PERSISTENT, CLUSTER])
@pytest.mark.parametrize(
    "config",
    [
        LSTM,
        dataclasses.replace(LSTM, cell="gru", num_layers=6, direction=RIGHT_TO_LEFT),
        dataclasses.replace(LSTM, cell="tanh", num_layers=2, dtype="bfloat16"),
    ],
    ids=lambda config: config.cell,
)
def test_the_bits_are_those_of_a_layer_at_a_time(monkeypatch, asked, config):
    monkeypatch.setenv(VARIABLE, asked)
    ours, others = core_run(config), core_run(config)
    expected = a_layer_at_a_time(monkeypatch, others)
    assert ours.results() == expected
    assert ours.arrays["reserve"].tobytes() == others.arrays["reserve"].tobytes()
    assert max(runs_of_launches(ours.backend)) > 1
    ours.inference()  # two layers' outputs are all that it keeps
    assert np.array_equal(ours.arrays["y"], others.arrays["y"])


@pytest.mark.parametrize("asked", [GRID, PERSISTENT, CLUSTER])
def test_each_layer_is_a_chunk_behind(monkeypatch, asked):
    monkeypatch.setenv(VARIABLE, asked)
    run = core_run(LSTM, (2,) * 28)
    run.results()
    expected = []
    for backward in (False, True):
        chunk_steps = wavefront.choose(stack(run, backward), 3).chunk_steps
        assert chunk_steps < 10
        expected += [1, 2, *(3,) * (-(-28 // chunk_steps) - 2), 2, 1]
    assert runs_of_launches(run.backend) == expected


def stack(run: CoreRun, backward: bool = False) -> wavefront.Stack:
    return wavefront.stack_of(DEVICE, run.config, run.sequence.batch_sizes, backward=backward)


@pytest.mark.parametrize("asked", [GRID, PERSISTENT])
def test_room_for_few_input_products_makes_more_chunks(monkeypatch, asked):
    monkeypatch.setenv(VARIABLE, asked)
    at_once, in_chunks = core_run(LSTM), core_run(LSTM)
    expected = at_once.results()
    monkeypatch.setattr(stepped, "AHEAD_NBYTES", 3 * 12 * 4 * 21 * 4)  # twelve rows of each layer
    assert in_chunks.results() == expected
    assert len(runs_of_launches(in_chunks.backend)) > len(runs_of_launches(at_once.backend))


def test_a_graph_replays_it(monkeypatch):
    monkeypatch.setenv(VARIABLE, GRID)
    run = core_run(dataclasses.replace(LSTM, num_layers=2), (2,) * 12)
    first = run.results()
    assert [run.results(), run.results()] == [first] * 2
    launched = len(runs_of_launches(run.backend))
    assert run.results() == first
    assert len(runs_of_launches(run.backend)) == launched


def test_nothing_else_runs_like_this(monkeypatch):
    both = dataclasses.replace(LSTM, direction=CONCAT)
    for asked, config in ((STEPWISE, LSTM), (GRID, both)):
        found = stack(core_run(config))._replace(asked=asked)
        assert wavefront.layers_at_a_time(found) == 1
    assert "both directions read all of the one below" in wavefront.explain(found)
    monkeypatch.undo()
    clear_choices()
    few = stack(core_run(LSTM))._replace(asked=AUTO)
    assert wavefront.layers_at_a_time(few) == 1
    assert "a layer at a time, for more would take" in wavefront.explain(few)
