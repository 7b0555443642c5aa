"""The passes that take one descriptor per time step: miopenRNNForwardTraining and its family.

x and y are packed, (sum of the batch over all steps, vector), longest sequence first; with
miopenRNNIOWithPadding they are dense, (steps, first batch, vector), rows that hold no step are not
written and what they contain does not matter. States are (L * D, batch, H).

Data arguments hold elements of the RNN's type; hx, cx, hy, cy and their gradients may be None in
any combination. Descriptors may not. Everything is checked, in MIOpen's order, before anything is
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...calls.arguments import require
from ...calls.data import Buffer, check_size
from ...calls.passes import Pass, Weights, backward_data_pass, backward_weights_pass, forward_pass
from ...calls.steps import Steps, check_descending, check_outputs
from ...calls.walks import Padded, Run, Shapes
from ...core import sequence as sequences
from ...errors import BadParam
from ...layouts import MIOPEN
from . import runs
from .descriptors import RNNDescriptor
from .handle import Handle
from .queries import is_padded, reserve_nbytes, workspace_nbytes
from .steps import batch_sizes
from .tensor import TensorDescriptor


def _check_y(rnnDesc: RNNDescriptor, name: str, descriptors: Any, steps: Steps) -> None:
    """Raise BadParam unless the descriptors of y, or dy, fit those of x step by step."""
    y = batch_sizes(name, descriptors, len(steps.batches), rnnDesc)
    check_outputs(name, y, rnnDesc.num_directions * rnnDesc.hidden_size, steps)


def _run(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    x_name: str,
    steps: Steps,
    state_name: str,
    state: TensorDescriptor,
    **states: tuple[TensorDescriptor, Any],
) -> Run:
    """What a call runs on. The batch of the states comes from one descriptor, as in MIOpen.

    states   the other descriptors of states, each with its data: those that are used must agree
    """
    runs.check_skip(rnnDesc, f"{x_name}[0]", steps.vector_size)
    check_descending(x_name, steps)
    batch = runs.state_batch(rnnDesc, state_name, state, steps.batches[0])
    config = rnnDesc.config(steps.vector_size)
    for name, (descriptor, value) in states.items():
        if value is None or ("c" in name and not config.record.has_cell_state):
            continue
        given = runs.state_batch(rnnDesc, f"{name}Desc", descriptor, batch)
        if given != batch:
            raise BadParam(f"{name}Desc", f"must have the batch of {state_name}, {batch}", given)
    sequence = sequences.from_batch_sizes(steps.batches, batch)
    first, count = steps.batches[0], len(steps.batches)
    packed = Padded(sequence.rows)
    if is_padded(rnnDesc) and sequence.rows < first * count:
        packed = Padded(first * count, sequence.rows_of(sequences.SEQ_MAJOR, first))
    shapes = Shapes(config, sequence, packed, packed)
    return Run(handle.backend, MIOPEN, shapes, rnnDesc.dropout)


@runs.described
def miopenRNNForwardTraining(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    sequenceLen: int,
    xDesc: Sequence[TensorDescriptor],
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: TensorDescriptor,
    w: Any,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> Pass:
    """y, hy and cy from x, and in the reserve what the backward passes need.

    sequenceLen   steps; xDesc and yDesc hold as many descriptors, {batch, vector} each
    hy, cy        overwritten; sequences without a step get 0
    cx, cy        only used by LSTM
    """
    runs.refuse_bfloat16(wDesc=wDesc, hyDesc=hyDesc)
    require(x=x, w=w, y=y)
    runs.same_dims(hxDesc=hxDesc, cxDesc=cxDesc, hyDesc=hyDesc, cyDesc=cyDesc)
    runs.check_set(rnnDesc)
    steps = batch_sizes("xDesc", xDesc, sequenceLen, rnnDesc)
    needed = reserve_nbytes(rnnDesc, steps.vector_size, steps.rows)
    check_size("reserveSpaceNumBytes", reserveSpaceNumBytes, needed)
    check_size("workSpaceNumBytes", workSpaceNumBytes, workspace_nbytes(rnnDesc, steps))
    _check_y(rnnDesc, "yDesc", yDesc, steps)
    others = {"hx": (hxDesc, hx), "cx": (cxDesc, cx), "cy": (cyDesc, cy)}
    run = _run(handle, rnnDesc, "xDesc", steps, "hyDesc", hyDesc, **others)
    runs.check_weights_type(rnnDesc, "wDesc", wDesc)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceNumBytes)
    workspace = Buffer("workSpace", workSpace, workSpaceNumBytes)
    return forward_pass(run, tensors, Weights("w", w), workspace, reserve)


@runs.described
def miopenRNNForwardInference(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    sequenceLen: int,
    xDesc: Sequence[TensorDescriptor],
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    wDesc: TensorDescriptor,
    w: Any,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    hyDesc: TensorDescriptor,
    hy: Any,
    cyDesc: TensorDescriptor,
    cy: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
) -> Pass:
    """As miopenRNNForwardTraining without reserve and dropout: the same y, hy and cy."""
    runs.refuse_bfloat16(wDesc=wDesc, hyDesc=hyDesc)
    require(x=x, w=w, y=y)
    runs.same_dims(hxDesc=hxDesc, cxDesc=cxDesc, hyDesc=hyDesc, cyDesc=cyDesc)
    runs.check_set(rnnDesc)
    steps = batch_sizes("xDesc", xDesc, sequenceLen, rnnDesc)
    check_size("workSpaceNumBytes", workSpaceNumBytes, workspace_nbytes(rnnDesc, steps))
    _check_y(rnnDesc, "yDesc", yDesc, steps)
    others = {"hx": (hxDesc, hx), "cx": (cxDesc, cx), "cy": (cyDesc, cy)}
    run = _run(handle, rnnDesc, "xDesc", steps, "hyDesc", hyDesc, **others)
    runs.check_weights_type(rnnDesc, "wDesc", wDesc)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    workspace = Buffer("workSpace", workSpace, workSpaceNumBytes)
    return forward_pass(run, tensors, Weights("w", w), workspace, None)


@runs.described
def miopenRNNBackwardData(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    sequenceLen: int,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    dyDesc: Sequence[TensorDescriptor],
    dy: Any,
    dhyDesc: TensorDescriptor,
    dhy: Any,
    dcyDesc: TensorDescriptor,
    dcy: Any,
    wDesc: TensorDescriptor,
    w: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    cxDesc: TensorDescriptor,
    cx: Any,
    dxDesc: Sequence[TensorDescriptor],
    dx: Any,
    dhxDesc: TensorDescriptor,
    dhx: Any,
    dcxDesc: TensorDescriptor,
    dcx: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> Pass:
    """dx, dhx and dcx, overwritten, from dy, dhy and dcy.

    y               never read, may be None
    workSpace       left as miopenRNNBackwardWeights needs it
    reserveSpace    as miopenRNNForwardTraining left it; not changed, so the call may be repeated
    """
    runs.refuse_bfloat16(wDesc=wDesc, cxDesc=cxDesc)
    require(dx=dx, w=w, dy=dy)
    runs.same_dims(
        dhyDesc=dhyDesc,
        dcyDesc=dcyDesc,
        hxDesc=hxDesc,
        cxDesc=cxDesc,
        dhxDesc=dhxDesc,
        dcxDesc=dcxDesc,
    )
    runs.check_set(rnnDesc)
    if dhxDesc.dims[2] != dcxDesc.dims[2]:  # MIOpen looks at this, whatever H is, before the rest
        H = rnnDesc.hidden_size
        name, wrong = ("dcxDesc", dcxDesc) if dhxDesc.dims[2] == H else ("dhxDesc", dhxDesc)
        raise BadParam(name, f"must have dims[2] {H}, the hidden size", wrong.dims)
    steps = batch_sizes("dxDesc", dxDesc, sequenceLen, rnnDesc)
    needed = reserve_nbytes(rnnDesc, steps.vector_size, steps.rows)
    check_size("workSpaceNumBytes", workSpaceNumBytes, workspace_nbytes(rnnDesc, steps))
    check_size("reserveSpaceNumBytes", reserveSpaceNumBytes, needed)
    _check_y(rnnDesc, "yDesc", yDesc, steps)
    _check_y(rnnDesc, "dyDesc", dyDesc, steps)
    others = {
        "dhy": (dhyDesc, dhy),
        "dcy": (dcyDesc, dcy),
        "hx": (hxDesc, hx),
        "cx": (cxDesc, cx),
        "dcx": (dcxDesc, dcx),
    }
    run = _run(handle, rnnDesc, "dxDesc", steps, "dhxDesc", dhxDesc, **others)
    runs.check_weights_type(rnnDesc, "wDesc", wDesc)
    tensors = {"dy": dy, "dhy": dhy, "dcy": dcy, "hx": hx, "cx": cx}
    tensors |= {"dx": dx, "dhx": dhx, "dcx": dcx}
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceNumBytes)
    workspace = Buffer("workSpace", workSpace, workSpaceNumBytes)
    return backward_data_pass(run, tensors, Weights("w", w), workspace, reserve)


@runs.described
def miopenRNNBackwardWeights(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    sequenceLen: int,
    xDesc: Sequence[TensorDescriptor],
    x: Any,
    hxDesc: TensorDescriptor,
    hx: Any,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    dwDesc: TensorDescriptor,
    dw: Any,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> Pass:
    """dw, overwritten, from what the passes before left in workspace and reserve.

    y            never read, may be None
    workSpace    as miopenRNNBackwardData left it; the call may be repeated
    """
    runs.refuse_bfloat16(hxDesc=hxDesc, dwDesc=dwDesc)
    require(x=x, dw=dw)
    runs.same_dims(hxDesc=hxDesc)
    runs.check_set(rnnDesc)
    steps = batch_sizes("xDesc", xDesc, sequenceLen, rnnDesc)
    needed = reserve_nbytes(rnnDesc, steps.vector_size, steps.rows)
    check_size("workSpaceNumBytes", workSpaceNumBytes, workspace_nbytes(rnnDesc, steps))
    check_size("reserveSpaceNumBytes", reserveSpaceNumBytes, needed)
    _check_y(rnnDesc, "yDesc", yDesc, steps)
    run = _run(handle, rnnDesc, "xDesc", steps, "hxDesc", hxDesc)
    runs.check_weights_type(rnnDesc, "dwDesc", dwDesc)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceNumBytes)
    workspace = Buffer("workSpace", workSpace, workSpaceNumBytes)
    return backward_weights_pass(run, {"x": x, "hx": hx}, Weights("dw", dw), workspace, reserve)
