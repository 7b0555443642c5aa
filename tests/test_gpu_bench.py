"""tools/gpu_bench.py where something goes wrong: a row says so, and the next ones are timed."""

from __future__ import annotations

import gpu_bench
import numpy as np
import pytest
from gpu_places import medians, repeats_of
from gpu_shapes import TINY
from hostcuda import create

from miopy import miopen as mi
from miopy.backends import cuda


class OnHost:
    """As an emulated place, whose jobs can be captured."""

    name, is_emulated, arrays, stream = "emulated", True, np, None

    def __init__(self) -> None:
        self.handle = mi.miopenCreate()

    def synchronize(self) -> None: ...

    def give_back(self) -> None: ...

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def milliseconds(self, job) -> float:
        job()
        return 1.0

    def capture(self, job):
        return job


@pytest.fixture
def where(monkeypatch) -> OnHost:
    monkeypatch.setattr(cuda, "create", create)
    monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setattr(gpu_bench, "torch_of", lambda *given: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda")
    return OnHost()


PAIRS = [(TINY[0], "float32"), (TINY[1], "float16")]


def test_rows_are_graphs_too_and_those_done_are_left_out(where):
    total, *rows = gpu_bench.rows(where, PAIRS, {"lstm H8 B4 T5 float32 inference"})
    assert total == {"total": 4}
    assert [row["mode"] for row in rows] == ["training forward", "training step", "inference"]
    assert all("miopy graph" in row["milliseconds"] and row["passed"] for row in rows)


def test_what_cannot_be_captured_fails_and_is_timed_as_it_is(where):
    def capture(job):
        raise RuntimeError("operation not permitted\nwhen stream is capturing")

    where.capture = capture
    _, *rows = gpu_bench.rows(where, PAIRS[1:], set())
    (row,) = rows
    assert not row["passed"]
    assert "miopy cannot be captured: operation not permitted" in row["detail"]
    assert "miopy" in row["milliseconds"]


def test_an_error_of_one_shape_leaves_the_others(monkeypatch, where):
    right = gpu_bench.time_mode

    def wrong(where, ours, *given):
        if ours.shape == TINY[0]:
            raise MemoryError("there is none")
        return right(where, ours, *given)

    monkeypatch.setattr(gpu_bench, "time_mode", wrong)
    _, first, second = gpu_bench.rows(where, PAIRS, set())
    assert (first["passed"], first["detail"]) == (False, "MemoryError: there is none")
    assert second["passed"]


def test_short_jobs_are_timed_several_at_a_time(where):
    calls: list[str] = []

    def milliseconds(job) -> float:
        before = len(calls)
        job()
        return 0.2 * (len(calls) - before)

    where.milliseconds = milliseconds
    times, runs = medians(where, {"a": lambda: calls.append("a")}, 0.0)
    assert (runs, times["a"]) == (5, pytest.approx(0.2))
    assert len(calls) == 1 + 1 + 5 * 5  # to warm up, to see how short it is, and in turns
    assert (repeats_of(1e-9), repeats_of(50.0)) == (20, 1)


class Peer:
    def __init__(self, results) -> None:
        self.results = lambda: results


def test_a_peer_that_disagrees_is_seen_in_long_tensors_too(monkeypatch, where):
    monkeypatch.setattr(gpu_bench, "COMPARED", 16)
    mine = {name: np.ones((9, 4, 2), np.float32) for name in ("y", "dx")}
    theirs = {name: array.copy() for name, array in mine.items()}
    theirs["y"][-1] = 7
    peers = {
        "same": Peer(mine),
        "other": Peer(theirs),
        "none": Peer({**mine, "dx": mine["y"] * np.nan}),
    }
    found = gpu_bench.differences(where, Peer(mine), peers, "float32")
    assert (found["same"], found["none"]) == (0, np.inf)
    assert found["other"] > 0.5
