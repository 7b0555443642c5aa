"""Every installed side of the benchmark computes what miopy does, and is refused if it does not."""

from __future__ import annotations

import dataclasses

import bench_sides
import numpy as np
import pytest
from bench_jobs import Network
from bench_rows import agreement, difference, time_shape
from bench_shapes import FORWARD, INFERENCE, MODES, STEP, Shape

from miopy import miopen as mi

pytestmark = pytest.mark.peers

PEERS = [name for name in bench_sides.defaults() if name != bench_sides.OURS]
SHAPES = [
    Shape(cell, 12, 3, 4, 5 * (layers == 2), layers, directions)
    for cell in ("lstm", "gru", "tanh", "relu")
    for layers, directions in ((1, 1), (2, 2), (3, 1))
]
PASSES = {"torch": MODES, "onednn": MODES, "onnxruntime": (INFERENCE,), "unrolled": MODES}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Threads that wait for each other would be slow where tests share cores."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", "1")
    if "torch" in PEERS:
        import torch

        torch.set_num_threads(1)


def check(side: str, shape: Shape, modes: tuple[str, ...]) -> None:
    """The side has exactly these passes, and agrees in them."""
    network = Network(shape, mi.miopenCreate())
    data = network.draw()
    ours, theirs = (bench_sides.make(name, network, data) for name in (bench_sides.OURS, side))
    assert tuple(mode for mode in MODES if theirs.job(mode)) == modes
    for mode in modes:
        assert difference(network, ours, theirs, mode) < agreement(shape, mode)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("side", [name for name in PEERS if name != "compiled"])
def test_a_peer_does_the_same_work(side, shape):
    check(side, shape, PASSES[side])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize(
    "side", [name for name in bench_sides.defaults("bfloat16")[1:] if name != "compiled"]
)
def test_a_peer_does_the_same_work_in_bfloat16(side, shape):
    modes = (INFERENCE, FORWARD) if side == "onednn" else MODES
    check(side, dataclasses.replace(shape, dtype="bfloat16"), modes)


@pytest.mark.skipif("compiled" not in PEERS, reason="torch or a C++ compiler is missing")
@pytest.mark.parametrize("shape", SHAPES[1:4], ids=lambda shape: shape.name)
def test_torch_compiles_what_stays_a_loop(shape):
    check("compiled", shape, (INFERENCE,) if shape.cell == "lstm" else ())


@pytest.mark.skipif("compiled" not in PEERS, reason="torch or a C++ compiler is missing")
def test_torch_unrolls_where_it_is_asked_to():
    check("unrolled", Shape("gru", 6, 2, 2), MODES)


@pytest.mark.parametrize("mode", [INFERENCE, FORWARD, STEP])
def test_a_side_that_does_other_work_is_not_timed(monkeypatch, mode):
    arrays = Network.arrays

    def wrong(self: Network, w: np.ndarray, format: str) -> dict[str, np.ndarray]:
        return {name: array * 1.01 for name, array in arrays(self, w, format).items()}

    monkeypatch.setattr(Network, "arrays", wrong)
    with pytest.raises(SystemExit, match=f"{mode}: torch's results differ by .*nothing is timed"):
        list(time_shape(SHAPES[0], [mode], ["miopy", "torch"], 0.01))


def test_a_peer_that_is_wrong_in_bfloat16_is_left_out_and_named(monkeypatch):
    from bench_torch import Torch

    monkeypatch.setattr(Torch, "results", lambda self, mode: {"y": as_wrong(self.inference())})
    shape = dataclasses.replace(SHAPES[0], dtype="bfloat16")
    rows = dict(time_shape(shape, [INFERENCE], ["miopy", "torch"], 0.01))
    assert set(rows[INFERENCE]["ms"]) == {"miopy"}
    assert rows[INFERENCE]["wrong"]["torch"] > 0.04
    assert rows[INFERENCE]["difference"]["miopy"] < 0.02


def as_wrong(y):
    return 1.05 * y.float().numpy()


def test_a_row_has_the_figures_of_every_side_that_has_the_pass():
    sides = [bench_sides.OURS, *PEERS]
    rows = dict(time_shape(SHAPES[0], MODES, sides, 0.01))
    assert set(rows[INFERENCE]["ms"]) == set(sides)
    assert set(rows[STEP]["ms"]) == {"miopy"} | {"torch", "onednn"} & set(PEERS)
    for row in rows.values():
        for side, ms in row["ms"].items():
            low, high = row["quartiles"][side]
            assert 0 < low <= ms <= high
            assert row["runs"][side] >= 3
        assert row["difference"].keys() == row["ms"].keys() - {"miopy"}
