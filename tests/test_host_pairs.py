"""bfloat16 on the host, whose products some builds sum in pairs
(kernels/host/products/factors.inc): every path of the recurrence, exact where whole numbers leave
nothing to round."""

from __future__ import annotations

import dataclasses

import numpy as np
import oracle
import pytest
from cases import Data, expected, run_oracle
from core_run import CoreRun
from cudnn_harness import CudnnRun, check, cudnn_case
from storage import rounded
from test_host_paths import PATHS

from miopy.backends import host
from miopy.core.config import RNNConfig

# The last packs in every path what others pack in some.
BUILDS = [build for build in host.builds() if build != "base"] or ["base"]


pytestmark = pytest.mark.usefixtures("build")
LARGEST = 256  # up to which bfloat16 has every whole number


def in_bfloat16(path: str, mode: str):
    """A path's case as cuDNN has it; MIOpen's RNNs lack the type."""
    options = dataclasses.asdict(PATHS[path]) | {"mode": mode, "num_directions": 2}
    given = ("mode", "lengths", "input_size", "hidden_size", "num_directions", "skip_input")
    layout = {"layout": options["layout"]} if "padded" in options["layout"] else {}
    return cudnn_case(**{name: options[name] for name in given}, **layout, dtype="bfloat16")


@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])  # relu's kinks are wide: below
@pytest.mark.parametrize("path", PATHS)
def test_pass(path, mode):
    check(in_bfloat16(path, mode))


def whole_numbers(case, seed: int = 0) -> Data:
    """Small ones; of each row of a matrix, a few that are not 0."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int, share: float = 1.0) -> np.ndarray:
        return rng.integers(-2, 3, shape) * (rng.random(shape) < share).astype(np.float32)

    rows = case.steps, case.batch
    w = draw(oracle.buffer_size(case.network), share=min(1, 2 / case.hidden_size))
    return Data(
        draw(*rows, case.input_size),
        np.sign(w),
        draw(*case.state_shape),
        draw(*case.cell_shape),
        draw(*rows, case.output_size, share=0.3),
        draw(*case.state_shape, share=0.3),
        draw(*case.cell_shape),
    )


# Rows below, at and beyond 16 and 32, which tiles have, on all paths; sizes that fill none, or all.
SHAPES = [
    ((3,), 1, 1),
    ((40,), 33, 130),
    ((4, 4, 3, 1), 32, 32),
    ((4,) * 7 + (3,) * 2, 31, 65),
    ((4,) * 16, 96, 64),
    ((3,) * 17, 70, 47),
    ((4,) * 20 + (3,) * 13 + (1,), 64, 96),
    ((3,) * 65 + (2,), 17, 33),
    ((2,) * 100, 5, 128),
    ((60,), 40, 400),
    ((12,) * 6 + (9,), 330, 290),
    ((4,) * 33 + (2,), 500, 410),
    ((9,) * 6 + (4,) * 5, 2300, 300),  # several blocks of k
    ((3,) * 40, 64, 1100),
    ((70,), 30, 1760),  # large weights, of which packing takes as long as some steps
    ((9,) * 7 + (8,), 30, 1760),
]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("lengths", "input_size", "hidden_size"), SHAPES)
def test_whole_numbers_are_exact(monkeypatch, lengths, input_size, hidden_size, threads):
    monkeypatch.setenv("MIOPY_NUM_THREADS", str(threads))
    case = cudnn_case("relu", lengths, input_size=input_size, hidden_size=hidden_size)
    case = dataclasses.replace(case, num_directions=2, dtype="bfloat16")
    data = whole_numbers(case)
    run = run_oracle(case, data)
    gradients = oracle.backward(run, data.dy.astype(np.float64), data.dhy.astype(np.float64))
    exact = {"y": run.y, "hy": run.hy, "dx": gradients.dx, "dhx": gradients.dhx}
    assert all(abs(values).max() <= LARGEST for values in exact.values())
    assert hidden_size == 1 or all(values.any() for values in exact.values())
    exact["dw"] = rounded(oracle.pack(case.network, gradients.parameters), "bfloat16")
    got = CudnnRun(case, data).training()
    for name, values in exact.items():
        assert np.array_equal(got[name], values), name


@pytest.mark.parametrize(("cell", "hidden_size"), [("lstm", 330), ("gru", 130), ("tanh", 70)])
@pytest.mark.parametrize("batch_sizes", [(1,) * 70, (5, 5, 4), (23, 20, 9), (70, 33, 33, 2)])
def test_threads_change_no_bit(monkeypatch, cell, hidden_size, batch_sizes):
    results = set()
    for threads in "1235":
        monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
        config = RNNConfig(cell, 61, hidden_size, direction="concat", dtype="bfloat16")
        results.add(CoreRun(host.create(), config, batch_sizes).results())
    assert len(results) == 1


@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
@pytest.mark.parametrize("path", ["in place, many", "by sequence", "at once", "ahead, unsorted"])
def test_odd_inputs_reach_their_sequences_alone(path, mode):
    case = in_bfloat16(path, mode)
    data = dataclasses.replace(expected(case).data, x=expected(case).data.x.copy())
    data.x[0, 1, 3], data.x[1, 3, 1] = np.nan, np.inf
    y = CudnnRun(case, data).forward_inference()["y"]
    with np.errstate(all="ignore"):
        exact = run_oracle(case, data).y
    assert np.isnan(exact).any()
    assert np.array_equal(np.isnan(y), np.isnan(exact))
    assert np.nanmax(abs(y - exact)) < 0.1
