"""Strided tensors, walked element by element in row-major order of their lengths."""

from __future__ import annotations

from collections.abc import Sequence


def collapse(lengths: Sequence[int], *strides: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The same walk over the same elements in as few dimensions as possible, at least one.

    lengths   of the tensors walked together, each > 0
    strides   of each tensor, in elements; 0 repeats an element

    Dimensions of length 1 are dropped; one that continues the next in every tensor is merged with
    it. Returns the lengths and the strides of each tensor.
    """
    merged: list[tuple[int, ...]] = []
    for length, *steps in zip(lengths, *strides, strict=True):
        if length == 1:
            continue
        outer = merged[-1][1:] if merged else ()
        if outer == tuple(length * step for step in steps):
            merged[-1] = (merged[-1][0] * length, *steps)
        else:
            merged.append((length, *steps))
    return tuple(zip(*merged or [(1,) * (1 + len(strides))], strict=True))


def packed_strides(lengths: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
    """Strides without gaps; `order` lists the dimensions slowest first, by default as they are."""
    strides = [0] * len(lengths)
    stride = 1
    for axis in reversed(order or range(len(lengths))):
        strides[axis] = stride
        stride *= lengths[axis]
    return tuple(strides)
