"""Sizes of buffers and places of parameters, for RNNs set by cudnnSetRNNDescriptor_v6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...calls.arguments import check_enum
from ...calls.data import Buffer, check_size
from ...calls.walks import Run
from ...core.config import RNNConfig
from ...core.layout import Parameter
from ...core.memory import address_of
from ...core.plan import plan
from .descriptors import RNNDescriptor
from .entry import entry
from .handle import Handle
from .legacy_steps import batch_and_vector, batch_sizes, check_weights, config_for
from .params import dims_of, find
from .queries import weights_nbytes
from .tensor import NCHW, FilterDescriptor, TensorDescriptor
from .types import cudnnDataType_t


@entry
def cudnnGetRNNWorkspaceSize(
    handle: Handle, rnnDesc: RNNDescriptor, seqLength: int, xDesc: Sequence[TensorDescriptor]
) -> int:
    """Bytes of the workspace of every pass, those of the Ex family included."""
    steps, data_type = batch_sizes("xDesc", xDesc, seqLength)
    config = config_for(rnnDesc, "xDesc", steps.vector_size, data_type)
    return spaces_nbytes(config, steps.rows)[0]


@entry
def cudnnGetRNNTrainingReserveSize(
    handle: Handle, rnnDesc: RNNDescriptor, seqLength: int, xDesc: Sequence[TensorDescriptor]
) -> int:
    """Bytes of `reserveSpace`, with the dropout rate as it is now."""
    steps, data_type = batch_sizes("xDesc", xDesc, seqLength)
    config = config_for(rnnDesc, "xDesc", steps.vector_size, data_type)
    return spaces_nbytes(config, steps.rows)[1]


def spaces_nbytes(config: RNNConfig, rows: int) -> tuple[int, int]:
    """Bytes of workspace and reserve; room for the padded tensors of the Ex family included."""
    spaces = plan(config, rows, training=True, padded=True, keeps_gradients=True)
    return spaces.workspace.nbytes, spaces.reserve.nbytes


def check_spaces(run: Run, workspace: Buffer, reserve: Buffer | None) -> None:
    """Sizes of workspace and reserve for the rows there are; None where a pass has no reserve."""
    work, space = spaces_nbytes(run.shapes.config, run.shapes.sequence.rows)
    check_size("workSpaceSizeInBytes", workspace.nbytes, work)
    if reserve is not None:
        check_size("reserveSpaceSizeInBytes", reserve.nbytes, space)


@entry
def cudnnGetRNNParamsSize(
    handle: Handle, rnnDesc: RNNDescriptor, xDesc: TensorDescriptor, dataType: cudnnDataType_t
) -> int:
    """Bytes of `w`; dataType must be that of xDesc."""
    data_type = check_enum("dataType", cudnnDataType_t, dataType)
    _, input_size = batch_and_vector("xDesc", xDesc, data_type)
    return weights_nbytes(config_for(rnnDesc, "xDesc", input_size, data_type))


@entry
def cudnnGetRNNLinLayerMatrixParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    pseudoLayer: int,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    w: Any,
    linLayerID: int,
    linLayerMatDesc: FilterDescriptor,
) -> int | None:
    """The address of a matrix inside w; linLayerMatDesc becomes {1, rows, columns}.

    With w None, bytes from the start of the weights. None, and no dimensions, for a matrix that the
    RNN does not have. Numbers are as in cudnnGetRNNWeightParams.
    """
    data_type = xDesc.data_type
    config = _config(rnnDesc, xDesc, wDesc)
    matrix, _ = find(rnnDesc, config, pseudoLayer, linLayerID)
    return _place(handle, config, data_type, w, matrix, linLayerMatDesc)


@entry
def cudnnGetRNNLinLayerBiasParams(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    pseudoLayer: int,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    w: Any,
    linLayerID: int,
    linLayerBiasDesc: FilterDescriptor,
) -> int | None:
    """The address of a bias inside w; linLayerBiasDesc becomes {1, rows, 1}. Else as matrices."""
    data_type = xDesc.data_type
    config = _config(rnnDesc, xDesc, wDesc)
    _, bias = find(rnnDesc, config, pseudoLayer, linLayerID)
    return _place(handle, config, data_type, w, bias, linLayerBiasDesc)


def _config(rnnDesc: RNNDescriptor, xDesc: TensorDescriptor, wDesc: FilterDescriptor) -> RNNConfig:
    _, input_size = batch_and_vector("xDesc", xDesc, xDesc.data_type)
    config = config_for(rnnDesc, "xDesc", input_size, xDesc.data_type)
    check_weights("wDesc", wDesc, config)
    return config


def _place(
    handle: Handle,
    config: RNNConfig,
    data_type: cudnnDataType_t,
    w: Any,
    parameter: Parameter | None,
    descriptor: FilterDescriptor,
) -> int | None:
    """Fill the descriptor; the parameter's address, or its offset in bytes without a base."""
    needed = weights_nbytes(config)
    base = address_of("w", w, nbytes=needed, optional=True, location=handle.backend)
    descriptor.assign(data_type, NCHW, dims_of(parameter))
    if parameter is None:
        return None
    return (base or 0) + parameter.offset * config.itemsize
