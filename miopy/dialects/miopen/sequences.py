"""The passes that take one descriptor for a batch of sequences: miopenRNNForward and its family.

x and y are laid out as their descriptors say: packed, seq-major padded (steps, batch, vector) or
batch-major padded (batch, steps, vector), the padded ones with lengths in any order, zero included.
States are (L * D, batch, H) in the caller's order of sequences; those of a sequence of length zero
get 0, as do their gradients.

Rows of a padded y, or dx, that hold no step are filled with the descriptor's padding marker, or
with 0 where there is none. What x and dy contain there does not matter.
"""

from __future__ import annotations

import struct
from typing import Any

from ...calls.arguments import check_enum, require
from ...calls.data import Buffer, check_size
from ...calls.passes import Pass, Weights, backward_data_pass, backward_weights_pass, forward_pass
from ...calls.sequences import BATCH_MAJOR, PACKED, SEQ_MAJOR, padded
from ...calls.walks import Padded, Run, Shapes
from ...core import sequence as sequences
from ...errors import BadParam
from ...layouts import MIOPEN
from . import runs
from .descriptors import RNNDescriptor
from .handle import Handle
from .queries import check_sequences, temp_space_nbytes
from .sequence_descriptors import MARKER_FORMATS
from .tensor import SeqTensorDescriptor, TensorDescriptor
from .types import miopenRNNBaseLayout_t, miopenRNNFWDMode_t, miopenStatus_t

INTERNAL = miopenStatus_t.miopenStatusInternalError
LAYOUTS = {
    miopenRNNBaseLayout_t.miopenRNNDataSeqMajorNotPadded: PACKED,
    miopenRNNBaseLayout_t.miopenRNNDataSeqMajorPadded: SEQ_MAJOR,
    miopenRNNBaseLayout_t.miopenRNNDataBatchMajorPadded: BATCH_MAJOR,
}


def _placement(descriptor: SeqTensorDescriptor, sequence: sequences.Sequence) -> Padded:
    """Where a tensor of this descriptor keeps the packed rows."""
    marker = 0.0 if descriptor.padding_marker is None else descriptor.padding_marker
    fill = struct.pack(MARKER_FORMATS[descriptor.data_type], marker)
    return padded(sequence, LAYOUTS[descriptor.layout], descriptor.max_seq_len, fill)


def _run(
    handle: Handle, rnnDesc: RNNDescriptor, xDesc: SeqTensorDescriptor, yDesc: SeqTensorDescriptor
) -> Run:
    width = rnnDesc.num_directions * rnnDesc.hidden_size
    check_sequences("yDesc", yDesc, rnnDesc, type_status=runs.UNKNOWN)
    if yDesc.vector_size != width:
        raise BadParam("yDesc", f"must have vector size {width}, D * H", yDesc.vector_size)
    if yDesc.lengths != xDesc.lengths:
        raise BadParam("yDesc", f"must have the lengths of xDesc, {xDesc.lengths}", yDesc.lengths)
    if (LAYOUTS[xDesc.layout] == PACKED) != (LAYOUTS[yDesc.layout] == PACKED):
        rule = f"must be packed if and only if xDesc is, which has {xDesc.layout.name}"
        raise BadParam("yDesc", rule, yDesc.layout.name, status=INTERNAL)
    sequence = sequences.from_lengths(xDesc.lengths)
    config = rnnDesc.config(xDesc.vector_size)
    shapes = Shapes(config, sequence, _placement(xDesc, sequence), _placement(yDesc, sequence))
    return Run(handle.backend, MIOPEN, shapes, rnnDesc.dropout)


def _check_sizes(
    rnnDesc: RNNDescriptor,
    xDesc: SeqTensorDescriptor,
    workspace: Buffer,
    reserve: Buffer,
    weight_space: int,
    *,
    training: bool = True,
) -> None:
    """The order of MIOpen: reserve, workspace, skip mode, weights."""
    work, space = temp_space_nbytes(rnnDesc, xDesc, training=training)
    check_size("reserveSpaceNumBytes", reserve.nbytes, space)
    check_size("workSpaceNumBytes", workspace.nbytes, work)
    runs.check_skip(rnnDesc, "xDesc", xDesc.vector_size)
    weights = MIOPEN.size(rnnDesc.weights_config(xDesc.vector_size)) * rnnDesc.itemsize
    check_size("weightSpaceSize", weight_space, weights)


def _check_states(
    rnnDesc: RNNDescriptor,
    xDesc: SeqTensorDescriptor,
    **states: tuple[TensorDescriptor, tuple[Any, ...]],
) -> None:
    """State descriptors whose data is used must be (L * D, batch, H) of the RNN's type."""
    for name, (descriptor, values) in states.items():
        if all(value is None for value in values):
            continue
        if descriptor.data_type != rnnDesc.data_type:
            rule = f"must have the RNN's data type, {rnnDesc.data_type.name}"
            raise BadParam(name, rule, descriptor.data_type.name, status=runs.UNKNOWN)
        if descriptor.dims[1] != xDesc.batch_size:
            rule = f"must have the batch of xDesc, {xDesc.batch_size}, as dims[1]"
            raise BadParam(name, rule, descriptor.dims, status=INTERNAL)
        runs.state_batch(rnnDesc, name, descriptor, xDesc.batch_size)


@runs.described
def miopenRNNForward(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    fwdMode: miopenRNNFWDMode_t,
    xDesc: SeqTensorDescriptor,
    x: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    hy: Any,
    cDesc: TensorDescriptor,
    cx: Any,
    cy: Any,
    yDesc: SeqTensorDescriptor,
    y: Any,
    w: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> Pass:
    """y, hy and cy from x; in training also what the backward passes need, in the reserve.

    hx, cx, hy, cy   may be None in any combination; cx and cy are only used by LSTM
    reserveSpace     may be None with size 0 in inference
    """
    mode = check_enum("fwdMode", miopenRNNFWDMode_t, fwdMode)
    training = mode == miopenRNNFWDMode_t.miopenRNNTraining
    require(x=x, w=w, y=y)
    runs.same_dims(hDesc=hDesc, cDesc=cDesc)
    runs.check_set(rnnDesc)
    check_sequences("xDesc", xDesc, rnnDesc)
    workspace = Buffer("workSpace", workSpace, workSpaceNumBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceNumBytes)
    _check_sizes(rnnDesc, xDesc, workspace, reserve, weightSpaceSize, training=training)
    cells = (cx, cy) if rnnDesc.config(xDesc.vector_size).record.has_cell_state else ()
    _check_states(rnnDesc, xDesc, hDesc=(hDesc, (hx, hy)), cDesc=(cDesc, cells))
    run = _run(handle, rnnDesc, xDesc, yDesc)
    tensors = {"x": x, "hx": hx, "cx": cx, "y": y, "hy": hy, "cy": cy}
    return forward_pass(run, tensors, Weights("w", w), workspace, reserve if training else None)


@runs.described
def miopenRNNBackwardSeqData(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    yDesc: SeqTensorDescriptor,
    y: Any,
    dy: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    dhy: Any,
    dhx: Any,
    cDesc: TensorDescriptor,
    cx: Any,
    dcy: Any,
    dcx: Any,
    xDesc: SeqTensorDescriptor,
    dx: Any,
    w: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> Pass:
    """dx, dhx and dcx, overwritten, from dy, dhy and dcy.

    y               never read, may be None
    workSpace       left as miopenRNNBackwardWeightsSeqTensor needs it
    reserveSpace    as miopenRNNForward left it; not changed, so the call may be repeated
    """
    require(dx=dx, w=w, dy=dy)
    runs.same_dims(hDesc=hDesc, cDesc=cDesc)
    runs.check_set(rnnDesc)
    check_sequences("xDesc", xDesc, rnnDesc)
    workspace = Buffer("workSpace", workSpace, workSpaceNumBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceNumBytes)
    _check_sizes(rnnDesc, xDesc, workspace, reserve, weightSpaceSize)
    cells = (cx, dcy, dcx) if rnnDesc.config(xDesc.vector_size).record.has_cell_state else ()
    _check_states(rnnDesc, xDesc, hDesc=(hDesc, (hx, dhy, dhx)), cDesc=(cDesc, cells))
    run = _run(handle, rnnDesc, xDesc, yDesc)
    tensors = {"dy": dy, "dhy": dhy, "dcy": dcy, "hx": hx, "cx": cx}
    tensors |= {"dx": dx, "dhx": dhx, "dcx": dcx}
    return backward_data_pass(run, tensors, Weights("w", w), workspace, reserve)


@runs.described
def miopenRNNBackwardWeightsSeqTensor(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: SeqTensorDescriptor,
    x: Any,
    hDesc: TensorDescriptor,
    hx: Any,
    yDesc: SeqTensorDescriptor,
    y: Any,
    dw: Any,
    weightSpaceSize: int,
    workSpace: Any,
    workSpaceNumBytes: int,
    reserveSpace: Any,
    reserveSpaceNumBytes: int,
) -> Pass:
    """dw, overwritten, from what the passes before left in workspace and reserve.

    y            never read, may be None
    workSpace    as miopenRNNBackwardSeqData left it; the call may be repeated
    """
    require(x=x, dw=dw)
    runs.same_dims(hDesc=hDesc)
    runs.check_set(rnnDesc)
    check_sequences("xDesc", xDesc, rnnDesc)
    workspace = Buffer("workSpace", workSpace, workSpaceNumBytes)
    reserve = Buffer("reserveSpace", reserveSpace, reserveSpaceNumBytes)
    _check_sizes(rnnDesc, xDesc, workspace, reserve, weightSpaceSize)
    _check_states(rnnDesc, xDesc, hDesc=(hDesc, (hx,)))
    run = _run(handle, rnnDesc, xDesc, yDesc)
    return backward_weights_pass(run, {"x": x, "hx": hx}, Weights("dw", dw), workspace, reserve)
