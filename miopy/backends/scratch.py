"""Memory that a backend takes for itself: from its own pool, or from the caller's functions."""

from __future__ import annotations

from collections.abc import Callable
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


class Scratch:
    """One block, grown on demand: it outlives a call, but its contents do not."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator
        self._lease: Lease | None = None
        self._is_pinned = False
        self._pinned: list[Lease] = []

    def address(self, nbytes: int) -> int:
        """The aligned start of at least `nbytes`."""
        if self._lease is None or nbytes > self._lease.nbytes:
            self.release()
            self._lease = self._allocator.take(nbytes)
        return self._lease.address

    def pin(self) -> None:
        """Keep the block until `close`, also when a larger one takes its place."""
        self._is_pinned = True

    def release(self) -> None:
        """Give back the block, unless it is pinned."""
        lease, self._lease = self._lease, None
        if lease is None:
            return
        if self._is_pinned:
            self._pinned.append(lease)
            self._is_pinned = False
        else:
            lease.give_back()

    def close(self) -> None:
        """Give back all blocks."""
        self._is_pinned = False
        self.release()
        pinned, self._pinned = self._pinned, []
        for lease in pinned:
            lease.give_back()
