"""Float64 reference of the recurrent networks, forward and backward, for tests only.

Written from the published equations to be obviously right: one time step at a time, one gate at a
time, and no thought of speed or memory. It imports nothing of miopy and shares no walk with it.

Networks and their parameters are described in oracle_network.py.

    a = M x + b      input part, one per gate; with skip input, layer 0 has a = x + b
    q = U h + b'     recurrent part, one per gate; `bias` says which of b and b' there are

Steps of the cells are in oracle_cells.py; with a projection W, h' = W times what they put out.

S is P with a projection, else H. Arrays: x (T, N, I), y (T, N, D*S), or (T, N, S) where directions
are added, with rows past a sequence's end unread (x) or zero (y); states of h (L*D, N, S), of c
(L*D, N, H) at index layer*D + direction. hx may have other features than S where T = 1. The reverse
direction of a sequence starts at its own last step. A sequence of length zero has final states and
gradients of zero, or keeps those it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from oracle_cells import (
    LATE,
    Planes,
    Settings,
    cell_backward,
    cell_forward,
    kink_distances,
    operand,
    operand_backward,
)
from oracle_network import (
    ACTIVATED,
    EVERY_GATES,
    GATES,
    Array,
    Key,
    Network,
    Parameters,
    bias_offset,
    buffer_size,
    pack,
    unpack,
    weight_offset,
)

__all__ = ["EVERY_GATES", "GATES", "bias_offset", "buffer_size", "pack", "unpack", "weight_offset"]

# One layer in one direction.


class Step(NamedTuple):
    """One executed step: which sequences took part, and what backward needs of it."""

    time: int
    rows: Array
    x: Array
    h: Array
    c: Array
    saved: Planes


@dataclass
class Layer:
    """One layer in one direction, with its parameters at hand. `terms` are the rows whose products
    backward sums to the gradient of a matrix: one product of all steps takes a fraction of the
    time of one per step."""

    network: Network
    parameters: Parameters
    layer: int
    direction: int
    attention: Array | None = None
    mask: Array | float = 1.0
    terms: dict[Key, list[tuple[Array, Array]]] = field(default_factory=dict)

    def settings(self, time: int, rows: Array) -> Settings:
        peepholes = {
            gate: self.parameters.biases[Key(self.layer, self.direction, "peephole", gate)]
            for gate in self.network.letters("peephole")
        }
        clip = self.network.clip or (-np.inf, np.inf)
        attention = 0.0 if self.attention is None else self.attention[time, rows]
        network = self.network
        usual = ACTIVATED.get(network.mode, {})
        names = network.activations or usual.values()
        activations = dict(zip(usual, names, strict=True))
        return Settings(
            clip, network.slope, peepholes, attention, activations, network.flips_update
        )

    def masked(self, rows: Array, operand: Array) -> Array:
        """What recurrent matrices multiply, or what comes back through them."""
        return operand * (self.mask[rows] if isinstance(self.mask, np.ndarray) else self.mask)

    def part(self, role: str, gate: str, operand: Array) -> Array:
        """M x + b or U h + b' of one gate, for operand (rows, in)."""
        key = Key(self.layer, self.direction, role, gate)
        result = operand[:, self.network.features(key)]
        if self.network.has_matrix(key):
            result = operand @ self.parameters.weights[key].T
        return result + self.parameters.biases[key] if self.network.has_bias(key) else result

    def part_backward(
        self, role: str, gate: str, operand: Array, dpart: Array, gradients: Parameters
    ) -> Array:
        """Add the bias' gradient to `gradients` and a step to the matrix' terms; return the
        gradient of the operand."""
        key = Key(self.layer, self.direction, role, gate)
        if self.network.has_bias(key):
            gradients.biases[key] += dpart.sum(axis=0)
        if not self.network.has_matrix(key):
            doperand = np.zeros_like(operand)
            doperand[:, self.network.features(key)] = dpart
            return doperand
        self.terms.setdefault(key, []).append((dpart, operand))
        return dpart @ self.parameters.weights[key]

    def forward(
        self, x: Array, lengths: Array, h: Array, c: Array
    ) -> tuple[Array, Array, Array, list[Step]]:
        """(y (T, N, S), hy (N, S), cy (N, H), steps) from initial states h, c."""
        mode, gates = self.network.mode, self.network.gates
        y = np.zeros((*x.shape[:2], self.network.state_size))
        h, c, steps = h.copy(), c.copy(), []
        times = range(len(x))
        for time in reversed(times) if self.direction or self.network.backwards else times:
            rows = np.flatnonzero(lengths > time)
            a = {gate: self.part("input", gate, x[time, rows]) for gate in gates}
            late, multiplied = LATE.get(mode), self.masked(rows, h[rows])
            settings = self.settings(time, rows)
            q = {gate: self.part("recurrent", gate, multiplied) for gate in gates if gate != late}
            if late:
                multiplied = self.masked(rows, operand(mode, a, q, h[rows], settings))
                q[late] = self.part("recurrent", late, multiplied)
            new_h, new_c, saved = cell_forward(mode, a, q, h[rows], c[rows], settings)
            saved["operand"] = multiplied
            if self.network.projection_size:
                saved["projected"] = new_h
                new_h = self.part("projection", "p", new_h)
            steps.append(Step(time, rows, x[time, rows], h[rows], c[rows], saved))
            if h.shape != y.shape[1:]:
                h = np.zeros(y.shape[1:])
            h[rows], c[rows], y[time, rows] = new_h, new_c, new_h
        if not self.network.idle_keeps_state:
            h[lengths == 0] = c[lengths == 0] = 0
        return y, h, c, steps

    def backward(
        self,
        steps: list[Step],
        dy: Array,
        lengths: Array,
        dh: Array,
        dc: Array,
        grads: Parameters,
        dattention: Array | None,
    ) -> tuple[Array, Array, Array]:
        """(dx (T, N, in), dhx (N, S), dcx (N, H)); gradients of parameters are added to `grads`,
        those of attention to `dattention`."""
        mode, gates = self.network.mode, self.network.gates
        columns = self.network.layer_input_size(self.layer) or self.network.input_size
        dx = np.zeros((*dy.shape[:2], columns))
        dh, dc = dh.copy(), dc.copy()
        for time, rows, x, h, c, saved in reversed(steps):
            dh[rows] += dy[time, rows]
            out = dh[rows]
            if self.network.projection_size:
                out = self.part_backward("projection", "p", saved["projected"], out, grads)
            settings = self.settings(time, rows)
            step = cell_backward(mode, saved, h, c, out, dc[rows], settings)
            if h.shape[1] != self.network.state_size:  # then it is in products alone
                dh = np.zeros((len(dh), h.shape[1]))
            else:
                dh[rows] = step.dh
            dc[rows] = step.dc
            if dattention is not None:
                dattention[time, rows] += step.dattention.sum(axis=1, keepdims=True)
            for gate, rows_of_gate in (step.dpeepholes or {}).items():
                key = Key(self.layer, self.direction, "peephole", gate)
                grads.biases[key] += rows_of_gate.sum(axis=0)
            late = LATE.get(mode)
            if late:
                of = saved["operand"]
                doperand = self.part_backward("recurrent", late, of, step.dq[late], grads)
                doperand = self.masked(rows, doperand)
                more, direct = operand_backward(mode, saved, h, doperand, settings)
                dh[rows] += direct
                for gate, part in more.items():
                    step.da[gate] = step.dq[gate] = step.dq[gate] + part
            for gate in gates:
                dx[time, rows] += self.part_backward("input", gate, x, step.da[gate], grads)
                if gate != late:
                    of = self.masked(rows, h)
                    through = self.part_backward("recurrent", gate, of, step.dq[gate], grads)
                    dh[rows] += self.masked(rows, through)
        for key, terms in self.terms.items():
            dparts, operands = (np.concatenate(rows) for rows in zip(*terms, strict=True))
            grads.weights[key] += dparts.T @ operands
        self.terms.clear()
        if not self.network.idle_keeps_state:
            dh[lengths == 0] = dc[lengths == 0] = 0
        return dx, dh, dc


# The stack: layer l + 1 reads both directions of layer l, or each direction its own.


@dataclass
class Forward:
    """Results of `forward`, and what `backward` needs."""

    y: Array
    hy: Array
    cy: Array
    network: Network
    parameters: Parameters
    lengths: Array
    masks: Sequence[Array]
    steps: dict[tuple[int, int], list[Step]]
    attention: Array | None = None
    recurrent_mask: Array | None = None

    def layer(self, layer: int, direction: int) -> Layer:
        """One layer in one direction."""
        return one_layer(
            self.network, self.parameters, layer, direction, self.attention, self.recurrent_mask
        )

    def kink_distance(self) -> float:
        """How far any pre-activation is from where its activation jumps in slope, at least.

        Exact zeros do not count: every term of theirs is zero, whatever the precision.
        """
        found = [np.zeros(0)]
        for where, steps in self.steps.items():
            for step in steps:
                settings = self.layer(*where).settings(step.time, step.rows)
                found.append(kink_distances(self.network.mode, step.saved, settings))
        distances = np.concatenate(found)
        return distances.min(initial=np.inf, where=distances > 0)


def one_layer(
    network: Network,
    parameters: Parameters,
    layer: int,
    direction: int,
    attention: Array | None,
    recurrent_mask: Array | None,
) -> Layer:
    """With what every layer takes of the caller's, and its part of the mask."""
    mask = 1.0
    if recurrent_mask is not None:
        mask = recurrent_mask[layer * network.num_directions + direction]
    return Layer(network, parameters, layer, direction, attention, mask)


def forward(
    network: Network,
    parameters: Parameters,
    x: Array,
    lengths: Sequence[int],
    hx: Array | None = None,
    cx: Array | None = None,
    masks: Sequence[Array] = (),
    attention: Array | None = None,
    recurrent_mask: Array | None = None,
) -> Forward:
    """Run the stack. masks[l] (T, N, D*S) multiplies what layer l + 1 reads; none means ones.
    attention (T, N, 1) is what every layer takes; recurrent_mask (L*D, N, S) multiplies what
    recurrent matrices multiply."""
    directions = network.num_directions
    shape = (network.num_layers * directions, x.shape[1])
    hx = np.zeros((*shape, network.initial_size)) if hx is None else hx
    cx = np.zeros((*shape, network.hidden_size)) if cx is None else cx
    hy, cy, steps = np.zeros((*shape, network.state_size)), np.zeros_like(cx), {}
    lengths = np.asarray(lengths)
    y = x
    for layer in range(network.num_layers):
        operand = y * masks[layer - 1] if layer and masks else y
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            one = one_layer(network, parameters, layer, direction, attention, recurrent_mask)
            read = operand[:, :, part_of(network, layer, direction)]
            out, hy[index], cy[index], steps[layer, direction] = one.forward(
                read, lengths, hx[index], cx[index]
            )
            outputs.append(out)
        y = np.concatenate(outputs, axis=2)
    if network.sums:
        y = sum(outputs)
    return Forward(y, hy, cy, network, parameters, lengths, masks, steps, attention, recurrent_mask)


def part_of(network: Network, layer: int, direction: int) -> slice:
    """The features of a layer's input that a direction reads."""
    if layer == 0 or not network.independent:
        return slice(None)
    return slice(direction * network.state_size, (direction + 1) * network.state_size)


@dataclass
class Backward:
    dx: Array
    dhx: Array
    dcx: Array
    parameters: Parameters
    dattention: Array | None = None


def backward(
    run: Forward, dy: Array, dhy: Array | None = None, dcy: Array | None = None
) -> Backward:
    """Gradients of sum(y dy) + sum(hy dhy) + sum(cy dcy); None means zeros."""
    network, width = run.network, run.network.state_size
    dhy = np.zeros_like(run.hy) if dhy is None else dhy
    dcy = np.zeros_like(run.cy) if dcy is None else dcy
    if network.sums:
        dy = np.concatenate([dy] * network.num_directions, axis=2)
    dhx = np.zeros((*dhy.shape[:2], network.initial_size))
    result = Backward(dy, dhx, np.zeros_like(dcy), Parameters.zeros(network))
    if run.attention is not None:
        result.dattention = np.zeros_like(run.attention)
    for layer in reversed(range(network.num_layers)):
        dy = result.dx
        columns = network.layer_input_size(0) or network.input_size
        if layer:
            columns = network.num_directions * width
        result.dx = np.zeros((*dy.shape[:2], columns))
        if run.masks and layer < network.num_layers - 1:
            dy = dy * run.masks[layer]
        for direction in range(network.num_directions):
            index = layer * network.num_directions + direction
            part = dy[:, :, direction * width : (direction + 1) * width]
            one = run.layer(layer, direction)
            dx, result.dhx[index], result.dcx[index] = one.backward(
                run.steps[layer, direction],
                part,
                run.lengths,
                dhy[index],
                dcy[index],
                result.parameters,
                result.dattention,
            )
            result.dx[:, :, part_of(network, layer, direction)] += dx
    return result
