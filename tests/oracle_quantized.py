"""Reference of inference on 8-bit codes, for tests only: LSTM, with a projection, and GRU.

Written from oneDNN's published formulas, one step of one direction at a time. Products are exact
integers; float operations are float32, in the order that makes codes equal to oneDNN's, but for
sigmoid and tanh, which are float64's. It imports nothing of miopy.

    code = saturate(round_half_even(number * scale + shift))      number = (code - shift) / scale

Arrays: x (T, N, I) codes; matrices (L, D, in, G, out) codes; bias (L, D, G, H) float32; projection
(L, D, H, P) codes; h (L, D, N, S) codes, c (L, D, N, H) float32. Gates: i f g o, or z r n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
REAL = np.float32


@dataclass(frozen=True)
class Data:
    """How numbers become codes."""

    scale: float
    shift: float = 0
    signed: bool = False

    @property
    def dtype(self) -> type:
        return np.int8 if self.signed else np.uint8

    def saturate(self, values: Array) -> Array:
        limits = np.iinfo(self.dtype)
        return np.clip(values, limits.min, limits.max).astype(self.dtype)

    def codes(self, numbers: Any) -> Array:
        scaled = np.asarray(numbers, REAL) * REAL(self.scale)
        return self.saturate(np.rint(scaled + REAL(self.shift)))

    def numbers(self, codes: Array, times: int = 1) -> Array:
        """`times` the shift is in the codes."""
        return (codes.astype(REAL) - REAL(times * self.shift)) / REAL(self.scale)


def weight_codes(numbers: Array, scales: Array) -> Array:
    """Of matrices (..., G, out) with scales (G, out), or (...,) of any shape that broadcasts."""
    return np.clip(np.rint(numbers.astype(REAL) * scales.astype(REAL)), -128, 127).astype(np.int8)


def sigmoid(values: Array) -> Array:
    return (1 / (1 + np.exp(-values.astype(np.float64)))).astype(REAL)


def tanh(values: Array) -> Array:
    return np.tanh(values.astype(np.float64)).astype(REAL)


@dataclass(frozen=True)
class Cell:
    """One layer in one direction: matrices (in, G, H), bias (G, H), projection (H, P) or None;
    scales (G, H) of weights and (P,) of the projection."""

    data: Data
    input: Array
    recurrent: Array
    bias: Array
    scales: Array
    projection: Array | None = None
    projection_scales: Array | None = None

    def gates(self, x: Array, h: Array, gates: slice = slice(None)) -> Array:
        """Pre-activations (N, gates, H)."""
        input, recurrent = self.input[:, gates], self.recurrent[:, gates]
        total = product(x, input) + product(h, recurrent)
        sums = total_of(input) + total_of(recurrent)
        factor = self.scales[gates].astype(REAL) * REAL(self.data.scale)
        bias = self.bias[gates] - sums.astype(REAL) * REAL(self.data.shift) / factor
        return total.astype(REAL) / factor + bias

    def lstm(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        i, f, g, o = np.moveaxis(self.gates(x, h), 1, 0)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        return self.project(self.data.codes(sigmoid(o) * tanh(c))), c

    def project(self, hidden: Array) -> Array:
        if self.projection is None:
            return hidden
        total = product(hidden, self.projection).astype(REAL)
        total -= total_of(self.projection).astype(REAL) * REAL(self.data.shift)
        factor = self.projection_scales.astype(REAL) * REAL(self.data.scale)
        return self.data.codes(total / factor)

    def gru(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        z, r = np.moveaxis(sigmoid(self.gates(x, h, slice(2))), 1, 0)
        number = self.data.numbers(h)
        operand = self.data.codes(r * number)
        n = tanh(self.gates(x, operand, slice(2, 3)))[:, 0]
        return self.data.codes((1 - z) * n + z * number), c


def product(codes: Array, matrix: Array) -> Array:
    """(N, K) by (K, ...): exact."""
    return np.tensordot(codes.astype(np.int64), matrix.astype(np.int64), 1)


def total_of(matrix: Array) -> Array:
    return matrix.astype(np.int64).sum(0)


def forward(
    cell: str,
    direction: str,
    data: Data,
    x: Array,
    h: Array,
    c: Array,
    weights: dict[str, Array],
) -> dict[str, Array]:
    """y, hy and cy as codes and numbers; y of "sum" has twice the shift.

    weights   "input", "recurrent", "bias", "scales" (G, H); "projection", "projection_scales" (P,)
    """
    layers, directions = weights["input"].shape[:2]
    hy, cy, tops = h.copy(), c.copy(), []
    for d in range(directions):
        reverse, source = direction == "right_to_left" or d == 1, x
        for layer in range(layers):
            own = Cell(
                data,
                *(weights[name][layer, d] for name in ("input", "recurrent", "bias")),
                weights["scales"],
                weights["projection"][layer, d] if "projection" in weights else None,
                weights.get("projection_scales"),
            )
            step = own.lstm if cell == "lstm" else own.gru
            output = np.zeros((*source.shape[:2], h.shape[-1]), data.dtype)
            for t in range(len(x))[:: -1 if reverse else 1]:
                state = step(source[t], hy[layer, d], cy[layer, d])
                hy[layer, d], cy[layer, d] = state
                output[t] = state[0]
            source = output
        tops.append(source)
    if direction == "sum":
        y = data.saturate(tops[0].astype(np.int64) + tops[1])
    else:
        y = np.concatenate(tops, axis=2)
    return {"y": y, "hy": hy, "cy": cy}
