"""The passes over batches of sequences: cudnnRNNForward, BackwardData_v8, BackwardWeights_v8.

x and y are laid out as their descriptors say: packed, seq-major (steps, batch, vector) or
batch-major (batch, steps, vector). h states are (L * D, batch, P), c states (L * D, batch, H), in
the caller's order of sequences. Each state and its gradient may be None: zeros, or not wanted. A
state's descriptor may be None if all its states are; those of c count for LSTM only.

A sequence of length zero, an extension of miopy's, keeps its states: hy is hx, dhx is dhy.

The padding of y is filled with the descriptor's paddingFill, or not written without one, that of dx
with 0. What x and dy contain there does not matter. `devSeqLengths` is not looked at: the lengths
are those of the descriptors.

Order: forward in training, then backward data, then backward weights, all with the same reserve;
each may get a workspace of its own.
"""

from __future__ import annotations

from typing import Any

from ...calls.arguments import check_enum, require
from ...calls.data import Buffer, check_size
from ...calls.passes import Pass, Weights, backward_data_pass, backward_weights_pass, forward_pass
from ...calls.repeated import repeated
from ...calls.sequences import padded
from ...calls.walks import Run, Shapes
from ...core import sequence as sequences
from ...core.config import RNNConfig
from ...errors import BadParam, NotSupported
from ...layouts import CUDNN
from .descriptors import PADDED, RNNDescriptor, configured
from .entry import entry
from .handle import Handle
from .queries import check_sequences, temp_space_nbytes, weights_nbytes
from .sequence_descriptors import LAYOUTS, RNNDataDescriptor
from .states import check_states
from .tensor import TensorDescriptor
from .types import cudnnForwardMode_t, cudnnWgradMode_t


def run_of(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    config: RNNConfig,
    x_of: tuple[str, RNNDataDescriptor],
    y_of: tuple[str, RNNDataDescriptor],
) -> Run:
    """What a call runs on, after a check of its descriptors of x and y, each with its name."""
    (x_name, xDesc), (y_name, yDesc) = x_of, y_of
    check_sequences(x_name, xDesc, config.dtype, config.input_size)
    check_sequences(y_name, yDesc, config.dtype, config.output_size)
    for name in ("layout", "max_seq_length", "lengths"):
        ours, theirs = getattr(yDesc, name), getattr(xDesc, name)
        if ours != theirs:
            raise BadParam(y_name, f"must have the {name} of {x_name}, {theirs}", ours)
    if not xDesc.is_packed and rnnDesc.padding_mode != PADDED and len(set(xDesc.lengths)) > 1:
        rule = "must have equal lengths or be packed without CUDNN_RNN_PADDED_IO_ENABLED"
        raise BadParam(x_name, rule, xDesc.lengths)
    sequence = sequences.from_lengths(xDesc.lengths)
    layout, steps = LAYOUTS[xDesc.layout], xDesc.max_seq_length
    x = padded(sequence, layout, steps, bytes(config.itemsize))
    y = padded(sequence, layout, steps, yDesc.padding_fill)
    shapes = Shapes(config, sequence, x, y, keeps_gradients=True)
    return Run(handle.backend, CUDNN, shapes, rnnDesc.dropout)


def check_spaces(
    config: RNNConfig,
    xDesc: RNNDataDescriptor,
    workspace: Buffer,
    reserve: Buffer | None,
) -> None:
    """Sizes of workspace and reserve; training if there is a reserve."""
    work, space = temp_space_nbytes(config, xDesc, training=reserve is not None)
    check_size(f"{workspace.argument}Size", workspace.nbytes, work)
    if reserve is not None:
        check_size(f"{reserve.argument}Size", reserve.nbytes, space)


@repeated(entry)
def cudnnRNNForward(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    fwdMode: cudnnForwardMode_t,
    devSeqLengths: Any,
    xDesc: RNNDataDescriptor,
    x: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    hDesc: TensorDescriptor | None,
    hx: Any,
    hy: Any,
    cDesc: TensorDescriptor | None,
    cx: Any,
    cy: Any,
    weightSpaceSize: int,
    weightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> Pass:
    """y, hy and cy from x; in training also what the backward passes need, in the reserve.

    hy, cy         may be hx, cx
    reserveSpace   not used in inference, then None and 0 will do
    """
    mode = check_enum("fwdMode", cudnnForwardMode_t, fwdMode)
    config = configured(rnnDesc)
    require(x=x, y=y, weightSpace=weightSpace)
    run = run_of(handle, rnnDesc, config, ("xDesc", xDesc), ("yDesc", yDesc))
    check_states(run.shapes, hDesc=(hDesc, hx, hy), cDesc=(cDesc, cx, cy))
    training = mode == cudnnForwardMode_t.CUDNN_FWD_MODE_TRAINING
    workspace = Buffer("workSpace", workSpace, workSpaceSize)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSize) if training else None
    check_size("weightSpaceSize", weightSpaceSize, weights_nbytes(config))
    check_spaces(config, xDesc, workspace, reserve)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    return forward_pass(run, tensors, Weights("weightSpace", weightSpace), workspace, reserve)


@repeated(entry)
def cudnnRNNBackwardData_v8(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    devSeqLengths: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    dy: Any,
    xDesc: RNNDataDescriptor,
    dx: Any,
    hDesc: TensorDescriptor | None,
    hx: Any,
    dhy: Any,
    dhx: Any,
    cDesc: TensorDescriptor | None,
    cx: Any,
    dcy: Any,
    dcx: Any,
    weightSpaceSize: int,
    weightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> Pass:
    """dx, dhx and dcx, overwritten, from dy, dhy and dcy.

    y              must be given; what it holds is not read
    reserveSpace   as cudnnRNNForward left it; completed with what cudnnRNNBackwardWeights_v8 needs.
                   The call may be repeated
    """
    config = configured(rnnDesc)
    require(y=y, dy=dy, dx=dx, weightSpace=weightSpace, reserveSpace=reserveSpace)
    run = run_of(handle, rnnDesc, config, ("xDesc", xDesc), ("yDesc", yDesc))
    hidden, cell = (hDesc, hx, dhy, dhx), (cDesc, cx, dcy, dcx)
    check_states(run.shapes, hDesc=hidden, cDesc=cell)
    workspace = Buffer("workSpace", workSpace, workSpaceSize)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSize)
    check_size("weightSpaceSize", weightSpaceSize, weights_nbytes(config))
    check_spaces(config, xDesc, workspace, reserve)
    tensors = {"dy": dy, "dhy": dhy, "dcy": dcy, "hx": hx, "cx": cx}
    tensors |= {"dx": dx, "dhx": dhx, "dcx": dcx}
    return backward_data_pass(run, tensors, Weights("weightSpace", weightSpace), workspace, reserve)


@repeated(entry)
def cudnnRNNBackwardWeights_v8(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    addGrad: cudnnWgradMode_t,
    devSeqLengths: Any,
    xDesc: RNNDataDescriptor,
    x: Any,
    hDesc: TensorDescriptor | None,
    hx: Any,
    yDesc: RNNDataDescriptor,
    y: Any,
    weightSpaceSize: int,
    dweightSpace: Any,
    workSpaceSize: int,
    workSpace: Any,
    reserveSpaceSize: int,
    reserveSpace: Any,
) -> Pass:
    """Add the gradients of all parameters to dweightSpace.

    addGrad        CUDNN_WGRAD_MODE_ADD; SET is NotSupported, as in cuDNN
    y              must be given; what it holds is not read
    reserveSpace   as cudnnRNNBackwardData_v8 left it; not changed
    """
    mode = check_enum("addGrad", cudnnWgradMode_t, addGrad)
    if mode != cudnnWgradMode_t.CUDNN_WGRAD_MODE_ADD:
        raise NotSupported("addGrad", "must be CUDNN_WGRAD_MODE_ADD", mode.name)
    config = configured(rnnDesc)
    require(x=x, y=y, dweightSpace=dweightSpace, reserveSpace=reserveSpace)
    run = run_of(handle, rnnDesc, config, ("xDesc", xDesc), ("yDesc", yDesc))
    check_states(run.shapes, hDesc=(hDesc, hx))
    workspace = Buffer("workSpace", workSpace, workSpaceSize)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceSize)
    check_size("weightSpaceSize", weightSpaceSize, weights_nbytes(config))
    check_spaces(config, xDesc, workspace, reserve)
    gradients = Weights("dweightSpace", dweightSpace)
    return backward_weights_pass(
        run, {"x": x, "hx": hx}, gradients, workspace, reserve, accumulate=True
    )
