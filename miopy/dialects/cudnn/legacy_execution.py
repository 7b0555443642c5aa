"""The passes of versions 5 to 7 with one descriptor per time step: packed x and y.

x is (sum of the batch over all steps, I), longest sequence first, y the same with D * P features.
States are (L * D, first batch, P), those of c (L * D, first batch, H). Each may be None: zeros, or
not wanted; the descriptor of one that is None may be None too, and c only counts for LSTM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...calls.arguments import require
from ...calls.data import Buffer
from ...calls.passes import Pass, Weights, backward_data_pass, backward_weights_pass, forward_pass
from ...calls.repeated import repeated
from ...calls.steps import check_descending, check_outputs
from ...calls.walks import Padded, Run, Shapes
from ...core import sequence as sequences
from ...errors import BadParam
from ...layouts import CUDNN
from .descriptors import RNNDescriptor
from .entry import entry
from .handle import Handle
from .legacy_queries import check_spaces
from .legacy_steps import batch_sizes, check_weights, config_for
from .states import check_states
from .tensor import FilterDescriptor, TensorDescriptor

Steps = Sequence[TensorDescriptor]
State = tuple[TensorDescriptor | None, Any]


def _run(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    x: tuple[str, Steps],
    weights: tuple[str, FilterDescriptor],
    outputs: dict[str, Steps],
    states: dict[str, State],
) -> Run:
    """What a call runs on, after a check of its descriptors, given by their names."""
    steps, data_type = batch_sizes(*x, seqLength)
    config = config_for(rnnDesc, x[0], steps.vector_size, data_type)
    check_descending(x[0], steps)
    for name, descriptors in outputs.items():
        found, output_type = batch_sizes(name, descriptors, seqLength)
        if output_type != data_type:
            raise BadParam(f"{name}[0]", f"must have type {data_type.name}", output_type.name)
        check_outputs(name, found, config.output_size, steps)
    check_weights(*weights, config)
    sequence = sequences.from_batch_sizes(steps.batches, steps.batches[0])
    packed = Padded(sequence.rows)
    shapes = Shapes(config, sequence, packed, packed, keeps_gradients=True)
    check_states(shapes, **states)
    return Run(handle.backend, CUDNN, shapes, rnnDesc.dropout)


@repeated(entry)
def cudnnRNNForwardInference(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Sequence[TensorDescriptor],
    x: Any,
    hxDesc: TensorDescriptor | None,
    hx: Any,
    cxDesc: TensorDescriptor | None,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    hyDesc: TensorDescriptor | None,
    hy: Any,
    cyDesc: TensorDescriptor | None,
    cy: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
) -> Pass:
    """As cudnnRNNForwardTraining without reserve and dropout: the same y, hy and cy."""
    require(x=x, w=w, y=y)
    states = {"hxDesc": (hxDesc, hx), "cxDesc": (cxDesc, cx)}
    states |= {"hyDesc": (hyDesc, hy), "cyDesc": (cyDesc, cy)}
    inputs, weights, outputs = ("xDesc", xDesc), ("wDesc", wDesc), {"yDesc": yDesc}
    run = _run(handle, rnnDesc, seqLength, inputs, weights, outputs, states)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    space = Buffer("workspace", workspace, workSpaceSizeInBytes)
    check_spaces(run, space, None)
    return forward_pass(run, tensors, Weights("w", w), space, None)


@repeated(entry)
def cudnnRNNForwardTraining(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Sequence[TensorDescriptor],
    x: Any,
    hxDesc: TensorDescriptor | None,
    hx: Any,
    cxDesc: TensorDescriptor | None,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    hyDesc: TensorDescriptor | None,
    hy: Any,
    cyDesc: TensorDescriptor | None,
    cy: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> Pass:
    """y, hy and cy from x, and in the reserve what the backward passes need.

    seqLength   steps; xDesc and yDesc hold as many descriptors
    """
    require(x=x, w=w, y=y, reserveSpace=reserveSpace)
    states = {"hxDesc": (hxDesc, hx), "cxDesc": (cxDesc, cx)}
    states |= {"hyDesc": (hyDesc, hy), "cyDesc": (cyDesc, cy)}
    inputs, weights, outputs = ("xDesc", xDesc), ("wDesc", wDesc), {"yDesc": yDesc}
    run = _run(handle, rnnDesc, seqLength, inputs, weights, outputs, states)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    space = Buffer("workspace", workspace, workSpaceSizeInBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSizeInBytes)
    check_spaces(run, space, reserve)
    return forward_pass(run, tensors, Weights("w", w), space, reserve)


@repeated(entry)
def cudnnRNNBackwardData(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    dyDesc: Sequence[TensorDescriptor],
    dy: Any,
    dhyDesc: TensorDescriptor | None,
    dhy: Any,
    dcyDesc: TensorDescriptor | None,
    dcy: Any,
    wDesc: FilterDescriptor,
    w: Any,
    hxDesc: TensorDescriptor | None,
    hx: Any,
    cxDesc: TensorDescriptor | None,
    cx: Any,
    dxDesc: Sequence[TensorDescriptor],
    dx: Any,
    dhxDesc: TensorDescriptor | None,
    dhx: Any,
    dcxDesc: TensorDescriptor | None,
    dcx: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> Pass:
    """dx, dhx and dcx, overwritten, from dy, dhy and dcy.

    y              must be given; what it holds is not read
    reserveSpace   as forward training left it; completed with what cudnnRNNBackwardWeights needs
    """
    require(y=y, dy=dy, w=w, dx=dx, reserveSpace=reserveSpace)
    states = {"dhyDesc": (dhyDesc, dhy), "dcyDesc": (dcyDesc, dcy), "hxDesc": (hxDesc, hx)}
    states |= {"cxDesc": (cxDesc, cx), "dhxDesc": (dhxDesc, dhx), "dcxDesc": (dcxDesc, dcx)}
    inputs, weights = ("dxDesc", dxDesc), ("wDesc", wDesc)
    outputs = {"yDesc": yDesc, "dyDesc": dyDesc}
    run = _run(handle, rnnDesc, seqLength, inputs, weights, outputs, states)
    tensors = {"dy": dy, "dhy": dhy, "dcy": dcy, "hx": hx, "cx": cx}
    tensors |= {"dx": dx, "dhx": dhx, "dcx": dcx}
    space = Buffer("workspace", workspace, workSpaceSizeInBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSizeInBytes)
    check_spaces(run, space, reserve)
    return backward_data_pass(run, tensors, Weights("w", w), space, reserve)


@repeated(entry)
def cudnnRNNBackwardWeights(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    seqLength: int,
    xDesc: Sequence[TensorDescriptor],
    x: Any,
    hxDesc: TensorDescriptor | None,
    hx: Any,
    yDesc: Sequence[TensorDescriptor],
    y: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    dwDesc: FilterDescriptor,
    dw: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> Pass:
    """Add the gradients of all parameters to dw.

    y              must be given; what it holds is not read
    workspace      need not be that of cudnnRNNBackwardData
    reserveSpace   as cudnnRNNBackwardData left it; not changed
    """
    require(x=x, y=y, dw=dw, reserveSpace=reserveSpace)
    inputs, weights, outputs = ("xDesc", xDesc), ("dwDesc", dwDesc), {"yDesc": yDesc}
    states = {"hxDesc": (hxDesc, hx)}
    run = _run(handle, rnnDesc, seqLength, inputs, weights, outputs, states)
    space = Buffer("workspace", workspace, workSpaceSizeInBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSizeInBytes)
    check_spaces(run, space, reserve)
    return backward_weights_pass(
        run, {"x": x, "hx": hx}, Weights("dw", dw), space, reserve, accumulate=True
    )
