"""The commuting square: weights of cuDNN or MIOpen, carried over to MPSGraph's arrays, give there
what they give at home: the same outputs, and the same gradients of all data and parameters."""

from __future__ import annotations

import pytest
from cases import Case
from converted import Converted
from cudnn_harness import cudnn_case
from mpsgraph_stack import Stack

pytestmark = pytest.mark.usefixtures("backend")


def assert_square(case: Case) -> None:
    home = Converted(case, "mpsgraph")
    data = home.data
    stack = Stack(case.mode, home.arrays, case.num_layers, case.num_directions)
    home.check(**stack.forward(data.x, data.hx, data.cx))
    found = stack.backward(data.dy, data.dhy, data.dcy)
    weights = {name: found.pop(name) for name in home.arrays}
    home.check(**found)
    home.check_gradients(weights)


def cells():
    """Every cell with every bias whose parameters MPSGraph has: GRU has always two."""
    for cell in ("relu", "tanh", "lstm", "gru"):
        for bias in ("both", "none") if cell == "gru" else ("both", "input", "none"):
            yield cell, bias


@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (2, 2)])
@pytest.mark.parametrize("cell, bias", list(cells()))
def test_mpsgraph_computes_what_cudnn_does(cell, num_layers, num_directions, bias):
    sizes = {"num_layers": num_layers, "num_directions": num_directions}
    assert_square(cudnn_case(cell, (5,) * 3, bias=bias, **sizes))


@pytest.mark.parametrize("cell", ["relu", "tanh", "lstm", "gru"])
def test_mpsgraph_computes_what_miopen_does(cell):
    assert_square(Case(cell, (5,) * 3, num_layers=2, num_directions=2))
