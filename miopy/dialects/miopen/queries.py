"""How large a caller's buffers must be, in bytes: MIOpen's formulas, never below miopy's own need.

All x descriptors must have the RNN's data type. In skip mode the input size counts as H; of these
queries only GetRNNParamsSize insists that it is, as in MIOpen.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...calls.arguments import check_enum
from ...calls.steps import Steps
from ...core.config import RNNConfig
from ...core.plan import plan
from ...errors import BadParam
from ...layouts import MIOPEN
from . import sizes
from .descriptors import RNNDescriptor
from .entry import entry
from .handle import Handle
from .steps import batch_and_vector, batch_sizes
from .tensor import SeqTensorDescriptor, TensorDescriptor, describe_packed
from .types import (
    miopenDataType_t,
    miopenRNNAlgo_t,
    miopenRNNBaseLayout_t,
    miopenRNNFWDMode_t,
    miopenRNNPaddingMode_t,
    miopenStatus_t,
)


@entry
def miopenGetRNNWorkspaceSize(
    handle: Handle, rnnDesc: RNNDescriptor, sequenceLen: int, xDesc: Sequence[TensorDescriptor]
) -> int:
    """Bytes of `workSpace`, for training and inference alike."""
    steps = batch_sizes("xDesc", xDesc, sequenceLen, rnnDesc)
    return workspace_nbytes(rnnDesc, steps)


@entry
def miopenGetRNNTrainingReserveSize(
    handle: Handle, rnnDesc: RNNDescriptor, sequenceLen: int, xDesc: Sequence[TensorDescriptor]
) -> int:
    """Bytes of `reserveSpace`, with the dropout rate as it is now."""
    steps = batch_sizes("xDesc", xDesc, sequenceLen, rnnDesc)
    return reserve_nbytes(rnnDesc, steps.vector_size, steps.rows)


@entry
def miopenGetRNNTempSpaceSizes(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: SeqTensorDescriptor,
    fwdMode: miopenRNNFWDMode_t,
) -> tuple[int, int]:
    """Bytes of `workSpace` and `reserveSpace`, enough for any lengths that xDesc could hold.

    The reserve is 0 for inference, where MIOpen leaves its output untouched.
    """
    check_sequences("xDesc", xDesc, rnnDesc)
    mode = check_enum("fwdMode", miopenRNNFWDMode_t, fwdMode)
    training = mode == miopenRNNFWDMode_t.miopenRNNTraining
    return temp_space_nbytes(rnnDesc, xDesc, training=training)


@entry
def miopenGetRNNParamsSize(
    handle: Handle, rnnDesc: RNNDescriptor, xDesc: TensorDescriptor, dtype: miopenDataType_t
) -> int:
    """Bytes of `w`. Skip mode needs the input size to equal H."""
    _, input_size = batch_and_vector("xDesc", xDesc, rnnDesc)
    _check_dtype(rnnDesc, dtype)
    if rnnDesc.skip_input and input_size != rnnDesc.hidden_size:
        rule = f"must have vector size {rnnDesc.hidden_size}, the hidden size, in skip mode"
        raise BadParam("xDesc", rule, input_size)
    return MIOPEN.size(rnnDesc.weights_config(input_size)) * rnnDesc.itemsize


@entry
def miopenGetRNNParamsDescriptor(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    xDesc: TensorDescriptor,
    wDesc: TensorDescriptor,
    dtype: miopenDataType_t,
) -> None:
    """Fill wDesc with two dims whose product is the number of parameters."""
    _, input_size = batch_and_vector("xDesc", xDesc, rnnDesc)
    _check_dtype(rnnDesc, dtype)
    dims = sizes.params_dims(rnnDesc.weights_config(input_size))
    describe_packed("rnnDesc", wDesc, rnnDesc.data_type, dims)


@entry
def miopenGetRNNInputTensorSize(
    handle: Handle, rnnDesc: RNNDescriptor, seqLen: int, xDesc: Sequence[TensorDescriptor]
) -> int:
    """Bytes of `x`: all packed rows; with padding, as many rows in each step as in the first."""
    steps = batch_sizes("xDesc", xDesc, seqLen, rnnDesc, length_argument="seqLen")
    rows = len(steps.batches) * steps.batches[0] if is_padded(rnnDesc) else steps.rows
    return rows * steps.vector_size * rnnDesc.itemsize


@entry
def miopenGetRNNHiddenTensorSize(
    handle: Handle, rnnDesc: RNNDescriptor, seqLen: int, xDesc: Sequence[TensorDescriptor]
) -> int:
    """Bytes of `hx`, and of every other state: (L * D, batch of the first step, H)."""
    steps = batch_sizes("xDesc", xDesc, seqLen, rnnDesc, length_argument="seqLen")
    rows = rnnDesc.num_pseudo_layers * steps.batches[0]
    return rows * rnnDesc.hidden_size * rnnDesc.itemsize


def check_sequences(
    argument: str,
    descriptor: SeqTensorDescriptor,
    rnnDesc: RNNDescriptor,
    *,
    type_status: miopenStatus_t | None = None,
) -> None:
    """Raise BadParam unless the descriptor has been set, for the RNN's data type."""
    if descriptor.layout == miopenRNNBaseLayout_t.miopenRNNDataUnknownLayout:
        raise BadParam(argument, "must have been set by miopenSetRNNDataSeqTensorDescriptor")
    if descriptor.data_type != rnnDesc.data_type:
        rule = f"must have the RNN's data type, {rnnDesc.data_type.name}"
        raise BadParam(argument, rule, descriptor.data_type.name, status=type_status)


def workspace_nbytes(rnnDesc: RNNDescriptor, steps: Steps) -> int:
    """What miopenGetRNNWorkspaceSize answers."""
    config, rows, padded = _config(rnnDesc, steps.vector_size), steps.rows, is_padded(rnnDesc)
    own = plan(config, rows, training=True, padded=padded).workspace.nbytes
    return max(sizes.workspace(config, rows, padded=padded), own)


def reserve_nbytes(rnnDesc: RNNDescriptor, input_size: int, rows: int) -> int:
    """What miopenGetRNNTrainingReserveSize answers."""
    config = _config(rnnDesc, input_size)
    compact = rnnDesc.algo != miopenRNNAlgo_t.miopenRNNfundamental
    own = plan(config, rows, training=True).reserve.nbytes
    return max(sizes.reserve(config, rows, compact=compact), own)


def temp_space_nbytes(
    rnnDesc: RNNDescriptor, descriptor: SeqTensorDescriptor, *, training: bool
) -> tuple[int, int]:
    """What miopenGetRNNTempSpaceSizes answers."""
    padded = descriptor.layout != miopenRNNBaseLayout_t.miopenRNNDataSeqMajorNotPadded
    config, batch = _config(rnnDesc, descriptor.vector_size), descriptor.batch_size
    rows = batch * descriptor.max_seq_len
    formula = sizes.sequence_workspace(config, rows, batch, padded=padded, training=training)
    own = plan(config, rows, training=training, padded=padded).workspace.nbytes
    reserve = reserve_nbytes(rnnDesc, descriptor.vector_size, rows) if training else 0
    return max(formula, own), reserve


def _config(rnnDesc: RNNDescriptor, input_size: int) -> RNNConfig:
    return rnnDesc.config(rnnDesc.hidden_size if rnnDesc.skip_input else input_size)


def is_padded(rnnDesc: RNNDescriptor) -> bool:
    """Whether descriptor arrays stand for dense x and y, (steps, first batch, vector)."""
    return rnnDesc.padding_mode == miopenRNNPaddingMode_t.miopenRNNIOWithPadding


def _check_dtype(rnnDesc: RNNDescriptor, dtype: int) -> None:
    if check_enum("dtype", miopenDataType_t, dtype) != rnnDesc.data_type:
        raise BadParam("dtype", f"must be the RNN's data type, {rnnDesc.data_type.name}", dtype)
