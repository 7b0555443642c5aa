"""Clusters on a real GPU that has them: what they give agrees with the reference."""

from __future__ import annotations

import numpy as np
import pinned
import pytest
from cases import Case
from core_run import UNIT, CoreRun, values
from device_run import DeviceRun
from harness import check

from miopy.core.algorithm import CLUSTER, STEPWISE, VARIABLE
from miopy.core.config import RNNConfig

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def real_device(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")


@pytest.mark.parametrize(
    "case",
    [
        Case("lstm", (60,) * 16, 64, 512, dtype="float16"),
        Case("lstm", (30,) * 170, 33, 256, 2, 2, dtype="float16"),
        Case("gru", tuple(range(50, 0, -1)), 16, 384, 1, 2, dtype="float16"),
        Case("lstm", (40, 31, 30, 2), 33, 121, dtype="float16"),
        Case("tanh", (30,) * 5, 16, 512, dtype="float16"),
        Case("lstm", (30, 30, 29), 16, 760, dtype="float16"),
    ],
    ids=lambda case: f"{case.mode} {case.dtype} H{case.hidden_size}",
)
def test_clusters_agree_with_the_reference(monkeypatch, case):
    if not pinned.create().properties.cluster_blocks:
        pytest.skip("this device has no clusters of blocks")
    monkeypatch.setenv(VARIABLE, CLUSTER)
    check(case, DeviceRun)


@pytest.mark.parametrize(("cell", "hidden_size"), [("lstm", 880), ("gru", 1024)])
def test_the_largest_clusters_run_forward(monkeypatch, cell, hidden_size):
    """They give what single steps give; backward has no clusters of this size."""
    if pinned.create().properties.cluster_blocks < 16:
        pytest.skip("this device has no clusters of 16 blocks")
    config, y = RNNConfig(cell, 33, hidden_size, dtype="float16"), {}
    for name in (CLUSTER, STEPWISE):
        monkeypatch.setenv(VARIABLE, name)
        run = CoreRun(pinned.create(), config, (9, 9, 9, 3), seed=4)
        run.forward()
        y[name] = values(run.arrays["y"], "float16")
    scale = np.sqrt(np.mean(y[STEPWISE] ** 2))
    assert np.abs(y[CLUSTER] - y[STEPWISE]).max() <= 40 * UNIT["float16"] * scale
