"""The commuting square with oneDNN: a primitive with converted weights gives what its vendor's RNN
gives, and the same gradients of every parameter."""

from __future__ import annotations

import pytest
from cases import Case
from converted import Converted
from cudnn_harness import cudnn_case
from onednn_harness import Example, OnednnCase
from onednn_run import OnednnRun

from miopy import onednn as dn

STEPS, BATCH, SIZE = 4, 3, 5
CELLS = {"relu": "relu", "tanh": "tanh", "lstm": "lstm", "gru": "lbr_gru"}
STATES = {"hx": "src_iter", "cx": "src_iter_c", "dhy": "diff_dst_iter", "dcy": "diff_dst_iter_c"}
RESULTS = {"y": "dst_layer", "hy": "dst_iter", "cy": "dst_iter_c", "dx": "diff_src_layer"}
RESULTS |= {"dhx": "diff_src_iter", "dcx": "diff_src_iter_c"}


def assert_square(backend: str, case: Case) -> None:
    """Run the case in its dialect, and with its weights in oneDNN's."""
    converted = Converted(case, "onednn")
    data, stack = converted.data, (case.num_layers, case.num_directions, BATCH)
    inputs = {**converted.arrays, "src_layer": data.x, "diff_dst_layer": data.dy}
    for ours, theirs in STATES.items():
        inputs[theirs] = getattr(data, ours).reshape(*stack, -1)
    abroad = OnednnCase(
        CELLS[case.mode],
        "concat" if case.num_directions == 2 else "left2right",
        *(STEPS, BATCH, case.input_size, case.hidden_size, case.num_layers),
        projection=case.projection_size,
        overwrites=True,
    )
    run = OnednnRun(abroad, backend)
    run.example = Example(abroad, inputs)
    results = run.execute(dn.dnnl_forward_training) | run.execute(dn.dnnl_backward)
    found = {ours: results[theirs] for ours, theirs in RESULTS.items() if theirs in results}
    for name in found.keys() - {"y", "dx"}:
        found[name] = found[name].reshape(-1, BATCH, found[name].shape[-1])
    converted.check(**found)
    converted.check_gradients({name: results[f"diff_{name}"] for name in converted.arrays})


@pytest.mark.parametrize("num_layers, num_directions", [(1, 2), (3, 1)])
@pytest.mark.parametrize("mode", CELLS)
def test_a_primitive_agrees(backend, mode, num_layers, num_directions):
    lengths = (STEPS,) * BATCH
    assert_square(backend, Case(mode, lengths, SIZE, SIZE, num_layers, num_directions))


@pytest.mark.parametrize("num_layers, num_directions", [(1, 2), (3, 1)])
def test_a_primitive_with_a_projection_agrees(backend, num_layers, num_directions):
    case = cudnn_case(
        mode="lstm",
        lengths=(STEPS,) * BATCH,
        input_size=2,
        hidden_size=SIZE,
        num_layers=num_layers,
        num_directions=num_directions,
        projection_size=2,
    )
    assert_square(backend, case)
