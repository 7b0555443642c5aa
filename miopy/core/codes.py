"""Numbers as 8-bit codes: how they are made, and what inference on them asks of a device.

    code = saturate(round(number * scale + shift))        number = (code - shift) / scale

Ties round to even. Data have one scale and shift; their codes are uint8, or int8 without a shift.
Weights have a scale each output, or one for all, and no shift; their codes are int8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import BadParam, NotSupported
from .forks import cached_property


def _check_scales(argument: str, scales: tuple[float, ...]) -> None:
    for scale in scales:
        if not math.isfinite(scale) or scale == 0:
            raise BadParam(argument, "must be finite and not zero", scale)


@dataclass(frozen=True)
class CodeScale:
    """Of data. Codes are uint8, or int8 if `signed`, which has no shift."""

    scale: float
    shift: float = 0
    signed: bool = False

    def __post_init__(self) -> None:
        _check_scales("scale", (self.scale,))
        if not math.isfinite(self.shift):
            raise BadParam("shift", "must be finite", self.shift)
        if self.signed and self.shift:
            raise NotSupported("shift", "must be 0 for signed codes", self.shift)


@dataclass(frozen=True)
class WeightScale:
    """Of matrices: a scale for every output, in the order (gate, unit), or one for all."""

    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_scales("scales", self.scales)

    @cached_property
    def array(self) -> np.ndarray[Any, Any]:
        """float32. The same array every time, so that a device needs to be given it once."""
        return np.array(self.scales, np.float32)

    def check(self, argument: str, outputs: int) -> None:
        """Whether there are as many as a matrix needs. Raises BadParam."""
        if len(self.scales) not in (1, outputs):
            raise BadParam(argument, f"must have 1 or {outputs} scales", len(self.scales))


@dataclass(frozen=True)
class Values:
    """A dense array of data in device memory: codes, or the float32 numbers behind them."""

    address: int
    is_float: bool = False


@dataclass(frozen=True)
class Steps:
    """The data of a sequence: step t of sequence b is at t * step + b * row elements."""

    address: int
    step: int
    row: int
    is_float: bool = False


@dataclass(frozen=True)
class Matrices:
    """Addresses of packed weights (gates * outputs, inputs) and of their rows' int32 sums."""

    codes: int
    sums: int


@dataclass(frozen=True)
class QuantizedLayer:
    """One layer in one direction: T steps of N sequences, G gates, I, H, S features.

    cell            "lstm" or "reset_before_gru"
    state_size      S, units of h: fewer or more than H with a projection
    chunk_steps     how many steps' input products run ahead at a time
    """

    cell: str
    reverse: bool
    steps: int
    batch: int
    input_size: int
    hidden_size: int
    state_size: int
    chunk_steps: int


class QuantizedKernels(Protocol):
    """What a device does on codes. Addresses are its own; work is put on the backend's stream."""

    def copy(self, scale: CodeScale, to: Values, source: Values | None, count: int) -> None:
        """Numbers as codes, or codes as either; None stands for the number 0, to codes alone."""

    def pack(
        self,
        to: Matrices,
        source: int,
        strides: tuple[int, ...],
        lengths: tuple[int, ...],
        scale: WeightScale | None,
    ) -> None:
        """Matrices of these lengths (layers, directions, gates, outputs, inputs) as dense codes,
        and the sums of the codes. `source` has float32 of these strides, in elements; without a
        scale it has codes."""

    def layer(
        self,
        layer: QuantizedLayer,
        data: CodeScale,
        *,
        x: Steps,
        initial: int,
        cell_state: int | None,
        input: Matrices,
        recurrent: Matrices,
        bias: int,
        scale: WeightScale,
        projection: Matrices | None,
        projection_scale: WeightScale | None,
        output: int,
        scratch: dict[str, int],
    ) -> None:
        """Run a layer in one direction over the whole sequence.

        x           (T, N, I)  codes
        initial     (N, S)     codes: h before the first step
        cell_state  (N, H)     float32: c before the first step, then after the last; LSTM alone
        bias        (G, H)     float32
        output      (T, N, S)  codes, written
        scratch     "x_products" (chunk_steps, N, G, H) and "h_products" (N, G, H), int32; with a
                    projection "projected" (N, S) int32; with one or a late gate "operand" (N, H)
                    codes
        """

    def join(
        self,
        data: CodeScale,
        y: Steps,
        outputs: tuple[int, ...],
        shape: tuple[int, int, int],
        *,
        is_sum: bool,
    ) -> None:
        """The outputs of the directions, codes of shape (T, N, S), side by side or as the saturated
        sum of their codes. The shift of a sum is twice as large."""
