"""The Ex passes of version 7: one descriptor for a batch of sequences, RNNs set by its functions.

x, y and states are as in `sequences`, so is what padding becomes. The descriptor of a state that is
None may be None. Arguments of attention are reserved and must be None.
"""

from __future__ import annotations

from typing import Any

from ...calls.arguments import require
from ...calls.data import Buffer
from ...calls.passes import Pass, Weights, backward_data_pass, backward_weights_pass, forward_pass
from ...calls.repeated import repeated
from ...calls.walks import Run
from ...errors import NotSupported
from .descriptors import RNNDescriptor
from .entry import check_set, entry
from .handle import Handle
from .legacy_queries import check_spaces
from .legacy_steps import check_weights, config_for
from .sequence_descriptors import RNNDataDescriptor
from .sequences import run_of
from .states import check_states
from .tensor import FilterDescriptor, TensorDescriptor


def _run(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    x: tuple[str, RNNDataDescriptor],
    weights: tuple[str, FilterDescriptor],
    outputs: dict[str, RNNDataDescriptor],
    states: dict[str, tuple[TensorDescriptor | None, Any]],
) -> Run:
    """What a call runs on, after a check of its descriptors, given by their names."""
    x_name, x_desc = x
    check_set(x_name, x_desc, x_desc.is_set)
    config = config_for(rnnDesc, x_name, x_desc.vector_size, x_desc.data_type)
    for y in outputs.items():
        run = run_of(handle, rnnDesc, config, x, y)
    check_weights(*weights, config)
    check_states(run.shapes, **states)
    return run


def _refuse_attention(**values: Any) -> None:
    for name, value in values.items():
        if value is not None:
            raise NotSupported(name, "is reserved and must be NULL", value)


@repeated(entry)
def cudnnRNNForwardTrainingEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: RNNDataDescriptor,
    x: Any,
    hxDesc: TensorDescriptor | None,
    hx: Any,
    cxDesc: TensorDescriptor | None,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    hyDesc: TensorDescriptor | None,
    hy: Any,
    cyDesc: TensorDescriptor | None,
    cy: Any,
    kDesc: RNNDataDescriptor | None,
    keys: Any,
    cDesc: RNNDataDescriptor | None,
    cAttn: Any,
    iDesc: RNNDataDescriptor | None,
    iAttn: Any,
    qDesc: RNNDataDescriptor | None,
    queries: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> Pass:
    """y, hy and cy from x, and in the reserve what the backward passes need."""
    _refuse_attention(kDesc=kDesc, keys=keys, cDesc=cDesc, cAttn=cAttn)
    _refuse_attention(iDesc=iDesc, iAttn=iAttn, qDesc=qDesc, queries=queries)
    require(x=x, w=w, y=y, reserveSpace=reserveSpace)
    states = {"hxDesc": (hxDesc, hx), "cxDesc": (cxDesc, cx)}
    states |= {"hyDesc": (hyDesc, hy), "cyDesc": (cyDesc, cy)}
    inputs, weights = ("xDesc", xDesc), ("wDesc", wDesc)
    run = _run(handle, rnnDesc, inputs, weights, {"yDesc": yDesc}, states)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    space = Buffer("workSpace", workSpace, workSpaceSizeInBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSizeInBytes)
    check_spaces(run, space, reserve)
    return forward_pass(run, tensors, Weights("w", w), space, reserve)


@repeated(entry)
def cudnnRNNForwardInferenceEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: RNNDataDescriptor,
    x: Any,
    hxDesc: TensorDescriptor | None,
    hx: Any,
    cxDesc: TensorDescriptor | None,
    cx: Any,
    wDesc: FilterDescriptor,
    w: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    hyDesc: TensorDescriptor | None,
    hy: Any,
    cyDesc: TensorDescriptor | None,
    cy: Any,
    kDesc: RNNDataDescriptor | None,
    keys: Any,
    cDesc: RNNDataDescriptor | None,
    cAttn: Any,
    iDesc: RNNDataDescriptor | None,
    iAttn: Any,
    qDesc: RNNDataDescriptor | None,
    queries: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
) -> Pass:
    """As cudnnRNNForwardTrainingEx without reserve and dropout: the same y, hy and cy."""
    _refuse_attention(kDesc=kDesc, keys=keys, cDesc=cDesc, cAttn=cAttn)
    _refuse_attention(iDesc=iDesc, iAttn=iAttn, qDesc=qDesc, queries=queries)
    require(x=x, w=w, y=y)
    states = {"hxDesc": (hxDesc, hx), "cxDesc": (cxDesc, cx)}
    states |= {"hyDesc": (hyDesc, hy), "cyDesc": (cyDesc, cy)}
    inputs, weights = ("xDesc", xDesc), ("wDesc", wDesc)
    run = _run(handle, rnnDesc, inputs, weights, {"yDesc": yDesc}, states)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    space = Buffer("workSpace", workSpace, workSpaceSizeInBytes)
    check_spaces(run, space, None)
    return forward_pass(run, tensors, Weights("w", w), space, None)


@repeated(entry)
def cudnnRNNBackwardDataEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    yDesc: RNNDataDescriptor,
    y: Any,
    dyDesc: RNNDataDescriptor,
    dy: Any,
    dcDesc: RNNDataDescriptor | None,
    dcAttn: Any,
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
    dxDesc: RNNDataDescriptor,
    dx: Any,
    dhxDesc: TensorDescriptor | None,
    dhx: Any,
    dcxDesc: TensorDescriptor | None,
    dcx: Any,
    dkDesc: RNNDataDescriptor | None,
    dkeys: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> Pass:
    """dx, dhx and dcx, overwritten, from dy, dhy and dcy.

    y              must be given; what it holds is not read
    reserveSpace   as forward training left it; completed with what cudnnRNNBackwardWeightsEx needs
    """
    _refuse_attention(dcDesc=dcDesc, dcAttn=dcAttn, dkDesc=dkDesc, dkeys=dkeys)
    require(y=y, dy=dy, w=w, dx=dx, reserveSpace=reserveSpace)
    states = {"dhyDesc": (dhyDesc, dhy), "dcyDesc": (dcyDesc, dcy), "hxDesc": (hxDesc, hx)}
    states |= {"cxDesc": (cxDesc, cx), "dhxDesc": (dhxDesc, dhx), "dcxDesc": (dcxDesc, dcx)}
    inputs, weights = ("dxDesc", dxDesc), ("wDesc", wDesc)
    outputs = {"yDesc": yDesc, "dyDesc": dyDesc}
    run = _run(handle, rnnDesc, inputs, weights, outputs, states)
    tensors = {"dy": dy, "dhy": dhy, "dcy": dcy, "hx": hx, "cx": cx}
    tensors |= {"dx": dx, "dhx": dhx, "dcx": dcx}
    space = Buffer("workSpace", workSpace, workSpaceSizeInBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSizeInBytes)
    check_spaces(run, space, reserve)
    return backward_data_pass(run, tensors, Weights("w", w), space, reserve)


@repeated(entry)
def cudnnRNNBackwardWeightsEx(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: RNNDataDescriptor,
    x: Any,
    hxDesc: TensorDescriptor | None,
    hx: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    dwDesc: FilterDescriptor,
    dw: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> Pass:
    """Add the gradients of all parameters to dw.

    y              must be given; what it holds is not read
    workSpace      need not be that of cudnnRNNBackwardDataEx
    reserveSpace   as cudnnRNNBackwardDataEx left it; not changed
    """
    require(x=x, y=y, dw=dw, reserveSpace=reserveSpace)
    inputs, weights = ("xDesc", xDesc), ("dwDesc", dwDesc)
    run = _run(handle, rnnDesc, inputs, weights, {"yDesc": yDesc}, {"hxDesc": (hxDesc, hx)})
    space = Buffer("workSpace", workSpace, workSpaceSizeInBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSizeInBytes)
    check_spaces(run, space, reserve)
    return backward_weights_pass(
        run, {"x": x, "hx": hx}, Weights("dw", dw), space, reserve, accumulate=True
    )
