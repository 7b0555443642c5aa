"""How tensors of sequences keep their rows: packed, or padded with either axis first."""

from __future__ import annotations

from ..core import sequence as sequences
from ..errors import BadParam
from .walks import Padded

PACKED, SEQ_MAJOR, BATCH_MAJOR = "packed", sequences.SEQ_MAJOR, sequences.BATCH_MAJOR


def padded(sequence: sequences.Sequence, layout: str, steps: int, fill: bytes | None) -> Padded:
    """Where a tensor keeps the packed rows.

    layout   PACKED, or (steps, batch, vector) or (batch, steps, vector) padded
    fill     bytes of one element, for the rows that hold no step; None leaves them untouched
    """
    if layout == PACKED:
        return Padded(sequence.rows)
    rows = sequence.batch * steps
    if layout == SEQ_MAJOR and sequence.rows == rows:
        return Padded(rows)  # nothing is missing: dense and packed are the same
    extent = sequence.batch if layout == SEQ_MAJOR else steps
    return Padded(rows, sequence.rows_of(layout, extent), fill)


def check_lengths(
    argument: str, lengths: tuple[int, ...], steps: int, most: str, *, packed: bool
) -> None:
    """Raise BadParam, naming the index, for a length above `steps`, or one that grows if packed.

    most   the argument that gives `steps`
    """
    for index, length in enumerate(lengths):
        if length > steps:
            raise BadParam(f"{argument}[{index}]", f"must not exceed `{most}`, {steps}", length)
        if packed and index and length > lengths[index - 1]:
            rule = f"must not exceed the length before, {lengths[index - 1]}, in this layout"
            raise BadParam(f"{argument}[{index}]", rule, length)
