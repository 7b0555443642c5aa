"""The recurrent cells, as records of plane counts.

A *plane* is one value per hidden unit. A cell's math is in `kernels/cells/<name>.h`; this
record tells everyone else how many planes it has.

The pre-activations of a cell are `planes`. Each gate's input product (W x + b) is added to plane
`input_planes[gate]`, its recurrent product (U h + b') to plane `recurrent_planes[gate]`. The two
differ only where a cell must keep the products apart: GRU multiplies the recurrent part of its
new memory by the reset gate. Gradients of pre-activations (`dgates`) have the same planes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """Planes of one cell.

    gates              names of the gates, in the cell's own order
    planes             names of the pre-activation planes
    input_planes       plane of each gate's input product
    recurrent_planes   plane of each gate's recurrent product
    saved              planes that the forward pass keeps for backward, in storage precision
    has_cell_state     whether there is a cell state c besides the hidden state h
    """

    name: str
    gates: tuple[str, ...]
    planes: tuple[str, ...]
    input_planes: tuple[int, ...]
    recurrent_planes: tuple[int, ...]
    saved: tuple[str, ...]
    has_cell_state: bool = False


def _simple(name: str) -> Cell:
    return Cell(name, ("a",), ("a",), (0,), (0,), ())


CELLS = {
    cell.name: cell
    for cell in (
        _simple("relu"),
        _simple("tanh"),
        Cell(
            "lstm",
            gates=("i", "f", "g", "o"),
            planes=("i", "f", "g", "o"),
            input_planes=(0, 1, 2, 3),
            recurrent_planes=(0, 1, 2, 3),
            saved=("i", "f", "g", "o"),
            has_cell_state=True,
        ),
        Cell(
            "gru",
            gates=("z", "r", "n"),
            planes=("z", "r", "n_h", "n_x"),
            input_planes=(0, 1, 3),
            recurrent_planes=(0, 1, 2),
            saved=("z", "r", "n", "n_h"),
        ),
    )
}
