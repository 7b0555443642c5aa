"""Memory that outlives a call but not its contents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..errors import BadParam, OutOfMemory


class Block(Protocol):
    """Memory, given back when the last reference is dropped."""

    @property
    def address(self) -> int: ...


class Scratch:
    """One block, grown on demand, from the backend's own memory or from the caller's functions.

    allocate    nbytes -> Block; raises OutOfMemory
    alignment   of addresses, in bytes
    settle      called before the caller's deallocator: returns when nothing uses the block
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
        self._allocator: Callable[[Any, int], int] | None = None
        self._deallocator: Callable[[Any, int], None] | None = None
        self._context: Any = None
        self._block: Any = None  # a Block, or the address that the allocator returned
        self._start = 0
        self._nbytes = 0
        self._is_pinned = False
        self._pinned: list[Any] = []

    def set_allocator(
        self,
        allocator: Callable[[Any, int], int] | None,
        deallocator: Callable[[Any, int], None] | None,
        context: Any,
    ) -> None:
        """Give back all blocks; take later ones from these functions, None for the own ones."""
        self.close()
        self._allocator, self._deallocator, self._context = allocator, deallocator, context

    def address(self, nbytes: int) -> int:
        """The aligned start of at least `nbytes`."""
        if nbytes > self._nbytes:
            self.release()
            self._grow(nbytes)
        return self._start

    def _grow(self, nbytes: int) -> None:
        size = nbytes + self._alignment
        if self._allocator is None:
            self._block = self._allocate(size)
            start = self._block.address
        else:
            start = self._allocator(self._context, size)
            if not start:
                raise OutOfMemory("allocator", f"returned NULL for {size} bytes")
            if not isinstance(start, (int, np.integer)):
                raise BadParam("allocator", "must return an address", start)
            self._block = start
        self._start = -(-int(start) // self._alignment) * self._alignment
        self._nbytes = nbytes

    def pin(self) -> None:
        """Keep the block until `close`, also when a larger one takes its place."""
        self._is_pinned = True

    def release(self) -> None:
        """Give back the block, unless it is pinned."""
        block, self._block, self._nbytes = self._block, None, 0
        if block is None:
            return
        if self._is_pinned:
            self._pinned.append(block)
            self._is_pinned = False
        elif self._deallocator is not None:
            self._settle()
            self._deallocator(self._context, block)

    def close(self) -> None:
        """Give back all blocks."""
        self._is_pinned = False
        self.release()
        pinned, self._pinned = self._pinned, []
        for block in pinned:
            if self._deallocator is not None:
                self._settle()
                self._deallocator(self._context, block)
