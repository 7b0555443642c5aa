"""Memory that a backend takes for itself: from its own pool, or from the caller's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import BadParam, OutOfMemory


class Block(Protocol):
    """Memory, given back when the last reference is dropped."""

    @property
    def address(self) -> int: ...


@dataclass(eq=False)
class Lease:
    """At least `nbytes` from an aligned address on.

    block       what the memory belongs to: a Block, or the address that the caller's function gave
    give_back   to be called once, when the memory is needed no more
    """

    address: int
    nbytes: int
    block: Any
    give_back: Callable[[], None]


class Allocator:
    """Where a backend's memory comes from.

    allocate    nbytes -> Block; raises OutOfMemory
    alignment   of addresses, in bytes
    settle      called before the caller's deallocator: returns when nothing uses the memory
    """

    def __init__(
        self,
        allocate: Callable[[int], Block],
        alignment: int,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self._allocate = allocate
        self._alignment = alignment
        self._settle = settle
        self.change(None, None, None)

    def change(
        self,
        allocator: Callable[[Any, int], int] | None,
        deallocator: Callable[[Any, int], None] | None,
        context: Any,
    ) -> None:
        """Take later memory from these functions, None for the own; each goes back to its own."""
        self._allocator, self._deallocator, self._context = allocator, deallocator, context

    @property
    def waits(self) -> bool:
        """Whether giving back memory that is taken now will wait until nothing uses it."""
        return self._allocator is not None and self._deallocator is not None

    def take(self, nbytes: int) -> Lease:
        size = nbytes + self._alignment
        if self._allocator is None:
            block: Any = self._allocate(size)
            start = block.address
        else:
            block = start = self._allocator(self._context, size)
            if not start:
                raise OutOfMemory("allocator", f"returned NULL for {size} bytes")
            if not isinstance(start, (int, np.integer)):
                raise BadParam("allocator", "must return an address", start)
        aligned = -(-int(start) // self._alignment) * self._alignment
        return Lease(aligned, nbytes, block, self._way_back(block))

    def _way_back(self, block: Any) -> Callable[[], None]:
        if self._allocator is None or self._deallocator is None:
            return lambda: None  # dropping the lease is enough, or all that can be done
        deallocator, context = self._deallocator, self._context

        def give_back() -> None:
            self._settle()
            deallocator(context, block)

        return give_back


def aligned_regions(nbytes: Sequence[int], alignment: int) -> tuple[list[int], int]:
    """Where regions of these sizes start, one behind the other, and where the last one ends."""
    starts = [0]
    for size in nbytes:
        starts.append(starts[-1] + -(-size // alignment) * alignment)
    return starts[:-1], starts[-1]


class Scratch:
    """One block, grown on demand: it outlives a call, but its contents do not."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator
        self._lease: Lease | None = None
        self._is_pinned = False
        self._pinned: list[Lease] = []

    def address(self, nbytes: int, *, captured: bool = False) -> int:
        """The aligned start of at least `nbytes`.

        captured   by the caller, into a graph: the block is kept until `close`, also when a larger
                   one takes its place, and nothing is given back now, which may wait
        """
        if self._lease is None or nbytes > self._lease.nbytes:
            self.release(captured=captured)
            self._lease = self._allocator.take(nbytes)
        self._is_pinned |= captured
        return self._lease.address

    def release(self, *, captured: bool = False) -> None:
        """Give back the block, unless it is kept."""
        if self._lease is None:
            return
        if self._is_pinned or captured:
            self._pinned.append(self._lease)
        else:
            self._lease.give_back()
        self._lease, self._is_pinned = None, False

    def close(self) -> None:
        """Give back all blocks."""
        self._is_pinned = False
        self.release()
        while self._pinned:
            self._pinned[-1].give_back()
            self._pinned.pop()
