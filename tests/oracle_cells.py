"""One step of every cell, forward and backward, for the float64 reference in oracle.py.

`a` and `q` map a gate's letter to its input and its recurrent part, each (rows, H).

    relu, tanh, logistic   h' = act(a + q)
    leaky_relu             h' = p where p = a + q is positive, else slope p
    lstm         i, f, o = sigmoid(a + q);  g = tanh(a + q);  c' = f k(c) + i g;  h' = o tanh(k(c'))
                 k clips to [low, high], or does nothing
    peephole_lstm  as lstm, but i, f = sigmoid(a + q + p k(c));  o = sigmoid(a + q + p k(c'))
    reset_before_gru  as gru, but n = tanh(a_n + q_n) with q_n = U (r h) + b'
    augru, lbr_augru  as reset_before_gru and gru, but h' = (1 - w) n + w h with w = (1 - t) z, t
                 being the attention of the row
    gru          z, r = sigmoid(a + q);  n = tanh(a_n + r q_n);  h' = (1 - z) n + z h
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from oracle_network import Array

Planes = dict[str, Array]

VANILLA = ("relu", "leaky_relu", "tanh", "logistic")
LATE = {
    "reset_before_gru": "n",
    "augru": "n",
}  # a gate whose q is made of what `operand` says, not of h
LSTM = ("lstm", "peephole_lstm")
SLOPE = 0.01


@dataclass(frozen=True)
class Settings:
    """What a cell's math takes besides its gates and states.

    clip       (low, high) of c
    slope      of leaky_relu below zero
    peepholes  a vector (H,) for each letter of a gate that has one
    attention  (rows, 1), or 0 without
    """

    clip: tuple[float, float] = (-np.inf, np.inf)
    slope: float = SLOPE
    peepholes: Planes = field(default_factory=dict)
    attention: Array | float = 0.0


class Gradients(NamedTuple):
    """Of one step: of a and q; what flows to h besides U' dq, and to c; what each row adds to the
    gradients of peepholes, and each unit to that of attention."""

    da: Planes
    dq: Planes
    dh: Array
    dc: Array
    dpeepholes: Planes | None = None
    dattention: Array | None = None


def sigmoid(value: Array) -> Array:
    return 0.5 * (1 + np.tanh(0.5 * value))


def cell_forward(
    mode: str, a: Planes, q: Planes, h: Array, c: Array, settings: Settings | None = None
) -> tuple[Array, Array, Planes]:
    """(h', c', what backward needs). c passes through unchanged where there is no cell state."""
    settings = settings or Settings()
    if mode in VANILLA:
        new = activated(mode, a["a"] + q["a"], settings.slope)
        return new, c, {"a": a["a"] + q["a"], "h": new}
    if mode in LSTM:
        peep, read = settings.peepholes, np.clip(c, *settings.clip)
        i, f = (sigmoid(a[gate] + q[gate] + peep.get(gate, 0) * read) for gate in "if")
        g = np.tanh(a["g"] + q["g"])
        new_c = f * read + i * g
        new_read = np.clip(new_c, *settings.clip)
        o = sigmoid(a["o"] + q["o"] + peep.get("o", 0) * new_read)
        new = o * np.tanh(new_read)
        return new, new_c, dict(i=i, f=f, o=o, g=g, c=new_c)
    z, r = (sigmoid(a[gate] + q[gate]) for gate in "zr")
    n = np.tanh(a["n"] + q["n"] * (1 if mode in LATE else r))
    w = (1 - settings.attention) * z
    return (1 - w) * n + w * h, c, {"z": z, "r": r, "n": n, "q_n": q["n"]}


def operand(mode: str, a: Planes, q: Planes, h: Array) -> Array:
    """What the recurrent matrix of the late gate multiplies."""
    return sigmoid(a["r"] + q["r"]) * h


def operand_backward(mode: str, saved: Planes, h: Array, doperand: Array) -> tuple[Planes, Array]:
    """(what is added to da and dq, what flows to h), given the gradient of `operand`."""
    r = saved["r"]
    return {"r": doperand * h * r * (1 - r)}, doperand * r


def activated(mode: str, total: Array, slope: float) -> Array:
    if mode == "tanh":
        return np.tanh(total)
    if mode == "logistic":
        return sigmoid(total)
    return np.where(total > 0, total, slope * total if mode == "leaky_relu" else 0)


def steepness(mode: str, saved: Planes, slope: float) -> Array:
    """The derivative of `activated`."""
    if mode == "tanh":
        return 1 - saved["h"] ** 2
    if mode == "logistic":
        return saved["h"] * (1 - saved["h"])
    return np.where(saved["a"] > 0, 1, slope if mode == "leaky_relu" else 0)


def inside(c: Array, clip: tuple[float, float]) -> Array:
    """Where clipping lets gradients through."""
    return (c >= clip[0]) & (c <= clip[1])


def cell_backward(
    mode: str,
    saved: Planes,
    h: Array,
    c: Array,
    dh: Array,
    dc: Array,
    settings: Settings | None = None,
) -> Gradients:
    """The gradients of a step, given those of h' and c' and the states before it."""
    settings = settings or Settings()
    if mode in VANILLA:
        da = {"a": dh * steepness(mode, saved, settings.slope)}
        return Gradients(da, da, np.zeros_like(dh), dc)
    if mode in LSTM:
        return lstm_backward(saved, h, c, dh, dc, settings)
    z, r, n = (saved[name] for name in "zrn")
    w, dw = (1 - settings.attention) * z, dh * (h - n)
    dn = dh * (1 - w) * (1 - n**2)
    dz = dw * (1 - settings.attention) * z * (1 - z)
    if mode in LATE:
        da = {"z": dz, "r": np.zeros_like(dz), "n": dn}
        return Gradients(da, da, dh * w, dc, dattention=-dw * z)
    dr = dn * saved["q_n"] * r * (1 - r)
    da, dq = {"z": dz, "r": dr, "n": dn}, {"z": dz, "r": dr, "n": r * dn}
    return Gradients(da, dq, dh * w, dc, dattention=-dw * z)


def lstm_backward(
    saved: Planes, h: Array, c: Array, dh: Array, dc: Array, settings: Settings
) -> Gradients:
    clip, peep, (i, f, o, g) = settings.clip, settings.peepholes, (saved[gate] for gate in "ifog")
    read, new_read = np.clip(c, *clip), np.clip(saved["c"], *clip)
    do = dh * np.tanh(new_read) * o * (1 - o)
    dread = dh * o * (1 - np.tanh(new_read) ** 2) + do * peep.get("o", 0)
    dc = dc + dread * inside(saved["c"], clip)
    di, df, dg = dc * g * i * (1 - i), dc * read * f * (1 - f), dc * i * (1 - g**2)
    dread = dc * f + di * peep.get("i", 0) + df * peep.get("f", 0)
    da = {"i": di, "f": df, "o": do, "g": dg}
    dpeepholes = {"i": di * read, "f": df * read, "o": do * new_read} if peep else None
    return Gradients(da, da, np.zeros_like(h), dread * inside(c, clip), dpeepholes)
