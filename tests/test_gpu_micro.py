"""tools/gpu_micro.py on the emulated device, and its kernels for the devices they are for."""

from __future__ import annotations

import dataclasses

import gpu_limits
import gpu_micro
import nvrtc
import pytest
from gpu_places import Emulated
from hostcuda import create

from miopy import miopen as mi
from miopy.backends import cuda


@pytest.fixture
def bench(monkeypatch) -> gpu_micro.Bench:
    monkeypatch.setattr(cuda, "create", create)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    where = Emulated.__new__(Emulated)
    where.handle = mi.miopenCreate()
    where.device = where.handle.backend._stream.device
    return gpu_micro.Bench(where)


def plant(monkeypatch, old: str, new: str) -> None:
    right = gpu_micro.source

    def wrong(kind: str, chains: int = 1):
        source = right(kind, chains)
        return dataclasses.replace(source, text=source.text.replace(old, new))

    monkeypatch.setattr(gpu_micro, "source", wrong)


def test_everything_is_measured_and_right(bench):
    rows = [row() for row in (*bench.of_grid(), *bench.of_matrices(), *bench.of_clusters())]
    assert [row for row in rows if not row["passed"]] == []
    measured = {name: value for row in rows for name, value in row["measured"].items()}
    assert measured.keys() == {"grid_exchange_us", "cluster_exchange_us", "l2_rate", "tensor_rate"}
    machine = gpu_limits.calibrated(measured)
    assert machine.l2_rate == measured["l2_rate"]
    assert machine.grid_cycles > gpu_limits.Machine.grid_cycles


@pytest.mark.parametrize(
    ("old", "new", "run"),
    [
        ("(next + i, step + 1)", "(next + i, step)", lambda bench: bench.exchange(1)),
        ("(counter, 1u)", "(counter, 2u)", lambda bench: bench.barrier("count_together", "")),
        ("a, one, one)", "a, one, 0)", lambda bench: bench.multiply(8)),
        ("step, step}", "step, 0}", lambda bench: bench.push(2, 1)),
    ],
)
def test_what_is_wrong_does_not_pass(monkeypatch, bench, old, new, run):
    plant(monkeypatch, old, new)
    assert not run(bench)["passed"]


def test_a_wait_in_vain_ends_and_does_not_pass(monkeypatch, bench):
    plant(monkeypatch, "publish(next + i", "if (blockIdx.x != 1) publish(next + i")
    monkeypatch.setattr(gpu_micro, "POLL_LIMIT", 100)
    row = bench.exchange(1)
    assert (row["passed"], "waited in vain" in row["detail"]) == (False, True)
    assert not bench.fault.any()


@pytest.mark.parametrize(
    ("kind", "chains", "target"),
    [("grid", 1, "sm_80"), ("grid", 8, "sm_90"), ("cluster", 1, "sm_90"), ("cluster", 1, "sm_120")],
)
def test_the_kernels_compile_and_keep_nothing_in_memory(kind, chains, target):
    source = gpu_micro.source(kind, chains)
    usage = nvrtc.compile_source(source.name, source.text, target)
    assert usage.keys() == set(source.kernels)
    assert {(each.stack, each.spills) for each in usage.values()} == {(0, 0)}
