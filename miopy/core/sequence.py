"""Sequences of different lengths, as the passes see them: packed rows, longest sequence first.

Row `offsets[t] + b` holds step t of the b-th longest sequence, which takes part in step t while
`b < batch_sizes[t]`. Where the caller's tensors are laid out otherwise, `rows_of` says where each
packed row is found, and `order` which of the caller's states belongs to sequence b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from .forks import cached_property

SEQ_MAJOR = "seq_major"
BATCH_MAJOR = "batch_major"


@dataclass(frozen=True)
class Sequence:
    """The active batch of every step.

    batch_sizes   per step, never growing, all positive
    batch         sequences in all, those of length zero included
    order         the caller's index of the b-th longest sequence; None if already sorted
    """

    batch_sizes: tuple[int, ...]
    batch: int
    order: tuple[int, ...] | None = None

    @cached_property
    def rows(self) -> int:
        return sum(self.batch_sizes)

    @property
    def steps(self) -> int:
        return len(self.batch_sizes)

    @cached_property
    def batch_sizes_array(self) -> np.ndarray[Any, Any]:
        return np.array(self.batch_sizes, np.int64)

    @cached_property
    def offsets(self) -> np.ndarray[Any, Any]:
        """The first packed row of every step, and the number of rows: steps + 1 entries."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.batch_sizes_array)])

    @cached_property
    def order_array(self) -> np.ndarray[Any, Any] | None:
        return None if self.order is None else np.array(self.order, np.int64)

    @cached_property
    def _step_and_sequence(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        step = np.repeat(np.arange(self.steps), self.batch_sizes_array)
        return step, np.arange(self.rows) - self.offsets[step]

    @cached_property
    def _rows_of(self) -> dict[tuple[str, int], np.ndarray[Any, Any]]:
        return {}

    def rows_of(self, layout: str, extent: int) -> np.ndarray[Any, Any]:
        """For every packed row its row in a padded tensor: (T,) int64. The same array every time,
        so that a device needs to be given it once.

        extent   sequences per step of a SEQ_MAJOR tensor, steps per sequence of a BATCH_MAJOR one
        """
        if (layout, extent) not in self._rows_of:
            step, sequence = self._step_and_sequence
            if self.order_array is not None:
                sequence = self.order_array[sequence]
            rows = step * extent + sequence if layout == SEQ_MAJOR else sequence * extent + step
            self._rows_of[layout, extent] = rows
        return self._rows_of[layout, extent]

    @cached_property
    def previous_rows(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Per direction, the row whose output was the state before each row: (T,) int64.

        -1 - b stands for the caller's initial state b.
        """
        step, sequence = self._step_and_sequence
        state = sequence if self.order_array is None else self.order_array[sequence]
        first = -1 - state
        before = np.where(step > 0, self.offsets[step - 1] + sequence, first)
        sizes = np.append(self.batch_sizes_array, 0)
        after = np.where(sequence < sizes[step + 1], self.offsets[step + 1] + sequence, first)
        return before, after


@lru_cache(maxsize=32)
def from_batch_sizes(batch_sizes: tuple[int, ...], batch: int) -> Sequence:
    """Sequences given by the active batch per step, longest first."""
    return Sequence(batch_sizes, batch)


@lru_cache(maxsize=32)
def from_lengths(lengths: tuple[int, ...]) -> Sequence:
    """Sequences given by their lengths, in any order; ties keep theirs, zero is allowed."""
    by_length = sorted(range(len(lengths)), key=lambda b: -lengths[b])
    sizes: list[int] = []
    remaining = len(lengths)
    for length, group in groupby(sorted(lengths)):
        sizes += [remaining] * (length - len(sizes))
        remaining -= len(list(group))
    order = None if by_length == list(range(len(lengths))) else tuple(by_length)
    return Sequence(tuple(sizes), len(lengths), order)
