"""Named regions of one opaque buffer: booked when planning, found by name when running."""

from __future__ import annotations

from math import prod
from typing import NamedTuple


class Region(NamedTuple):
    offset: int  # bytes from the start of the buffer
    shape: tuple[int, ...]
    itemsize: int

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.itemsize


class Space:
    """The table of contents of a buffer. `nbytes` is what the buffer's size query answers.

    Regions follow one another without gaps, so that sizes can equal a vendor's formula. Items must
    lie at multiples of their size in a buffer that does: book those of the largest size first.
    """

    def __init__(self) -> None:
        self.regions: dict[str, Region] = {}
        self.nbytes = 0

    def book(self, name: str, shape: tuple[int, ...], itemsize: int) -> None:
        """Add a region at the end."""
        if self.nbytes % itemsize:
            raise ValueError(f"{name} would lie at {self.nbytes}, no multiple of {itemsize}")
        region = Region(self.nbytes, shape, itemsize)
        self.regions[name] = region
        self.nbytes += region.nbytes

    def overlay(self, name: str, shape: tuple[int, ...], itemsize: int, *, over: str) -> None:
        """Add a region that shares the memory of `over`, which is not in use at the same time."""
        under = self.regions[over]
        region = Region(under.offset, shape, itemsize)
        if region.nbytes > under.nbytes:
            raise ValueError(f"{name} needs {region.nbytes} bytes, {over} has {under.nbytes}")
        self.regions[name] = region

    def address(self, base: int, name: str, *index: int) -> int:
        """Where the sub-array at the given leading indices of a region starts."""
        region = self.regions[name]
        position, stride = 0, region.nbytes
        for extent, i in zip(region.shape, index, strict=False):
            stride //= max(extent, 1)
            position += i * stride
        return base + region.offset + position
