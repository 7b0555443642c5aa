"""The real oneDNN computes with converted weights what MIOpen and cuDNN compute with theirs."""

from __future__ import annotations

import pytest
from cases import Case
from converted import Converted
from cudnn_harness import cudnn_case
from onednn_library import Library
from onednn_problems import CONCAT, LEFT2RIGHT, Problem
from onednn_program import Program

pytestmark = pytest.mark.peers

TIME, BATCH, SIZE = 5, 3, 7
NAMES = {"gru": "lbr_gru"}  # where oneDNN's is another
STATES = {"hx": "src_iter", "cx": "src_iter_c", "dhy": "diff_dst_iter", "dcy": "diff_dst_iter_c"}


def assert_agrees(library: Library, case: Case, name: str) -> None:
    """Run the case in its dialect, and with its weights in oneDNN."""
    layers, directions, state = case.num_layers, case.num_directions, case.network.state_size
    problem = Problem(
        name,
        CONCAT if directions == 2 else LEFT2RIGHT,
        *(TIME, BATCH, case.input_size, state, case.hidden_size, state, layers),
        overwrite=True,
    )
    converted = Converted(case, "onednn")
    data = converted.data
    tensors = {**converted.arrays, "src_layer": data.x, "diff_dst_layer": data.dy}
    for ours, theirs in STATES.items():
        array = getattr(data, ours)
        tensors[theirs] = array.reshape(layers, directions, *array.shape[1:])
    program = Program(library, problem, tensors)
    outputs, gradients = program.forward(training=True), program.backward()

    states = {"hy": outputs["dst_iter"], "dhx": gradients["diff_src_iter"]}
    if case.mode == "lstm":
        states |= {"cy": outputs["dst_iter_c"], "dcx": gradients["diff_src_iter_c"]}
    states = {name: array.reshape(-1, *array.shape[2:]) for name, array in states.items()}
    converted.check(y=outputs["dst_layer"], dx=gradients["diff_src_layer"], **states)
    converted.check_gradients({name: gradients["diff_" + name] for name in converted.arrays})


@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (1, 2), (3, 1)])
@pytest.mark.parametrize("mode", ["relu", "tanh", "lstm", "gru"])
def test_onednn_agrees_with_converted_weights(library, mode, num_layers, num_directions):
    case = Case(mode, (TIME,) * BATCH, SIZE, SIZE, num_layers, num_directions)
    assert_agrees(library, case, NAMES.get(mode, mode))


@pytest.mark.parametrize("num_layers, num_directions", [(1, 2), (3, 1)])
def test_onednn_agrees_with_converted_projections(library, num_layers, num_directions):
    case = cudnn_case(
        mode="lstm",
        lengths=(TIME,) * BATCH,
        input_size=4,
        hidden_size=SIZE,
        num_layers=num_layers,
        num_directions=num_directions,
        projection_size=4,
    )
    assert_agrees(library, case, "lstm projection")
