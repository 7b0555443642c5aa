"""Blocks of a cluster push words into each other's shared memory, and faults in that are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_run import FAULTS, PARTS, THREADS, is_right, run
from hostcuda import run_sanitized
from hostcuda.calls import SUCCESS
from hostcuda.device import configure

PROGRAM = Path(__file__).resolve().parent / "cluster_run.py"
OUT_OF_RESOURCES, FAILED, INVALID_CLUSTER_SIZE = 701, 719, 912
RACES = "one slot", "no barrier behind reading"
REFUSED = {  # by the emulator, with what it says
    "nobody waits": "before the phase is over",
    "pushes beyond the cluster": "that the cluster does not have",
    "nobody meets at the start": "that may not have begun",
    "nobody meets at the end": "a push to a block that has left",
    "barriers are not initialized": "a barrier that is not initialized",
}
NOTED = (
    *("the other parity", "phases do not alternate", "too few bytes", "too many bytes"),
    *("a block never pushes", "a block pushes to itself alone"),
)
WRONG = ("zeros behind the depth are forgotten",)


@pytest.fixture(autouse=True)
def configured():
    yield
    configure()


@pytest.mark.parametrize("seed", range(8))
def test_every_block_gets_all_words_in_any_order_of_threads_and_pushes(seed):
    """Two clusters at a time, and one behind them."""
    configure(seed=seed, most_threads=2 * PARTS * THREADS)
    answer, last, noted = run()
    assert (answer, noted) == (SUCCESS, 0)
    assert is_right(last)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_nothing_is_reported(sanitizer):
    done = run_sanitized.run(sanitizer, PROGRAM)
    assert (done.returncode, done.stdout.split()) == (0, ["0", "True", "0"]), done.stderr


@pytest.mark.parametrize("fault", RACES)
def test_words_that_are_still_read_must_not_be_overwritten(fault):
    done = run_sanitized.run("thread", PROGRAM, fault)
    assert done.returncode == run_sanitized.REPORTED, done.stdout
    assert "data race" in done.stderr


@pytest.mark.parametrize("fault", REFUSED)
def test_what_hardware_leaves_undefined_is_refused(fault, capfd):
    assert run(fault)[0] == FAILED
    assert REFUSED[fault] in capfd.readouterr().err


@pytest.mark.parametrize("fault", NOTED)
def test_a_wait_in_vain_ends_and_is_noted(fault):
    answer, last, noted = run(fault, poll_limit=1000)
    assert (answer, noted) == (SUCCESS, 1)
    assert not is_right(last)


def test_what_nobody_pushes_is_zero():
    answer, last, noted = run(*WRONG)
    assert (answer, noted) == (SUCCESS, 0)
    assert not is_right(last)


def test_every_fault_is_tested():
    assert {*RACES, *REFUSED, *NOTED, *WRONG} == set(FAULTS)


def test_a_cluster_of_more_blocks_than_run_at_a_time_is_refused():
    configure(most_threads=THREADS * (PARTS - 1))
    assert run()[0] == OUT_OF_RESOURCES


@pytest.mark.parametrize("size", [2, 9])
def test_clusters_must_divide_the_grid_and_be_of_8_blocks_unless_allowed(size):
    assert run(size=size)[0] == INVALID_CLUSTER_SIZE
