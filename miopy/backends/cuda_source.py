"""Kernel sources for a device compiler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A compilation unit, complete in itself: no include is left in it.

    name      says what it is for, in messages and caches
    kernels   names of the kernels in it
    """

    name: str
    text: str
    kernels: tuple[str, ...]
