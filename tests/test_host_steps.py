"""Networks whose steps the host runs one by one: cells with late gates or chosen activations, and
projections, so many rows that their matrices are packed, and few; by every build, in any number of
threads. And cells with peepholes or attention, which its own kernels run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import Case, expected
from core_run import UNIT, CoreRun, values
from fences import fenced
from harness import summands
from oracle import EVERY_GATES
from test_edges import FencedScratch
from test_gradients import DoubleRun
from test_host_paths import PATHS
from tolerance import assert_close

from miopy.backends import host
from miopy.backends.host_operations import has_own_kernels
from miopy.core.cells import CELLS
from miopy.core.config import RNNConfig

STEPWISE = [name for name, cell in CELLS.items() if not cell.is_plain]
PROJECTED = ("lstm", "peephole_lstm")
NETWORKS = [(name, 0) for name in STEPWISE] + [(name, 5) for name in PROJECTED]
OWN = [
    (name, 0)
    for name, cell in CELLS.items()
    if cell.is_plain and (cell.peepholes or cell.attention)
]
EVERY = NETWORKS + OWN
MANY = (7,) * 9 + (5, 5, 1)  # rows of steps: more than repay packing
FEW = (3, 3, 1)
LONG = (1,) * 14  # steps that are as many as repay it
RESULTS = ("y", "hy", "dx", "dhx", "dw")


def config_of(network: tuple[str, int], dtype: str, sizes: tuple[int, int] = (11, 37)) -> RNNConfig:
    cell, projection_size = network
    return RNNConfig(cell, *sizes, 2, "concat", dtype=dtype, projection_size=projection_size)


def twin(run: CoreRun, batch_sizes: tuple[int, ...]) -> CoreRun:
    """The same numbers in double."""
    config = dataclasses.replace(run.config, dtype="float64")
    other = CoreRun(run.backend, config, batch_sizes)
    for name in other.arrays.keys() - {"workspace", "reserve"}:
        other.arrays[name][...] = values(run.arrays[name], run.config.dtype)
    return other


def check_with_double(run: CoreRun, batch_sizes: tuple[int, ...], units: float) -> None:
    other = twin(run, batch_sizes)
    for each in (run, other):
        each.results()
    for name in RESULTS:
        wanted = other.arrays[name]
        difference = values(run.arrays[name], run.config.dtype) - wanted
        most = units * UNIT[run.config.dtype] * np.linalg.norm(wanted)
        assert np.linalg.norm(difference) < most, name


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("batch_sizes", [MANY, FEW, LONG], ids=["many", "few", "long"])
@pytest.mark.parametrize("network", EVERY, ids=str)
def test_types_agree_with_double(host_device, network, batch_sizes, dtype):
    run = CoreRun(host_device, config_of(network, dtype), batch_sizes)
    check_with_double(run, batch_sizes, 40)


@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
@pytest.mark.parametrize("network", EVERY, ids=str)
def test_double_agrees_with_the_reference(host_device, network, masked):
    cell, projection_size = network
    options = {"projection_size": projection_size, "masked": masked, "dtype": "float64"}
    lengths, layout = (9, 0, 12, 4, 12, 11), "batch_padded"
    case = Case(cell, lengths, 5, 19, 2, 2, layout=layout, **options)
    reference = expected(case)
    for name, got in DoubleRun(case, reference.data, host_device).results().items():
        assert_close(name, got, reference.training[name], "float64", summands(case, name))


OWNED = (12,) * 20  # small matrices and even steps: workers own sequences


def results_in_threads(monkeypatch, config: RNNConfig, batch_sizes: tuple[int, ...]) -> list:
    results = []
    for threads in (1, 3):
        monkeypatch.setenv("MIOPY_NUM_THREADS", str(threads))
        results.append(CoreRun(host.create(), config, batch_sizes).results())
    return results


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("batch_sizes", [(16,) * 4, (3,) * 14, (300,), MANY, OWNED], ids=str)
@pytest.mark.parametrize("network", EVERY, ids=str)
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, network, batch_sizes, dtype):
    config = config_of(network, dtype, (70, 45 if batch_sizes == OWNED else 150))
    first, *others = results_in_threads(monkeypatch, config, batch_sizes)
    assert all(each == first for each in others)


@pytest.mark.parametrize("network", EVERY, ids=str)
@pytest.mark.usefixtures("build")
def test_no_build_depends_on_the_number_of_threads(monkeypatch, network):
    config = config_of(network, "float32", (70, 45))
    first, *others = results_in_threads(monkeypatch, config, OWNED)
    assert all(each == first for each in others)


@pytest.mark.usefixtures("host_device")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("network", EVERY, ids=str)
def test_no_step_leaves_its_arrays_or_its_scratch(monkeypatch, network, dtype):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    device = FencedScratch()
    for sizes in ((11, 37), (70, 131)):
        for batch_sizes in ((), LONG, MANY, (33, 32)):
            batch = max(batch_sizes, default=0) + 2
            run = CoreRun(device, config_of(network, dtype, sizes), batch_sizes, batch, fenced)
            run.results()
            for name in RESULTS:
                assert np.isfinite(values(run.arrays[name], dtype)).all(), (name, batch_sizes)


def test_these_networks_run_step_by_step(host_device):
    """Else this file tests nothing."""
    runs = []
    own = host_device.recurrence_forward
    host_device.recurrence_forward = lambda given: runs.extend(given) or own(given)
    for network in NETWORKS:
        CoreRun(host_device, config_of(network, "float32"), FEW).forward()
    assert runs and not any(has_own_kernels(run.layer) for run in runs)
    assert {run.layer.config.cell for run in runs} <= set(EVERY_GATES)


@pytest.mark.parametrize("network", OWN, ids=str)
@pytest.mark.parametrize("path", PATHS)
def test_peepholes_and_attention_on_every_path(monkeypatch, path, network):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "2")
    case = PATHS[path]
    steps = range(max(case.lengths))
    batch_sizes = tuple(sum(length > step for length in case.lengths) for step in steps)
    config = config_of(network, "float32", (case.input_size, case.hidden_size))
    run = CoreRun(host.create(), config, batch_sizes)
    # Else long networks are chaotic, and gates of many inputs saturated.
    run.arrays["w"] *= max(case.input_size, case.hidden_size) ** -0.5
    check_with_double(run, batch_sizes, 40)
