"""miopenSetAllocator from end to end: who is called, with what, and what a refusal leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Case
from harness import PASSES, Run

from miopy import miopen as mi
from miopy.errors import BadParam, OutOfMemory

CASE = Case("lstm", (9, 7, 2), 5, 33)
GUARD = 1 << 16  # bytes behind each block


class Memory:
    """An allocator that remembers. `refusal`: None, or what to raise or return instead."""

    def __init__(self) -> None:
        self.blocks: dict[int, np.ndarray] = {}
        self.contexts: set[Any] = set()
        self.refusal: Any = None
        self.allocations = 0

    def allocate(self, context: Any, nbytes: int) -> Any:
        self.contexts.add(context)
        if isinstance(self.refusal, Exception):
            raise self.refusal
        if self.refusal is not None:
            return self.refusal
        self.allocations += 1
        block = np.full(nbytes + 1 + GUARD, 0xFF, np.uint8)
        address = block.ctypes.data | 1  # an allocator need not align
        self.blocks[address] = block
        return address

    def deallocate(self, context: Any, address: int) -> None:
        self.contexts.add(context)
        assert (self.blocks.pop(address)[-GUARD:] == 0xFF).all()


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def run(memory, monkeypatch) -> Run:
    monkeypatch.setenv("MIOPY_BACKEND", "host")
    run = Run(CASE)
    mi.miopenSetAllocator(run.handle, memory.allocate, memory.deallocate, "context")
    return run


def passes(run: Run) -> list[bytes]:
    results = run.forward_inference() | run.training()
    return [results[name].tobytes() for name in sorted(results)]


def test_passes_use_the_callers_memory_and_destroy_gives_it_back(run, memory):
    assert passes(run) == passes(Run(CASE))
    assert memory.contexts == {"context"}
    assert len(memory.blocks) == 1
    mi.miopenDestroy(run.handle)
    assert not memory.blocks


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_pass_that_wakes_no_thread_keeps_to_what_it_asked_for(memory, monkeypatch, threads):
    """Its matrices fit the caches of all threads together, not that of the one that runs."""
    monkeypatch.setenv("MIOPY_BACKEND", "host")
    monkeypatch.setenv("MIOPY_NUM_THREADS", str(threads))
    run = Run(Case("lstm", (3,) * 12, 6000, 2))
    mi.miopenSetAllocator(run.handle, memory.allocate, memory.deallocate, None)
    passes(run)
    mi.miopenDestroy(run.handle)
    assert memory.allocations and not memory.blocks


def test_calls_reuse_what_is_large_enough(run, memory):
    passes(run)
    allocations = memory.allocations
    passes(run)
    assert memory.allocations == allocations


def test_another_allocator_takes_over(run, memory):
    expected, other = passes(run), Memory()
    mi.miopenSetAllocator(run.handle, other.allocate, other.deallocate, None)
    assert not memory.blocks
    assert passes(run) == expected
    assert len(other.blocks) == 1
    mi.miopenSetAllocator(run.handle, None, None, None)
    assert not other.blocks
    assert passes(run) == expected


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("refusal", [0, KeyError("no memory here"), "no address"])
def test_a_refusal_writes_nothing_and_the_handle_stays_usable(run, memory, name, refusal):
    expected = passes(run)
    mi.miopenSetAllocator(run.handle, memory.allocate, memory.deallocate, "context")
    memory.refusal = refusal
    outputs = [output for output in PASSES[name][0] if output in run.buffers]
    run.clear(*outputs)
    function, arguments = run.call(name)
    kind = {int: OutOfMemory, KeyError: KeyError, str: BadParam}[type(refusal)]
    with pytest.raises(kind) as raised:
        function(*arguments)
    if kind is OutOfMemory:
        assert raised.value.status == mi.miopenStatusAllocFailed
        assert "returned NULL" in str(raised.value)
    assert all(run.buffers[output].is_untouched for output in outputs)
    memory.refusal = None
    assert passes(run) == expected


def never(context: Any, number: int) -> int:
    raise NotImplementedError


@pytest.mark.parametrize(
    "allocator, deallocator, argument",
    [
        (1, never, "allocator"),
        (never, "free", "deallocator"),
        (None, never, "allocator"),
        (never, None, "deallocator"),
    ],
)
def test_a_bad_allocator_is_refused_and_the_old_one_kept(
    run, memory, allocator, deallocator, argument
):
    with pytest.raises(BadParam, match=f"miopenSetAllocator: `{argument}`") as raised:
        mi.miopenSetAllocator(run.handle, allocator, deallocator, None)
    assert raised.value.status == mi.miopenStatusBadParm
    passes(run)
    assert memory.contexts == {"context"}
