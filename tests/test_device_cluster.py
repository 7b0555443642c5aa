"""Kernels on clusters, emulated: against the reference, against single steps, with faults."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from cases import BATCH_PADDED, PADDED, Case
from core_run import CoreRun
from device_launches import Watched
from harness import check
from hostcuda.device import EmulatedDevice, configure
from test_device_grid import STEPS, assert_agree

from miopy.backends import cuda, cuda_source, stepped
from miopy.core import algorithm, cluster, grid
from miopy.core.algorithm import CLUSTER, GRID, STEPWISE, VARIABLE, DeviceProperties
from miopy.core.config import CONCAT, RNNConfig
from miopy.errors import DeviceError

SIX = DeviceProperties(6, 227 << 10, grid.DTYPES, 16)
LSTM = RNNConfig("lstm", 3, 18, dtype="float16")


def device() -> cuda.CudaBackend:
    return cuda.CudaBackend(EmulatedDevice(properties=SIX))


@pytest.fixture(autouse=True)
def clusters(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    monkeypatch.setattr(cuda, "create", device)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv(VARIABLE, CLUSTER)
    yield
    configure()


def core_run(config: RNNConfig, steps: tuple[int, ...] = STEPS, **options: Any) -> CoreRun:
    return CoreRun(device(), config, steps, options.pop("batch", max(steps) + 2), seed=4, **options)


@pytest.mark.parametrize(
    "case",
    [
        Case("lstm", (6, 4, 4, 1), 3, 37, 2, 2, dtype="float16"),
        Case("gru", (2, 0, 5, 5, 7), 4, 17, 1, 2, layout=BATCH_PADDED, dtype="float16"),
        Case("lstm", (5, 5, 3), 6, 33, 3, 2, dropout=0.4, dtype="float16"),
        Case("tanh", (39, 4), 19, 19, layout=PADDED, skip_input=True, bias=False, dtype="float16"),
        Case("relu", (9, 8), 2, 40, null=("hx", "dhy", "dhx"), dtype="float16"),
        Case("lstm", (4,) * 19, 5, 8, null=("hx", "cx", "hy", "cy", "dhx", "dcx"), dtype="float16"),
    ],
    ids=lambda case: f"{case.mode} {case.layout} H{case.hidden_size}",
)
def test_all_passes_agree_with_the_reference(case):
    check(case)


@pytest.mark.parametrize(
    ("cell", "dtype"),
    [("relu", "bfloat16"), ("tanh", "float16"), ("lstm", "bfloat16"), ("gru", "float16")],
)
def test_clusters_give_what_single_steps_and_a_grid_give(monkeypatch, cell, dtype):
    """The grid's reserve is read by clusters, and theirs by a grid."""
    config = RNNConfig(cell, 5, 21, 2, CONCAT, dtype=dtype, idle_keeps_state=True)
    every = {name: core_run(config) for name in (CLUSTER, STEPWISE, GRID)}
    for name, run in every.items():
        monkeypatch.setenv(VARIABLE, name)
        run.forward()
    for name, run in zip((GRID, STEPWISE, CLUSTER), every.values(), strict=True):
        monkeypatch.setenv(VARIABLE, name)
        run.backward()
    assert_agree(every[CLUSTER], every[STEPWISE])
    assert_agree(every[GRID], every[STEPWISE])


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("cell", ["tanh", "lstm", "gru"])
def test_tiles_in_shared_memory_and_sums_in_fewer_places(monkeypatch, cell, backward):
    """With a part of the first tiles of depth in registers, folded sums, and blocks of which the
    last have nothing to do. Those of LSTM are as of the largest matrices: with one place for sums,
    and in forward warps that divide the columns, and tiles of 7 rows, of which there are two."""
    config = RNNConfig(cell, 3, 150 if cell == "tanh" else 70, dtype="float16", bias="none")
    steps, large = ((9, 8, 1), {"places": 1}) if cell == "lstm" else ((2, 1, 1), {})
    if large and not backward:
        large |= {"column_warps": 2, "tile_rows": 7}
    ours, others = (core_run(config, steps, batch=max(steps)) for _ in range(2))
    monkeypatch.setattr(cluster, "FOLDS", (4,))
    monkeypatch.setattr(cluster, "SIZES", (4,))
    only = (grid.GridProducts(4 if backward else 8, 3, **large),)
    if backward:
        monkeypatch.setattr(cluster, "BACKWARD", only)
    else:
        monkeypatch.setattr(cluster, "FORWARD", {config.num_gates: only})
    clear_choices()
    ours.results()
    clear_choices()
    monkeypatch.setenv(VARIABLE, STEPWISE)
    others.results()
    assert_agree(ours, others)


def clear_choices() -> None:
    algorithm.choose.cache_clear()
    cluster.best.cache_clear()


@pytest.mark.parametrize("size", [2, 8, 16])
def test_clusters_of_every_size_give_the_same_in_turns(monkeypatch, size):
    """A place for one cluster at a time; there are three, or one. Chunks hand on their states."""
    run, other = core_run(LSTM, (17, 9, 9, 2, 1)), core_run(LSTM, (17, 9, 9, 2, 1))
    configure(most_threads=256 * size)
    other.results()
    monkeypatch.setattr(cluster, "SIZES", (size,))
    many = dataclasses.replace(SIX, multiprocessors=16)
    monkeypatch.setattr(run.backend._stream.device, "properties", many)
    monkeypatch.setattr(stepped, "AHEAD_NBYTES", 20 * 4 * 18 * 4)  # twenty rows
    clear_choices()
    run.results()
    clear_choices()
    assert_agree(run, other, factor=2)


def test_both_directions_are_launched_together(monkeypatch):
    watched = Watched(properties=SIX)
    config = RNNConfig("gru", 5, 21, 2, CONCAT, dtype="float16")
    run, other = CoreRun(cuda.CudaBackend(watched), config, STEPS, 13, seed=4), core_run(config)
    run.results()
    monkeypatch.setenv(VARIABLE, STEPWISE)
    other.results()
    noted = [y for name, _, y in watched.launches if name.startswith("grid_")]
    assert noted == [2] * 4  # two passes of two layers
    assert_agree(run, other)


def test_the_same_bits_come_out_in_any_order_of_threads():
    run = core_run(RNNConfig("gru", 3, 18, dtype="float16"), (9, 9, 2, 1))
    first = run.results()
    for seed in range(10):
        configure(seed=seed)
        assert run.results() == first


def test_sequences_do_not_touch_each_other():
    run, clean = core_run(LSTM, (5, 5, 5, 2)), core_run(LSTM, (5, 5, 5, 2))
    run.arrays["x"][1] = np.nan
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
        assert source.text.count(old) == 1
        return dataclasses.replace(source, text=source.text.replace(old, new))

    monkeypatch.setattr(cuda_source, "grid", wrong)


def test_a_block_that_never_pushes_is_an_error_and_no_hang(monkeypatch):
    published = "(__ballot_sync(~0u, is_published"
    plant(monkeypatch, published, f"{published} && blockIdx.x != 1")
    monkeypatch.setattr(stepped, "CLUSTER_POLL_LIMIT", 500)
    run = core_run(LSTM, (3, 3, 2, 1))
    run.forward()  # asynchronous on a device: it is the next call that learns of it
    assert np.isnan(run.arrays["y"]).any()
    with pytest.raises(DeviceError, match="waited for another in vain"):
        run.forward()
    run.forward()  # told once


def test_words_that_have_not_arrived_are_noticed(monkeypatch):
    """By a block that finds NaN, or by the device, if it goes on to speak of the next phase."""
    plant(monkeypatch, "while (!is_phase_over(", "while (0 && !is_phase_over(")
    run = core_run(LSTM, (3, 3, 2, 1))
    try:
        run.forward()
    except DeviceError as error:
        assert "failed in a launch" in str(error)
        return
    assert np.isnan(run.arrays["y"]).any()


def test_a_cluster_that_cannot_run_at_a_time_is_refused():
    configure(most_threads=256)
    with pytest.raises(DeviceError, match=r"runs no cluster of [24] blocks"):
        core_run(LSTM, (3, 3, 2, 1)).forward()
