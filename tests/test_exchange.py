"""Blocks that run at a time hand words on to each other, and faults in that which are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from exchange_run import FAULTS, PARTS, THREADS, expected, first_state, run
from hostcuda import run_sanitized
from hostcuda.calls import SUCCESS
from hostcuda.device import configure

PROGRAM = Path(__file__).resolve().parent / "exchange_run.py"
TOO_LARGE = 720
RACES = (
    *("two thirds", "nobody waits", "arriving without release"),
    *("no barrier before arriving", "no barrier behind waiting"),
)
NOTED = ("the wrong third", "a block never publishes")


@pytest.fixture(autouse=True)
def configured():
    yield
    configure()


@pytest.mark.parametrize("seed", range(8))
def test_every_block_gets_all_words_in_any_order_of_threads(seed):
    configure(seed=seed)
    answer, last, noted = run()
    assert (answer, noted) == (SUCCESS, 0)
    assert np.array_equal(last, expected(first_state()))


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_nothing_is_reported(sanitizer):
    done = run_sanitized.run(sanitizer, PROGRAM)
    assert (done.returncode, done.stdout.split()) == (0, ["0", "True", "0"]), done.stderr


def test_words_that_are_not_checked_are_wrong():
    answer, last, _ = run("unchecked words")
    assert answer == SUCCESS
    assert not np.array_equal(last, expected(first_state()))


@pytest.mark.parametrize("fault", RACES)
def test_a_wrong_rotation_is_a_race(fault):
    done = run_sanitized.run("thread", PROGRAM, fault)
    assert done.returncode == run_sanitized.REPORTED, done.stdout
    assert "data race" in done.stderr


@pytest.mark.parametrize("fault", NOTED)
def test_a_wait_in_vain_ends_and_is_noted(fault):
    answer, last, noted = run(fault, poll_limit=2000)
    assert (answer, noted) == (SUCCESS, 1)
    assert not np.array_equal(last, expected(first_state()))


def test_every_fault_is_tested():
    assert {*RACES, *NOTED, "unchecked words"} == set(FAULTS)


def test_more_blocks_than_run_at_a_time_are_refused():
    configure(most_threads=THREADS * (PARTS - 1))
    assert run()[0] == TOO_LARGE
