"""The recurrent cells, as records of plane counts.

A *plane* is one value per hidden unit. A cell's math is in `kernels/cells/<name>.h`; this
record tells everyone else how many planes it has.

A gate's pre-activation is the sum of its input product (W x + b) and its recurrent product
(U h + b'). The sum is one plane, except for gates named in `separate`, whose input product stays in
a plane of its own: GRU multiplies the recurrent part of its new memory by the reset gate. The
pre-activations, and their gradients `dgates`, have the planes

    gates in order, then one more for the input product of every separate gate, then peepholes,
    then attention

A peephole is a vector of parameters, one per hidden unit, that the cell's math reads. Its plane
holds the parameter itself, and in `dgates` what a row adds to the parameter's gradient. Attention
is a number given for each row, the same for all units; its plane in `dgates` holds what each unit
adds to its gradient.

A general cell takes its activations as numbers, places in ACTIVATIONS, in front of its scalars.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Cell:
    """Planes of one cell.

    gates            names of the gates, in the cell's own order
    separate         gates whose input product has a plane of its own
    saved            planes that forward keeps for backward, in storage precision
    has_cell_state   whether there is a cell state c besides the hidden state h
    peepholes        names of its vectors of parameters beside biases
    attention        whether it takes attention
    blends           whether h' has a part of h itself, besides what products make of it
    late             a gate whose recurrent product is not with h but with an operand that the cell
                     makes of h and the other gates, in a second product of each step
    activations      what a general cell activates, a gate or the output h, with the usual choice
    scalars          other numbers that its math takes, the same for every unit, with defaults
    """

    name: str
    gates: tuple[str, ...]
    separate: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    has_cell_state: bool = False
    peepholes: tuple[str, ...] = ()
    attention: bool = False
    blends: bool = False
    late: str | None = None
    activations: tuple[tuple[str, str], ...] = ()
    scalars: tuple[tuple[str, float], ...] = ()

    @property
    def num_planes(self) -> int:
        return self.peephole_plane + len(self.peepholes) + self.attention

    @property
    def peephole_plane(self) -> int:
        """The first plane of the peepholes."""
        return len(self.gates) + len(self.separate)

    @property
    def is_plain(self) -> bool:
        """Whether all its products are with h, and its math is known when it is compiled."""
        return self.late is None and not self.activations

    def input_plane(self, gate: int) -> int:
        """The plane of a gate's input product; its recurrent product is in plane `gate`."""
        name = self.gates[gate]
        return len(self.gates) + self.separate.index(name) if name in self.separate else gate


# Whether backward is as oneDNN computes it, which is not the derivative of forward: 0 or 1.
ATTENTION = (("onednn_attention", 0.0),)
# As numbered in kernels/cells/activation.h. A hard sigmoid is x / 5 + 1 / 2 between 0 and 1.
ACTIVATIONS = ("none", "relu", "tanh", "sigmoid", "hard_sigmoid")
USUAL_GRU = (("z", "sigmoid"), ("r", "sigmoid"), ("n", "tanh"))
FLIP = (("flip", 0.0),)
CLIP = (("clip_low", -math.inf), ("clip_high", math.inf), ("clip_nan", math.nan))
CELLS = {
    cell.name: cell
    for cell in (
        Cell("relu", gates=("a",)),
        Cell("tanh", gates=("a",)),
        Cell(
            "lstm",
            gates=("i", "f", "g", "o"),
            saved=("i", "f", "g", "o"),
            has_cell_state=True,
            scalars=CLIP,
        ),
        Cell(
            "gru",
            gates=("z", "r", "n"),
            separate=("n",),
            saved=("z", "r", "n", "n_h"),
            blends=True,
        ),
        Cell("logistic", gates=("a",)),
        Cell("leaky_relu", gates=("a",), saved=("a",), scalars=(("slope", 0.01),)),
        Cell(
            "peephole_lstm",
            gates=("i", "f", "g", "o"),
            saved=("i", "f", "g", "o"),
            has_cell_state=True,
            peepholes=("i", "f", "o"),
            scalars=CLIP,
        ),
        Cell(
            "reset_before_gru",
            gates=("z", "r", "n"),
            saved=("z", "r", "n"),
            blends=True,
            late="n",
        ),
        Cell(
            "augru",
            gates=("z", "r", "n"),
            saved=("z", "r", "n"),
            attention=True,
            blends=True,
            late="n",
            scalars=ATTENTION,
        ),
        Cell(
            "lbr_augru",
            gates=("z", "r", "n"),
            separate=("n",),
            saved=("z", "r", "n", "n_h"),
            attention=True,
            blends=True,
            scalars=ATTENTION,
        ),
        Cell("general_vanilla", gates=("a",), saved=("a",), activations=(("a", "tanh"),)),
        Cell(
            "general_lstm",
            gates=("i", "f", "g", "o"),
            saved=("i", "f", "g", "o"),
            has_cell_state=True,
            peepholes=("i", "f", "g", "o"),
            activations=(
                *(("i", "sigmoid"), ("f", "sigmoid"), ("g", "tanh"), ("o", "sigmoid")),
                ("h", "tanh"),
            ),
        ),
        Cell(
            "general_gru",
            gates=("z", "r", "n"),
            separate=("n",),
            saved=("z", "r", "n", "n_h"),
            blends=True,
            activations=USUAL_GRU,
            scalars=FLIP,
        ),
        Cell(
            "general_reset_before_gru",
            gates=("z", "r", "n"),
            saved=("z", "r", "n"),
            blends=True,
            late="n",
            activations=USUAL_GRU,
            scalars=FLIP,
        ),
    )
}


def input_plane(cell: Cell, position: tuple[int, ...], gate: int) -> int:
    """Where in dgates the input plane of a gate of the cell is; `position`: of each gate."""
    plane = cell.input_plane(gate)
    return plane if plane >= len(cell.gates) else position[gate]


@lru_cache(maxsize=256)
def input_runs(cell: Cell, position: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Gates whose input planes are adjacent: (first gate in layout order, plane, how many)."""
    planes = [input_plane(cell, position, position.index(at)) for at in range(len(cell.gates))]
    runs: list[tuple[int, int, int]] = []
    for at, plane in enumerate(planes):
        if runs and plane == runs[-1][1] + runs[-1][2]:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((at, plane, 1))
    return runs
