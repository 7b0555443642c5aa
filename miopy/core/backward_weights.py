"""Gradients of the parameters, from the dgates that backward data left in the workspace."""

from __future__ import annotations

from .backend import Backend, Layer, Matrix
from .backward_data import dgates_of, gate_rows, input_runs
from .forward import Rows, columns, layer_of, state_address
from .layout import Layout
from .plan import Plan
from .sequence import Sequence


def backward_weights(
    plan: Plan,
    backend: Backend,
    layout: Layout,
    sequence: Sequence,
    *,
    x: Rows,
    hx: int | None,
    dw: int,
    workspace: int,
    reserve: int,
) -> None:
    """Overwrite dw, laid out as the weights, with the gradients of all parameters.

    x            (T, I)       as forward got it
    hx           (L*D, N, H)  as forward got it; None means zeros
    workspace    as backward data left it; `dgates` is only read
    reserve      as forward left it; only read
    """
    config = plan.config
    source = x.address
    if x.index is not None:
        source = plan.workspace.address(workspace, "packed_x")
        backend.gather_rows(source, x.address, x.index, config.input_size * config.itemsize)
    for layer in range(config.num_layers):
        outputs = plan.reserve.address(reserve, "outputs", layer)
        for direction in range(config.num_directions):
            run = layer_of(plan, layout, sequence, layer, direction)
            dgates = dgates_of(plan, workspace, layer, direction)
            index = layer * config.num_directions + direction
            states = columns(config, outputs, direction)
            before = Matrix(
                states.address,
                states.row,
                index=sequence.previous_rows[direction],
                other=state_address(plan, sequence, hx, index),
                other_row=config.hidden_size,
            )
            _recurrent_matrices(plan, backend, run, dgates, before, dw)
            if run.input.offset is not None:
                _input_matrices(plan, backend, run, dgates, Matrix(source, run.input_size), dw)
            if config.bias:
                _biases(plan, backend, run, dgates, dw)
        source = outputs
        if config.dropout and layer < config.num_layers - 1:
            source = plan.reserve.address(reserve, "dropped", layer)


def _recurrent_matrices(
    plan: Plan, backend: Backend, run: Layer, dgates: Matrix, before: Matrix, dw: int
) -> None:
    """dU = dgates' h, summed over all rows, h being the state before each."""
    config = plan.config
    shape = (config.num_gates * config.hidden_size, config.hidden_size, plan.rows)
    transposed = Matrix(dgates.address, 1, dgates.row)
    backend.gemm(config.dtype, gate_rows(config, run.recurrent, dw, 0), transposed, before, shape)


def _input_matrices(
    plan: Plan, backend: Backend, run: Layer, dgates: Matrix, x: Matrix, dw: int
) -> None:
    """dW = dgates' x, summed over all rows."""
    config = plan.config
    unit = config.hidden_size * config.itemsize
    for gate, plane, gates in input_runs(config, run.position):
        shape = (gates * config.hidden_size, run.input_size, plan.rows)
        transposed = Matrix(dgates.address + plane * unit, 1, dgates.row)
        backend.gemm(config.dtype, gate_rows(config, run.input, dw, gate), transposed, x, shape)


def _biases(plan: Plan, backend: Backend, run: Layer, dgates: Matrix, dw: int) -> None:
    """The gradient of a bias is the sum of its gate's rows."""
    config = plan.config
    unit = config.hidden_size * config.itemsize

    def sums(bias: int | None, gate: int, plane: int, gates: int) -> None:
        assert bias is not None
        start = Matrix(dgates.address + plane * unit, dgates.row)
        to = dw + bias * config.itemsize + gate * unit
        backend.column_sums(config.dtype, to, start, plan.rows, gates * config.hidden_size)

    for gate, plane, gates in input_runs(config, run.position):
        sums(run.input.bias_offset, gate, plane, gates)
    sums(run.recurrent.bias_offset, 0, 0, config.num_gates)
