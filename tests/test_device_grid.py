"""Kernels on a whole grid, emulated: against the reference, against single steps, with faults."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from cases import BATCH_PADDED, PADDED, Case
from core_run import UNIT, CoreRun, values
from device_launches import Watched
from harness import check
from hostcuda.device import EmulatedDevice, configure

from miopy.backends import cuda, cuda_source, stepped
from miopy.core import algorithm, grid
from miopy.core.algorithm import GRID, STEPWISE, VARIABLE, DeviceProperties
from miopy.core.config import CONCAT, RNNConfig
from miopy.errors import DeviceError

STEPS = (11,) * 4 + (9,) * 7 + (3,) * 17 + (1,) * 2  # more rows than a tile has; four rounds
SIX = DeviceProperties(6, 227 << 10, grid.DTYPES)
ROUNDING = dataclasses.replace(SIX, allows_tf32=True)
OUTPUTS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")


def device(properties: DeviceProperties = SIX) -> cuda.CudaBackend:
    return cuda.CudaBackend(EmulatedDevice(properties=properties))


@pytest.fixture(autouse=True)
def whole_grid(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    monkeypatch.setattr(cuda, "create", device)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv(VARIABLE, GRID)
    yield
    configure()


def core_run(config: RNNConfig, steps: tuple[int, ...] = STEPS, **options: Any) -> CoreRun:
    backend = device(options.pop("properties", SIX))
    return CoreRun(backend, config, steps, options.pop("batch", max(steps) + 2), seed=4, **options)


def assert_agree(ours: CoreRun, others: CoreRun, factor: float = 100) -> None:
    dtype = ours.config.dtype
    for name in OUTPUTS:
        got, wanted = (values(run.arrays[name], dtype) for run in (ours, others))
        scale = np.sqrt(np.mean(wanted**2))
        assert np.abs(got - wanted).max() <= factor * UNIT[dtype] * scale, name


@pytest.mark.parametrize(
    "case",
    [
        Case("lstm", (6, 4, 4, 1), 3, 37, 2, 2, dtype="float16"),
        Case("gru", (2, 0, 5, 5, 7), 4, 17, 1, 2, layout=BATCH_PADDED, dtype="float16"),
        Case("lstm", (5, 5, 3), 6, 33, 3, 2, dropout=0.4, dtype="float16"),
        Case("tanh", (19, 4), 19, 19, layout=PADDED, skip_input=True, bias=False, dtype="float16"),
        Case("relu", (9, 8), 2, 40, null=("hx", "dhy", "dhx"), dtype="float16"),
        Case("lstm", (4,) * 19, 5, 8, null=("hx", "cx", "hy", "cy", "dhx", "dcx"), dtype="float16"),
        Case("gru", (5, 5, 3), 6, 33, 2, 2),
    ],
    ids=lambda case: f"{case.mode} {case.layout} H{case.hidden_size}",
)
def test_all_passes_agree_with_the_reference(case):
    check(case)


@pytest.mark.parametrize("dtype", grid.DTYPES)
@pytest.mark.parametrize("cell", ["relu", "tanh", "lstm", "gru"])
def test_a_grid_gives_what_single_steps_give(monkeypatch, cell, dtype):
    config = RNNConfig(cell, 5, 21, 2, CONCAT, dtype=dtype, idle_keeps_state=True)
    ours, others = core_run(config), core_run(config)
    ours.results()
    monkeypatch.setenv(VARIABLE, STEPWISE)
    others.results()
    assert_agree(ours, others, factor=200 if dtype == "float32" else 100)


def error(ours: CoreRun, exact: CoreRun) -> float:
    """The root of the mean square of each output's difference, by the output's; the worst."""
    squares = []
    for name in OUTPUTS:
        got, wanted = (values(run.arrays[name], run.config.dtype) for run in (ours, exact))
        squares.append(np.mean((got - wanted) ** 2) / np.mean(wanted**2))
    return float(np.sqrt(max(squares)))


@pytest.mark.parametrize(("cell", "scale"), [("relu", 1e6), ("tanh", 1), ("gru", 1e-25)])
def test_float32_is_exact_at_any_size_unless_rounding_is_allowed(monkeypatch, cell, scale):
    """Of the gradients and, if the cell has no bounds, of its states."""
    config = RNNConfig(cell, 5, 21, 1, CONCAT, idle_keeps_state=True, bias="none")
    wide = dataclasses.replace(config, dtype="float64")
    runs = core_run(config), core_run(wide), core_run(config, properties=ROUNDING)
    for run, way in zip(runs, (GRID, STEPWISE, GRID), strict=True):
        names = ("dy", "dhy", "dcy", *(("hx", "x") if cell == "relu" else ()))
        for name in names:
            run.arrays[name] *= scale
        monkeypatch.setenv(VARIABLE, way)
        run.results()
    split, exact, rounded = runs
    assert error(split, exact) < 3e-6
    assert 1e-4 < error(rounded, exact) < 1e-2


@pytest.mark.parametrize("cell", ["relu", "gru"])
def test_what_is_not_finite_spreads_as_in_single_steps(monkeypatch, cell):
    """Infinities of both signs and a NaN that rounding would make one, in states and the matrix."""
    config = RNNConfig(cell, 3, 19, bias="none")
    runs = core_run(config, (5, 5, 2)), core_run(config, (5, 5, 2))
    odd = np.array([np.inf, -np.inf, 0], np.float32)
    odd.view(np.uint32)[2] = 0x7F800001
    for run, way in zip(runs, (GRID, STEPWISE), strict=True):
        run.arrays["hx"][0, :3, 4] = run.arrays["dhy"][0, 1:4, 7] = odd
        run.arrays["w"][-20] = np.inf
        monkeypatch.setenv(VARIABLE, way)
        run.results()
    for name in OUTPUTS:
        ours, others = (run.arrays[name] for run in runs)
        np.testing.assert_allclose(ours, others, rtol=1e-4, atol=1e-5, err_msg=name)
    assert np.isnan(runs[0].arrays["y"]).any()


@pytest.mark.parametrize("first", [STEPWISE, GRID])
def test_each_reads_the_reserve_of_the_other(monkeypatch, first):
    config = RNNConfig("gru", 5, 21, 2, CONCAT, dtype="float16")
    run, alone = core_run(config), core_run(config)
    alone.results()
    monkeypatch.setenv(VARIABLE, first)
    run.forward()
    monkeypatch.setenv(VARIABLE, GRID if first == STEPWISE else STEPWISE)
    run.backward()
    assert_agree(run, alone)


def allow_only(monkeypatch: pytest.MonkeyPatch, way: grid.GridProducts, backward: bool) -> None:
    right = grid.products

    def ways(gates: int, itemsize: int, of_backward: bool, split: bool = False) -> Any:
        if of_backward != backward:
            return right(gates, itemsize, of_backward, split)
        return (dataclasses.replace(way, split=split),)

    monkeypatch.setattr(grid, "products", ways)
    clear_choices()


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("cell", ["tanh", "lstm", "gru"])
def test_tiles_in_shared_memory_and_sums_in_fewer_places(monkeypatch, cell, backward):
    """With one tile of depth per warp in registers and a part of the next one, and folded sums."""
    config = RNNConfig(cell, 3, 150 if cell == "tanh" else 70, dtype="float16", bias="none")
    ours, others = (core_run(config, (2, 1, 1), batch=2) for _ in range(2))
    monkeypatch.setattr(grid, "FOLDS", (4,))
    allow_only(monkeypatch, grid.GridProducts(4, 5), backward)
    ours.results()
    clear_choices()
    monkeypatch.setenv(VARIABLE, STEPWISE)
    others.results()
    assert_agree(ours, others)


@pytest.mark.parametrize(
    ("cell", "dtype", "shares", "hidden_size"),
    [
        ("lstm", "float16", 4, 83),  # a block has no unit of its own
        ("gru", "float32", 2, 61),
        ("tanh", "float16", 4, 95),  # a share has no depth
        ("relu", "float32", 4, 49),
    ],
)
def test_blocks_that_share_the_depth_add_up(monkeypatch, cell, dtype, shares, hidden_size):
    config = RNNConfig(cell, 5, hidden_size, 1, CONCAT, dtype=dtype, idle_keeps_state=True)
    few = DeviceProperties(8, 227 << 10, grid.DTYPES)
    steps = STEPS[1::2]  # two rounds
    ours, others = (core_run(config, steps, properties=few) for _ in range(2))
    places = 1 if cell == "lstm" else 2
    allow_only(monkeypatch, grid.GridProducts(3, 2, shares=shares, places=places), True)
    for run in (ours, others):
        run.arrays["w"] *= np.array(0.3, run.arrays["w"].dtype)  # else there is chaos
    ours.results()
    monkeypatch.setenv(VARIABLE, STEPWISE)
    others.results()
    assert_agree(ours, others, factor=200 if dtype == "float32" else 100)
    assert blocks_of(config, few, max(steps)) == 8


def blocks_of(config: RNNConfig, properties: DeviceProperties, batch: int) -> int:
    chosen = algorithm.choose(properties, config, 20, batch, backward=True, asked=GRID)
    return chosen.grid.blocks


def clear_choices() -> None:
    algorithm.choose.cache_clear()
    grid.best.cache_clear()


@pytest.mark.parametrize(
    ("multiprocessors", "launches"), [(4, [(2, 2)] * 4), (3, [(3, 1)] * 4 + [(1, 2)] * 2)]
)
def test_directions_share_the_device_or_take_turns(multiprocessors, launches):
    """As parts of the matrix, and directions, in a launch; two passes of two layers."""
    watched = Watched(properties=dataclasses.replace(SIX, multiprocessors=multiprocessors))
    config = RNNConfig("gru", 5, 21, 2, CONCAT, dtype="float16")
    run, other = CoreRun(cuda.CudaBackend(watched), config, STEPS, 13, seed=4), core_run(config)
    run.results()
    other.results()
    noted = [(x, y) for name, x, y in watched.launches if name.startswith("grid_")]
    assert noted == launches
    assert_agree(run, other)


def test_chunks_of_steps_hand_on_their_states(monkeypatch):
    config = RNNConfig("lstm", 5, 21, 1, CONCAT, dtype="float16")
    at_once, in_chunks = core_run(config), core_run(config)
    at_once.results()
    monkeypatch.setattr(stepped, "AHEAD_NBYTES", 40 * 4 * 21 * 4)  # forty rows
    in_chunks.results()
    assert_agree(in_chunks, at_once, factor=0)


def test_the_same_bits_come_out_in_any_order_of_threads():
    run = core_run(RNNConfig("gru", 3, 18, dtype="float16"), (9, 9, 2, 1))
    first = run.results()
    for seed in range(10):
        configure(seed=seed)
        assert run.results() == first


def test_sequences_do_not_touch_each_other():
    """A NaN in one stays there, also among those of its tile; it is not taken for what has yet to
    come."""
    config = RNNConfig("lstm", 4, 19, dtype="float16")
    run, clean = core_run(config, (5, 5, 5, 2)), core_run(config, (5, 5, 5, 2))
    run.arrays["x"][1] = np.array([-1], np.int16).view(np.float16)  # all bits are set
    run.forward()
    clean.forward()
    y, expected = run.arrays["y"], clean.arrays["y"]
    rows = [1, 6, 11, 16]
    assert np.isnan(y[rows]).all()
    assert np.array_equal(np.delete(y, rows, 0), np.delete(expected, rows, 0))


# --- faults ---------------------------------------------------------------------------------------


def plant(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    right = cuda_source.grid

    def wrong(*arguments: Any) -> cuda_source.Source:
        source = right(*arguments)
        assert old in source.text
        return dataclasses.replace(source, text=source.text.replace(old, new))

    monkeypatch.setattr(cuda_source, "grid", wrong)


def test_a_block_that_never_publishes_is_an_error_and_no_hang(monkeypatch):
    plant(monkeypatch, "if (is_published", "if (blockIdx.x != 1 && is_published")
    monkeypatch.setattr(stepped, "GRID_POLL_LIMIT", 500)
    run = core_run(RNNConfig("lstm", 3, 18, dtype="float16"), (3, 3, 2, 1))
    run.forward()  # asynchronous on a device: it is the next call that learns of it
    assert np.isnan(run.arrays["y"]).any()
    with pytest.raises(DeviceError, match="waited for another in vain"):
        run.forward()
    run.forward()  # told once


def test_words_that_have_not_arrived_are_noticed(monkeypatch):
    plant(monkeypatch, "for (int are_missing = 1;", "for (int are_missing = 0;")
    run = core_run(RNNConfig("lstm", 3, 18, dtype="float16"), (3, 3, 2, 1))
    run.forward()
    assert np.isnan(run.arrays["y"]).any()


def test_words_that_are_not_cleared_are_noticed(monkeypatch):
    """Each block clears those of the first one."""
    right, wrong = (core_run(RNNConfig("lstm", 3, 18, dtype="float16")) for _ in range(2))
    right.forward()
    plant(monkeypatch, "in->first_unit + i % width * PACKED", "i % width * PACKED")
    wrong.forward()
    assert not np.array_equal(wrong.arrays["y"], right.arrays["y"])


def test_a_grid_that_cannot_run_at_a_time_is_refused():
    configure(most_threads=512)
    run = core_run(RNNConfig("lstm", 3, 18, dtype="float16"), (3, 3, 2, 1))
    with pytest.raises(DeviceError, match="runs 2 of 3 blocks that wait for each other"):
        run.forward()
