"""The forward walk on 8-bit codes: directions, then layers; a backend runs the steps."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BadParam
from .backend import Backend
from .codes import QuantizedLayer, Steps, Values
from .config import INPUT, PROJECTION, RECURRENT, RIGHT_TO_LEFT, SUM
from .quantized import Quantization, QuantizedPlan, QuantizedRNN


@dataclass(frozen=True)
class Weights:
    """Addresses of a network's parameters.

    input, recurrent, projection   packed as `QuantizedRNN.packed` says; None without a projection
    bias                           float32 (L, D, G, H)
    """

    input: int
    recurrent: int
    bias: int
    projection: int | None = None


def forward(
    plan: QuantizedPlan,
    backend: Backend,
    quantization: Quantization,
    *,
    x: Steps,
    hx: Values | None,
    cx: int | None,
    weights: Weights,
    y: Steps,
    hy: Values | None,
    cy: int | None,
    workspace: int,
) -> None:
    """Run all directions, one after the other, and join what they put out.

    x           (T, N, I)     codes, read
    hx          (L, D, N, S)  initial hidden states, codes or numbers; None means the number 0
    cx          (L, D, N, H)  initial cell states, float32; None means zeros
    y           (T, N, S), or (T, N, 2 * S) for "concat"; written, codes or numbers. The codes of
                "sum" have twice the shift
    hy          as hx         written unless None
    cy          as cx         written unless None; of cells with a cell state alone
    workspace   plan.workspace.nbytes; contents do not matter before or after

    Raises BadParam for another number of scales, for numbers in x, and unless projections are given
    where the network has one.
    """
    rnn = plan.rnn
    _check(rnn, quantization, weights, x)
    tops = []
    for direction in range(rnn.num_directions):
        source = x
        for layer in range(rnn.num_layers):
            index = layer * rnn.num_directions + direction
            _load_states(plan, backend, quantization, hx, cx, index, workspace)
            output = plan.workspace.address(workspace, "outputs", direction, layer % 2)
            _run(plan, backend, quantization, weights, source, index, output, workspace)
            _store_states(plan, backend, quantization, hy, cy, index, output, workspace)
            source = Steps(output, plan.batch * rnn.state_size, rnn.state_size)
        tops.append(output)
    shape = (plan.steps, plan.batch, rnn.state_size)
    is_sum = rnn.direction == SUM
    backend.quantized.join(quantization.data, y, tuple(tops), shape, is_sum=is_sum)


def _check(rnn: QuantizedRNN, quantization: Quantization, weights: Weights, x: Steps) -> None:
    quantization.weights.check("weights", rnn.num_gates * rnn.hidden_size)
    for owner in (quantization, weights):
        if (owner.projection is None) != (rnn.projection_size == 0):
            raise BadParam("projection", "must be given where there is one, and not else", owner)
    if quantization.projection is not None:
        quantization.projection.check("projection", rnn.projection_size)
    if x.is_float:
        raise BadParam("x", "must be codes", x)


def _load_states(
    plan: QuantizedPlan,
    backend: Backend,
    quantization: Quantization,
    hx: Values | None,
    cx: int | None,
    index: int,
    workspace: int,
) -> None:
    """Row block `index` of the caller's states, where a layer reads them."""
    count = plan.batch * plan.rnn.state_size
    to = Values(plan.workspace.address(workspace, "initial"))
    source = None if hx is None else _block(hx, index, count)
    backend.quantized.copy(quantization.data, to, source, count)
    if "cell_state" in plan.workspace.regions:
        cell_state = plan.workspace.address(workspace, "cell_state")
        nbytes = plan.workspace.regions["cell_state"].nbytes
        if cx is None:
            backend.fill(cell_state, bytes(4), nbytes // 4)
        else:
            backend.copy(cell_state, cx + index * nbytes, nbytes)


def _store_states(
    plan: QuantizedPlan,
    backend: Backend,
    quantization: Quantization,
    hy: Values | None,
    cy: int | None,
    index: int,
    output: int,
    workspace: int,
) -> None:
    """What a layer leaves, into row block `index` of the caller's; the initial state if there is
    no step."""
    rnn, count = plan.rnn, plan.batch * plan.rnn.state_size
    reverse = _is_reverse(rnn, index)
    last = output if reverse else output + (plan.steps - 1) * count
    if plan.steps == 0:
        last = plan.workspace.address(workspace, "initial")
    if hy is not None:
        backend.quantized.copy(quantization.data, _block(hy, index, count), Values(last), count)
    if cy is not None and "cell_state" in plan.workspace.regions:
        nbytes = plan.workspace.regions["cell_state"].nbytes
        cell_state = plan.workspace.address(workspace, "cell_state")
        backend.copy(cy + index * nbytes, cell_state, nbytes)


def _block(states: Values, index: int, count: int) -> Values:
    itemsize = 4 if states.is_float else 1
    return Values(states.address + index * count * itemsize, states.is_float)


def _is_reverse(rnn: QuantizedRNN, index: int) -> bool:
    return rnn.direction == RIGHT_TO_LEFT or index % rnn.num_directions == 1


def _run(
    plan: QuantizedPlan,
    backend: Backend,
    quantization: Quantization,
    weights: Weights,
    source: Steps,
    index: int,
    output: int,
    workspace: int,
) -> None:
    rnn, regions = plan.rnn, plan.workspace.regions
    scratch = {name: plan.workspace.address(workspace, name) for name in regions}
    projection = None
    if weights.projection is not None:
        projection = rnn.packed(PROJECTION).matrices(weights.projection, index)
    backend.quantized.layer(
        QuantizedLayer(
            rnn.cell,
            _is_reverse(rnn, index),
            plan.steps,
            plan.batch,
            rnn.input_size,
            rnn.hidden_size,
            rnn.state_size,
            plan.chunk_steps,
        ),
        quantization.data,
        x=source,
        initial=scratch["initial"],
        cell_state=scratch.get("cell_state"),
        input=rnn.packed(INPUT).matrices(weights.input, index),
        recurrent=rnn.packed(RECURRENT).matrices(weights.recurrent, index),
        bias=weights.bias + 4 * index * rnn.num_gates * rnn.hidden_size,
        scale=quantization.weights,
        projection=projection,
        projection_scale=quantization.projection,
        output=output,
        scratch=scratch,
    )
