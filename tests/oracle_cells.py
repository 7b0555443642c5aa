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
    general_vanilla  h' = act(a + q)
    general_lstm     i, f, g, o = act(a + q + p c);  c' = f c + i g;  h' = o act_h(c')
    general_gru, general_reset_before_gru  as gru and reset_before_gru, but with any activations,
                 and with z and 1 - z exchanged if the update is flipped
    gru          z, r = sigmoid(a + q);  n = tanh(a_n + r q_n);  h' = (1 - z) n + z h
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from oracle_network import Array

Planes = dict[str, Array]

# The activation of each; of a general one the settings say it.
VANILLA = {
    "relu": "relu",
    "leaky_relu": "leaky_relu",
    "tanh": "tanh",
    "logistic": "sigmoid",
    "general_vanilla": None,
}
# A gate whose q is made of what `operand` says, not of h.
LATE = {"reset_before_gru": "n", "augru": "n", "general_reset_before_gru": "n"}
LSTM = ("lstm", "peephole_lstm")
SLOPE = 0.01


@dataclass(frozen=True)
class Settings:
    """What a cell's math takes besides its gates and states.

    clip       (low, high) of c
    slope      of leaky_relu below zero
    peepholes  a vector (H,) for each letter of a gate that has one
    attention  (rows, 1), or 0 without
    activations  of a general cell, by letter
    flips_update   of a general GRU
    """

    clip: tuple[float, float] = (-np.inf, np.inf)
    slope: float = SLOPE
    peepholes: Planes = field(default_factory=dict)
    attention: Array | float = 0.0
    activations: dict[str, str] = field(default_factory=dict)
    flips_update: bool = False

    def activation(self, mode: str, letter: str) -> str:
        """Of a gate, or of the output."""
        usual = "tanh" if letter in "agnh" else "sigmoid"
        return VANILLA.get(mode) or self.activations.get(letter, usual)


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
        total = a["a"] + q["a"]
        new = activated(settings.activation(mode, "a"), total, settings.slope)
        return new, c, {"a": total, "h": new}
    if mode == "general_lstm":
        return general_lstm_forward(a, q, c, settings)
    if mode in LSTM:
        peep, read = settings.peepholes, np.clip(c, *settings.clip)
        i, f = (sigmoid(a[gate] + q[gate] + peep.get(gate, 0) * read) for gate in "if")
        g = np.tanh(a["g"] + q["g"])
        new_c = f * read + i * g
        new_read = np.clip(new_c, *settings.clip)
        o = sigmoid(a["o"] + q["o"] + peep.get("o", 0) * new_read)
        new = o * np.tanh(new_read)
        return new, new_c, dict(i=i, f=f, o=o, g=g, c=new_c)
    before = {gate: a[gate] + q[gate] for gate in "zr"}
    z, r = (activated(settings.activation(mode, gate), before[gate]) for gate in "zr")
    before["n"] = a["n"] + q["n"] * (1 if mode in LATE else r)
    n = activated(settings.activation(mode, "n"), before["n"])
    w = kept(z, settings)
    return (1 - w) * n + w * h, c, dict(z=z, r=r, n=n, q_n=q["n"]) | named_before(before)


def named_before(totals: Planes) -> Planes:
    """What gates are before their activations, which backward does not need."""
    return {f"before {gate}": total for gate, total in totals.items()}


def kept(z: Array, settings: Settings) -> Array:
    """How much of h a GRU keeps."""
    return 1 - z if settings.flips_update else (1 - settings.attention) * z


def operand(mode: str, a: Planes, q: Planes, h: Array, settings: Settings | None = None) -> Array:
    """What the recurrent matrix of the late gate multiplies."""
    settings = settings or Settings()
    return activated(settings.activation(mode, "r"), a["r"] + q["r"]) * h


def operand_backward(
    mode: str, saved: Planes, h: Array, doperand: Array, settings: Settings | None = None
) -> tuple[Planes, Array]:
    """(what is added to da and dq, what flows to h), given the gradient of `operand`."""
    r, name = saved["r"], (settings or Settings()).activation(mode, "r")
    return {"r": doperand * h * steepness(name, r)}, doperand * r


def general_lstm_forward(
    a: Planes, q: Planes, c: Array, settings: Settings
) -> tuple[Array, Array, Planes]:
    """As cell_forward."""
    names = {letter: settings.activation("general_lstm", letter) for letter in "ifgoh"}
    before = {gate: a[gate] + q[gate] + settings.peepholes[gate] * c for gate in "ifgo"}
    i, f, g, o = (activated(names[gate], before[gate]) for gate in "ifgo")
    new_c = f * c + i * g
    saved = dict(i=i, f=f, g=g, o=o, c=new_c) | named_before(before | {"h": new_c})
    return o * activated(names["h"], new_c), new_c, saved


def activated(name: str, total: Array, slope: float = 0.0) -> Array:
    """An activation by its name."""
    return {
        "none": total,
        "relu": np.maximum(total, 0),
        "leaky_relu": np.where(total > 0, total, slope * total),
        "tanh": np.tanh(total),
        "sigmoid": sigmoid(total),
        "hard_sigmoid": np.clip(0.2 * total + 0.5, 0, 1),
    }[name]


def steepness(name: str, value: Array) -> Array:
    """The derivative of an activation where it has this value."""
    return {
        "none": np.ones_like(value),
        "relu": (value > 0).astype(float),
        "tanh": 1 - value**2,
        "sigmoid": value * (1 - value),
        "hard_sigmoid": 0.2 * ((value > 0) & (value < 1)),
    }[name]


# Where the derivative of an activation jumps.
KINKS = {"relu": (0.0,), "leaky_relu": (0.0,), "hard_sigmoid": (-2.5, 2.5)}


def has_kinks(mode: str, activations: tuple[str, ...] | None) -> bool:
    """Whether a cell has an activation with a kink; those that a general one has unless told
    otherwise have none."""
    return not KINKS.keys().isdisjoint((VANILLA.get(mode), *(activations or ())))


def kink_distances(mode: str, saved: Planes, settings: Settings) -> Array:
    """How far each pre-activation of a step is from the kinks of its activation."""
    found = [np.zeros(0)]
    for letter in "a" if mode in VANILLA else settings.activations:
        for kink in KINKS.get(settings.activation(mode, letter), ()):
            total = saved["a" if letter == "a" else f"before {letter}"]
            found.append(np.abs(total - kink).ravel())
    return np.concatenate(found)


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
        if mode == "leaky_relu":  # whose value does not tell on which side it is
            slope = np.where(saved["a"] > 0, 1, settings.slope)
        else:
            slope = steepness(settings.activation(mode, "a"), saved["h"])
        da = {"a": dh * slope}
        return Gradients(da, da, np.zeros_like(dh), dc)
    if mode == "general_lstm":
        return general_lstm_backward(saved, c, dh, dc, settings)
    if mode in LSTM:
        return lstm_backward(saved, h, c, dh, dc, settings)
    z, r, n = (saved[gate] for gate in "zrn")
    slopes = [steepness(settings.activation(mode, gate), saved[gate]) for gate in "zrn"]
    w, dw = kept(z, settings), dh * (h - n)
    dn = dh * (1 - w) * slopes[2]
    dz = dw * (-1 if settings.flips_update else 1 - settings.attention) * slopes[0]
    if mode in LATE:
        da = {"z": dz, "r": np.zeros_like(dz), "n": dn}
        return Gradients(da, da, dh * w, dc, dattention=-dw * z)
    dr = dn * saved["q_n"] * slopes[1]
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


def general_lstm_backward(
    saved: Planes, c: Array, dh: Array, dc: Array, settings: Settings
) -> Gradients:
    names = {letter: settings.activation("general_lstm", letter) for letter in "ifgoh"}
    peep, (i, f, g, o) = settings.peepholes, (saved[gate] for gate in "ifgo")
    output = activated(names["h"], saved["c"])
    dc = dc + dh * o * steepness(names["h"], output)
    dgates = {"i": dc * g, "f": dc * c, "g": dc * i, "o": dh * output}
    da = {gate: dgates[gate] * steepness(names[gate], saved[gate]) for gate in "ifgo"}
    dpeepholes = {gate: da[gate] * c for gate in "ifgo"}
    through = sum(da[gate] * peep[gate] for gate in "ifgo")
    return Gradients(da, da, np.zeros_like(dh), dc * f + through, dpeepholes)
